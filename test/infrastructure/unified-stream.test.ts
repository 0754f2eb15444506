import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import type { JsonObject } from '../../domain/shared/json.ts';
import { maxTranslatedToolCalls } from '../../domain/shared/limits.ts';
import type { StreamEvent } from '../../domain/shared/stream-event.ts';
import { andThen, type Ending, seal } from '../../domain/shared/stream-machine.ts';
import { unifiedStream } from '../../infrastructure/providers/cloud-b/unified-stream.ts';
import { eventFrames } from '../../infrastructure/providers/wire/event-stream.ts';
import { cutAt } from '../support/arbitraries/bytes.ts';
import { aJson } from '../support/arbitraries/json-text.ts';
import { errorFrame, eventFrame, exceptionFrame, frame, textHeader } from '../support/event-stream-frames.ts';
import { describeMachineLaws, outputsOf } from '../support/machine-laws.ts';

const names = { id: 'chatcmpl-1', model: 'asked-for', createdSecs: 1_700_000_000 };
const sanitise = (message: string): string => message.replaceAll('secret', '***');
const machine = andThen(eventFrames, seal(unifiedStream(names, sanitise)));

const started = eventFrame('messageStart', { role: 'assistant', p: 'abc' });
const start = (contentBlockIndex: number, block: JsonObject): Buffer =>
  eventFrame('contentBlockStart', { contentBlockIndex, start: block });
const tool = (index: number, toolUseId: string, name: string, type?: string): Buffer =>
  start(index, { toolUse: { toolUseId, name, ...(type === undefined ? {} : { type }) } });
const delta = (contentBlockIndex: number, piece: JsonObject): Buffer =>
  eventFrame('contentBlockDelta', { contentBlockIndex, delta: piece, p: 'abcdefgh' });
const text = (words: string, index = 0): Buffer => delta(index, { text: words });
const input = (index: number, words: string): Buffer => delta(index, { toolUse: { input: words } });
const stopped = (contentBlockIndex: number): Buffer => eventFrame('contentBlockStop', { contentBlockIndex });
const stop = (stopReason = 'end_turn', more: JsonObject = {}): Buffer =>
  eventFrame('messageStop', { stopReason, ...more });
const metadata = (more: JsonObject = {}): Buffer =>
  eventFrame('metadata', {
    usage: { inputTokens: 3, outputTokens: 4, totalTokens: 7 },
    metrics: { latencyMs: 1 },
    ...more,
  });

type Event = StreamEvent<JsonObject>;
const eventsOf = (frames: readonly Buffer[], ending?: Ending): readonly Event[] =>
  outputsOf(machine, [Buffer.concat(frames)], ending);

interface Chunk {
  readonly choices: readonly { readonly delta: JsonObject; readonly finish_reason: string | null }[];
  readonly usage?: JsonObject;
  readonly provider_metadata?: JsonObject;
}

/** What a caller reads: each delta, finish reason, usage and end, one after the other. */
const told = (frames: readonly Buffer[], ending?: Ending): readonly unknown[] =>
  eventsOf(frames, ending).map((event) => {
    if (event.kind === 'failed') return { failed: event.error.message };
    if (event.kind === 'done') return 'done';
    const { choices, usage } = event.chunk as unknown as Chunk;
    const [choice] = choices;
    if (choice === undefined) return { usage };
    return choice.finish_reason === null ? choice.delta : { finish: choice.finish_reason };
  });

const role = { role: 'assistant', content: '' };
const summed = { usage: { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 } };
const malformed = { failed: 'The upstream sent a malformed event.' };
const premature = { failed: 'The upstream ended its stream before the answer was complete.' };

