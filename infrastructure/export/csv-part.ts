import { gzipSync } from 'node:zlib';
import type { PartFormat } from '../../application/ports/export.ts';
import type { ExportRow } from '../../domain/export/export-columns.ts';

/**
 * RFC 4180, compressed with gzip, as PostgreSQL's `copy … from … (format csv, header)` reads it: null is an empty
 * field, an empty text is a pair of quotes.
 */
export const csvPart: PartFormat = {
  extension: 'csv.gz',
  contentType: 'application/gzip',
  encode: (columns, rows) => {
    const pieces = [Buffer.from(`${columns.map(({ name }) => name).join(',')}\n`)];
    for (let from = 0; from < rows.length; from += rowsAtOnce)
      pieces.push(
        Buffer.from(
          rows
            .slice(from, from + rowsAtOnce)
            .map(csvLine)
            .join(''),
        ),
      );
    return gzipSync(Buffer.concat(pieces));
  },
};

/** Few enough that the text of a part is not in memory twice. */
const rowsAtOnce = 1000;

const csvLine = (row: ExportRow): string => `${row.map(csvCell).join(',')}\n`;

const csvCell = (cell: string | null): string => {
  if (cell === null) return '';
  return cell === '' || /[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
};
