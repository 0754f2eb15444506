import { EventStreamCodec } from '@smithy/eventstream-codec';
import { isDeepStrictEqual } from 'node:util';
import { parseJson } from '../../../domain/shared/json.ts';
import { maxStreamEventLines } from '../../../domain/shared/limits.ts';
import type { Sealed } from '../../../domain/shared/stream-machine.ts';
import type { TextFrame } from '../../../domain/shared/text-frame.ts';
import { exceedsEventLimits } from '../../../infrastructure/providers/wire/bounded-data.ts';
import { type EventFrame, eventFrames } from '../../../infrastructure/providers/wire/event-stream.ts';
import { jsonArrayFrames } from '../../../infrastructure/providers/wire/json-array.ts';
import { jsonLineFrames } from '../../../infrastructure/providers/wire/json-lines.ts';
import { sseFrames } from '../../../infrastructure/providers/wire/sse.ts';
import { byteByByte, cutAt } from '../../support/arbitraries/bytes.ts';
import { readEvents } from '../../recordings/received.ts';
import { streams } from '../../samples/samples.ts';
import { demand, type Probe, type Target } from '../target.ts';
import { isSameJson } from '../same-json.ts';
import { framesIn, reshapedFrames } from './event-frames.ts';
import { placesIn } from './pieces.ts';
import { jsonWords, sseWords, streamWords } from './words.ts';

/** The frames of these pieces; the machine may hold at most twice the received bytes, as its buffer grows. */
function framesOf<F>(machine: Sealed<Buffer, F>, pieces: readonly Buffer[]): readonly F[] {
  const run = machine.begin();
  const frames: F[] = [];
  let fed = 0;
  for (const piece of pieces) {
    for (const frame of run.push(piece)) frames.push(frame);
    fed += piece.length;
    demand(run.holds() >= 0 && run.holds() <= 2 * fed, 'a machine holds more than twice of what came in');
  }
  for (const frame of run.end({ kind: 'eof' })) frames.push(frame);
  return frames;
}

/** The laws of any framing, for any bytes in any pieces. */
function framingLaws<F>(machine: Sealed<Buffer, F>, input: Buffer, probe: Probe): readonly F[] {
  const { random } = probe;
  const whole = probe.step(() => framesOf(machine, [input]));
  const areSingle = input.length <= 512 && random.chance(0.3);
  const pieces = areSingle ? byteByByte(input) : cutAt(input, placesIn(input, random));
  const cut = probe.step(() => framesOf(machine, pieces));
  demand(isDeepStrictEqual(cut, whole), 'another cut of the bytes gives other frames');
  const before = machine.begin().push(input.subarray(0, random.below(input.length + 1)));
  demand(isDeepStrictEqual(before, whole.slice(0, before.length)), 'a frame depends on bytes behind it');
  return whole;
}

const bodiesOf = (contentType: RegExp): readonly Buffer[] =>
  streams.filter((each) => contentType.test(each.contentType)).map(({ body }) => body);

const picture = (frames: readonly TextFrame[]): string =>
  frames
    .slice(0, 6)
    .map((frame) =>
      frame.kind === 'frame'
        ? `${frame.event === undefined ? '' : 'n'}${Math.min(4, frame.data.split('\n').length)}${parseJson(frame.data) === undefined ? 'x' : ''}`
        : frame.kind,
    )
    .join(' ') + Math.min(frames.length, 16);

const mark = Buffer.from('\uFEFF');
/** The input without a leading byte order mark, which is not part of the stream. */
const unmarked = (input: Buffer): Buffer =>
  mark.equals(input.subarray(0, mark.length)) ? input.subarray(mark.length) : input;

/** Whether too many non-empty lines follow one another. */
const hasTooManyLines = (input: Buffer): boolean =>
  input
    .toString('latin1')
    .replaceAll(/\r\n?/g, '\n')
    .split('\n\n')
    .some((block) => block.split('\n').filter((line) => line !== '').length > maxStreamEventLines);

const sse: Target = {
  name: 'frames: server-sent events',
  samples: bodiesOf(/event-stream;/),
  words: [...sseWords, ...jsonWords],
  check: (input, probe) => {
    const frames = framingLaws(sseFrames, input, probe);
    const expected = readEvents(unmarked(input)).map(({ name, data, wire }) => ({
      kind: 'frame',
      event: name,
      data,
      wire,
    }));
    const read = frames.filter(({ kind }) => kind !== 'oversize');
    const isBounded = read.length < frames.length;
    demand(
      isDeepStrictEqual(
        read.map((frame) => ({ ...frame })),
        isBounded ? expected.slice(0, read.length) : expected,
      ),
      'the events are not those that stand there by the book',
    );
    demand(!isBounded || hasTooManyLines(input), 'an event is refused that is within the bounds');
    return picture(frames);
  },
};

