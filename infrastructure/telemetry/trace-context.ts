import type { TraceContext } from '../../application/ports/telemetry.ts';

/**
 * The id of the trace that a request belongs to, for its log line. It is read here and not by the SDK, which is not
 * loaded where nothing is exported. The HTTP layer passes on valid headers only: `version-trace-span-flags`.
 */
export const traceIdOf = ({ traceparent }: TraceContext): string | undefined => traceparent?.slice(3, 35);
