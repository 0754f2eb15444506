import { causeOf, type Log } from '../logging.ts';

/** How exporters say what became of an export. */
interface ExportResult {
  /** 0: it was taken. */
  readonly code: number;
  readonly error?: Error;
}

interface Exporter<Items> {
  readonly export: (items: Items, done: (result: ExportResult) => void) => void;
}

/** Tells of a collector that does not take what it is sent when that begins, and when it is over; not each time. */
export function toldOnce<Items, E extends Exporter<Items>>(
  exporter: E & Exporter<Items>,
  signal: string,
  endpoint: string,
  log: Log,
): Pick<E, 'export'> {
  let failing = false;
  const note = ({ code, error }: ExportResult): void => {
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
        note(result);
        done(result);
      }),
  };
}

/** An HTTP status, else the cause; its message may quote an answer. */
function reasonOf(error: Error | undefined): string {
  const code = error !== undefined && 'code' in error ? error.code : undefined;
  return typeof code === 'number' ? String(code) : causeOf(error);
}
