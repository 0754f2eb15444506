import { gzipSync } from 'node:zlib';
import type { PartFormat } from '../../application/ports/export.ts';

/**
 * RFC 4180, compressed, as PostgreSQL's `copy … from … (format csv, header)` reads it: null is nothing between two
 * commas, an empty text is a pair of quotes.
 */
export const csvPart: PartFormat = {
  extension: 'csv.gz',
  contentType: 'application/gzip',
  encode: (columns, rows) => {
    const header = columns.map(({ name }) => name).join(',');
    const lines = rows.map((row) => row.map(csvCell).join(','));
    return gzipSync(`${[header, ...lines].join('\n')}\n`);
  },
};

const csvCell = (cell: string | null): string => {
  if (cell === null) return '';
  return cell === '' || /[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
};
