import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { maxStreamEventBytes, maxStreamEventValues } from '../../domain/shared/limits.ts';
import type { TextFrame } from '../../domain/shared/text-frame.ts';
import { isJsonLines, jsonLineFrames } from '../../infrastructure/providers/wire/json-lines.ts';
import { byteByByte, chunkingsOf } from '../support/arbitraries/bytes.ts';
import { describeMachineLaws, outputsOf } from '../support/machine-laws.ts';
import { costWithin } from '../support/cost.ts';

const mebibyte = 1024 * 1024;

const lineSoup: fc.Arbitrary<Buffer> = fc
  .array(
    fc.tuple(
      fc.constantFrom('{"a":1}', '{"b":"Grüße 😀"}', '', ' ', '{"c":', '\uFEFF{}'),
      fc.constantFrom('\n', '\r\n', '\r', '\n\n', ''),
    ),
    { maxLength: 12 },
  )
  .map((lines) => Buffer.from(lines.flat().join('')));

describeMachineLaws('jsonLineFrames', {
  machine: jsonLineFrames,
  streams: lineSoup,
  isTerminal: ({ kind }) => kind === 'oversize',
  endless: {
    piece: Buffer.alloc(mebibyte, 'a'),
    pushes: 3 * (maxStreamEventBytes / mebibyte),
    outputs: [{ kind: 'oversize' }],
  },
});

const frameNames = (frames: readonly TextFrame[]): readonly string[] =>
  frames.map((frame) => (frame.kind === 'frame' ? frame.data : frame.kind));

const read = (...pieces: readonly (string | Buffer)[]): readonly string[] =>
  frameNames(
    outputsOf(
      jsonLineFrames,
      pieces.map((piece) => Buffer.from(piece as string)),
    ),
  );

describe('reading JSON lines', () => {
  it.each([
    ['LF', '{"a":1}\n{"a":2}\n', ['{"a":1}', '{"a":2}']],
    ['CRLF', '{"a":1}\r\n{"a":2}\r\n', ['{"a":1}', '{"a":2}']],
    ['blank lines before, between and after', '\n\r\n{"a":1}\n \n\n{"a":2}\n\n', ['{"a":1}', '{"a":2}']],
    ['a last line without a line end', '{"a":1}\n{"a":2}', ['{"a":1}', '{"a":2}']],
    ['a line that is not JSON', '<html>\n', ['<html>']],
    ['no bytes', '', []],
  ])('returns the lines of %s', (_case, text, frames) => {
    expect(read(text)).toEqual(frames);
  });

  it('ignores a last line that a broken connection cuts', () => {
    const broken = { kind: 'fault', reason: 'The connection broke.' } as const;
    const frames = outputsOf(jsonLineFrames, [Buffer.from('{"a":1}\n{"a":2}')], broken);
    expect(frameNames(frames)).toEqual(['{"a":1}']);
  });

  it('returns frames with the bytes that arrived, line ends included', () => {
    const frames = outputsOf(jsonLineFrames, [Buffer.from('{"a":1}\r\n{"a":2}\n')]);
    expect(frames.map((frame) => frame.kind === 'frame' && Buffer.from(frame.wire).toString())).toEqual([
      '{"a":1}\r\n',
      '{"a":2}\n',
    ]);
  });

  it('returns values unchanged, whatever they contain and however the bytes are split', () => {
    const values = fc.array(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 4 })), { maxLength: 6 });
    const cut = values.chain((objects) =>
      fc.tuple(
        fc.constant(objects),
        chunkingsOf(Buffer.from(objects.map((each) => `${JSON.stringify(each)}\n`).join(''))),
      ),
    );
    fc.assert(
      fc.property(cut, ([objects, pieces]) => {
        expect(read(...pieces).map((data) => JSON.parse(data) as unknown)).toEqual(
          JSON.parse(JSON.stringify(objects)),
        );
      }),
      { numRuns: 300 },
    );
  });

  it('accepts a line of the maximum size of an event, and no larger one', () => {
    const line = (bytes: number) => Buffer.concat([Buffer.alloc(bytes - 1, 'x'), Buffer.from('\n')]);
    expect(read(line(maxStreamEventBytes), '{}\n').map(({ length }) => length)).toEqual([
      maxStreamEventBytes - 1,
      2,
    ]);
    expect(read(line(maxStreamEventBytes + 1), '{}\n')).toEqual(['oversize']);
  });

  it('ends the stream at a line with too many values', () => {
    const many = `[${'0,'.repeat(maxStreamEventValues)}0]`;
    expect(read(`{"a":1}\n${many}\n{"a":2}\n`)).toEqual(['{"a":1}', 'oversize']);
    expect(read(`{"a":1}\n${many}`)).toEqual(['{"a":1}', 'oversize']);
  });

  it('takes less than 5 seconds of CPU for 200,000 bytes that arrive one by one', () => {
    const pieces = byteByByte(Buffer.from(`"${'x'.repeat(200_000)}"\n`));
    const work = (): void => {
      const run = jsonLineFrames.begin();
      expect(pieces.flatMap((piece) => run.push(piece))).toHaveLength(1);
    };
    expect(costWithin(5000, work)).toBeLessThan(5000);
  });

  it.each([
    ['application/x-ndjson', true],
    ['application/ndjson; charset=utf-8', true],
    ['application/jsonl', true],
    ['application/x-jsonlines', true],
    ['application/json', false],
    ['application/jsonld', false],
    ['text/event-stream', false],
  ])('is chosen for the content type %s: %s', (contentType, announced) => {
    expect(isJsonLines(contentType)).toBe(announced);
  });
});
