import { describe, expect, it } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import * as fc from 'fast-check';
import { generationUsage } from '../../domain/ledger/usage.ts';
import type { JsonObject } from '../../domain/shared/json.ts';
import { maxJsonDepth } from '../../domain/shared/limits.ts';
import { unifiedCompletion } from '../../infrastructure/providers/cloud-b/unified-response.ts';
import { aJson } from '../support/arbitraries/json-text.ts';

const names = { id: 'chatcmpl-1', model: 'asked-for', createdSecs: 1_700_000_000 };
const sanitise = (message: string): string => message.replaceAll('secret', '***');
const read = (text: string) => unifiedCompletion(text, names, sanitise);

const answer = (content: readonly JsonObject[], more: JsonObject = {}): string =>
  JSON.stringify({
    output: { message: { role: 'assistant', content } },
    stopReason: 'end_turn',
    usage: { inputTokens: 3, outputTokens: 4, totalTokens: 7 },
    metrics: { latencyMs: 1 },
    ...more,
  });

function completion(text: string): JsonObject {
  const told = read(text);
  if (E.isLeft(told)) throw new Error(JSON.stringify(told.left));
  return JSON.parse(JSON.stringify(told.right)) as JsonObject;
}

const choiceOf = (text: string) =>
  (completion(text) as unknown as { choices: [{ message: JsonObject; finish_reason: string }] }).choices[0];
const messageOf = (text: string) => choiceOf(text).message;
const faultOf = (text: string) => {
  const told = read(text);
  return E.isLeft(told) ? told.left : undefined;
};

const use = (toolUseId: string, name: string, input: unknown, type?: string): JsonObject => ({
  toolUse: { toolUseId, name, input: input as JsonObject, ...(type === undefined ? {} : { type }) },
});

