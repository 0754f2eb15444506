import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { messagesBodyUsage } from '../../../domain/ledger/messages-body-usage.ts';
import { laterUsage, MessagesObserver, observeMessage } from '../../../domain/messages/observe-messages.ts';
import { type Json, type JsonObject, parseExact } from '../../../domain/shared/json.ts';
import { maxCountedToolCalls } from '../../../domain/shared/limits.ts';

const usage = (promptTokens: number, completionTokens: number) => ({
  promptTokens,
  completionTokens,
  totalTokens: promptTokens + completionTokens,
});

describe('prompt tokens are the sum of input, cache read and cache write tokens, as billed', () => {
  it.each<[string, Json | undefined, ReturnType<typeof usage> | undefined]>([
    ['input and output', { input_tokens: 5, output_tokens: 7 }, usage(5, 7)],
    [
      'cached parts',
      {
        input_tokens: 4,
        cache_read_input_tokens: 14714,
        cache_creation_input_tokens: 379,
        output_tokens: 290,
      },
      usage(15097, 290),
    ],
    ['null cached parts', { input_tokens: 4, cache_read_input_tokens: null, output_tokens: 2 }, usage(4, 2)],
    ['a number written as 4.0', parseExact('{"input_tokens":4.0,"output_tokens":2}'), usage(4, 2)],
    ['no input', { output_tokens: 7 }, undefined],
    ['no output', { input_tokens: 7 }, undefined],
    ['an invalid cached part', { input_tokens: 4, cache_read_input_tokens: -1, output_tokens: 2 }, undefined],
    [
      'a prompt sum over the safe integer limit',
      { input_tokens: 2 ** 53 - 1, cache_read_input_tokens: 1, output_tokens: 2 },
      undefined,
    ],
    ['a total over the safe integer limit', { input_tokens: 2 ** 53 - 1, output_tokens: 1 }, undefined],
    ['nothing', undefined, undefined],
    ['not an object', 7, undefined],
  ])('%s', (_, reported, expected) => {
    expect(messagesBodyUsage(reported)).toEqual(expected);
  });
});

describe('the usage of compaction and advice', () => {
  const round = (type: string, input_tokens: number, output_tokens: number, more: JsonObject = {}) => ({
    type,
    input_tokens,
    output_tokens,
    ...more,
  });
  const compacted = {
    input_tokens: 612,
    output_tokens: 2819,
    iterations: [
      round('compaction', 60385, 522, { cache_read_input_tokens: 7, cache_creation_input_tokens: null }),
      round('compaction', 100, 10),
      round('message', 612, 2819),
    ],
  };
  const compaction = {
    input_tokens: 60485,
    cache_read_input_tokens: 7,
    cache_creation_input_tokens: 0,
    output_tokens: 532,
  };

  it('is reported beside the usage of the request, which is unchanged', () => {
    expect(observeMessage({ usage: compacted })).toMatchObject({
      usage: usage(612, 2819),
      beside: { compaction },
    });
  });

  it('is read from the `message_delta` of a stream', () => {
    const observer = new MessagesObserver();
    observer.see({ type: 'message_start', message: { usage: { input_tokens: 60385, output_tokens: 5 } } });
    expect(observer.observed()).not.toHaveProperty('beside');
    observer.see({ type: 'message_delta', usage: compacted });
    observer.see({ type: 'message_delta', usage: { output_tokens: 2819 } });
    observer.see({ type: 'message_stop' });
    expect(observer.observed()).toMatchObject({
      usage: usage(612, 2819),
      beside: { compaction },
    });
  });

  it('has only advice if nothing was compacted', () => {
    const iterations = [round('message', 612, 2819), round('advisor_message', 7, 5, { model: 'wise' })];
    expect(observeMessage({ usage: { ...compacted, iterations } }).beside).toEqual({
      advisor: {
        model: 'wise',
        input_tokens: 7,
        cache_read_input_tokens: 0,
        cache_creation_input_tokens: 0,
        output_tokens: 5,
      },
    });
  });

  it.each<[string, readonly JsonObject[], string | null]>([
    ['one model', [{ model: 'wise' }, { model: 'wise' }], 'wise'],
    ['two models', [{ model: 'wise' }, { model: 'wiser' }], null],
    ['no model', [{}, {}], null],
    ['an invalid model name', [{ model: 7 }, { model: 7 }], null],
    ['too long a model name', [{ model: 'w'.repeat(257) }, { model: 'w'.repeat(257) }], null],
  ])('sums the advice of %s, apart from compaction', (_, named, model) => {
    const iterations = [
      round('message', 1, 2),
      round('compaction', 100, 10),
      ...named.map((more, index) => round('advisor_message', 1000 * (index + 1), 10, more)),
    ];
    const counted = { cache_read_input_tokens: 0, cache_creation_input_tokens: 0 };
    expect(observeMessage({ usage: { ...compacted, iterations } }).beside).toEqual({
      compaction: { input_tokens: 100, output_tokens: 10, ...counted },
      advisor: { model, input_tokens: 3000, output_tokens: 20, ...counted },
    });
  });

  it.each<[string, Json]>([
    ['with a message only', [round('message', 612, 2819)]],
    ['that are not a list', 'compaction'],
    ['with an invalid count', [round('compaction', -1, 522)]],
    [
      'whose sum is over the safe integer limit',
      [round('compaction', 2 ** 53 - 1, 0), round('compaction', 1, 0)],
    ],
    ['of advice with an invalid count', [round('advisor_message', 1.5, 522)]],
  ])('is absent for iterations %s', (_, iterations) => {
    expect(observeMessage({ usage: { ...compacted, iterations } })).not.toHaveProperty('beside');
  });
});

