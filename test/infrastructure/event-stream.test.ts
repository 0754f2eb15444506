import { isDeepStrictEqual } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { EventStreamCodec } from '@smithy/eventstream-codec';
import * as fc from 'fast-check';
import { maxEventHeadersBytes, maxStreamEventBytes } from '../../domain/shared/limits.ts';
import { type EventFrame, eventFrames } from '../../infrastructure/providers/wire/event-stream.ts';
import { vectors } from '../recordings/bedrock-library.ts';
import { leftOut } from '../recordings/left-out.ts';
import { noRecordings, named } from '../recordings/library.ts';
import { byteByByte, chunkingsOf, cutAt } from '../support/arbitraries/bytes.ts';
import {
  bytesHeader,
  eventFrame,
  frame,
  headerBytes,
  rawFrame,
  textHeader,
  type WireHeader,
} from '../support/event-stream-frames.ts';
import { describeMachineLaws, outputsOf } from '../support/machine-laws.ts';
import { costWithin } from '../support/cost.ts';

const fixedSizes = [0, 0, 1, 2, 4, 8, 0, 0, 8, 16];

const aName = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 });
const aText = fc.string({ unit: 'grapheme', maxLength: 30 });
const someBytes = (max: number): fc.Arbitrary<Buffer> =>
  fc.uint8Array({ maxLength: max }).map((bytes) => Buffer.from(bytes));

/** A header of any type. */
const aHeader: fc.Arbitrary<WireHeader> = fc.oneof(
  fc.tuple(aName, aText).map(([name, value]) => textHeader(name, value)),
  fc.tuple(aName, someBytes(30)).map(([name, value]) => bytesHeader(name, value)),
  fc
    .tuple(aName, fc.constantFrom(0, 1, 2, 3, 4, 5, 8, 9))
    .chain(([name, type]) =>
      fc
        .uint8Array({ minLength: fixedSizes[type]!, maxLength: fixedSizes[type]! })
        .map((value) => ({ name: Buffer.from(name), type, value: Buffer.from(value) })),
    ),
);

const aWrittenFrame = fc.record({
  headers: fc.uniqueArray(aHeader, { selector: ({ name }) => name.toString(), maxLength: 6 }),
  payload: someBytes(200),
});
const frames = fc.array(aWrittenFrame, { maxLength: 5 });
const written = (all: readonly { headers: readonly WireHeader[]; payload: Buffer }[]): Buffer =>
  Buffer.concat(all.map(({ headers, payload }) => frame(headers, payload)));

/** Streams with a few changed bytes, mostly lengths and types. */
const almost = fc
  .tuple(frames, fc.array(fc.tuple(fc.nat(40), fc.nat(255)), { maxLength: 3 }))
  .map(([all, changes]) => {
    const bytes = written(all);
    for (const [at, value] of changes) if (at < bytes.length) bytes[at] = value;
    return bytes;
  });

describeMachineLaws('eventFrames', {
  machine: eventFrames,
  streams: fc.oneof(frames.map(written), almost),
  isTerminal: ({ kind }) => kind === 'fault',
  endless: {
    piece: Buffer.alloc(64 * 1024, 0xff),
    pushes: 1000,
    outputs: [{ kind: 'fault', fault: 'total_length' }],
  },
});

const framesOf = (...pieces: readonly Buffer[]): readonly EventFrame[] => outputsOf(eventFrames, pieces);
const fault = (fault: string) => ({ kind: 'fault', fault });

