import { zstdCompressSync } from 'node:zlib';
import { ByteWriter, parquetWrite } from 'hyparquet-writer';
import type { PartFormat } from '../../application/ports/export.ts';
import type { CellKind, ExportRow } from '../../domain/export/export-columns.ts';

/** Apache Parquet: each column of its own type, money as `decimal(38, 0)`, instants in microseconds. */
export const parquetPart: PartFormat = {
  extension: 'parquet',
  contentType: 'application/vnd.apache.parquet',
  encode: (columns, rows) => {
    const writer = new ByteWriter();
    void parquetWrite({
      writer,
      schema: [
        { name: 'root', num_children: columns.length },
        ...columns.map(({ name, kind }) => ({ name, repetition_type: 'OPTIONAL' as const, ...types[kind] })),
      ],
      columnData: columns.map(({ name, kind }, at) => ({ name, data: columnOf(rows, at, readers[kind]) })),
      codec: 'ZSTD',
      compressors: { ZSTD: zstdCompressSync },
      rowGroupSize: rows.length,
      createdBy: 'model-gateway',
    });
    return writer.getBytes();
  },
};

type ParquetType = Omit<NonNullable<Parameters<typeof parquetWrite>[0]['schema']>[number], 'name'>;

/** 38 digits need 127 bits. */
const decimalBytes = 16;

const types: Readonly<Record<CellKind, ParquetType>> = {
  text: { type: 'BYTE_ARRAY', converted_type: 'UTF8' },
  int32: { type: 'INT32' },
  int64: { type: 'INT64' },
  boolean: { type: 'BOOLEAN' },
  money: {
    type: 'FIXED_LEN_BYTE_ARRAY',
    type_length: decimalBytes,
    converted_type: 'DECIMAL',
    precision: 38,
    scale: 0,
  },
  instant: { type: 'INT64', converted_type: 'TIMESTAMP_MICROS' },
  // As text: a JSON column would be parsed and printed again, and lose digits.
  json: { type: 'BYTE_ARRAY', converted_type: 'UTF8' },
};

type Cell = string | number | bigint | boolean | null;

const readers: Readonly<Record<CellKind, (text: string) => Cell>> = {
  text: (text) => text,
  int32: Number,
  int64: BigInt,
  boolean: (text) => text === 'true',
  money: BigInt,
  instant: microsecondsOf,
  json: (text) => text,
};

const columnOf = (rows: readonly ExportRow[], at: number, read: (text: string) => Cell): Cell[] =>
  rows.map((row) => {
    const cell = row[at] ?? null;
    return cell === null ? null : read(cell);
  });

/** `2026-11-01T00:00:00.123456Z`: a Date has no microseconds. */
function microsecondsOf(instant: string): bigint {
  const seconds = Date.parse(`${instant.slice(0, 19)}Z`) / 1000;
  return BigInt(seconds) * 1_000_000n + BigInt(instant.slice(20, 26));
}