describe('`message_delta.usage` replaces the values of `message_start`', () => {
  it.each<[Json | undefined, Json | undefined, Json | undefined]>([
    [{ input_tokens: 5, output_tokens: 1 }, { output_tokens: 7 }, { input_tokens: 5, output_tokens: 7 }],
    [{ input_tokens: 5 }, { input_tokens: null, output_tokens: 7 }, { input_tokens: 5, output_tokens: 7 }],
    [{ input_tokens: 5 }, undefined, { input_tokens: 5 }],
    [{ input_tokens: 5 }, null, { input_tokens: 5 }],
    [undefined, { output_tokens: 7 }, { output_tokens: 7 }],
    [{ input_tokens: 5 }, 'none', 'none'],
  ])('%p then %p', (start, later, expected) => {
    expect(laterUsage(start, later)).toEqual(expected);
  });
});

const seen = (...events: readonly JsonObject[]) => {
  const observer = new MessagesObserver();
  for (const event of events) observer.see(event);
  return observer.observed();
};

const start = { type: 'message_start', message: { usage: { input_tokens: 5, output_tokens: 1 } } };
const delta = {
  type: 'message_delta',
  delta: { stop_reason: 'end_turn' },
  usage: { input_tokens: 9, output_tokens: 7 },
};
const stop = { type: 'message_stop' };
const block = (index: number, type: string) => ({
  type: 'content_block_start',
  index,
  content_block: { type },
});

describe('observing a messages stream', () => {
  it('takes usage from message_delta, otherwise from message_start, and never sums them', () => {
    expect(seen(start, stop).usage).toEqual(usage(5, 1));
    expect(seen(delta).usage).toEqual(usage(9, 7));
    expect(seen(start, delta).usage).toEqual(usage(9, 7));
    expect(seen(start, delta, delta).usage).toEqual(usage(9, 7));
  });

  it('ignores the usage of `message_start` until `message_delta` has usage or the stream is complete', () => {
    const between = fc.constantFrom<JsonObject>(
      block(0, 'text'),
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'x' } },
      { type: 'ping' },
      { ...delta, ...start, ...block(0, 'tool_use'), type: 'none_of_them' },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' } },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: null },
    );
    fc.assert(
      fc.property(fc.array(between), (events) => {
        expect(seen(start, ...events)).toEqual({
          usage: undefined,
          usageUnusable: false,
          invokedToolCount: 0,
        });
        expect(seen(start, ...events, delta).usage).toEqual(usage(9, 7));
        expect(seen(start, ...events, stop).usage).toEqual(usage(5, 1));
      }),
    );
  });

  it('distinguishes unusable usage from missing usage', () => {
    expect(seen(start, { type: 'message_delta', usage: { output_tokens: -1 } })).toMatchObject({
      usage: undefined,
      usageUnusable: true,
    });
    expect(seen({ type: 'message_start', message: {} })).toMatchObject({
      usage: undefined,
      usageUnusable: false,
    });
  });

  it('counts each call of the caller’s tools and of hosted tools once', () => {
    expect(
      seen(
        block(0, 'text'),
        block(1, 'tool_use'),
        block(1, 'tool_use'),
        block(2, 'server_tool_use'),
        block(3, 'web_search_tool_result'),
        block(4, 'mcp_tool_use'),
      ).invokedToolCount,
    ).toBe(3);
    const whole = {
      type: 'message_start',
      message: { content: [{ type: 'text' }, { type: 'tool_use' }, { type: 'server_tool_use' }] },
    };
    expect(seen(whole, block(2, 'server_tool_use')).invokedToolCount).toBe(2);
    const nameless = { type: 'content_block_start', content_block: { type: 'tool_use' } };
    expect(seen(nameless, nameless).invokedToolCount).toBe(2);
    const numbered = [block(0, 'tool_use'), block(1, 'tool_use')];
    expect(seen(nameless, nameless, ...numbered).invokedToolCount).toBe(4);
  });

  it('counts at most `maxCountedToolCalls` calls', () => {
    const many = Array.from({ length: maxCountedToolCalls + 5 }, (_, index) => block(index, 'tool_use'));
    expect(seen(...many).invokedToolCount).toBe(maxCountedToolCalls);
  });

  it('never throws, whatever the events contain', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.record({
            type: fc.constantFrom('message_start', 'message_delta', 'content_block_start', 'x'),
            message: fc.jsonValue({ maxDepth: 2 }),
            usage: fc.jsonValue({ maxDepth: 2 }),
            content_block: fc.jsonValue({ maxDepth: 2 }),
            index: fc.jsonValue({ maxDepth: 1 }),
          }),
        ),
        (events) => {
          seen(...(events as readonly JsonObject[]));
        },
      ),
    );
  });
});

it('observing a whole message gives its usage and the number of its tool calls', () => {
  const content = [{ type: 'text' }, { type: 'tool_use' }, { type: 'server_tool_use' }, { type: 'thinking' }];
  expect(observeMessage({ content, usage: { input_tokens: 5, output_tokens: 7 } })).toEqual({
    usage: usage(5, 7),
    usageUnusable: false,
    invokedToolCount: 2,
  });
});
