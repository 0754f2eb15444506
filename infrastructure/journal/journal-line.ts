import { crc32 } from 'node:zlib';

/** A record as one line: its CRC-32 in eight hex digits, a space, the JSON text. */
export const journalLine = (record: string): string => `${checksum(record)} ${record}\n`;

const checksum = (record: string): string => crc32(record).toString(16).padStart(8, '0');

/** The content of a journal file. */
export interface JournalContent {
  /** In order. */
  readonly records: readonly string[];
  /** Complete lines whose checksum does not match. */
  readonly damaged: number;
}

/**
 * The records of a file. A damaged line is not a record, and neither is anything after the last line break: a crash
 * truncated it before its caller was told that it was kept.
 */
export function journalContent(text: string): JournalContent {
  const lines = text.split('\n').slice(0, -1);
  const records = lines.filter(isWhole).map((line) => line.slice(9));
  return { records, damaged: lines.length - records.length };
}

const isWhole = (line: string): boolean => line === journalLine(line.slice(9)).slice(0, -1);
