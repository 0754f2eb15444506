import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { maxStreamEventBytes, maxStreamEventValues } from '../../domain/shared/limits.ts';
import type { TextFrame } from '../../domain/shared/text-frame.ts';
import { jsonArrayFrames } from '../../infrastructure/providers/wire/json-array.ts';
import { byteByByte, chunkingsOf } from '../support/arbitraries/bytes.ts';
import { jsonArraySoup } from '../support/arbitraries/generate-content-streams.ts';
import { describeMachineLaws, outputsOf } from '../support/machine-laws.ts';
import { costWithin } from '../support/cost.ts';

const mebibyte = 1024 * 1024;

describeMachineLaws('jsonArrayFrames', {
  machine: jsonArrayFrames,
  streams: jsonArraySoup,
  isTerminal: (frame) => frame.kind === 'oversize' || !frame.data.startsWith('{'),
  endless: {
    piece: Buffer.alloc(mebibyte, '{"a":['),
    pushes: 2 * (maxStreamEventBytes / mebibyte),
    outputs: [{ kind: 'oversize' }],
  },
});

const read = (...pieces: readonly (string | Buffer)[]) =>
  outputsOf(
    jsonArrayFrames,
    pieces.map((piece) => Buffer.from(piece as string)),
  ).map((frame: TextFrame) => (frame.kind === 'frame' ? frame.data : frame.kind));

describe('reading a JSON array', () => {
  it.each([
    ['pretty-printed', '[{\n  "a": 1\n}\n,\r\n{\n  "a": 2\n}\n]\n', ['{\n  "a": 1\n}', '{\n  "a": 2\n}']],
    ['on one line', '[{"a":1},{"a":2}]', ['{"a":1}', '{"a":2}']],
    ['brackets in strings', '[{"a":"]}\\"}","b":[{}]}]', ['{"a":"]}\\"}","b":[{}]}']],
    ['a backslash at the end of a string', '[{"a":"\\\\"},{}]', ['{"a":"\\\\"}', '{}']],
    ['an object without an array', ' {"error":{}} ', ['{"error":{}}']],
    ['an empty array', '[]', []],
    ['no bytes', '', []],
    ['bytes after the end', '[{}]{"a":1}', ['{}']],
  ])('returns the objects of %s', (_case, text, frames) => {
    expect(read(text)).toEqual(frames);
  });

  it.each([
    ['an element that is a number', '[{},7,{}]', ['{}', '7']],
    ['no array', '<html>{}', ['<']],
    ['a string', '"[{}]', ['"']],
    ['the end of an array', ']{}', [']']],
    ['garbage between the elements', '[{}x{}]', ['{}', 'x']],
  ])('returns the start of invalid input as the last frame: %s', (_case, text, frames) => {
    expect(read(text)).toEqual(frames);
  });

  it.each([['[{"a":1},{"a":2'], ['[{"a":1},{"a":"}'], ['[{"a":1}, {"a":[}']])(
    'ignores an element that is cut at the end: %s',
    (text) => {
      expect(read(text)).toEqual(['{"a":1}']);
    },
  );

  it('returns elements unchanged, whatever they contain and however the bytes are split', () => {
    const elements = fc.array(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 4 })), { maxLength: 6 });
    const cut = elements.chain((objects) => {
      const text = JSON.stringify(objects, undefined, 1);
      return fc.tuple(fc.constant(objects), chunkingsOf(Buffer.from(text)));
    });
    fc.assert(
      fc.property(cut, ([objects, pieces]) => {
        expect(read(...pieces).map((data) => JSON.parse(data) as unknown)).toEqual(
          JSON.parse(JSON.stringify(objects)),
        );
      }),
      { numRuns: 300 },
    );
  });

  it('accepts an element of the maximum size of an event, and no larger one', () => {
    const element = (bytes: number) =>
      Buffer.concat([Buffer.from('{"a":"'), Buffer.alloc(bytes - 8, 'x'), Buffer.from('"}')]);
    const most = element(maxStreamEventBytes);
    expect(read('[', most, ',{}]').map((data) => data.length)).toEqual([maxStreamEventBytes, 2]);
    expect(read('[', element(maxStreamEventBytes + 1), ',{}]')).toEqual(['oversize']);
  });

  it('ends the stream at an element with too many values', () => {
    const many = `{"a":[${'0,'.repeat(maxStreamEventValues)}0]}`;
    expect(read(`[{"a":1},${many},{"a":2}]`)).toEqual(['{"a":1}', 'oversize']);
  });

  it('takes less than 5 seconds of CPU for 200,000 bytes that arrive one by one', () => {
    const text = Buffer.from(`[{"a":"${'x'.repeat(200_000)}"}]`);
    const pieces = byteByByte(text);
    const work = (): void => {
      const run = jsonArrayFrames.begin();
      expect(pieces.flatMap((piece) => run.push(piece))).toHaveLength(1);
    };
    expect(costWithin(5000, work)).toBeLessThan(5000);
  });
});
