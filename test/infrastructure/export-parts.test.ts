import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { parquetMetadata } from 'hyparquet';
import type { PartFormat } from '../../application/ports/export.ts';
import {
  type CellKind,
  exportColumns,
  type ExportRow,
  type ExportSubject,
} from '../../domain/export/export-columns.ts';
import { csvPart } from '../../infrastructure/export/csv-part.ts';
import { parquetPart } from '../../infrastructure/export/parquet-part.ts';
import { readExport } from '../support/read-export.ts';

/** What the database prints, and what a reader is to find: the same, but for an instant its microseconds. */
interface Cell {
  readonly printed: string;
  readonly read: string;
}

const same = (text: string): Cell => ({ printed: text, read: text });
const inBits = (bits: number): fc.Arbitrary<Cell> =>
  fc.bigInt({ min: -(2n ** BigInt(bits - 1)), max: 2n ** BigInt(bits - 1) - 1n }).map((n) => same(`${n}`));
const aText = fc
  .oneof(
    fc.string({ unit: 'binary' }),
    fc.string({ unit: fc.constantFrom('"', ',', '\n', '\r', '\\', ' ', 'a', '😀', '\uffee') }),
  )
  .map((text) => same(text.toWellFormed().replaceAll('\0', '')));

const cellOf: Readonly<Record<CellKind, fc.Arbitrary<Cell>>> = {
  text: aText,
  json: aText.map(({ printed }) => same(JSON.stringify([printed]))),
  int32: inBits(32),
  int64: inBits(64),
  boolean: fc.boolean().map((word) => same(`${word}`)),
  money: fc.bigInt({ min: 1n - 10n ** 38n, max: 10n ** 38n - 1n }).map((n) => same(`${n}`)),
  instant: fc
    .tuple(
      fc.date({ min: new Date('0001-01-01T00:00:00Z'), max: new Date('9999-12-31T23:59:59.999Z') }),
      fc.nat({ max: 999 }),
    )
    .filter(([at]) => !Number.isNaN(at.getTime()))
    .map(([at, micros]) => ({
      printed: at.toISOString().replace('Z', `${String(micros).padStart(3, '0')}Z`),
      read: `${BigInt(at.getTime()) * 1000n + BigInt(micros)}`,
    })),
};

const rowOf = (subject: ExportSubject): fc.Arbitrary<readonly (Cell | null)[]> =>
  fc.tuple(...exportColumns[subject].map(({ kind }) => fc.option(cellOf[kind])));

/** What a reader finds in an object with these rows. */
async function readBack(part: PartFormat, subject: ExportSubject, rows: readonly ExportRow[]) {
  const folder = `${subject}/day=2026-11-01/`;
  const name = `part.${part.extension}`;
  const objects = new Map([
    [`${folder}${name}`, Buffer.from(part.encode(exportColumns[subject], rows))],
    [`${folder}manifest.json`, Buffer.from(JSON.stringify({ parts: [{ name }] }))],
  ]);
  return (await readExport({ objects }, '', subject, '2026-11-01'))?.rows;
}

describe.each([
  ['Parquet', parquetPart],
  ['CSV', csvPart],
])('a part in %s', (_, part) => {
  it.each(['ledger', 'request-logs'] as const)(
    'contains every cell that a column of the %s can hold: its extremes, any text, and null',
    async (subject) => {
      const columns = exportColumns[subject];
      await fc.assert(
        fc.asyncProperty(fc.array(rowOf(subject), { minLength: 1, maxLength: 4 }), async (rows) => {
          const printed = rows.map((row) => row.map((cell) => cell?.printed ?? null));
          expect(await readBack(part, subject, printed)).toEqual(
            rows.map((row) =>
              Object.fromEntries(columns.map(({ name }, at) => [name, row[at]?.read ?? null])),
            ),
          );
        }),
      );
    },
  );

  it('contains every row, in their order', async () => {
    const rows = Array.from({ length: 2001 }, (_, n) => [String(n)]);
    const found = await readBack(part, 'ledger', rows);
    expect(found?.map(({ request_log_id: id }) => id)).toEqual(rows.flat());
  });
});

const parquetTypes: Readonly<Record<CellKind, object>> = {
  text: { type: 'BYTE_ARRAY', converted_type: 'UTF8' },
  json: { type: 'BYTE_ARRAY', converted_type: 'UTF8' },
  int32: { type: 'INT32' },
  int64: { type: 'INT64' },
  boolean: { type: 'BOOLEAN' },
  money: {
    type: 'FIXED_LEN_BYTE_ARRAY',
    type_length: 16,
    converted_type: 'DECIMAL',
    precision: 38,
    scale: 0,
  },
  instant: { type: 'INT64', converted_type: 'TIMESTAMP_MICROS' },
};

describe('a part in Parquet', () => {
  it.each(['ledger', 'request-logs'] as const)(
    'tells any reader the types of the columns of the %s, and has one group of rows',
    (subject) => {
      const columns = exportColumns[subject];
      const bytes = parquetPart.encode(columns, [[], []]);
      const { schema, row_groups: groups } = parquetMetadata(Uint8Array.from(bytes).buffer);
      expect(groups.map(({ num_rows: rows }) => rows)).toEqual([2n]);
      expect(schema.slice(1)).toMatchObject(
        columns.map(({ name, kind }) => ({ name, repetition_type: 'OPTIONAL', ...parquetTypes[kind] })),
      );
    },
  );
});
