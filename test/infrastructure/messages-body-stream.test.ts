import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import type { ChatEvent } from '../../domain/chat/chat-stream.ts';
import { ChatObserver } from '../../domain/chat/observe-chat.ts';
import { isArray, isObject, type Json, type JsonObject } from '../../domain/shared/json.ts';
import { maxJsonDepth, maxStreamEventBytes, maxTranslatedToolCalls } from '../../domain/shared/limits.ts';
import { andThen, type Ending, seal } from '../../domain/shared/stream-machine.ts';
import { chatFromMessages } from '../../infrastructure/providers/messages-body/stream.ts';
import { sseFrames, toldSseFrames } from '../../infrastructure/providers/wire/sse.ts';
import { aMessage, messagesStreams } from '../support/arbitraries/messages-body-streams.ts';
import { malformedEvents } from '../support/malformed-pieces.ts';
import { describeMachineLaws, outputsOf } from '../support/machine-laws.ts';

const about = { id: 'chatcmpl-1', model: 'fast', createdSecs: 1700 };
const namespace = 'cloud_a_platform';
const sanitise = (message: string): string => message.replaceAll('hunter2', '[REDACTED]');
const messagesMachine = seal(chatFromMessages({ about, namespace, sanitise }));
const machine = andThen(sseFrames, messagesMachine);

const failure = (message: string, status = 502) => ({
  kind: 'failed',
  error: { code: 'upstream_error', message, upstream: { status } },
});

describeMachineLaws('sseFrames, then chatFromMessages', {
  machine,
  streams: messagesStreams,
  isTerminal: ({ kind }) => kind !== 'chunk',
  endless: {
    piece: Buffer.alloc(1024 * 1024, 'data: {"type":'),
    pushes: 2 * (maxStreamEventBytes / (1024 * 1024)),
    outputs: [failure('The upstream sent an event that is too large.') as ChatEvent],
  },
});

type Payload = { readonly type: string; readonly [key: string]: unknown };
const event = (payload: Payload): string => `event: ${payload.type}\ndata: ${JSON.stringify(payload)}\n\n`;
const start = event({ type: 'message_start', message: { usage: { input_tokens: 5, output_tokens: 1 } } });
const open = (index: number, content_block: object): string =>
  event({ type: 'content_block_start', index, content_block });
const delta = (index: number, more: object): string =>
  event({ type: 'content_block_delta', index, delta: more });
const close = (index: number): string => event({ type: 'content_block_stop', index });
const stopped = (stop_reason: string | null, usage: object | undefined = { output_tokens: 7 }): string =>
  event({ type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage });
const stop = event({ type: 'message_stop' });
const hello =
  open(0, { type: 'text', text: '' }) + delta(0, { type: 'text_delta', text: 'Hello' }) + close(0);

const eventsOf = (text: string, ending?: Ending): readonly ChatEvent[] =>
  outputsOf(machine, [Buffer.from(text)], ending);

const chunksOf = (events: readonly ChatEvent[]): readonly JsonObject[] =>
  events.flatMap((each) => (each.kind === 'chunk' ? [each.chunk] : []));

/** The deltas of the one choice. */
const deltasOf = (events: readonly ChatEvent[]): readonly JsonObject[] =>
  chunksOf(events).flatMap(({ choices }) =>
    (isArray(choices) ? choices : []).flatMap((choice) =>
      isObject(choice) && isObject(choice['delta']) ? [choice['delta']] : [],
    ),
  );

const finishesOf = (events: readonly ChatEvent[]): readonly Json[] =>
  chunksOf(events).flatMap(({ choices }) =>
    (choices as readonly JsonObject[]).flatMap(({ finish_reason: finish }) => finish ?? []),
  );

const nativeOf = (events: readonly ChatEvent[]): readonly Record<string, readonly JsonObject[]>[] =>
  deltasOf(events).flatMap(({ provider_metadata: metadata }) =>
    isObject(metadata) ? [metadata[namespace] as unknown as Record<string, readonly JsonObject[]>] : [],
  );