const anEvent: fc.Arbitrary<Buffer> = fc.oneof(
  fc.constantFrom(
    started,
    tool(1, 'a', 'f'),
    tool(2, 'b', 'g'),
    tool(3, 'c', 'h', 'server_tool_use'),
    stopped(0),
    stopped(1),
    stop(),
    stop('tool_use'),
    stop('malformed_tool_use'),
    metadata(),
    eventFrame('unheardOf', {}),
    exceptionFrame('throttlingException', { message: 'Slow down.' }),
    errorFrame('InternalFailure', 'a'),
    frame([], Buffer.alloc(0)),
    Buffer.from([0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]),
  ),
  fc.string({ unit: 'grapheme', maxLength: 10 }).map((words) => text(words)),
  fc.tuple(fc.nat(3), fc.string({ maxLength: 6 })).map(([index, words]) => input(index, words)),
  fc
    .tuple(
      fc.constantFrom('messageStart', 'contentBlockStart', 'contentBlockDelta', 'messageStop', 'metadata'),
      fc.dictionary(
        fc.constantFrom('role', 'contentBlockIndex', 'start', 'delta', 'stopReason', 'usage', 'trace'),
        aJson,
      ),
    )
    .map(([type, payload]) => eventFrame(type, payload)),
);

/** Makes a frame wrong whatever it holds: its lengths, or the name, the type or the length of its first header. */
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

describeMachineLaws('unifiedStream', {
  machine,
  streams: fc
    .tuple(fc.array(anEvent, { maxLength: 8 }), fc.nat(20))
    .map(([events, cut]) => Buffer.concat([started, ...events]).subarray(0, cut === 0 ? -1 : undefined)),
  isTerminal: ({ kind }) => kind !== 'chunk',
  endless: {
    piece: Buffer.alloc(1024, 0xff),
    pushes: 100,
    outputs: [{ kind: 'failed', error: expect.anything() as never }],
  },
});