describe('a binary event stream', () => {
  it('returns frames as they were written, however they are cut', () => {
    const cutFrames = frames.chain((all) => fc.tuple(fc.constant(all), chunkingsOf(written(all))));
    fc.assert(
      fc.property(cutFrames, ([all, pieces]) => {
        expect(framesOf(...pieces)).toEqual(
          all.map(({ headers, payload }) => ({
            kind: 'frame',
            headers: new Map(
              headers
                .filter(({ type }) => type === 7)
                .map(({ name, value }) => [name.toString(), value.subarray(2).toString()]),
            ),
            payload,
          })),
        );
      }),
      { numRuns: 300 },
    );
  });

  it('decodes frames as another implementation does', () => {
    const codec = new EventStreamCodec(
      (bytes) => (typeof bytes === 'string' ? bytes : Buffer.from(bytes).toString('utf8')),
      (text) => Buffer.from(text, 'utf8'),
    );
    fc.assert(
      fc.property(aWrittenFrame, ({ headers, payload }) => {
        // The other implementation keeps headers in a plain object, which cannot have this key.
        fc.pre(headers.every(({ name }) => name.toString() !== '__proto__'));
        const theirs = codec.decode(frame(headers, payload));
        const strings = Object.entries(theirs.headers).filter(([, { type }]) => type === 'string');
        expect(framesOf(frame(headers, payload))).toEqual([
          {
            kind: 'frame',
            headers: new Map(strings.map(([name, { value }]) => [name, value])),
            payload: Buffer.from(theirs.body),
          },
        ]);
      }),
      { numRuns: 300 },
    );
  });

  it('decodes frames that another implementation encoded', () => {
    const codec = new EventStreamCodec(
      (bytes) => (typeof bytes === 'string' ? bytes : Buffer.from(bytes).toString('utf8')),
      (text) => Buffer.from(text, 'utf8'),
    );
    fc.assert(
      fc.property(fc.uniqueArray(fc.tuple(aName, aText), { selector: ([name]) => name }), (headers) => {
        const bytes = codec.encode({
          headers: Object.fromEntries(
            headers
              .filter(([name]) => name !== '__proto__')
              .map(([name, value]) => [name, { type: 'string' as const, value }]),
          ),
          body: Buffer.from('{}'),
        });
        const expected = new Map(headers.filter(([name]) => name !== '__proto__'));
        expect(framesOf(Buffer.from(bytes))).toEqual([
          { kind: 'frame', headers: expected, payload: Buffer.from('{}') },
        ]);
      }),
    );
  });

  it('does not validate checksums', () => {
    fc.assert(
      fc.property(aWrittenFrame, someBytes(4), ({ headers, payload }, junk) => {
        const good = frame(headers, payload);
        const bad = Buffer.from(good);
        junk.copy(bad, 8);
        junk.copy(bad, bad.length - 4);
        return isDeepStrictEqual(framesOf(bad), framesOf(good));
      }),
    );
  });

  it('returns a frame with its last byte, not later and not earlier', () => {
    const bytes = eventFrame('messageStart', { role: 'assistant' });
    const run = eventFrames.begin();
    expect(run.push(bytes.subarray(0, -1))).toEqual([]);
    expect(run.push(bytes.subarray(-1))).toHaveLength(1);
    expect(run.end({ kind: 'eof' })).toEqual([]);
  });

  it('fails at the end with an incomplete frame, at whichever byte it is cut', () => {
    const bytes = Buffer.concat([eventFrame('a', {}), eventFrame('b', { text: 'é' })]);
    const first = eventFrame('a', {}).length;
    for (let end = 1; end < bytes.length; end += 1) {
      const outputs = framesOf(bytes.subarray(0, end));
      const whole = end < first ? 0 : 1;
      expect(outputs.length).toBe(end === first ? 1 : whole + 1);
      if (end !== first) expect(outputs.at(-1)).toEqual(fault('cut'));
    }
  });

  it('does not fail if it is empty', () => {
    expect(framesOf()).toEqual([]);
    expect(framesOf(Buffer.alloc(0))).toEqual([]);
  });
});

