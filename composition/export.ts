import { createHash } from 'node:crypto';
import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { type ExportedDay, exportRange, type ExportReport } from '../application/export/export-range.ts';
import { partBounds } from '../application/export/write-parts.ts';
import type { PartFormat } from '../application/ports/export.ts';
import type { ExportFormat } from '../domain/export/manifest.ts';
import type { ExportConfig } from '../infrastructure/config/export-config.ts';
import { csvPart } from '../infrastructure/export/csv-part.ts';
import { parquetPart } from '../infrastructure/export/parquet-part.ts';
import { s3Storage } from '../infrastructure/export/s3-storage.ts';
import { exportUnderLock } from '../infrastructure/postgres/export-store.ts';
import { untilStopped } from '../infrastructure/stop-requests.ts';
import type { ExportCall } from '../interfaces/cli/export.ts';

const formats: Readonly<Record<ExportFormat, PartFormat>> = { parquet: parquetPart, csv: csvPart };

/** When asked to stop, it ends before the next part. */
export async function exportNow(
  config: ExportConfig,
  databaseUrl: string,
  call: ExportCall,
  report: (day: ExportedDay) => void,
): Promise<Either<string, ExportReport>> {
  let stopped = false;
  void untilStopped().then(() => (stopped = true));
  const storage = s3Storage(config, call.bucket);
  try {
    const done = await exportUnderLock(databaseUrl, call.subject, (source) => {
      const ports = {
        source,
        storage,
        part: formats[call.format],
        digest: (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex'),
        bounds: partBounds,
      };
      return exportRange(ports, report)({ ...call, shouldContinue: () => !stopped });
    });
    return done ?? E.left('another export is under way');
  } finally {
    storage.close();
  }
}
