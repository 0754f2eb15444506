import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import type { JsonObject } from '../../domain/shared/json.ts';
import {
  maxJsonDepth,
  maxStreamEventValues,
  maxTranslatedToolCalls,
  maxUpstreamErrorBytes,
} from '../../domain/shared/limits.ts';
import type { Ending } from '../../domain/shared/stream-machine.ts';
import { cutAt } from '../support/arbitraries/bytes.ts';
import { errorFrame, eventFrame, exceptionFrame, frame, textHeader } from '../support/event-stream-frames.ts';
import { outputsOf } from '../support/machine-laws.ts';
import {
  anEvent,
  delta,
  eventsOf,
  input,
  machine,
  metadata,
  role,
  start,
  started,
  stop,
  stopped,
  summed,
  text,
  told,
  tool,
} from './unified-stream-told.ts';

const malformed = { failed: 'The upstream sent a malformed event.' };
const premature = { failed: 'The upstream ended its stream before the answer was complete.' };

/** Corrupts a frame whatever it holds: its lengths, or the name, the type or the length of its first header. */
const aCorruption: fc.Arbitrary<(bytes: Buffer) => Buffer> = fc.oneof(
  fc.tuple(fc.constantFrom(0, 4), fc.nat({ max: 2 ** 32 - 1 })).map(([field, length]) => (bytes: Buffer) => {
    const changed = Buffer.from(bytes);
    changed.writeUInt32BE(changed.readUInt32BE(field) === length ? length ^ 1 : length, field);
    return changed;
  }),
  fc.constantFrom(0, 255).map((length) => withByte(() => 12, length)),
  fc.integer({ min: 10, max: 255 }).map((type) => withByte((bytes) => 13 + bytes[12]!, type)),
  fc.constant(withByte((bytes) => 14 + bytes[12]!, 0xff)),
  fc.constant(withByte(() => 13, 0xff)),
);

function withByte(at: (bytes: Buffer) => number, value: number): (bytes: Buffer) => Buffer {
  return (bytes) => {
    const changed = Buffer.from(bytes);
    changed[at(bytes)] = value;
    return changed;
  };
}

