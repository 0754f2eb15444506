import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises';
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { decodedBody, inTurns } from '../../infrastructure/mcp/decoded-body.ts';
import { maxTurnBytes } from '../../domain/shared/limits.ts';
import { chunkingsOf } from '../support/arbitraries/bytes.ts';

const codings = [
  ['br', brotliCompressSync],
  ['deflate', deflateSync],
  ['gzip', gzipSync],
  ['zstd', zstdCompressSync],
] as const;

it.each(codings)('a body in %s is decoded however its bytes are split', async (coding, compress) => {
  await fc.assert(
    fc.asyncProperty(
      fc
        .uint8Array({ minLength: 1, maxLength: 200 })
        .chain((bytes) => chunkingsOf(compress(bytes)).map((chunks) => ({ bytes, chunks }))),
      async ({ bytes, chunks }) => {
        const decoded = await buffer(decodedBody(Readable.from(chunks), coding));
        expect(decoded).toEqual(Buffer.from(bytes));
      },
    ),
    { numRuns: 50 },
  );
});

it('a body of any size is decoded for a reader that takes its time', async () => {
  const text = 'x'.repeat(5_000_000);
  let read = 0;
  for await (const piece of decodedBody(Readable.from([gzipSync(text)]), 'gzip')) {
    read += (piece as Buffer).length;
    await sleep(1);
  }
  expect(read).toBe(text.length);
});

it('a body that is all there leaves turns to other work', async () => {
  const piece = Buffer.alloc(64 * 1024);
  const sizes: number[] = [];
  let size = 0;
  const over = new AbortController();
  const look = async (): Promise<void> => {
    while (!over.signal.aborted) {
      await turn();
      sizes.push(size);
      size = 0;
    }
  };
  const looked = look();
  for await (const { length } of inTurns(Readable.from(Array(100).fill(piece)))) size += length;
  over.abort();
  await looked;
  expect(sizes.reduce((sum, each) => sum + each)).toBe(100 * piece.length);
  expect(Math.max(...sizes)).toBeLessThanOrEqual(maxTurnBytes + piece.length);
});
