import { describe, expect, it } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import * as fc from 'fast-check';
import { ChatObserver, observeCompletion } from '../../domain/chat/observe-chat.ts';
import { observeMessage } from '../../domain/messages/observe-messages.ts';
import { isArray, isObject, type JsonObject, parseExact } from '../../domain/shared/json.ts';
import { maxJsonDepth } from '../../domain/shared/limits.ts';
import { messageAsChat, readMessage } from '../../infrastructure/providers/messages-body/response.ts';
import { anObjectText } from '../support/arbitraries/messages.ts';
import { malformedBlocks } from '../support/malformed-pieces.ts';
import { stopReasons } from './messages-body-stream-told.ts';

const about = { id: 'chatcmpl-1', model: 'fast', createdSecs: 1700 };
const namespace = 'cloud_b_platform';
const sanitise = (message: string): string => message.replaceAll('hunter2', '[REDACTED]');
const words = { about, namespace, sanitise };

const message = (content: readonly object[], more: object = {}) => ({
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'claude',
  content,
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: { input_tokens: 5, cache_read_input_tokens: 2, cache_creation_input_tokens: 1, output_tokens: 7 },
  ...more,
});

const told = (answer: object | string): JsonObject => {
  const result = messageAsChat(typeof answer === 'string' ? answer : JSON.stringify(answer), words);
  if (E.isLeft(result)) throw new Error(JSON.stringify(result.left));
  expect(JSON.parse(String(result.right.text))).toEqual(JSON.parse(JSON.stringify(result.right.value)));
  return JSON.parse(String(result.right.text)) as JsonObject;
};

