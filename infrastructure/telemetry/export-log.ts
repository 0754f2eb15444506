import { causeOf, type Log } from '../logging.ts';

/** How exporters report the result of an export. */
interface ExportResult {
  /** 0: the collector took it. */
  readonly code: number;
  readonly error?: Error;
}

interface Exporter<Items> {
  readonly export: (items: Items, done: (result: ExportResult) => void) => void;
}

/**
 * Logs when exports begin to fail and when they work again. Not each failure: exports repeat every few seconds, and a
 * collector that is down would fill the log.
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

/** What the SDK says where it has neither a status nor a code: words of its own, which quote nothing. */
const sdkWords: Readonly<Record<string, string>> = {
  'Request timed out': 'timeout',
  // It retries these, and does not say which it was.
  'Export failed with retryable status': '429, 502, 503 or 504',
  'Concurrent export limit reached': 'the exports before are still under way',
};

/** The HTTP status of the answer, else the cause. Not the error's message: it may quote what the collector answered. */
function reasonOf(error: Error | undefined): string {
  const code = error !== undefined && 'code' in error ? error.code : undefined;
  return typeof code === 'number' ? String(code) : (sdkWords[error?.message ?? ''] ?? causeOf(error));
}