describe('a converse stream as a chat stream', () => {
  it('tells role, text, finish reason and usage, and is done at the end of the stream', () => {
    expect(told([started, text('Hel'), text('lo'), stopped(0), stop(), metadata()])).toEqual([
      role,
      { content: 'Hel' },
      { content: 'lo' },
      { finish: 'stop' },
      summed,
      'done',
    ]);
  });

  it('chunks carry the requested model, names of the gateway’s own, and no padding', () => {
    expect(eventsOf([started, text('a'), stop(), metadata()])).toEqual([
      chunkOf(role, null),
      chunkOf({ content: 'a' }, null),
      chunkOf({}, 'stop'),
      {
        kind: 'chunk',
        chunk: { ...head, choices: [], ...summed },
        wire: undefined,
        terminal: false,
      },
      { kind: 'done' },
    ]);
  });

  const head = {
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    created: 1_700_000_000,
    model: 'asked-for',
  };
  const chunkOf = (delta: JsonObject, reason: string | null) => ({
    kind: 'chunk',
    chunk: { ...head, choices: [{ index: 0, delta, logprobs: null, finish_reason: reason }] },
    wire: undefined,
    terminal: reason !== null,
  });

  it('is not done at the stop: metadata come after it', () => {
    const run = machine.begin();
    expect(run.push(Buffer.concat([started, stop()])).map(({ kind }) => kind)).toEqual(['chunk', 'chunk']);
    expect(run.push(metadata())).toMatchObject([{ kind: 'chunk', chunk: summed }]);
    expect(run.end({ kind: 'eof' })).toEqual([{ kind: 'done' }]);
  });

  it('usage that comes before the stop, or not at all, is no trouble', () => {
    expect(told([started, metadata(), stop()])).toEqual([role, summed, { finish: 'stop' }, 'done']);
    expect(told([started, stop(), metadata({ usage: null })])).toEqual([role, { finish: 'stop' }, 'done']);
    expect(told([started, stop()])).toEqual([role, { finish: 'stop' }, 'done']);
  });

  it('the role comes first also where the upstream forgets it, and once where it repeats it', () => {
    expect(told([text('a'), stop()])).toEqual([role, { content: 'a' }, { finish: 'stop' }, 'done']);
    expect(told([stop()])).toEqual([role, { finish: 'stop' }, 'done']);
    expect(told([started, started, stop()])).toEqual([role, { finish: 'stop' }, 'done']);
  });

  it('empty text says nothing', () => {
    expect(told([started, text(''), text('a'), text(''), stop()])).toEqual([
      role,
      { content: 'a' },
      { finish: 'stop' },
      'done',
    ]);
  });

  const own = (members: JsonObject) => ({ provider_metadata: { cloud_b_platform: members } });
  const called = (index: number, id: string, name: string) => ({
    tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }],
  });
  const argued = (index: number, words: string) => ({
    tool_calls: [{ index, function: { arguments: words } }],
  });

  it('tool indexes are counted from 0 among tools', () => {
    expect(
      told([
        started,
        text('Well.'),
        stopped(0),
        tool(1, 'a', 'f'),
        input(1, '{"x":'),
        input(1, '1}'),
        stopped(1),
        text('And', 2),
        tool(3, 'b', 'g'),
        input(3, ''),
        input(3, '{}'),
        stopped(3),
        stop('tool_use'),
      ]),
    ).toEqual([
      role,
      { content: 'Well.' },
      called(0, 'a', 'f'),
      argued(0, '{"x":'),
      argued(0, '1}'),
      { content: 'And' },
      called(1, 'b', 'g'),
      argued(1, '{}'),
      { finish: 'tool_calls' },
      'done',
    ]);
  });

  it('arguments that come interleaved stay with their tools', () => {
    expect(
      told([
        started,
        tool(0, 'a', 'f'),
        tool(1, 'b', 'g'),
        input(1, '{"y'),
        input(0, '{"x'),
        stop('tool_use'),
      ]),
    ).toEqual([
      role,
      called(0, 'a', 'f'),
      called(1, 'b', 'g'),
      argued(1, '{"y'),
      argued(0, '{"x'),
      { finish: 'tool_calls' },
      'done',
    ]);
  });

  it('no-argument tools end as `{}`, also where their block is never stopped', () => {
    expect(
      told([started, tool(0, 'a', 'f'), input(0, ''), stopped(0), tool(1, 'b', 'g'), stop('tool_use')]),
    ).toEqual([
      role,
      called(0, 'a', 'f'),
      argued(0, '{}'),
      called(1, 'b', 'g'),
      argued(1, '{}'),
      { finish: 'tool_calls' },
      'done',
    ]);
  });

  it('calls are waited for, also where the model says that its turn has ended', () => {
    expect(told([started, tool(0, 'a', 'f'), stopped(0), stop('end_turn')])).toContainEqual({
      finish: 'tool_calls',
    });
  });

  it('tools that the platform runs itself are no calls of the caller’s, and kept as they came', () => {
    expect(
      told([
        started,
        tool(0, 'a', 'interpreter', 'server_tool_use'),
        input(0, '{}'),
        stopped(0),
        start(1, { toolResult: { toolUseId: 'a' } }),
        delta(1, { toolResult: [{ json: {} }] }),
        stopped(1),
        tool(2, 'b', 'f', 'tool_use'),
        stopped(2),
        stop('tool_use'),
      ]),
    ).toEqual([
      role,
      own({
        blocks: [
          { index: 0, start: { toolUse: { toolUseId: 'a', name: 'interpreter', type: 'server_tool_use' } } },
        ],
      }),
      own({ blocks: [{ index: 0, delta: { toolUse: { input: '{}' } } }] }),
      own({ blocks: [{ index: 1, start: { toolResult: { toolUseId: 'a' } } }] }),
      own({ blocks: [{ index: 1, delta: { toolResult: [{ json: {} }] } }] }),
      called(0, 'b', 'f'),
      argued(0, '{}'),
      { finish: 'tool_calls' },
      'done',
    ]);
  });

  it('reasoning becomes metadata of deltas, and never content', () => {
    expect(
      told([
        started,
        delta(0, { reasoningContent: { text: 'Hm' } }),
        delta(0, { reasoningContent: { signature: 's' } }),
        delta(1, { reasoningContent: { redactedContent: 'AAAA' } }),
        delta(1, { reasoningContent: {} }),
        text('Yes.', 2),
        stop(),
      ]),
    ).toEqual([
      role,
      own({ reasoning: [{ index: 0, type: 'thinking', thinking: 'Hm' }] }),
      own({ reasoning: [{ index: 0, type: 'thinking', signature: 's' }] }),
      own({ reasoning: [{ index: 1, type: 'redacted_thinking', data: 'AAAA' }] }),
      { content: 'Yes.' },
      { finish: 'stop' },
      'done',
    ]);
  });

  it('citations become metadata of deltas', () => {
    const citation = { title: 'a' };
    expect(told([started, delta(0, { citation }), stop()])).toContainEqual({
      provider_metadata: { cloud_b_platform: { citations: [citation] } },
    });
  });

  it('what the caller asked for beside the message comes with the stop and with the usage', () => {
    const events = eventsOf([
      started,
      stop('end_turn', { additionalModelResponseFields: { a: 1 } }),
      metadata({ trace: { b: 2 }, performanceConfig: { latency: 'standard' } }),
    ]);
    const own = events.flatMap((event) =>
      event.kind === 'chunk' ? [(event.chunk as unknown as Chunk).provider_metadata] : [],
    );
    expect(own).toEqual([
      undefined,
      { cloud_b_platform: { additionalModelResponseFields: { a: 1 } } },
      { cloud_b_platform: { trace: { b: 2 }, performanceConfig: { latency: 'standard' } } },
    ]);
  });

  it('and keeps every digit', () => {
    const exact = frame(
      [textHeader(':message-type', 'event'), textHeader(':event-type', 'messageStop')],
      Buffer.from('{"stopReason":"end_turn","additionalModelResponseFields":{"n":9007199254740993}}'),
    );
    expect(JSON.stringify(eventsOf([started, exact]))).toContain('{"n":9007199254740993}');
  });

  it('events that nobody knows are passed over, whatever they hold', () => {
    const unknown = frame(
      [textHeader(':message-type', 'event'), textHeader(':event-type', 'unheardOf')],
      Buffer.from('no JSON'),
    );
    expect(told([unknown, started, unknown, stop(), unknown])).toEqual([role, { finish: 'stop' }, 'done']);
  });

  it('blocks that chat has no word for are kept as they came', () => {
    expect(
      told([started, start(1, { image: {} }), delta(1, { hologram: {} }), delta(1, {}), stop()]),
    ).toEqual([
      role,
      own({ blocks: [{ index: 1, start: { image: {} } }] }),
      own({ blocks: [{ index: 1, delta: { hologram: {} } }] }),
      { finish: 'stop' },
      'done',
    ]);
  });

  it('what the stop repeats after itself changes nothing', () => {
    expect(told([started, stop(), stopped(0), stop('max_tokens')])).toEqual([
      role,
      { finish: 'stop' },
      'done',
    ]);
  });
});

