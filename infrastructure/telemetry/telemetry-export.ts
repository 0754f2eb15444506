import type { McpTelemetry } from '../../application/ports/mcp-telemetry.ts';
import type { Telemetry } from '../../application/ports/telemetry.ts';
import type { ProcessSources } from './process-metrics.ts';

/** The telemetry of one process, from startup to shutdown. */
export interface TelemetryExport {
  readonly telemetry: Telemetry;
  readonly mcp: McpTelemetry;
  /** From this call on, the metrics of these parts of the process are exported, too. */
  readonly watch: (sources: ProcessSources) => void;
  /** Sends what is still pending; gives up after some seconds. */
  readonly close: () => Promise<void>;
}
