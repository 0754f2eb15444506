import type { OtelConfig } from '../config/server-config.ts';
import { type Log, mcpCallLog, requestLog } from '../logging.ts';
import { mcpTelemetryTo } from './mcp-telemetry.ts';
import { telemetryTo } from './request-telemetry.ts';
import type { TelemetryExport } from './telemetry-export.ts';

/**
 * Requests are always logged. The OpenTelemetry SDK is loaded only where there is an endpoint to export to, as a
 * gateway without a collector must not pay the time and memory of loading it.
 */
export async function openTelemetry(otel: OtelConfig, log: Log): Promise<TelemetryExport> {
  const { metricsEndpoint } = otel;
  if (metricsEndpoint === undefined)
    return {
      telemetry: telemetryTo({ log: requestLog(log) }),
      mcp: mcpTelemetryTo({ log: mcpCallLog(log) }),
      watch: () => undefined,
      close: async () => undefined,
    };
  const { exportTelemetry } = await import('./node-sdk.ts');
  return exportTelemetry({ ...otel, metricsEndpoint }, log);
}
