import type { Telemetry } from '../../application/ports/telemetry.ts';
import type { OtelConfig } from '../config/server-config.ts';
import { type Log, requestLog } from '../logging.ts';
import type { ProcessParts } from './process-metrics.ts';
import { telemetryTo } from './request-telemetry.ts';

/** What a process tells of itself and its requests, until it is closed. */
export interface TelemetryExport {
  readonly telemetry: Telemetry;
  /** From now on these parts are told of, too. */
  readonly watch: (parts: ProcessParts) => void;
  /** Sends what there is; gives up after some seconds. */
  readonly close: () => Promise<void>;
}

/** Log lines always; the libraries that export anything are loaded where there is an endpoint to export to. */
export async function openTelemetry(otel: OtelConfig, log: Log): Promise<TelemetryExport> {
  const { metricsEndpoint } = otel;
  if (metricsEndpoint === undefined)
    return {
      telemetry: telemetryTo({ log: requestLog(log) }),
      watch: () => undefined,
      close: async () => undefined,
    };
  const { exportTelemetry } = await import('./node-sdk.ts');
  return exportTelemetry({ ...otel, metricsEndpoint }, log);
}
