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
  /** The last line has no end: a crash cut it short, before anybody was told that it is kept. */
  readonly cut: boolean;
}

/** The records of a file. A line that was cut short, or damaged, is not a record. */
export function journalContent(text: string): JournalContent {
  const lines = text.split('\n');
  const cut = lines.pop() !== '';
  const records = lines.filter(isWhole).map((line) => line.slice(9));
  return { records, damaged: lines.length - records.length, cut };
}

const isWhole = (line: string): boolean => line === journalLine(line.slice(9)).slice(0, -1);