describe('the validation of lengths, boundaries and encodings', () => {
  const header = (type: number, value: readonly number[], name = 'n'): Buffer =>
    Buffer.concat([Buffer.from([name.length]), Buffer.from(name), Buffer.from([type, ...value])]);
  const withHeaders = (...headers: readonly Buffer[]): Buffer =>
    rawFrame(Buffer.concat(headers), Buffer.from('{}'));

  it.each([
    ['a total length of 0', rawFrame(Buffer.alloc(0), Buffer.alloc(0), { total: 0 }), 'total_length'],
    ['a total length below 16', rawFrame(Buffer.alloc(0), Buffer.alloc(0), { total: 15 }), 'total_length'],
    [
      'a total length that is too large',
      rawFrame(Buffer.alloc(0), Buffer.alloc(0), { total: 2 ** 32 - 1 }),
      'total_length',
    ],
    [
      'headers longer than the frame',
      rawFrame(Buffer.alloc(0), Buffer.alloc(8), { headers: 9 }),
      'headers_length',
    ],
    ['headers that end inside a name', withHeaders(Buffer.from([4, 0x61])), 'header_boundary'],
    ['headers that end before a type', withHeaders(Buffer.from([1, 0x61])), 'header_boundary'],
    ['headers that end inside a length', withHeaders(header(7, [0])), 'header_boundary'],
    ['headers that end after a length', withHeaders(header(7, [0, 2])), 'header_boundary'],
    ['headers that end inside a string', withHeaders(header(7, [0, 2, 0x61])), 'header_boundary'],
    ['headers that end inside bytes', withHeaders(header(6, [0, 2, 0x61])), 'header_boundary'],
    ['headers that end inside a byte', withHeaders(header(2, [])), 'header_boundary'],
    ['headers that end inside a short', withHeaders(header(3, [1])), 'header_boundary'],
    ['headers that end inside an integer', withHeaders(header(4, [1, 2, 3])), 'header_boundary'],
    ['headers that end inside a long', withHeaders(header(5, [1, 2, 3, 4, 5, 6, 7])), 'header_boundary'],
    ['headers that end inside a timestamp', withHeaders(header(8, [1, 2, 3, 4, 5, 6, 7])), 'header_boundary'],
    ['headers that end inside a UUID', withHeaders(header(9, [1, 2, 3])), 'header_boundary'],
    ['a header without a name', withHeaders(header(0, [], '')), 'header_boundary'],
    ['an unknown header type', withHeaders(header(10, [])), 'header_type'],
    [
      'an unknown header type after known ones',
      withHeaders(header(0, []), header(1, []), header(255, [])),
      'header_type',
    ],
    ['a name that is not UTF-8', withHeaders(Buffer.from([1, 0xff, 0])), 'header_encoding'],
    ['a string that is not UTF-8', withHeaders(header(7, [0, 2, 0xc3, 0x28])), 'header_encoding'],
    ['a string cut inside a character', withHeaders(header(7, [0, 1, 0xc3])), 'header_encoding'],
  ])('fails at %s, and returns nothing after it', (_, bytes, expected) => {
    const before = eventFrame('a', {});
    const stream = Buffer.concat([before, bytes, eventFrame('b', {})]);
    for (const pieces of [[stream], byteByByte(stream)]) {
      const outputs = framesOf(...pieces);
      expect(outputs.slice(1)).toEqual([fault(expected)]);
      expect(outputs[0]).toMatchObject({ kind: 'frame' });
    }
  });

  it('accepts bytes that are not UTF-8 in a header of bytes', () => {
    expect(framesOf(frame([bytesHeader('n', Buffer.from([0xff]))], Buffer.alloc(0)))).toMatchObject([
      { kind: 'frame' },
    ]);
  });

  it('never returns the frame if one of its lengths is wrong', () => {
    const wrong = fc.record({
      frame: aWrittenFrame,
      total: fc.option(fc.nat({ max: 2 ** 32 - 1 }), { nil: undefined }),
      headers: fc.option(fc.nat({ max: 2 ** 32 - 1 }), { nil: undefined }),
    });
    fc.assert(
      fc.property(wrong, ({ frame: { headers, payload }, total, headers: length }) => {
        const bytes = headerBytes(headers);
        const right = bytes.length + payload.length + 16;
        fc.pre((total ?? right) !== right || (length ?? bytes.length) !== bytes.length);
        const told = {
          ...(total === undefined ? {} : { total }),
          ...(length === undefined ? {} : { headers: length }),
        };
        const outputs = framesOf(rawFrame(bytes, payload, told));
        return !isDeepStrictEqual(outputs, framesOf(frame(headers, payload)));
      }),
      { numRuns: 300 },
    );
  });
});

