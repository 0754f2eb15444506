import { createHash } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import * as fc from 'fast-check';
import { type PartBounds, writeParts } from '../../application/export/write-parts.ts';
import { exportColumns, type ExportRow } from '../../domain/export/export-columns.ts';

const day = '2026-11-01';
const columns = exportColumns['request-logs'];

/** A row with a text of `chars` characters; all other cells except its key and its time are null. */
const rowOf = (id: string, chars: number): ExportRow =>
  columns.map(({ name }) => {
    if (name === 'request_log_id') return id;
    if (name === 'occurred_at') return `${day}T00:00:00.000000Z`;
    return name === 'user_agent_raw' ? 'x'.repeat(chars) : null;
  });

const charsOf = (rows: readonly ExportRow[]): number =>
  rows.flat().reduce((sum, cell) => sum + (cell?.length ?? 0), 0);

const digest = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

async function* pagesOf(pages: readonly (readonly ExportRow[])[]): AsyncGenerator<readonly ExportRow[]> {
  yield* pages;
}

/** What is written for these pages: the rows of each object, and the parts for the manifest. */
async function written(pages: readonly (readonly ExportRow[])[], bounds: PartBounds) {
  const objects: { readonly key: string; readonly rows: number; readonly bytes: Uint8Array }[] = [];
  let encoded = 0;
  const done = await writeParts(
    {
      source: { rowsOf: () => pagesOf(pages) },
      storage: {
        write: async (key, bytes) => {
          objects.push({ key, rows: encoded, bytes });
          return E.right(undefined);
        },
      },
      part: {
        extension: 'csv.gz',
        contentType: 'application/gzip',
        encode: (_, rows) => {
          encoded = rows.length;
          return new TextEncoder().encode(rows.map((row) => row[0]).join(' '));
        },
      },
      digest,
      bounds,
    },
    { subject: 'request-logs', day, folder: 'folder/', edition: 1, shouldContinue: () => true },
  );
  return { objects, parts: E.isRight(done) ? (done.right?.parts ?? []) : [] };
}

describe('the parts of a day', () => {
  const somePages = fc.array(fc.array(fc.nat({ max: 60 }), { minLength: 1, maxLength: 4 }), {
    maxLength: 12,
    size: 'max',
  });

  it('each end with the page that reaches the limit of rows or characters, and contain every row once', () =>
    fc.assert(
      fc.asyncProperty(
        somePages,
        fc.record({ rows: fc.integer({ min: 1, max: 12 }), chars: fc.integer({ min: 1, max: 600 }) }),
        async (sizes, bounds) => {
          const pages = sizes.map((page, at) => page.map((chars, of) => rowOf(`id-${at}-${of}`, chars)));
          const expected: ExportRow[][] = [];
          let open: ExportRow[] = [];
          for (const page of pages) {
            open = [...open, ...page];
            if (open.length < bounds.rows && charsOf(open) < bounds.chars) continue;
            expected.push(open);
            open = [];
          }
          if (open.length > 0) expected.push(open);
          const { objects, parts } = await written(pages, bounds);
          expect(objects.map(({ bytes }) => new TextDecoder().decode(bytes).split(' '))).toEqual(
            expected.map((rows) => rows.map((row) => row[0])),
          );
          expect(parts).toEqual(
            objects.map(({ key, rows, bytes }) => ({
              name: key.slice('folder/'.length),
              rows,
              bytes: bytes.length,
              sha256: digest(bytes),
              cost: undefined,
            })),
          );
        },
      ),
    ));
});