describe('a non-streamed message as a chat completion', () => {
  it('has the gateway’s id, the requested model, the joined text and the summed usage', () => {
    expect(
      told(
        message([
          { type: 'text', text: 'Hel' },
          { type: 'text', text: 'lo', citations: null },
        ]),
      ),
    ).toEqual({
      id: 'chatcmpl-1',
      object: 'chat.completion',
      created: 1700,
      model: 'fast',
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: 'Hello', refusal: null },
          logprobs: null,
          finish_reason: 'stop',
        },
      ],
      usage: {
        prompt_tokens: 8,
        completion_tokens: 7,
        total_tokens: 15,
        prompt_tokens_details: { cached_tokens: 2, cache_write_tokens: 1 },
      },
    });
  });

  it('has the thinking tokens as a part of the completion tokens', () => {
    const usage = { input_tokens: 5, output_tokens: 7, output_tokens_details: { thinking_tokens: 4 } };
    expect(told(message([], { usage }))['usage']).toEqual({
      prompt_tokens: 5,
      completion_tokens: 7,
      total_tokens: 12,
      completion_tokens_details: { reasoning_tokens: 4 },
    });
  });

  it('has calls in `tool_calls`, and reasoning, citations and blocks that chat does not have in the metadata', () => {
    const thinking = { type: 'thinking', thinking: 'Hm.', signature: 'c2ln' };
    const signed = { type: 'thinking', thinking: '', signature: 'c2ln' };
    const redacted = { type: 'redacted_thinking', data: 'eA==' };
    const searching = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { q: 'x' } };
    const compaction = { type: 'compaction', content: 'Earlier.' };
    const citation = { type: 'web_search_result_location', url: 'https://example.com' };
    const answer = told(
      message(
        [
          thinking,
          signed,
          redacted,
          searching,
          compaction,
          { type: 'tool_use', id: 'toolu_1', name: 'weather', input: { city: 'Ulm' } },
          { type: 'tool_use', id: 'toolu_2', name: 'time', input: {} },
        ],
        { stop_reason: 'tool_use' },
      ),
    );
    expect(answer['choices']).toEqual([
      {
        index: 0,
        message: {
          role: 'assistant',
          content: null,
          refusal: null,
          tool_calls: [
            { id: 'toolu_1', type: 'function', function: { name: 'weather', arguments: '{"city":"Ulm"}' } },
            { id: 'toolu_2', type: 'function', function: { name: 'time', arguments: '{}' } },
          ],
          provider_metadata: {
            [namespace]: { reasoning: [thinking, signed, redacted], blocks: [searching, compaction] },
          },
        },
        logprobs: null,
        finish_reason: 'tool_calls',
      },
    ]);
    expect(told(message([{ type: 'text', text: 'A', citations: [citation] }]))['choices']).toMatchObject([
      { message: { content: 'A', provider_metadata: { [namespace]: { citations: [citation] } } } },
    ]);
  });

  it.each([...stopReasons, [null, 'stop', 'tool_calls']])(
    'stop reason %s finishes with %s, and with calls %s',
    (stop_reason, finish_reason, withCalls) => {
      expect(told(message([], { stop_reason }))['choices']).toMatchObject([
        { message: { content: '' }, finish_reason },
      ]);
      const call = { type: 'tool_use', id: 'toolu_1', name: 'time', input: {} };
      expect(told(message([call], { stop_reason }))['choices']).toMatchObject([
        { message: { content: null }, finish_reason: withCalls },
      ]);
    },
  );

  it.each(['pause_turn', 'compaction', 'a_new_one'])(
    'the stop reason %s, which chat does not have, is kept in the metadata',
    (stop_reason) => {
      expect(told(message([], { stop_reason }))['provider_metadata']).toEqual({
        [namespace]: { stop_reason },
      });
      for (const said of ['end_turn', 'max_tokens', 'tool_use', 'refusal', '', 7, null])
        expect(told(message([], { stop_reason: said }))).not.toHaveProperty('provider_metadata');
    },
  );

  it('has the explanation of a refusal, and other fields of the complete answer in the metadata', () => {
    const refused = {
      stop_reason: 'refusal',
      stop_details: { type: 'refusal', category: 'bio', explanation: 'That may harm.' },
      container: { id: 'container_1', expires_at: '2026-01-01T00:00:00Z' },
      context_management: { applied_edits: [{ type: 'clear_tool_uses_20250919', cleared_tool_uses: 2 }] },
      input_transformations: [{ type: 'thinking_dropped' }],
    };
    const { stop_reason: _, ...kept } = refused;
    expect(told(message([], refused))).toMatchObject({
      choices: [{ message: { content: '', refusal: 'That may harm.' }, finish_reason: 'content_filter' }],
      provider_metadata: { [namespace]: kept },
    });
    for (const explanation of ['', 7, null])
      expect(told(message([], { ...refused, stop_details: { explanation } }))['choices']).toMatchObject([
        { message: { refusal: null } },
      ]);
    const stopped = { stop_reason: 'stop_sequence', stop_sequence: 'END' };
    expect(told(message([], stopped))['provider_metadata']).toEqual({ [namespace]: stopped });
    expect(told(message([]))).not.toHaveProperty('provider_metadata');
  });

  it('keeps text beside a call, has `{}` for a call without input, and ignores text in other blocks', () => {
    const content = [
      { type: 'text', text: 'I look.' },
      { type: 'tool_use', id: 'a', name: 'f' },
      { type: 'a_new_one', text: 'x' },
      { type: 'text' },
    ];
    expect(told(message(content))['choices']).toMatchObject([
      { message: { content: 'I look.', tool_calls: [{ function: { arguments: '{}' } }] } },
    ]);
  });

  it('keeps every digit of an input', () => {
    fc.assert(
      fc.property(anObjectText, (input) => {
        const text = JSON.stringify(
          message([{ type: 'tool_use', id: 'a', name: 'f', input: 'INPUT' }]),
        ).replace('"INPUT"', () => input);
        const [choice] = told(text)['choices'] as readonly JsonObject[];
        const said = choice!['message'] as JsonObject;
        const [call] = said['tool_calls'] as readonly JsonObject[];
        expect((call!['function'] as JsonObject)['arguments']).toBe(JSON.stringify(parseExact(input)));
      }),
    );
  });

  it('has the same observed usage and number of calls as the message', () => {
    fc.assert(
      fc.property(
        fc.record(
          {
            input_tokens: fc.constantFrom<unknown>(0, 5, -1, 1.5, null, 'x', 2 ** 53),
            output_tokens: fc.constantFrom<unknown>(0, 7, null, {}),
            cache_read_input_tokens: fc.constantFrom<unknown>(0, 3, null, -1),
            cache_creation_input_tokens: fc.constantFrom<unknown>(0, 4, null, 0.5),
            iterations: fc.constantFrom<unknown>(null, 7, [{ type: 'compaction', input_tokens: 9 }]),
          },
          { requiredKeys: [] },
        ),
        fc.nat(3),
        (usage, calls) => {
          const content = Array.from({ length: calls }, (_, at) => ({
            type: 'tool_use',
            id: `t${at}`,
            name: 'f',
            input: {},
          }));
          const native = message(content, { usage }) as unknown as JsonObject;
          expect(observeCompletion(told(native))).toEqual(observeMessage(native));
        },
      ),
    );
    const silent = message([], { usage: null }) as unknown as JsonObject;
    expect(told(silent)).not.toHaveProperty('usage');
    expect(observeCompletion(told(silent))).toEqual(observeMessage(silent));
    expect(new ChatObserver().observed()).toEqual(observeMessage(silent));
  });
});

