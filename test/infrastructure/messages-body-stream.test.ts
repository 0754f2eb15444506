import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import type { ChatEvent } from '../../domain/chat/chat-stream.ts';
import { ChatObserver } from '../../domain/chat/observe-chat.ts';
import { isArray, isObject, type Json, type JsonObject } from '../../domain/shared/json.ts';
import { maxStreamEventBytes } from '../../domain/shared/limits.ts';
import { aMessage, messagesStreams } from '../support/arbitraries/messages-body-streams.ts';
import { describeMachineLaws } from '../support/machine-laws.ts';
import {
  chunksOf,
  close,
  delta,
  deltasOf,
  event,
  eventsOf,
  failure,
  finishesOf,
  hello,
  machine,
  namespace,
  nativeOf,
  open,
  start,
  stop,
  stopReasons,
  stopped,
  textIn,
} from './messages-body-stream-told.ts';

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

describe('a messages stream as canonical chat chunks', () => {
  it('has a role, text, a finish reason, one usage chunk and `done`', () => {
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

  it('has the same text, calls, reasoning, other blocks and usage as the messages stream, for any content', () => {
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

  it('reasoning, and blocks that chat does not have, are never placed in `delta.content`', () => {
    const pieces = fc.constantFrom(
      open(0, { type: 'thinking', thinking: 'SECRET', signature: 'SECRET' }),
      open(0, { type: 'redacted_thinking', data: 'SECRET' }),
      open(0, { type: 'server_tool_use', id: 'SECRET', name: 'SECRET', text: 'SECRET', input: {} }),
      open(0, { type: 'text', text: 'said ' }),
      delta(0, { type: 'thinking_delta', thinking: 'SECRET' }),
      delta(0, { type: 'signature_delta', signature: 'SECRET' }),
      delta(0, { type: 'compaction_delta', content: 'SECRET' }),
      close(0),
    );
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 12 }), aMessage, (some, { bytes, text }) => {
        const contentOf = (stream: string): string =>
          deltasOf(eventsOf(stream))
            .map(({ content }) => textIn(content))
            .join('');
        expect(contentOf(start + some.join('') + stopped('end_turn') + stop)).toMatch(/^(?:said )*$/);
        expect(contentOf(bytes.toString())).toBe(text);
      }),
    );
  });

  it.each(stopReasons)('stop reason %s finishes with %s, and with calls %s', (reason, finish, withCalls) => {
    expect(finishesOf(eventsOf(start + hello + stopped(reason) + stop))).toEqual([finish]);
    const called = open(0, { type: 'tool_use', id: 'a', name: 'f', input: {} }) + close(0);
    expect(finishesOf(eventsOf(start + called + stopped(reason) + stop))).toEqual([withCalls]);
  });

  it.each(['pause_turn', 'compaction', 'a_new_one'])(
    'the stop reason %s, which chat does not have, is kept in the metadata of a chunk',
    (reason) => {
      const chunks = chunksOf(eventsOf(start + hello + stopped(reason) + stop));
      expect(chunks.flatMap((chunk) => chunk['provider_metadata'] ?? [])).toEqual([
        { [namespace]: { stop_reason: reason } },
      ]);
    },
  );

  it('calls are numbered from 0 without other blocks; a call without arguments has `{}`', () => {
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

  it('an input that is complete in the start of its block keeps every digit, also if the block never ends', () => {
    const whole =
      'event: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":' +
      '{"type":"tool_use","id":"a","name":"f","input":{"n":9007199254740993,"x":1.50}}}\n\n';
    for (const end of [close(0), ''])
      expect(JSON.stringify(deltasOf(eventsOf(start + whole + end + stopped('tool_use') + stop)))).toContain(
        JSON.stringify('{"n":9007199254740993,"x":1.50}'),
      );
  });

  it('a thinking block that has only a signature is kept', () => {
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

  it('thinking deltas inside a text block are not text, and a second message_start is ignored', () => {
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

  it('citations are in the metadata', () => {
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

  it('a block may be complete at its start: text with its citations, and thinking with its signature', () => {
    const citation = { type: 'char_location', cited_text: 'x' };
    const events = eventsOf(
      start +
        open(0, { type: 'text', text: 'A', citations: [citation] }) +
        open(1, { type: 'text', text: 'B', citations: [] }) +
        open(2, { type: 'thinking', thinking: 'hm', signature: 's' }) +
        open(3, { type: 'redacted_thinking', data: 'eA==' }) +
        stopped('end_turn') +
        stop,
    );
    expect(deltasOf(events).map(({ content }) => textIn(content))).toEqual([
      '',
      'A',
      '',
      'B',
      '',
      '',
      '',
      '',
    ]);
    expect(nativeOf(events)).toEqual([
      { citations: [citation] },
      { reasoning: [{ index: 2, type: 'thinking', thinking: 'hm' }] },
      { reasoning: [{ index: 2, type: 'thinking', signature: 's' }] },
      { reasoning: [{ index: 3, type: 'redacted_thinking', data: 'eA==' }] },
    ]);
  });

  it('blocks and deltas that chat does not have are kept unchanged, with the index of their block', () => {
    const search = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {} };
    const pieces = [
      { type: 'input_json_delta', partial_json: '{}' },
      { type: 'text_delta', text: 'x' },
      { type: 'citations_delta' },
      { type: 'a_new_delta', citation: {} },
    ];
    const events = eventsOf(
      start +
        open(1, search) +
        pieces.map((piece) => delta(1, piece)).join('') +
        close(1) +
        open(2, { type: 'text', text: '' }) +
        delta(2, { type: 'a_new_delta' }) +
        stopped('end_turn') +
        stop,
    );
    expect(nativeOf(events)).toEqual(
      [
        { index: 1, content_block: search },
        ...pieces.map((piece) => ({ index: 1, delta: piece })),
        { index: 2, delta: { type: 'a_new_delta' } },
      ].map((block) => ({ blocks: [block] })),
    );
  });

  it.each([
    ['without input', '', ['{}']],
    ['with blanks', delta(0, { type: 'input_json_delta', partial_json: ' \n' }), [' \n', '{}']],
    [
      'with blanks after its arguments',
      delta(0, { type: 'input_json_delta', partial_json: '{"x":1}' }) +
        delta(0, { type: 'input_json_delta', partial_json: ' ' }),
      ['{"x":1}', ' '],
    ],
  ])('the arguments of a call are one object: %s', (_, pieces, told) => {
    const begun = open(0, { type: 'tool_use', id: 'a', name: 'f' });
    const again = open(0, { type: 'tool_use', id: 'b', name: 'g', input: { y: 1 } });
    const events = eventsOf(start + begun + pieces + again + stopped('tool_use') + stop);
    expect(
      deltasOf(events).flatMap(({ tool_calls: calls }) =>
        isArray(calls) ? calls.map((call) => (call as { function: JsonObject }).function['arguments']) : [],
      ),
    ).toEqual(['', ...told, '', '{"y":1}']);
  });

  it('a refusal is explained before the finish chunk, which has the fields of the complete answer in its metadata', () => {
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
    const late = event({ type: 'message_delta', delta: { stop_details } });
    expect(eventsOf(start + hello + stopped('end_turn') + late + stop)).toEqual(
      eventsOf(start + hello + stopped('end_turn') + stop),
    );
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

  it('a message that is complete at its start has its text, its calls and its stop reason', () => {
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

  it('a stop reason in `message_start` counts if no other follows, and only with `message_stop`', () => {
    const begun = event({ type: 'message_start', message: { content: [], stop_reason: 'max_tokens' } });
    expect(finishesOf(eventsOf(begun + hello + stop))).toEqual(['length']);
    expect(finishesOf(eventsOf(begun + hello + stopped('end_turn') + stop))).toEqual(['stop']);
    expect(eventsOf(begun + hello).at(-1)).toMatchObject({ kind: 'failed' });
  });

  it('an answer without a stop reason is complete with `message_stop`', () => {
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

  it('of `message_delta` replaces that of `message_start`; cache parts are summed', () => {
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

  it('has the thinking tokens as a part of the completion tokens', () => {
    const usage = { output_tokens: 7, output_tokens_details: { thinking_tokens: 4 } };
    expect(usageOf(eventsOf(start + stopped('end_turn', usage) + stop))).toMatchObject({
      completion_tokens: 7,
      completion_tokens_details: { reasoning_tokens: 4 },
    });
  });

  it('keeps `iterations` unchanged, and so what is billed beside the answer', () => {
    const iterations = [
      { type: 'compaction', input_tokens: 9, output_tokens: 2 },
      { type: 'message', input_tokens: 5, output_tokens: 7 },
    ];
    const events = eventsOf(start + stopped('end_turn', { output_tokens: 7, iterations }) + stop);
    expect(usageOf(events)).toMatchObject({ completion_tokens: 7, iterations });
    const observer = new ChatObserver();
    for (const chunk of chunksOf(events)) observer.see(chunk);
    expect(observer.observed().beside).toMatchObject({
      compaction: { input_tokens: 9, output_tokens: 2 },
    });
  });

  it('has null for counts that cannot be used, and is omitted if there are none', () => {
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

  it('is sent with a failure if `message_delta` reported it, because `message_start` has a placeholder', () => {
    const failed = eventsOf(start + hello).at(-1);
    expect(failed).toMatchObject({ kind: 'failed' });
    expect(failed).not.toHaveProperty('chunk');
    const broken = event({ type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } });
    const silent = event({ type: 'message_delta', delta: {} });
    for (const between of ['', silent])
      expect(eventsOf(start + hello + stopped('end_turn') + between + broken).at(-1)).toMatchObject({
        kind: 'failed',
        chunk: { choices: [], usage: { prompt_tokens: 5, completion_tokens: 7, total_tokens: 12 } },
      });
  });
});
