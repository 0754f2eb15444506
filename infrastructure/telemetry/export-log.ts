import { causeOf, type Log } from '../logging.ts';

/** How exporters report the result of an export. */
interface ExportResult {
  /** 0 when the collector accepted it. */
  readonly code: number;
  readonly error?: Error;
}

interface Exporter<Items> {
  readonly export: (items: Items, done: (result: ExportResult) => void) => void;
}

/**
 * Logs when exports begin to fail and when they work again. Not each failure: exports repeat every few seconds, and an
 * unavailable collector would fill the log.
 */
export function loggingChanges<Items, E extends Exporter<Items>>(
  exporter: E & Exporter<Items>,
  signal: string,
  endpoint: string,
  log: Log,
): Pick<E, 'export'> {
  let failing = false;
  const logChange = ({ code, error }: ExportResult): void => {
    const failed = code !== 0;
    if (failed === failing) return;
    failing = failed;
    const about = { signal, endpoint };
    if (failed) log.warn({ ...about, error: reasonOf(error) }, 'telemetry could not be exported');
    else log.info(about, 'telemetry is exported again');
  };
  return {
    export: (items, done) =>
      exporter.export(items, (result) => {
        logChange(result);
        done(result);
      }),
  };
}

/** The SDK's messages for failures with neither a status nor a code. They are fixed texts, which quote nothing. */
const sdkWords: Readonly<Record<string, string>> = {
  'Request timed out': 'timeout',
  // The SDK retries these, and does not report which it was.
  'Export failed with retryable status': '429, 502, 503 or 504',
  'Concurrent export limit reached': 'the exports before are still under way',
};

/** The HTTP status of the answer, else the cause. Not the error's message, which may quote the collector's answer. */
function reasonOf(error: Error | undefined): string {
  const code = error !== undefined && 'code' in error ? error.code : undefined;
  return typeof code === 'number' ? String(code) : (sdkWords[error?.message ?? ''] ?? causeOf(error));
}
