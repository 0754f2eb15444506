import { crc32 } from 'node:zlib';

/** A record as one line: its CRC-32 in eight hex digits, a blank, the JSON text. */
export const journalLine = (record: string): string => `${checksum(record)} ${record}\n`;

const checksum = (record: string): string => crc32(record).toString(16).padStart(8, '0');

/** What a file holds. */
export interface JournalContent {
  /** In order. */
  readonly records: readonly string[];
  /** Whole lines that are not what was written. */
  readonly damaged: number;
}

/**
 * The records of a file. A line that is damaged is not a record, nor is what stands behind the last end of a line: a crash
 * cut it short, before anybody was told that it is kept.
 */
export function journalContent(text: string): JournalContent {
  const lines = text.split('\n').slice(0, -1);
  const records = lines.filter(isWhole).map((line) => line.slice(9));
  return { records, damaged: lines.length - records.length };
}

const isWhole = (line: string): boolean => line === journalLine(line.slice(9)).slice(0, -1);