describe('exception, malformed and incomplete frames fail the stream', () => {
  it.each([
    ['throttlingException', 429],
    ['validationException', 400],
    ['modelTimeoutException', 408],
    ['serviceUnavailableException', 503],
    ['internalServerException', 502],
    ['modelStreamErrorException', 502],
    ['somethingNewException', 502],
  ])('%s', (type, status) => {
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

  it('an exception without words is named', () => {
    const failed = { failed: 'The upstream reported an error (throttlingException).' };
    expect(told([exceptionFrame('throttlingException', {})])).toEqual([failed]);
    const bare = frame([textHeader(':message-type', 'exception')], Buffer.from('?'));
    expect(told([bare])).toEqual([{ failed: 'The upstream reported an error.' }]);
  });

  it('an error that no model tells of says its message, sanitised', () => {
    expect(told([errorFrame('InternalFailure', 'A secret broke.')])).toEqual([{ failed: 'A *** broke.' }]);
    expect(told([errorFrame('InternalFailure', '')])).toEqual([
      { failed: 'The upstream reported an error (InternalFailure).' },
    ]);
  });

  const raw = (type: string, payload: string | Buffer): Buffer =>
    frame([textHeader(':message-type', 'event'), textHeader(':event-type', type)], Buffer.from(payload));
  const payloads: readonly (readonly [string, Buffer])[] = [
    ['no JSON', raw('contentBlockDelta', '{"a":')],
    ['nothing', raw('contentBlockDelta', '')],
    ['no object', raw('contentBlockDelta', '[]')],
    [
      'no UTF-8',
      raw('contentBlockDelta', Buffer.from('{"contentBlockIndex":0,"delta":{"text":"\xff"}}', 'latin1')),
    ],
    [
      'nesting without a bound',
      raw('messageStop', `{"stopReason":"end_turn","x":${'['.repeat(5000)}${']'.repeat(5000)}}`),
    ],
    ['another role', eventFrame('messageStart', { role: 'user' })],
    ['a delta without an index', eventFrame('contentBlockDelta', { delta: { text: 'a' } })],
    ['a delta with a bad index', delta(-1, { text: 'a' })],
    ['a delta without a delta', eventFrame('contentBlockDelta', { contentBlockIndex: 0 })],
    ['text that is none', delta(0, { text: 1 })],
    ['reasoning that is none', delta(0, { reasoningContent: 'a' })],
    ['arguments of a tool that never began', input(5, '{}')],
    ['arguments that are no text', delta(1, { toolUse: { input: {} } })],
    ['a start without a block', eventFrame('contentBlockStart', { contentBlockIndex: 2 })],
    ['a tool without an id', start(2, { toolUse: { name: 'f' } })],
    ['a tool without a name', start(2, { toolUse: { toolUseId: 'a' } })],
    ['a tool that is none', start(2, { toolUse: 1 })],
    ['a block that begins twice', tool(1, 'b', 'g')],
    ['a stop of no block', eventFrame('contentBlockStop', {})],
    ['a stop without a reason', eventFrame('messageStop', {})],
    ['no message type', frame([textHeader(':event-type', 'messageStop')], Buffer.from('{}'))],
    ['a message type that nobody knows', frame([textHeader(':message-type', 'x')], Buffer.from('{}'))],
    ['no event type', frame([textHeader(':message-type', 'event')], Buffer.from('{}'))],
    ['a bad frame', Buffer.from([0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0])],
  ];

  it.each(payloads)('%s: nothing comes after it', (_, bytes) => {
    const before = [started, tool(1, 'a', 'f')];
    const events = told([...before, bytes, text('b'), stop(), metadata()]);
    expect(events.slice(2)).toEqual([malformed]);
  });

  it.each([
    ['text', text('a')],
    ['a role', started],
    ['a tool', tool(1, 'a', 'f')],
    ['a bad frame', Buffer.from([0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0])],
  ])('after the stop, so does %s', (_, bytes) => {
    expect(told([started, stop(), bytes, metadata()])).toEqual([role, { finish: 'stop' }, malformed]);
  });

  it('an end before the stop is premature, and so is one inside the frame that follows it, at every byte', () => {
    const whole = Buffer.concat([started, text('a'), stopped(0), stop(), metadata()]);
    const complete = new Set([Buffer.concat([started, text('a'), stopped(0), stop()]).length, whole.length]);
    for (let end = 0; end <= whole.length; end += 1) {
      const ends = told([whole.subarray(0, end)]).filter(
        (event) => event === 'done' || (event as JsonObject)['failed'] !== undefined,
      );
      expect(ends).toEqual([complete.has(end) ? 'done' : premature]);
    }
  });

  it('a connection that breaks says so, also inside a frame after the stop; between two frames it spoils nothing', () => {
    const broken: Ending = { kind: 'fault', reason: 'It broke.', status: 504 };
    const cut = metadata().subarray(0, 20);
    expect(told([started, cut], broken)).toEqual([role, { failed: 'It broke.' }]);
    expect(told([started, stop(), cut], broken)).toEqual([role, { finish: 'stop' }, { failed: 'It broke.' }]);
    expect(told([started, stop()], broken)).toEqual([role, { finish: 'stop' }, 'done']);
  });

  it('an answer that the platform could not read fails with the usage that follows', () => {
    const failed = {
      kind: 'failed',
      error: { message: expect.stringContaining('malformed_tool_use'), code: 'upstream_error' },
    };
    const frames = [started, text('a'), stop('malformed_tool_use')];
    expect(eventsOf([...frames, metadata()]).slice(2)).toMatchObject([{ ...failed, chunk: summed }]);
    expect(eventsOf(frames).slice(2)).toMatchObject([failed]);
  });

  it('more tools than any answer has are given up', () => {
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

  it('any length or header that is corrupted is one failure, and nothing comes after it', () => {
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

  it('any failure is the only end, and any end is the last event', () => {
    fc.assert(
      fc.property(fc.array(anEvent, { maxLength: 10 }), (frames) => {
        const ends = eventsOf(frames).map(({ kind }) => kind !== 'chunk');
        expect(ends.indexOf(true)).toBe(ends.length - 1);
      }),
      { numRuns: 300 },
    );
  });

  it('text goes through unchanged, whatever it is', () => {
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