const textIn = (value: unknown): string => (typeof value === 'string' ? value : '');

describe('a messages stream as canonical chat chunks', () => {
  it('role, text, finish, one usage chunk, done', () => {
    const base = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1700, model: 'fast' };
    const chunk = (choices: readonly object[], more: object = {}, terminal = false) => ({
      kind: 'chunk',
      chunk: { ...base, choices, ...more },
      wire: undefined,
      terminal,
    });
    const said = (delta: object) => chunk([{ index: 0, delta, finish_reason: null }]);
    expect(eventsOf(start + hello + stopped('end_turn') + stop)).toEqual([
      said({ role: 'assistant', content: '' }),
      said({ content: 'Hello' }),
      chunk([{ index: 0, delta: {}, finish_reason: 'stop' }], {}, true),
      chunk([], { usage: { prompt_tokens: 5, completion_tokens: 7, total_tokens: 12 } }),
      { kind: 'done' },
    ]);
  });

  it('means the same as the stream it was made from, whatever is in it', () => {
    fc.assert(
      fc.property(aMessage, (message) => {
        const events = eventsOf(message.bytes.toString());
        expect(events.at(-1)).toEqual({ kind: 'done' });
        const deltas = deltasOf(events);
        expect(deltas.map(({ content }) => textIn(content)).join('')).toBe(message.text);
        const calls: { id?: Json; name?: Json; text: string }[] = [];
        for (const { tool_calls: pieces } of deltas)
          for (const { index, id, function: named } of (pieces ?? []) as readonly (JsonObject & {
            index: number;
          })[]) {
            const { name, arguments: text } = named as JsonObject;
            if (calls[index] === undefined) calls[index] = { id: id!, name: name!, text: '' };
            calls[index].text += textIn(text);
          }
        expect(calls).toEqual(message.calls);
        const reasoning = nativeOf(events).flatMap(({ reasoning }) => reasoning ?? []);
        expect(reasoning.map(({ thinking }) => textIn(thinking)).join('')).toBe(message.thinking);
        expect(reasoning.flatMap(({ signature }) => signature ?? [])).toEqual(message.signatures);
        expect(reasoning.flatMap(({ data }) => data ?? [])).toEqual(message.redacted);
        const foreign = nativeOf(events).flatMap(({ blocks }) => blocks ?? []);
        expect(
          foreign.flatMap(({ content_block: block }) => (isObject(block) ? [block['type']] : [])),
        ).toEqual(message.foreign);
        expect(finishesOf(events)).toHaveLength(1);
        const observer = new ChatObserver();
        for (const chunk of chunksOf(events)) observer.see(chunk);
        const { prompt, completion } = message.usage;
        expect(observer.observed()).toEqual({
          usage: { promptTokens: prompt, completionTokens: completion, totalTokens: prompt + completion },
          usageUnusable: false,
          invokedToolCount: message.calls.length,
        });
      }),
    );
  });

  it('native reasoning and foreign blocks are never placed in `delta.content`', () => {
    fc.assert(
      fc.property(aMessage, ({ bytes }) => {
        const events = eventsOf(bytes.toString());
        for (const { content } of deltasOf(events)) expect(textIn(content)).not.toContain('FOREIGN');
      }),
    );
  });

  it.each([
    ['end_turn', 'stop', 'tool_calls'],
    ['stop_sequence', 'stop', 'tool_calls'],
    ['pause_turn', 'stop', 'tool_calls'],
    ['max_tokens', 'length', 'length'],
    ['model_context_window_exceeded', 'length', 'length'],
    ['tool_use', 'tool_calls', 'tool_calls'],
    ['refusal', 'content_filter', 'content_filter'],
    ['a_new_one', 'stop', 'tool_calls'],
  ])('stop reason %s finishes with %s, and with calls %s', (reason, finish, withCalls) => {
    expect(finishesOf(eventsOf(start + hello + stopped(reason) + stop))).toEqual([finish]);
    const called = open(0, { type: 'tool_use', id: 'a', name: 'f', input: {} }) + close(0);
    expect(finishesOf(eventsOf(start + called + stopped(reason) + stop))).toEqual([withCalls]);
  });

  it.each(['pause_turn', 'compaction', 'a_new_one'])(
    'the stop reason %s, for which chat has no word, is kept with the chunk that finishes',
    (reason) => {
      const chunks = chunksOf(eventsOf(start + hello + stopped(reason) + stop));
      expect(chunks.flatMap((chunk) => chunk['provider_metadata'] ?? [])).toEqual([
        { [namespace]: { stop_reason: reason } },
      ]);
    },
  );

  it('calls are numbered from 0 among the tools; a call without arguments has `{}`', () => {
    const events = eventsOf(
      start +
        hello +
        open(1, { type: 'tool_use', id: 'a', name: 'f', input: {} }) +
        delta(1, { type: 'input_json_delta', partial_json: '' }) +
        close(1) +
        open(2, { type: 'tool_use', id: 'b', name: 'g', input: {} }) +
        delta(2, { type: 'input_json_delta', partial_json: '{"x":' }) +
        delta(2, { type: 'input_json_delta', partial_json: '1}' }) +
        close(2) +
        stopped('tool_use') +
        stop,
    );
    const begun = (index: number, id: string, name: string) => ({
      tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }],
    });
    const argued = (index: number, text: string) => ({
      tool_calls: [{ index, function: { arguments: text } }],
    });
    expect(deltasOf(events).slice(2)).toEqual([
      begun(0, 'a', 'f'),
      argued(0, '{}'),
      begun(1, 'b', 'g'),
      argued(1, '{"x":'),
      argued(1, '1}'),
      {},
    ]);
  });

  it('an input that comes whole with its block keeps every digit, also where the block never ends', () => {
    const whole =
      'event: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":' +
      '{"type":"tool_use","id":"a","name":"f","input":{"n":9007199254740993,"x":1.50}}}\n\n';
    for (const end of [close(0), ''])
      expect(JSON.stringify(deltasOf(eventsOf(start + whole + end + stopped('tool_use') + stop)))).toContain(
        JSON.stringify('{"n":9007199254740993,"x":1.50}'),
      );
  });

  it('a thinking block that has a signature alone is kept', () => {
    const events = eventsOf(
      start +
        open(0, { type: 'thinking', thinking: '', signature: '' }) +
        delta(0, { type: 'signature_delta', signature: 'c2ln' }) +
        close(0) +
        stopped('end_turn') +
        stop,
    );
    expect(nativeOf(events)).toEqual([{ reasoning: [{ index: 0, type: 'thinking', signature: 'c2ln' }] }]);
  });

  it('thinking deltas inside a text block are no text, and a second message_start is none', () => {
    const events = eventsOf(
      start +
        open(0, { type: 'text', text: 'A' }) +
        delta(0, { type: 'thinking_delta', thinking: 'SECRET' }) +
        start +
        delta(0, { type: 'text_delta', text: 'B' }) +
        close(0) +
        stopped('end_turn') +
        stop,
    );
    const deltas = deltasOf(events);
    expect(deltas.map(({ content }) => textIn(content)).join('')).toBe('AB');
    expect(deltas.filter(({ role }) => role !== undefined)).toHaveLength(1);
  });

  it('citations go beside the text', () => {
    const citation = { type: 'char_location', cited_text: 'x', start: 1 };
    const events = eventsOf(
      start +
        open(0, { type: 'text', text: '' }) +
        delta(0, { type: 'citations_delta', citation }) +
        stopped('end_turn') +
        stop,
    );
    expect(nativeOf(events)).toEqual([{ citations: [citation] }]);
  });

  it('a refusal is explained before the end, with which comes what is told of the answer as a whole', () => {
    const container = { id: 'container_1', expires_at: '2026-01-01T00:00:00Z' };
    const context_management = { applied_edits: [{ cleared_input_tokens: 9 }] };
    const stop_details = { type: 'refusal', category: null, explanation: 'That may harm.' };
    const refused = { stop_reason: 'refusal', stop_sequence: null, stop_details };
    const chunks = chunksOf(
      eventsOf(
        event({ type: 'message_start', message: { container, context_management: null } }) +
          event({ type: 'message_delta', delta: refused, context_management }) +
          stop,
      ),
    );
    expect(chunks.slice(-2)).toMatchObject([
      { choices: [{ delta: { refusal: 'That may harm.' }, finish_reason: null }] },
      {
        choices: [{ delta: {}, finish_reason: 'content_filter' }],
        provider_metadata: { [namespace]: { container, context_management, stop_details } },
      },
    ]);
    const cut = event({
      type: 'message_delta',
      delta: { stop_reason: 'stop_sequence', stop_sequence: 'END' },
    });
    expect(chunksOf(eventsOf(start + hello + cut + stop)).map((chunk) => chunk['provider_metadata'])).toEqual(
      [
        undefined,
        undefined,
        { [namespace]: { stop_reason: 'stop_sequence', stop_sequence: 'END' } },
        undefined,
      ],
    );
  });

  it('a message that is whole as it begins has its text, its calls and its stop reason', () => {
    const caller = { type: 'code_execution_20250825', tool_id: 'srvtoolu_1' };
    const content = [
      { type: 'text', text: 'Once more.' },
      { type: 'tool_use', id: 'toolu_tide', name: 'tide_at', input: { hour: 7 }, caller },
      { type: 'tool_use', id: 'toolu_moon', name: 'moon_phase', input: {}, caller },
    ];
    const usage = { input_tokens: 0, output_tokens: 0 };
    const whole = event({ type: 'message_start', message: { content, stop_reason: 'tool_use', usage } });
    const events = eventsOf(whole + stop);
    const deltas = deltasOf(events);
    expect(deltas.map(({ content: text }) => textIn(text)).join('')).toBe('Once more.');
    expect(deltas.flatMap(({ tool_calls: pieces }) => pieces ?? [])).toEqual([
      { index: 0, id: 'toolu_tide', type: 'function', function: { name: 'tide_at', arguments: '' } },
      { index: 0, function: { arguments: '{"hour":7}' } },
      { index: 1, id: 'toolu_moon', type: 'function', function: { name: 'moon_phase', arguments: '' } },
      { index: 1, function: { arguments: '{}' } },
    ]);
    expect(finishesOf(events)).toEqual(['tool_calls']);
    expect(events.slice(-2)).toMatchObject([{ chunk: { usage: { total_tokens: 0 } } }, { kind: 'done' }]);
  });

  it('a stop reason that a message begins with counts where no other comes, and with `message_stop`', () => {
    const begun = event({ type: 'message_start', message: { content: [], stop_reason: 'max_tokens' } });
    expect(finishesOf(eventsOf(begun + hello + stop))).toEqual(['length']);
    expect(finishesOf(eventsOf(begun + hello + stopped('end_turn') + stop))).toEqual(['stop']);
    expect(eventsOf(begun + hello).at(-1)).toMatchObject({ kind: 'failed' });
  });

  it('an answer that nothing said the end of is over with `message_stop`', () => {
    expect(finishesOf(eventsOf(start + hello + stop))).toEqual(['stop']);
    expect(finishesOf(eventsOf(start + hello + stopped(null) + stop))).toEqual(['stop']);
    expect(eventsOf(start + hello + stopped(null) + stop).at(-1)).toEqual({ kind: 'done' });
  });
});