describe('exception, malformed and incomplete frames fail the stream', () => {
  it('an event with too many values fails the stream', () => {
    const many = Array.from({ length: maxStreamEventValues + 1 }, () => 0);
    expect(told([started, text('a'), eventFrame('contentBlockDelta', { many }), text('b')]).at(-1)).toEqual(
      malformed,
    );
  });

  it('an exception over the limit of error messages fails the stream, without its message', () => {
    const exception = exceptionFrame('throttlingException', { message: 'w'.repeat(maxUpstreamErrorBytes) });
    expect(told([started, exception]).at(-1)).toEqual({
      failed: 'The upstream reported an error (throttlingException).',
    });
  });

  it.each([
    ['throttlingException', 429],
    ['validationException', 400],
    ['modelTimeoutException', 408],
    ['serviceUnavailableException', 503],
    ['internalServerException', 502],
    ['modelStreamErrorException', 502],
    ['somethingNewException', 502],
  ])('the exception %s fails the stream at any place, with its status', (type, status) => {
    const failed = {
      kind: 'failed',
      error: {
        code: 'upstream_error',
        message: 'It is *** why.',
        upstream: { status, labels: { code: type } },
      },
    };
    const frame = exceptionFrame(type, { message: 'It is secret why.' });
    expect(eventsOf([frame, started, text('a')])).toEqual([failed]);
    expect(eventsOf([started, text('a'), frame, stop()]).slice(2)).toEqual([failed]);
    expect(eventsOf([started, stop(), frame, metadata()]).slice(2)).toEqual([failed]);
  });

  it('an exception without a message is reported by its type', () => {
    const failed = { failed: 'The upstream reported an error (throttlingException).' };
    expect(told([exceptionFrame('throttlingException', {})])).toEqual([failed]);
    const bare = frame([textHeader(':message-type', 'exception')], Buffer.from('?'));
    expect(told([bare])).toEqual([{ failed: 'The upstream reported an error.' }]);
  });

  it('an error frame is reported with its message, sanitised, or with its code', () => {
    expect(told([errorFrame('InternalFailure', 'A secret broke.')])).toEqual([{ failed: 'A *** broke.' }]);
    const unexplained = 'The upstream reported an error (InternalFailure).';
    const bare = frame(
      [textHeader(':message-type', 'error'), textHeader(':error-code', 'InternalFailure')],
      Buffer.alloc(0),
    );
    for (const error of [errorFrame('InternalFailure', ''), bare])
      expect(eventsOf([error])).toMatchObject([
        { error: { message: unexplained, upstream: { labels: { code: 'InternalFailure' } } } },
      ]);
    expect(told([errorFrame('', '')])).toEqual([{ failed: 'The upstream reported an error.' }]);
  });

  const raw = (type: string, payload: string | Buffer): Buffer =>
    frame([textHeader(':message-type', 'event'), textHeader(':event-type', type)], Buffer.from(payload));
  const payloads: readonly (readonly [string, Buffer])[] = [
    ['incomplete JSON', raw('contentBlockDelta', '{"a":')],
    ['an empty payload', raw('contentBlockDelta', '')],
    ['an array', raw('contentBlockDelta', '[]')],
    [
      'invalid UTF-8',
      raw('contentBlockDelta', Buffer.from('{"contentBlockIndex":0,"delta":{"text":"\xff"}}', 'latin1')),
    ],
    [
      'nesting of 5000 levels',
      raw('messageStop', `{"stopReason":"end_turn","x":${'['.repeat(5000)}${']'.repeat(5000)}}`),
    ],
    [
      'nesting just beyond the limit',
      raw(
        'messageStop',
        `{"stopReason":"end_turn","x":${'['.repeat(maxJsonDepth)}${']'.repeat(maxJsonDepth)}}`,
      ),
    ],
    ['another role', eventFrame('messageStart', { role: 'user' })],
    ['a delta without an index', eventFrame('contentBlockDelta', { delta: { text: 'a' } })],
    ['a delta with a bad index', delta(-1, { text: 'a' })],
    ['a delta with a fractional index', delta(0.5, { text: 'a' })],
    ['a start without an index', eventFrame('contentBlockStart', { start: { image: {} } })],
    ['a delta without a delta', eventFrame('contentBlockDelta', { contentBlockIndex: 0 })],
    ['text that is not a string', delta(0, { text: 1 })],
    ['reasoning that is not an object', delta(0, { reasoningContent: 'a' })],
    ['arguments of a tool that never started', input(5, '{}')],
    ['arguments that are not a string', delta(1, { toolUse: { input: {} } })],
    ['a start without a block', eventFrame('contentBlockStart', { contentBlockIndex: 2 })],
    ['a tool without an id', start(2, { toolUse: { name: 'f' } })],
    ['a tool without a name', start(2, { toolUse: { toolUseId: 'a' } })],
    ['a tool that is not an object', start(2, { toolUse: 1 })],
    ['an empty tool', start(2, { toolUse: {} })],
    ['a block that starts twice', tool(1, 'b', 'g')],
    ['a block stop without an index', eventFrame('contentBlockStop', {})],
    ['a stop without a reason', eventFrame('messageStop', {})],
    ['no message type', frame([textHeader(':event-type', 'messageStop')], Buffer.from('{}'))],
    ['an unknown message type', frame([textHeader(':message-type', 'x')], Buffer.from('{}'))],
    ['no event type', frame([textHeader(':message-type', 'event')], Buffer.from('{}'))],
    ['a bad frame', Buffer.from([0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0])],
  ];

  it.each(payloads)('a malformed frame fails the stream, and nothing follows: %s', (_, bytes) => {
    const before = [started, tool(1, 'a', 'f')];
    const events = told([...before, bytes, text('b'), stop(), metadata()]);
    expect(events.slice(2)).toEqual([malformed]);
  });

  it.each([
    ['text', text('a')],
    ['a role', started],
    ['a tool', tool(1, 'a', 'f')],
    ['arguments', input(0, '{}')],
    ['a bad frame', Buffer.from([0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0])],
  ])('after the stop, %s fails the stream', (_, bytes) => {
    expect(told([started, stop(), bytes, metadata()])).toEqual([role, { finish: 'stop' }, malformed]);
  });

  it('an end before the stop, or inside a frame after it, is a premature end, at every byte', () => {
    const whole = Buffer.concat([started, text('a'), stopped(0), stop(), metadata()]);
    const complete = new Set([Buffer.concat([started, text('a'), stopped(0), stop()]).length, whole.length]);
    for (let end = 0; end <= whole.length; end += 1) {
      const ends = told([whole.subarray(0, end)]).filter(
        (event) => event === 'done' || (event as JsonObject)['failed'] !== undefined,
      );
      expect(ends).toEqual([complete.has(end) ? 'done' : premature]);
    }
  });

  it('a broken connection fails the stream, also inside a frame after the stop, but not between frames after it', () => {
    const broken: Ending = { kind: 'fault', reason: 'It broke.', status: 504 };
    const cut = metadata().subarray(0, 20);
    expect(told([started, cut], broken)).toEqual([role, { failed: 'It broke.' }]);
    expect(told([started, stop(), cut], broken)).toEqual([role, { finish: 'stop' }, { failed: 'It broke.' }]);
    expect(told([started, stop()], broken)).toEqual([role, { finish: 'stop' }, 'done']);
  });

  it('malformed output of the model fails the stream, with the usage that follows', () => {
    const failed = {
      kind: 'failed',
      error: { message: expect.stringContaining('malformed_tool_use'), code: 'upstream_error' },
    };
    const frames = [started, text('a'), stop('malformed_tool_use')];
    expect(eventsOf([...frames, metadata()]).slice(2)).toMatchObject([{ ...failed, chunk: summed }]);
    expect(eventsOf(frames).slice(2)).toMatchObject([failed]);
  });

  it('more tools or other blocks than the limit fail the stream', () => {
    const tools = Array.from({ length: maxTranslatedToolCalls + 1 }, (_, index) => tool(index, 'a', 'f'));
    expect(told([started, ...tools, stop()]).at(-1)).toEqual(malformed);
    const foreign = Array.from({ length: maxTranslatedToolCalls + 1 }, (_, index) =>
      start(index, { image: {} }),
    );
    expect(told([started, ...foreign, stop()]).at(-1)).toEqual(malformed);
    expect(told([started, ...foreign.slice(1), stop()]).at(-1)).toBe('done');
    const closed = tools.flatMap((each, index) => [each, stopped(index)]);
    expect(told([started, ...closed, stop()]).at(-1)).toEqual(malformed);
    expect(told([started, ...closed.slice(0, -2), stop()]).at(-1)).toBe('done');
  });

  it('any corrupted length or header is one failure, and nothing follows it', () => {
    const aWord = fc.string({ unit: 'grapheme', maxLength: 40 }).map((words) => text(words));
    const anAnswer = fc
      .array(fc.oneof(aWord, fc.constantFrom(tool(1, 'a', 'f'), stopped(1))), { maxLength: 6 })
      .map((said) => [started, ...said, stop()]);
    fc.assert(
      fc.property(anAnswer, fc.nat(), fc.nat(), aCorruption, (answer, place, cut, corrupt) => {
        const at = place % answer.length;
        const bytes = Buffer.concat([...answer.with(at, corrupt(answer[at]!)), metadata()]);
        const pieces = cutAt(bytes, [cut % bytes.length]);
        const events = outputsOf(machine, pieces);
        expect(events.filter(({ kind }) => kind !== 'chunk').map(({ kind }) => kind)).toEqual(['failed']);
        expect(events.at(-1)!.kind).toBe('failed');
      }),
      { numRuns: 500 },
    );
  });

  it('any stream has one end, which is its last event', () => {
    fc.assert(
      fc.property(fc.array(anEvent, { maxLength: 10 }), (frames) => {
        const ends = eventsOf(frames).map(({ kind }) => kind !== 'chunk');
        expect(ends.indexOf(true)).toBe(ends.length - 1);
      }),
      { numRuns: 300 },
    );
  });

  it('any text is passed on unchanged', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'grapheme' })), (words) => {
        const content = told([started, ...words.map((each) => text(each)), stop()])
          .map((event) => (event as { content?: string }).content ?? '')
          .join('');
        expect(content).toBe(words.join(''));
      }),
    );
  });
});