const array: Target = {
  name: 'frames: elements of an array',
  samples: [...bodiesOf(/json/), Buffer.from('[{"a":"\\"]}"},\r\n {"b":[[{}]]}\n]')],
  words: jsonWords,
  check: (input, probe) => {
    const frames = framingLaws(jsonArrayFrames, input, probe);
    const value = parseJson(input.toString('utf8'));
    const elements = Array.isArray(value) ? value : [value];
    if (
      value !== undefined &&
      elements.every((each) => typeof each === 'object' && each !== null && !Array.isArray(each))
    )
      demand(
        isSameJson(
          frames.map((frame) => (frame.kind === 'frame' ? parseJson(frame.data) : undefined)),
          elements,
        ),
        'the elements are not those of the array',
      );
    return picture(frames);
  },
};

const lines: Target = {
  name: 'frames: lines',
  samples: [
    ...bodiesOf(/event-stream;/).map((body) =>
      Buffer.from(
        readEvents(body)
          .map(({ data }) => `${data}\n`)
          .join(''),
      ),
    ),
    Buffer.from('{"a":1}\r\n\n{"b":"\u2028"}'),
  ],
  words: jsonWords,
  check: (input, probe) => {
    const frames = framingLaws(jsonLineFrames, input, probe);
    const expected = input
      .toString('latin1')
      .split('\n')
      .map((line) => Buffer.from(line, 'latin1').toString().trim())
      .filter((line) => line !== '');
    // A line with too many values, members or escaped keys ends the stream.
    const read = frames.flatMap((frame) => (frame.kind === 'frame' ? [frame.data] : []));
    const isBounded = read.length < frames.length;
    demand(
      isDeepStrictEqual(read, isBounded ? expected.slice(0, read.length) : expected) &&
        (!isBounded || exceedsEventLimits(expected[read.length] ?? '')),
      'the lines are not those that stand there',
    );
    return picture(frames);
  },
};

const codec = new EventStreamCodec(
  (bytes) => Buffer.from(bytes).toString('utf8'),
  (text) => Buffer.from(text),
);

type Known = { readonly headers: Readonly<Record<string, string>>; readonly payload: Buffer } | undefined;

/** A frame as the platform's library reads it; undefined if it rejects the frame, also for its checksums. */
function knownFrame(bytes: Buffer): Known {
  try {
    const { headers, body } = codec.decode(bytes);
    const texts = Object.entries(headers).flatMap(([name, { type, value }]) =>
      type === 'string' ? [[name, value] as const] : [],
    );
    return { headers: Object.fromEntries(texts), payload: Buffer.from(body) };
  } catch {
    return undefined;
  }
}

const binary: Target = {
  name: 'frames: binary events',
  samples: bodiesOf(/amazon/),
  words: streamWords,
  reshape: reshapedFrames,
  check: (input, probe) => {
    const frames = framingLaws<EventFrame>(eventFrames, input, probe);
    const { frames: there, isCut } = framesIn(input);
    const last = frames.at(-1);
    demand(!isCut || last?.kind === 'fault', 'a cut frame is no fault');
    for (const [index, bytes] of there.entries()) {
      const frame = frames[index];
      if (frame?.kind !== 'frame') break;
      const known = knownFrame(bytes);
      if (known === undefined || !isPlain(known)) continue;
      demand(
        frame.payload.equals(known.payload) &&
          isDeepStrictEqual(Object.fromEntries(frame.headers), { ...known.headers }),
        'a frame is not what the library of the platform reads',
      );
    }
    return frames
      .slice(0, 8)
      .map((frame) =>
        frame.kind === 'fault' ? frame.fault : [...frame.headers.values()].join(',').slice(0, 60),
      )
      .join(' ');
  },
};

/** Whether no header is named `__proto__`, which is not an ordinary own key of a plain object. */
const isPlain = ({ headers }: NonNullable<Known>): boolean => !Object.keys(headers).includes('__proto__');

export const framings: readonly Target[] = [sse, array, lines, binary];