describe('usage', () => {
  const usageOf = (events: readonly ChatEvent[]): Json | undefined => {
    const all = chunksOf(events).flatMap(({ usage }) => usage ?? []);
    expect(all.length).toBeLessThan(2);
    return all[0];
  };

  it('what `message_delta` says replaces what `message_start` said; cache parts are summed', () => {
    const begun = event({
      type: 'message_start',
      message: {
        usage: {
          input_tokens: 10,
          cache_read_input_tokens: 3,
          cache_creation_input_tokens: 4,
          output_tokens: 1,
        },
      },
    });
    expect(usageOf(eventsOf(begun + hello + stopped('end_turn') + stop))).toEqual({
      prompt_tokens: 17,
      completion_tokens: 7,
      total_tokens: 24,
      prompt_tokens_details: { cached_tokens: 3, cache_write_tokens: 4 },
    });
    const later = { input_tokens: 100, cache_read_input_tokens: null, output_tokens: 7 };
    expect(usageOf(eventsOf(begun + hello + stopped('end_turn', later) + stop))).toMatchObject({
      prompt_tokens: 107,
    });
  });

  it('tells what was thought, as a part of the output', () => {
    const usage = { output_tokens: 7, output_tokens_details: { thinking_tokens: 4 } };
    expect(usageOf(eventsOf(start + stopped('end_turn', usage) + stop))).toMatchObject({
      completion_tokens: 7,
      completion_tokens_details: { reasoning_tokens: 4 },
    });
  });

  it('counts that cannot be used are told as null; none at all is no usage', () => {
    const unusable = stopped('end_turn', { output_tokens: -1 });
    expect(usageOf(eventsOf(start + unusable + stop))).toEqual({
      prompt_tokens: null,
      completion_tokens: null,
      total_tokens: null,
    });
    const silent =
      event({ type: 'message_start', message: {} }) +
      event({ type: 'message_delta', delta: { stop_reason: 'end_turn' } });
    expect(usageOf(eventsOf(silent + stop))).toBeUndefined();
  });

  it('a failure tells what was used where `message_delta` has told it: `message_start` holds a placeholder', () => {
    const failed = eventsOf(start + hello).at(-1);
    expect(failed).toMatchObject({ kind: 'failed' });
    expect(failed).not.toHaveProperty('chunk');
    const broken = event({ type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } });
    expect(eventsOf(start + hello + stopped('end_turn') + broken).at(-1)).toMatchObject({
      kind: 'failed',
      chunk: { choices: [], usage: { prompt_tokens: 5, completion_tokens: 7, total_tokens: 12 } },
    });
  });
});

