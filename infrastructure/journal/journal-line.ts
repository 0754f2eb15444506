import { crc32 } from 'node:zlib';

/** A record as one line: its CRC-32 in eight hex digits, a blank, the JSON text. */
export const journalLine = (record: string): string => `${checksum(record)} ${record}\n`;

const checksum = (record: string): string => crc32(record).toString(16).padStart(8, '0');

/** The records of a file, in order. A line that a crash cut short, or that was damaged, is none. */
export function recordsIn(text: string): { readonly records: readonly string[]; readonly damaged: number } {
  const lines = text.split('\n');
  const cut = lines.pop() === '' ? 0 : 1;
  const records = lines
    .filter((line) => line.slice(0, 8) === checksum(line.slice(9)))
    .map((line) => line.slice(9));
  return { records, damaged: lines.length - records.length + cut };
}