describe('a converse answer as a chat completion', () => {
  it('has the requested model, and the id and time of the gateway', () => {
    expect(completion(answer([{ text: 'Hello' }, { text: ' there.' }]))).toEqual({
      id: 'chatcmpl-1',
      object: 'chat.completion',
      created: 1_700_000_000,
      model: 'asked-for',
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: 'Hello there.', refusal: null },
          logprobs: null,
          finish_reason: 'stop',
        },
      ],
      usage: { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 },
    });
  });

  it('keeps the id and every digit of the input of a tool call', () => {
    const text = answer([{ text: '' }, use('a.b:0', 'f', 1)], { stopReason: 'tool_use' }).replace(
      '"input":1',
      '"input":{"n":9007199254740993,"m":1.50}',
    );
    expect(choiceOf(text)).toMatchObject({
      message: {
        content: null,
        tool_calls: [
          {
            id: 'a.b:0',
            type: 'function',
            function: { name: 'f', arguments: '{"n":9007199254740993,"m":1.50}' },
          },
        ],
      },
      finish_reason: 'tool_calls',
    });
  });

  it('keeps text beside a tool call', () => {
    expect(messageOf(answer([{ text: 'I look.' }, use('1', 'f', {})]))).toMatchObject({
      content: 'I look.',
      tool_calls: [{ id: '1' }],
    });
  });

  it('has `{}` as the arguments of tool calls without arguments', () => {
    const content = [use('1', 'f', {}), { toolUse: { toolUseId: '2', name: 'g' } }];
    expect(messageOf(answer(content))).toMatchObject({
      tool_calls: [{ function: { arguments: '{}' } }, { function: { arguments: '{}' } }],
    });
  });

  it('keeps calls that the platform ran itself in the metadata, and not as tool calls', () => {
    const content = [
      use('1', 'interpreter', {}, 'server_tool_use'),
      { toolResult: { toolUseId: '1', content: [{ json: {} }] } },
      use('2', 'f', {}, 'tool_use'),
    ];
    expect(messageOf(answer(content))).toEqual({
      role: 'assistant',
      content: null,
      refusal: null,
      tool_calls: [{ id: '2', type: 'function', function: { name: 'f', arguments: '{}' } }],
      provider_metadata: { cloud_b_platform: { blocks: content.slice(0, 2) } },
    });
  });

  it('has native reasoning in the metadata, and never in the content', () => {
    const content = [
      { reasoningContent: { reasoningText: { text: 'Hm.', signature: 's' } } },
      { reasoningContent: { reasoningText: { text: 'So.' } } },
      { reasoningContent: { redactedContent: 'AAAA' } },
      { text: 'Yes.' },
    ];
    expect(messageOf(answer(content))).toEqual({
      role: 'assistant',
      content: 'Yes.',
      refusal: null,
      provider_metadata: {
        cloud_b_platform: {
          reasoning: [
            { type: 'thinking', thinking: 'Hm.', signature: 's' },
            { type: 'thinking', thinking: 'So.' },
            { type: 'redacted_thinking', data: 'AAAA' },
          ],
        },
      },
    });
  });

  it('has cited text in the content, and the citations in the metadata', () => {
    const citation = { title: 'policy', location: { documentChar: { documentIndex: 0, start: 0, end: 9 } } };
    const content = [
      { text: 'You should ' },
      { citationsContent: { content: [{ text: 'ask ' }, { text: 'first.' }], citations: [citation] } },
      { text: ' Really.' },
    ];
    expect(messageOf(answer(content))).toEqual({
      role: 'assistant',
      content: 'You should ask first. Really.',
      refusal: null,
      provider_metadata: { cloud_b_platform: { citations: [citation] } },
    });
    const bare = {
      citationsContent: { content: ['a', { text: 'b' }, { text: 7 }] },
    } as unknown as JsonObject;
    expect(messageOf(answer([bare]))).toEqual({ role: 'assistant', content: 'b', refusal: null });
  });

  it('has additional response fields, the trace and the performance settings in the metadata', () => {
    const more = {
      additionalModelResponseFields: { stop_sequence: null },
      trace: { guardrail: { actionReason: 'a' } },
      performanceConfig: { latency: 'standard' },
    };
    expect(completion(answer([{ text: 'a' }], more))['provider_metadata']).toEqual({
      cloud_b_platform: more,
    });
  });

  it('has the service tier as `service_tier`', () => {
    expect(completion(answer([{ text: 'a' }], { serviceTier: { type: 'flex' } }))).toMatchObject({
      service_tier: 'flex',
    });
    expect(completion(answer([{ text: 'a' }], { serviceTier: {} }))).not.toHaveProperty('service_tier');
  });

  it('keeps blocks for which chat has no field unchanged in the metadata', () => {
    expect(messageOf(answer([{ video: {} }, { text: 'a' }, { other: 1 }]))).toMatchObject({
      content: 'a',
      provider_metadata: { cloud_b_platform: { blocks: [{ video: {} }, { other: 1 }] } },
    });
    expect(messageOf(answer([]))).toMatchObject({ content: '' });
  });

  it.each([
    ['end_turn', 'stop'],
    ['stop_sequence', 'stop'],
    ['tool_use', 'stop'],
    ['max_tokens', 'length'],
    ['model_context_window_exceeded', 'length'],
    ['guardrail_intervened', 'content_filter'],
    ['content_filtered', 'content_filter'],
    ['refusal', 'content_filter'],
    ['something_new', 'stop'],
  ])('maps the stop reason %s to the finish reason %s', (stopReason, reason) => {
    expect(choiceOf(answer([{ text: 'a' }], { stopReason })).finish_reason).toBe(reason);
  });

  it.each(['stop_sequence', 'model_context_window_exceeded', 'something_new'])(
    'keeps the stop reason %s, for which chat has no value, in the metadata',
    (stopReason) => {
      expect(completion(answer([{ text: 'a' }], { stopReason }))['provider_metadata']).toEqual({
        cloud_b_platform: { stop_reason: stopReason },
      });
      for (const told of ['end_turn', 'max_tokens', 'refusal', 'guardrail_intervened', 'content_filtered'])
        expect(completion(answer([{ text: 'a' }], { stopReason: told }))).not.toHaveProperty(
          'provider_metadata',
        );
    },
  );

  it('finishes with `tool_calls` where there are tool calls, also for `end_turn`, but not for `max_tokens`', () => {
    for (const stopReason of ['end_turn', 'tool_use'])
      expect(choiceOf(answer([use('1', 'f', {})], { stopReason })).finish_reason).toBe('tool_calls');
    expect(choiceOf(answer([use('1', 'f', {})], { stopReason: 'max_tokens' })).finish_reason).toBe('length');
  });

  it.each(['malformed_model_output', 'malformed_tool_use'])('fails for the stop reason %s', (stopReason) => {
    expect(faultOf(answer([{ text: 'a' }], { stopReason }))).toMatchObject({
      kind: 'protocol',
      message: expect.stringContaining(stopReason),
    });
  });
});