describe('an answer that is not a message', () => {
  it.each<[string, string, string | RegExp]>([
    [
      'an error under status 200',
      '{"type":"error","error":{"type":"api_error","message":"key hunter2"}}',
      'key [REDACTED]',
    ],
    ['a platform’s error', '{"message":"no hunter2"}', 'no [REDACTED]'],
    ['an error beside content', '{"content":[],"error":{"message":"no hunter2"}}', 'no [REDACTED]'],
    ['another family’s answer', '{"choices":[]}', 'The upstream answered without `content`.'],
    ['no JSON', '<html>', /not a JSON object/],
    ['an array', '[]', /not a JSON object/],
  ])('is a protocol fault: %s', (_, text, expected) => {
    for (const result of [messageAsChat(text, words), readMessage(text, sanitise)]) {
      const fault = E.isLeft(result) ? result.left : undefined;
      expect(fault).toMatchObject({
        kind: 'protocol',
        message: typeof expected === 'string' ? expected : expect.stringMatching(expected),
      });
    }
  });

  it('that is an error keeps its usage, in the fields of each family', () => {
    const text = '{"error":{"message":"m"},"usage":{"input_tokens":5,"output_tokens":7}}';
    expect(messageAsChat(text, words)).toMatchObject({
      left: { message: 'm', usage: { prompt_tokens: 5, completion_tokens: 7, total_tokens: 12 } },
    });
    expect(readMessage(text, sanitise)).toMatchObject({
      left: { message: 'm', usage: { input_tokens: 5, output_tokens: 7 } },
    });
  });

  it.each(malformedBlocks)('is a protocol fault if an invalid block would be lost: %s', (_, block) => {
    const text = JSON.stringify({ ...message([]), content: [{ type: 'text', text: 'a' }, block] });
    expect(messageAsChat(text, words)).toMatchObject(
      E.left({
        kind: 'protocol',
        message: 'The upstream sent a malformed answer.',
        usage: { prompt_tokens: 8, completion_tokens: 7 },
      }),
    );
  });

  it('is a fault if it is nested too deeply', () => {
    const input = `${'{"a":'.repeat(maxJsonDepth)}1${'}'.repeat(maxJsonDepth)}`;
    const text = JSON.stringify(message([{ type: 'tool_use', id: 'a', name: 'f', input: 0 }])).replace(
      '"input":0',
      `"input":${input}`,
    );
    expect(messageAsChat(text, words)).toMatchObject({
      left: { message: 'The upstream sent an answer that is nested too deeply.' },
    });
  });

  it('never throws, and is a fault unless `content` is an array of objects', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), fc.jsonValue({ maxDepth: 3 }), (content, usage) => {
        const result = messageAsChat(JSON.stringify({ content, usage }), words);
        expect(E.isRight(result)).toBe(isArray(content) && content.every(isObject));
        if (E.isRight(result)) expect(isObject(result.right.value)).toBe(true);
      }),
    );
  });
});
