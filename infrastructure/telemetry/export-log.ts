import { diag, DiagLogLevel } from '@opentelemetry/api';
import { causeOf, type Log } from '../logging.ts';

/** How exporters report the result of an export. */
interface ExportResult {
  /** 0 when the collector accepted it. */
  readonly code: number;
  readonly error?: Error;
}

/** The result of an export whose time is over, in the SDK's words. */
export const timedOut: ExportResult = { code: 1, error: new Error('Request timed out') };

export interface Exporter<Items> {
  readonly export: (items: Items, done: (result: ExportResult) => void) => void;
}

/**
 * Logs when exports begin to fail and when they work again. Not each failure: exports repeat every few seconds, and an
 * unavailable collector would fill the log.
 */
export function loggingChanges<Items>(
  exporter: Exporter<Items>,
  signal: string,
  endpoint: string,
  log: Log,
): Exporter<Items> {
  let failing = false;
  watchRejections();
  const logChange = ({ code, error }: ExportResult): void => {
    const rejected = rejectedItems;
    rejectedItems = 0;
    const failed = code !== 0 || rejected > 0;
    if (failed === failing) return;
    failing = failed;
    const about = { signal, endpoint };
    const why = rejected > 0 ? `${rejected} items rejected` : reasonOf(error);
    if (failed) log.warn({ ...about, error: why }, 'telemetry could not be exported');
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

/**
 * Items that the collector rejected of an export that it accepted otherwise. All signals share it: the result of that
 * export follows in the same turn of the event loop, so no other signal's comes in between.
 */
let rejectedItems = 0;

/** The SDK reports such a partial success as a warning of its own, right before the result, which is a success. */
function watchRejections(): void {
  const ignored = (): void => undefined;
  const warn = (_message: string, ...details: readonly unknown[]): void => {
    const [, rejected] = /"rejected(?:Spans|DataPoints)":"?(\d+)/.exec(String(details[0])) ?? [];
    rejectedItems = Number(rejected ?? 0);
  };
  const logger = { error: ignored, warn, info: ignored, debug: ignored, verbose: ignored };
  diag.setLogger(logger, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true });
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