describe('failures', () => {
  const errorEvent = event({
    type: 'error',
    error: { type: 'overloaded_error', message: 'Overloaded hunter2' },
  });
  const deep = `data: {"type":"x","y":${'['.repeat(maxJsonDepth)}${']'.repeat(maxJsonDepth)}}\n\n`;

  it.each<[string, string, string]>([
    ['an `error` event', start + hello + errorEvent, 'Overloaded [REDACTED]'],
    [
      'an `error` event after the stop reason',
      start + hello + stopped('end_turn') + errorEvent,
      'Overloaded [REDACTED]',
    ],
    ['an error at the top', 'data: {"error":"quota"}\n\n', 'quota'],
    ['an error without words', 'event: error\ndata: {}\n\n', 'The upstream reported an error.'],
    ['no JSON', `${start}data: {"type":\n\n`, 'The upstream sent a malformed event.'],
    ['no object', `${start}data: [1]\n\n`, 'The upstream sent a malformed event.'],
    [
      'an event that goes by another name',
      `${start}event: message_stop\ndata: {"type":"ping"}\n\n`,
      'The upstream sent an event that contradicts itself.',
    ],
    ['too deep', start + deep, 'The upstream sent an event that is nested too deeply.'],
    ['nothing at all', '', 'The upstream ended its stream before the answer was complete.'],
    [
      'an end before the stop reason',
      start + hello,
      'The upstream ended its stream before the answer was complete.',
    ],
    [
      '[DONE] before the stop reason',
      `${start}data: [DONE]\n\n`,
      'The upstream ended its stream before the answer was complete.',
    ],
    [
      'a null stop reason and the end',
      start + hello + stopped(null),
      'The upstream ended its stream before the answer was complete.',
    ],
  ])('%s', (_, text, message) => {
    const events = eventsOf(text);
    expect(events.at(-1)).toMatchObject(failure(message));
    expect(events.filter(({ kind }) => kind !== 'chunk')).toHaveLength(1);
  });

  it.each(malformedEvents)('a piece that would vanish is malformed: %s', (_, piece) => {
    const events = eventsOf(start + hello + event(piece) + stopped('end_turn') + stop);
    expect(events.slice(0, -1)).toEqual(eventsOf(start + hello).slice(0, -1));
    expect(events.at(-1)).toMatchObject(failure('The upstream sent a malformed event.'));
  });

  it.each([
    ['no block', ''],
    ['a block of text', open(1, { type: 'text', text: '' })],
    ['a call that has ended', open(1, { type: 'tool_use', id: 'a', name: 'f', input: {} }) + close(1)],
  ])('arguments where there is %s are a malformed event, and blanks are nothing', (_case, before) => {
    const piece = (partial_json: string | null) => delta(1, { type: 'input_json_delta', partial_json });
    const after = stopped('tool_use') + stop;
    expect(eventsOf(start + before + piece('{"a":') + after).at(-1)).toMatchObject(
      failure('The upstream sent a malformed event.'),
    );
    for (const nothing of ['', ' \n', null])
      expect(eventsOf(start + before + piece(nothing) + after)).toEqual(eventsOf(start + before + after));
  });

  it('another message that begins in the middle is a failure: half a call of the first would be told as a whole one', () => {
    const begin = (id?: string) => event({ type: 'message_start', message: { id, content: [] } });
    const half = open(0, { type: 'tool_use', id: 'a', name: 'f', input: {} });
    const argued = delta(0, { type: 'input_json_delta', partial_json: '{"x":' });
    const other = begin('msg_2') + hello + stopped('end_turn') + stop;
    expect(eventsOf(begin('msg_1') + half + argued + other).at(-1)).toMatchObject(
      failure('The upstream began another message before it had ended the first one.'),
    );
    for (const again of [begin('msg_1'), begin('')])
      expect(eventsOf(begin('msg_1') + again + hello + stopped('end_turn') + stop)).toEqual(
        eventsOf(begin('msg_1') + hello + stopped('end_turn') + stop),
      );
  });

  it('an error beside the events is a failure, also after the stop reason', () => {
    const beside = '{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}';
    const told = andThen(toldSseFrames(sanitise), messagesMachine);
    for (const before of [start + hello, start + hello + stopped('end_turn')])
      for (const after of ['', `\n\n${stop}`])
        expect(outputsOf(told, [Buffer.from(before + beside + after)]).at(-1)).toMatchObject(
          failure('Overloaded'),
        );
  });

  it('a broken connection fails with its reason, unless the answer was complete', () => {
    const reset: Ending = { kind: 'fault', reason: 'The connection broke.', status: 504 };
    expect(eventsOf(start + hello, reset).at(-1)).toMatchObject(failure('The connection broke.', 504));
    const complete = eventsOf(start + hello + stopped('end_turn'), reset);
    expect(complete.at(-1)).toEqual({ kind: 'done' });
    expect(complete.at(-2)).toMatchObject({ chunk: { usage: { total_tokens: 12 } } });
  });

  it('what it remembers is bounded', () => {
    const many = (block: object): string =>
      Array.from({ length: maxTranslatedToolCalls + 1 }, (_, index) => open(index, block)).join('');
    expect(eventsOf(start + many({ type: 'tool_use', id: 'a', name: 'f' })).at(-1)).toMatchObject(
      failure('The upstream sent too many tool calls in one answer.'),
    );
    expect(eventsOf(start + many({ type: 'compaction' })).at(-1)).toMatchObject(
      failure('The upstream sent too many content blocks at once.'),
    );
    const content = Array.from({ length: maxTranslatedToolCalls + 2 }, () => ({ type: 'tool_use', id: 'a' }));
    expect(eventsOf(event({ type: 'message_start', message: { content } })).at(-1)).toMatchObject(
      failure('The upstream sent too many tool calls in one answer.'),
    );
  });
});
