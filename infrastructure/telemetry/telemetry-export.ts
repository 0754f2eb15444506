import type { McpTelemetry } from '../../application/ports/mcp-telemetry.ts';
import type { Telemetry } from '../../application/ports/telemetry.ts';
import type { ProcessSources } from './process-metrics.ts';

/** The telemetry of one process, from its start to its shutdown. */
export interface TelemetryExport {
  readonly telemetry: Telemetry;
  readonly mcp: McpTelemetry;
  /** From now on the metrics of these parts of the process are exported, too. */
  readonly watch: (sources: ProcessSources) => void;
  /** Sends what has not been sent yet; gives up after some seconds. */
  readonly close: () => Promise<void>;
}
