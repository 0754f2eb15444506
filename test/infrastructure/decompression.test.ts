import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { constants, createBrotliCompress, createGzip, createZstdCompress, zstdCompressSync } from 'node:zlib';
import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import type { ContentCoding } from '../../domain/shared/content-coding.ts';
import { decompress } from '../../infrastructure/providers/decompression.ts';
import { compressions } from '../support/compressed.ts';
import { until } from '../support/otlp-receiver.ts';

interface Out {
  readonly text: string;
  readonly whole: boolean;
  readonly times: number;
}

/** The output for these pieces, whether it was reported as whole, and how many times the end was reported. */
async function out(coding: ContentCoding, pieces: readonly Buffer[]): Promise<Out> {
  const taken: Buffer[] = [];
  const told: boolean[] = [];
  const over = Promise.withResolvers<void>();
  const decompression = decompress(coding, {
    take: (piece) => void taken.push(piece),
    over: (whole) => {
      told.push(whole);
      over.resolve();
    },
    full: () => undefined,
    room: () => undefined,
  });
  for (const piece of pieces) decompression.write(piece);
  decompression.end();
  await over.promise;
  return { text: Buffer.concat(taken).toString('hex'), whole: told[0] === true, times: told.length };
}

/** The bytes, cut into pieces at these places. */
function cutUp(bytes: Buffer, places: readonly number[]): readonly Buffer[] {
  const cuts = [0, ...places.map((each) => each % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
  return cuts.slice(1).map((cut, index) => bytes.subarray(cuts[index], cut));
}

const bytes = fc.oneof(
  fc.uint8Array({ maxLength: 300 }).map((each) => Buffer.from(each)),
  fc.integer({ min: 1, max: 150_000 }).map((size) => Buffer.alloc(size, 'abc')),
);
const places = fc.array(fc.nat(), { maxLength: 5 });

describe.each(compressions)('decompression of %s', (_, coding, compressed) => {
  it('returns the original bytes, however the input is cut', async () => {
    await fc.assert(
      fc.asyncProperty(bytes, places, async (given, cuts) => {
        const found = await out(coding, cutUp(compressed(given), cuts));
        expect(found).toEqual({ text: given.toString('hex'), whole: true, times: 1 });
      }),
      { numRuns: 12 },
    );
  });

  it('takes less than 700 ms of CPU time for 100,000 random bytes that arrive one by one', async () => {
    const bytes = compressed(randomBytes(100_000));
    const pieces = cutUp(bytes, [...bytes.keys()]);
    const before = process.cpuUsage();
    const { whole } = await out(coding, pieces);
    const { user, system } = process.cpuUsage(before);
    expect(whole).toBe(true);
    expect((user + system) / 1000).toBeLessThan(700);
  });

  it('never reports input as whole that is cut off or has trailing bytes', async () => {
    await fc.assert(
      fc.asyncProperty(bytes, fc.nat(), places, async (given, cut, cuts) => {
        const full = compressed(given);
        const [broken, more] = [
          full.subarray(0, cut % full.length),
          Buffer.concat([full, Buffer.from('{}')]),
        ];
        expect(await out(coding, cutUp(broken, cuts))).toMatchObject({ whole: false, times: 1 });
        expect(await out(coding, cutUp(more, cuts))).toMatchObject({ whole: false, times: 1 });
      }),
      { numRuns: 12 },
    );
  });

  it('stops at once when it is cancelled in the middle of a decompression bomb', async () => {
    const bomb = compressed(Buffer.alloc(16 * 1024 * 1024));
    let taken = 0;
    let told = 0;
    const decompression = decompress(coding, {
      take: (piece) => {
        taken += piece.length;
        if (taken > 1_000_000) decompression.cancel();
      },
      over: () => void (told += 1),
      full: () => undefined,
      room: () => undefined,
    });
    decompression.write(bomb);
    decompression.end();
    await until(() => taken > 1_000_000);
    const atOnce = taken;
    await sleep(50);
    expect([taken, told]).toEqual([atOnce, 0]);
    expect(taken).toBeLessThan(1_200_000);
  });
});

describe('decompression', () => {
  it.each([
    ['gzip', createGzip(), constants.Z_SYNC_FLUSH],
    ['br', createBrotliCompress(), constants.BROTLI_OPERATION_FLUSH],
    ['zstd', createZstdCompress(), constants.ZSTD_e_flush],
  ] as const)('returns each event of a flushed %s stream when it arrives', async (coding, encoder, flush) => {
    let text = '';
    const decompression = decompress(coding, {
      take: (piece) => void (text += piece.toString()),
      over: () => undefined,
      full: () => undefined,
      room: () => undefined,
    });
    encoder.on('data', (piece: Buffer) => decompression.write(piece));
    for (const event of ['data: 1\n\n', 'data: 2\n\n', 'data: 3\n\n']) {
      const before = text;
      encoder.write(event);
      encoder.flush(flush);
      await until(() => text === before + event);
    }
    decompression.cancel();
  });

  it.each([
    [23, true],
    [24, false],
  ])('accepts zstd with a window of at most 8 MiB: %d bits', async (windowLog, whole) => {
    const wide = zstdCompressSync(Buffer.alloc(20 * 1024 * 1024), {
      params: { [constants.ZSTD_c_windowLog]: windowLog, [constants.ZSTD_c_contentSizeFlag]: 0 },
    });
    expect((await out('zstd', [wide])).whole).toBe(whole);
  });

  it('of empty input is not whole', async () => {
    expect(await out('gzip', [])).toEqual({ text: '', whole: false, times: 1 });
  });

  it('returns nothing while paused, reports that it is full, and continues when resumed', async () => {
    const given = randomBytes(1024 * 1024);
    const [name, , compressed] = compressions[0];
    const asked: string[] = [];
    let taken = 0;
    const decompression = decompress(name, {
      take: (piece) => {
        taken += piece.length;
      },
      over: () => undefined,
      full: () => void asked.push('full'),
      room: () => void asked.push('room'),
    });
    const pieces = cutUp(compressed(given), [1]);
    decompression.write(pieces[0]!);
    decompression.pause();
    decompression.write(pieces[1]!);
    await sleep(50);
    expect([taken, asked]).toEqual([0, ['full']]);
    decompression.write(Buffer.alloc(0));
    decompression.resume();
    await until(() => asked.length === 2);
    decompression.end();
    await until(() => taken === given.length);
    expect(asked).toEqual(['full', 'room']);
  });
});