describe('the usage of a converse answer', () => {
  const usageOf = (usage: JsonObject): JsonObject =>
    completion(answer([{ text: 'a' }], { usage }))['usage'] as JsonObject;

  it('is summed as it is billed: input + cache read + cache write', () => {
    const usage = usageOf({
      inputTokens: 3,
      outputTokens: 121,
      totalTokens: 2072,
      cacheReadInputTokens: 1712,
      cacheWriteInputTokens: 236,
    });
    expect(usage).toEqual({
      prompt_tokens: 1951,
      completion_tokens: 121,
      total_tokens: 2072,
      prompt_tokens_details: { cached_tokens: 1712, cache_write_tokens: 236 },
    });
    expect(generationUsage(usage)).toEqual({ promptTokens: 1951, completionTokens: 121, totalTokens: 2072 });
  });

  it('has the sum in place of an absent total', () => {
    expect(usageOf({ inputTokens: 1, outputTokens: 2 })).toMatchObject({ total_tokens: 3 });
  });

  it('counts as missing where any of its counts is invalid', () => {
    const aCount = fc.oneof(fc.nat(), fc.constantFrom(null, undefined));
    const bad = fc.constantFrom(-1, 1.5, '3', 2 ** 53, true, {});
    const fields = [
      'inputTokens',
      'outputTokens',
      'totalTokens',
      'cacheReadInputTokens',
      'cacheWriteInputTokens',
    ];
    fc.assert(
      fc.property(
        fc.record(Object.fromEntries(fields.map((field) => [field, aCount]))),
        fc.constantFrom(...fields),
        bad,
        (usage, field, value) => {
          expect(generationUsage(usageOf({ ...usage, [field]: value }))).toBeUndefined();
        },
      ),
    );
  });

  it('has null in place of an invalid count', () => {
    expect(usageOf({ inputTokens: 1, outputTokens: -1, cacheReadInputTokens: 0.5 })).toEqual({
      prompt_tokens: null,
      completion_tokens: null,
      total_tokens: null,
      prompt_tokens_details: { cached_tokens: null },
    });
  });

  it('is absent where the upstream reports none', () => {
    expect(completion(answer([], { usage: null }))).not.toHaveProperty('usage');
  });
});

describe('an invalid converse answer', () => {
  it.each([
    ['no JSON', 'nope'],
    ['no object', '[]'],
    ['nothing', '{}'],
    ['no message', '{"output":{},"stopReason":"end_turn"}'],
    ['no content', '{"output":{"message":{"role":"assistant"}},"stopReason":"end_turn"}'],
    ['no stop reason', answer([{ text: 'a' }], { stopReason: null })],
    ['an empty stop reason', answer([{ text: 'a' }], { stopReason: '' })],
  ])('is a protocol fault: %s', (_, text) => {
    expect(faultOf(text)).toMatchObject({ kind: 'protocol' });
  });

  it('is a fault with its own message, sanitised, where it is an error body under status 200', () => {
    expect(faultOf('{"message":"The secret model is gone."}')).toEqual({
      kind: 'protocol',
      message: 'The *** model is gone.',
    });
  });

  it('is a protocol fault where it is nested too deep', () => {
    for (const levels of [maxJsonDepth, 5000]) {
      const deep = `${'['.repeat(levels)}${']'.repeat(levels)}`;
      expect(faultOf(answer([use('1', 'f', 'DEEP')]).replace('"DEEP"', deep))).toMatchObject({
        kind: 'protocol',
      });
    }
  });

  it('is never an exception', () => {
    fc.assert(
      fc.property(aJson, aJson, (one, other) => {
        read(JSON.stringify(one));
        read(answer([one as JsonObject, { text: one }, { reasoningContent: one }, { toolUse: one }]));
        read(answer([], { usage: one, trace: other, stopReason: other }));
        read(JSON.stringify({ output: { message: { content: one } }, stopReason: 'end_turn', usage: other }));
      }),
      { numRuns: 300 },
    );
  });
});
