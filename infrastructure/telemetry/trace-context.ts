import { randomFillSync } from 'node:crypto';
import type { TraceContext } from '../../application/ports/telemetry.ts';

/** What a caller says of the trace that its request is part of. */
export interface TraceParent {
  readonly traceId: string;
  readonly spanId: string;
  readonly flags: number;
  /** The vendors' list, as it came. */
  readonly state: string | undefined;
}

export const sampledFlag = 1;
/** The flags that W3C has given a meaning: sampled, and a random trace id. */
const knownFlags = 3;

/** The door lets only valid ones in: `version-trace id-span id-flags`. */
export function traceParentOf({ traceparent, tracestate }: TraceContext): TraceParent | undefined {
  if (traceparent === undefined) return undefined;
  return {
    traceId: traceparent.slice(3, 35),
    spanId: traceparent.slice(36, 52),
    flags: Number.parseInt(traceparent.slice(53, 55), 16) & knownFlags,
    state: tracestate,
  };
}

export const isSampled = ({ flags }: TraceParent): boolean => (flags & sampledFlag) === sampledFlag;

export const traceparentOf = ({ traceId, spanId, flags }: Omit<TraceParent, 'state'>): string =>
  `00-${traceId}-${spanId}-0${flags}`;

const traceIdBytes = 16;
const spanIdBytes = 8;

/** Random bytes are fetched for many ids at once: a system call per id would cost more than the id. */
const pool = Buffer.alloc(4096);
let used = pool.length;

export const newTraceId = (): string => randomHex(traceIdBytes);
export const newSpanId = (): string => randomHex(spanIdBytes);

/** All zeros would be no id; they do not come: 2^-64. */
function randomHex(bytes: number): string {
  if (used + bytes > pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  used += bytes;
  return pool.toString('hex', used - bytes, used);
}