describe('the limits of frames', () => {
  const sized = (total: number): Buffer => rawFrame(Buffer.alloc(0), Buffer.alloc(total - 16, 'a'));

  it.each([
    ['at once', (bytes: Buffer) => [bytes]],
    ['in network chunks', (bytes: Buffer) => chunksOf(bytes, 16_384)],
    ['in uneven pieces', (bytes: Buffer) => cutAt(bytes, [1, 5, 11, 12, 13, 100_000, bytes.length - 1])],
  ])('accept a frame of the maximum size that arrives %s', (_, cut) => {
    const outputs = framesOf(...cut(sized(maxStreamEventBytes)));
    expect(outputs.map(({ kind }) => kind)).toEqual(['frame']);
    expect(outputs[0]).toMatchObject({ payload: { length: maxStreamEventBytes - 16 } });
  });

  it('fail a frame that announces one byte more at its twelfth byte', () => {
    const prelude = rawFrame(Buffer.alloc(0), Buffer.alloc(0), { total: maxStreamEventBytes + 1 });
    const run = eventFrames.begin();
    expect(run.push(prelude.subarray(0, 11))).toEqual([]);
    expect(run.push(prelude.subarray(11, 12))).toEqual([fault('total_length')]);
  });

  it('count the buffer of an incomplete frame, which grows ahead of its bytes but not past its end', () => {
    const run = eventFrames.begin();
    const held = cutAt(sized(100_000), [40_000, 40_001, 80_001]).map((piece) => {
      run.push(piece);
      return run.holds();
    });
    expect(held).toEqual([40_000, 80_000, 100_000, 0]);
  });

  it('accept headers of the maximum length, and no longer ones', () => {
    const filler = (length: number): Buffer =>
      headerBytes([
        bytesHeader('a', Buffer.alloc(65_535)),
        bytesHeader('b', Buffer.alloc(length - (65_535 + 5) - 5)),
      ]);
    const most = filler(maxEventHeadersBytes);
    expect(most.length).toBe(maxEventHeadersBytes);
    expect(framesOf(rawFrame(most, Buffer.alloc(1)))).toMatchObject([{ kind: 'frame' }]);
    const tooLong = rawFrame(Buffer.alloc(0), Buffer.alloc(0), {
      total: maxEventHeadersBytes + 17,
      headers: maxEventHeadersBytes + 1,
    });
    expect(framesOf(tooLong)).toEqual([fault('headers_length')]);
  });

  it('leave the time for a frame that arrives byte by byte linear in its length', () => {
    const cost = (size: number, boundMs: number): number => {
      const bytes = sized(size);
      return costWithin(boundMs, () => {
        const run = eventFrames.begin();
        for (let at = 0; at < bytes.length; at += 1) run.push(bytes.subarray(at, at + 1));
      });
    };
    cost(50_000, 0);
    const bound = 50 * Math.max(1, cost(100_000, 0));
    // Ten times the bytes; quadratic time would be a hundred times as long.
    expect(cost(1_000_000, bound)).toBeLessThan(bound);
  });
});

const chunksOf = (bytes: Buffer, size: number): readonly Buffer[] =>
  Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
    bytes.subarray(at * size, (at + 1) * size),
  );

describe('published vectors, decoded without checksums,', () => {
  if (noRecordings !== undefined) return leftOut(noRecordings);
  it('are at least 15, and three with invalid checksums are accepted', () => {
    const accepted = vectors().filter(({ facts }) => facts.expectWithoutChecksums === 'accept');
    expect(vectors().length).toBeGreaterThanOrEqual(15);
    expect(accepted.filter(({ facts }) => facts.expectWithChecksums === 'invalid')).toHaveLength(3);
  });

  it.each(named(vectors()))('decode or fail as recorded: %s', (_name, { body: bytes, facts }) => {
    for (const pieces of [[bytes], byteByByte(bytes)]) {
      const outputs = framesOf(...pieces);
      if (facts.expectWithoutChecksums === 'accept') {
        const { headers = [], payloadHex = '' } = facts.decoded ?? {};
        const strings = headers.filter(({ string }) => string !== undefined);
        expect(outputs).toEqual([
          {
            kind: 'frame',
            headers: new Map(strings.map(({ name, string }) => [name, string])),
            payload: Buffer.from(payloadHex, 'hex'),
          },
        ]);
      } else expect(outputs.at(-1)).toMatchObject({ kind: 'fault' });
    }
  });
});
