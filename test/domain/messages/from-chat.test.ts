import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import * as E from 'fp-ts/lib/Either.js';
import { fromChatCompletion } from '../../../domain/messages/from-chat.ts';
import { type Json, type JsonObject, parseExact } from '../../../domain/shared/json.ts';
import { emptyInChat, failedFinishes, malformedInChat } from '../../support/malformed-pieces.ts';
import { aChunkSoup, anObjectText } from '../../support/arbitraries/messages.ts';

const about = { id: 'msg_1', model: 'fast' };
const messageOf = (completion: JsonObject): JsonObject => {
  const message = fromChatCompletion(completion, about);
  if (E.isLeft(message)) throw new Error(JSON.stringify(message.left));
  return message.right;
};
const completionOf = (message: JsonObject, finish_reason: Json = 'stop'): JsonObject => ({
  id: 'c1',
  object: 'chat.completion',
  model: 'upstream-model',
  choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason }],
});
const contentOf = (message: JsonObject): Json | undefined => messageOf(completionOf(message))['content'];
const stopOf = (message: JsonObject, finish: Json): Json | undefined =>
  messageOf(completionOf(message, finish))['stop_reason'];
const text = (words: string) => ({ type: 'text', text: words });
const call = (id: Json | undefined, name: string, args: Json) => ({
  ...(id === undefined ? {} : { id }),
  type: 'function',
  function: { name, arguments: args },
});

describe('the translated message', () => {
  it('is complete, and has the id and the model name that the caller sees', () => {
    const usage = { prompt_tokens: 10, completion_tokens: 5, prompt_tokens_details: { cached_tokens: 4 } };
    expect(messageOf({ ...completionOf({ content: 'Hello' }), usage })).toEqual({
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'fast',
      content: [text('Hello')],
      stop_reason: 'end_turn',
      stop_sequence: null,
      usage: {
        input_tokens: 6,
        cache_creation_input_tokens: 0,
        cache_read_input_tokens: 4,
        cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 },
        output_tokens: 5,
      },
    });
  });

  it.each<[string, JsonObject, readonly [input: number, cached: number, output: number]]>([
    ['none', {}, [0, 0, 0]],
    ['null', { usage: null }, [0, 0, 0]],
    ['not an object', { usage: 7 }, [0, 0, 0]],
    ['nothing cached', { usage: { prompt_tokens: 3, completion_tokens: 5 } }, [3, 0, 5]],
    [
      'null details',
      { usage: { prompt_tokens: 3, completion_tokens: 5, prompt_tokens_details: null } },
      [3, 0, 5],
    ],
    [
      'more cached tokens than prompt tokens, which are not among them',
      { usage: { prompt_tokens: 3, completion_tokens: 5, prompt_tokens_details: { cached_tokens: 4 } } },
      [3, 4, 5],
    ],
    ['no output', { usage: { prompt_tokens: 3 } }, [3, 0, 0]],
    ['no prompt', { usage: { completion_tokens: 5 } }, [0, 0, 5]],
    ['invalid counts', { usage: { prompt_tokens: -3, completion_tokens: 1.5 } }, [0, 0, 0]],
    [
      'counts written as 12.0',
      { usage: parseExact('{"prompt_tokens":12.0,"completion_tokens":1e1}') },
      [12, 0, 10],
    ],
    ['only in x_groq', { x_groq: { usage: { prompt_tokens: 3, completion_tokens: 5 } } }, [3, 0, 5]],
    [
      'output tokens only in the total, which is billed',
      { usage: { prompt_tokens: 12, completion_tokens: 2, total_tokens: 354 } },
      [12, 0, 342],
    ],
    [
      'a total smaller than the sum of its parts',
      { usage: { prompt_tokens: 3, completion_tokens: 5, total_tokens: 4 } },
      [3, 0, 5],
    ],
    ['names of other families', { usage: { input_tokens: 3, output_tokens: 5 } }, [3, 0, 5]],
    [
      'names and counts of the messages family',
      { usage: { input_tokens: 3, cache_read_input_tokens: 9, output_tokens: 5, total_tokens: 17 } },
      [3, 9, 5],
    ],
    ...['cached_tokens', 'num_cached_tokens', 'prompt_cache_hit_tokens', 'cache_read_input_tokens'].map(
      (field): [string, JsonObject, readonly [number, number, number]] => [
        `${field} at the top`,
        { usage: { prompt_tokens: 9, completion_tokens: 5, prompt_tokens_details: null, [field]: 4 } },
        [5, 4, 5],
      ],
    ),
    [
      'cached tokens reported twice',
      {
        usage: {
          prompt_tokens: 9,
          completion_tokens: 5,
          prompt_cache_hit_tokens: 4,
          prompt_tokens_details: { cached_tokens: 4 },
        },
      },
      [5, 4, 5],
    ],
  ])('usage: %s', (_, over, [input_tokens, cache_read_input_tokens, output_tokens]) => {
    expect(messageOf({ ...completionOf({}), ...over })['usage']).toMatchObject({
      input_tokens,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens,
      output_tokens,
    });
  });

  it.each<[string, JsonObject]>([
    ['cache_write_tokens', { prompt_tokens_details: { cache_write_tokens: 2 } }],
    ['cache_creation_input_tokens', { prompt_tokens_details: { cache_creation_input_tokens: 2 } }],
    ['cache_creation_tokens', { prompt_tokens_details: { cache_creation_tokens: 2 } }],
    ['cached_creation_tokens', { prompt_tokens_details: { cached_creation_tokens: 2 } }],
    ['cache_creation_input_tokens at the top', { cache_creation_input_tokens: 2 }],
  ])('has a null `cache_creation`, since the lifetime of the cache entry is unknown: %s', (_, written) => {
    const usage = { prompt_tokens: 3, completion_tokens: 5, ...written };
    expect(messageOf({ ...completionOf({}), usage })['usage']).toMatchObject({
      input_tokens: 1,
      cache_creation_input_tokens: 2,
      cache_creation: null,
    });
  });

  it('reports thinking tokens if the upstream reports reasoning tokens in its completion details', () => {
    const usageWith = (details: JsonObject) =>
      messageOf({
        ...completionOf({}),
        usage: { prompt_tokens: 3, completion_tokens: 5, completion_tokens_details: details },
      })['usage'];
    expect(usageWith({ reasoning_tokens: 4 })).toMatchObject({
      output_tokens: 5,
      output_tokens_details: { thinking_tokens: 4 },
    });
    expect(usageWith({ reasoning_tokens: 6 })).toHaveProperty('output_tokens_details.thinking_tokens', 6);
    expect(usageWith({ reasoning_tokens: null })).not.toHaveProperty('output_tokens_details');
  });

  it('reports thinking tokens from a top-level `reasoning_tokens` that does not exceed the output', () => {
    const usageWith = (reasoning_tokens: number) =>
      messageOf({
        ...completionOf({}),
        usage: { prompt_tokens: 3, completion_tokens: 5, reasoning_tokens },
      })['usage'];
    expect(usageWith(4)).toMatchObject({ output_tokens: 5, output_tokens_details: { thinking_tokens: 4 } });
    expect(usageWith(5)).toMatchObject({ output_tokens_details: { thinking_tokens: 5 } });
    expect(usageWith(6)).not.toHaveProperty('output_tokens_details');
  });

  it('contains choice 0 only; a choice without an index counts as choice 0', () => {
    const other = { index: 1, message: { content: 'other' }, finish_reason: 'length' };
    const choices = [other, { message: { content: 'this' }, finish_reason: 'stop' }];
    expect(messageOf({ choices })).toMatchObject({ content: [text('this')], stop_reason: 'end_turn' });
  });

  it.each([{}, { index: 0 }])('has all choices with one index, as pieces of one answer: %j', (index) => {
    const choices = [
      { ...index, message: { content: 'I look.' }, finish_reason: 'tool_calls' },
      { ...index, message: { tool_calls: [call('a', 'f', '{}'), call('b', 'g', '{}')] } },
    ];
    expect(messageOf({ choices })).toMatchObject({
      content: [text('I look.'), { type: 'tool_use', id: 'a' }, { type: 'tool_use', id: 'b' }],
      stop_reason: 'tool_use',
    });
  });
});

describe('content blocks of an answer with', () => {
  const ofConverse = { reasoningContent: { reasoningText: { text: 'hm', signature: 's' } } };
  const thinking = (words: string) => ({ type: 'thinking', thinking: words, signature: '' });

  it.each<[string, JsonObject, readonly object[]]>([
    ['a text', { content: 'a' }, [text('a')]],
    ['an empty text', { content: '' }, []],
    ['null', { content: null, refusal: null, tool_calls: null, function_call: null }, []],
    ['text parts', { content: [text('a'), { type: 'image_url' }, null, text('b')] }, [text('ab')]],
    ['a refusal', { content: null, refusal: 'No.' }, [text('No.')]],
    ['a text and a refusal', { content: 'Well.', refusal: 'No.' }, [text('Well.'), text('No.')]],
    ['reasoning', { content: 'a', reasoning: 'hm' }, [thinking('hm'), text('a')]],
    ['reasoning_content', { content: 'a', reasoning_content: 'hm' }, [thinking('hm'), text('a')]],
    ['a Converse block', { content: 'a', reasoning_content: ofConverse }, [thinking('hm'), text('a')]],
    ['reasoning_text', { content: 'a', reasoning: null, reasoning_text: 'hm' }, [thinking('hm'), text('a')]],
    [
      'thinking blocks in provider metadata, as lists of texts',
      {
        provider_metadata: {
          compat: {
            reasoning: [{ type: 'thinking', thinking: [{ type: 'text', text: 'h' }, { text: 'm' }] }],
          },
        },
      },
      [thinking('hm')],
    ],
    [
      'reasoning summaries in provider metadata',
      {
        provider_metadata: {
          compat: { reasoning: [{ type: 'reasoning', summary: [{ type: 'summary_text', text: 'hm' }] }] },
        },
      },
      [thinking('hm')],
    ],
    [
      'thinking blocks in provider metadata, as strings',
      {
        provider_metadata: {
          a: { reasoning: [{ type: 'thinking', thinking: 'hm', signature: 's' }] },
          b: {},
        },
      },
      [thinking('hm')],
    ],
    [
      'reasoning only in reasoning_details, where encrypted entries are ignored',
      {
        content: 'a',
        reasoning: null,
        reasoning_details: [
          { type: 'reasoning.summary', summary: 'h', format: 'f', index: 0 },
          { type: 'reasoning.encrypted', data: 'AAAA', id: 'r', index: 1 },
          { type: 'reasoning.text', text: 'm', signature: 's', index: 2 },
        ],
      },
      [thinking('hm'), text('a')],
    ],
    [
      'reasoning_details without text',
      { content: 'a', reasoning_details: [{ type: 'reasoning.encrypted', data: 'AAAA' }, 7, { text: null }] },
      [text('a')],
    ],
    [
      'reasoning that is repeated in reasoning_details',
      { reasoning: 'hm', reasoning_details: [{ text: 'hm' }] },
      [thinking('hm')],
    ],
    [
      'an audio transcript',
      { content: null, audio: { id: 'a', data: 'AA==', transcript: 'Hello there' } },
      [text('Hello there')],
    ],
    [
      'a text and an audio transcript, which is ignored',
      { content: 'Hello', audio: { transcript: 'Hello there' } },
      [text('Hello')],
    ],
    ['a JSON object as content', { content: { town: 'Ulm', hills: 2 } }, [text('{"town":"Ulm","hills":2}')]],
    ['a text beside an image', { content: 'Here.', images: [{ type: 'image_url' }] }, [text('Here.')]],
    ['empty images and audio', { content: '', images: [], audio: { data: '' } }, []],
    [
      'thinking that has only a signature',
      { provider_metadata: { a: { reasoning: [{ signature: 's' }] } } },
      [],
    ],
  ])('%s', (_, message, content) => {
    expect(contentOf(message)).toEqual(content);
  });
});

describe('tool calls', () => {
  const use = (id: string, name: string, input: object) => ({ type: 'tool_use', id, name, input });
  const legacy = { function_call: { name: 'f', arguments: '{"a":1}' } };

  it.each<[string, JsonObject, readonly object[]]>([
    [
      'several calls, with the ids of the upstream',
      { content: null, tool_calls: [call('functions.f:0', 'f', '{"a":1}'), call('x|y', 'g', '{}')] },
      [use('functions.f:0', 'f', { a: 1 }), use('x|y', 'g', {})],
    ],
    ['after text', { content: 'a', tool_calls: [call('c', 'f', '{}')] }, [text('a'), use('c', 'f', {})]],
    ['empty arguments', { tool_calls: [call('c', 'f', '')] }, [use('c', 'f', {})]],
    ['blank arguments', { tool_calls: [call('c', 'f', ' \n')] }, [use('c', 'f', {})]],
    ['null arguments', { tool_calls: [call('c', 'f', null)] }, [use('c', 'f', {})]],
    ['arguments with the text null', { tool_calls: [call('c', 'f', 'null')] }, [use('c', 'f', {})]],
    ['arguments as an object', { tool_calls: [call('c', 'f', { a: 1 })] }, [use('c', 'f', { a: 1 })]],
    [
      'missing and empty ids, which are generated',
      { tool_calls: [call(undefined, 'f', '{}'), call('', 'g', '{}')] },
      [use('toolu_1_0', 'f', {}), use('toolu_1_1', 'g', {})],
    ],
    ['the legacy single call', legacy, [use('toolu_1_0', 'f', { a: 1 })]],
    ['a call and its legacy copy', { tool_calls: [call('c', 'f', '{}')], ...legacy }, [use('c', 'f', {})]],
    ['an empty legacy call', { content: 'a', function_call: { name: '', arguments: '' } }, [text('a')]],
    ['no calls', { content: 'a', tool_calls: [] }, [text('a')]],
    [
      'empty calls, which are ignored',
      { content: 'a', tool_calls: [null, {}, { function: {} }] },
      [text('a')],
    ],
  ])('%s', (_, message, content) => {
    expect(contentOf(message)).toEqual(content);
  });

  it('keep every digit of their arguments', () => {
    fc.assert(
      fc.property(anObjectText, (args) => {
        const [use] = contentOf({ tool_calls: [call('c', 'f', args)] }) as readonly [JsonObject];
        expect(JSON.stringify(use['input'])).toBe(args);
      }),
    );
  });

  it('have their arguments parsed if these are JSON-encoded twice, with every digit', () => {
    const args = JSON.stringify('{\n  "n": 9007199254740993,\n  "a": "\\"b\\""\n}');
    const [use] = contentOf({ tool_calls: [call('c', 'f', args)] }) as readonly [JsonObject];
    expect(JSON.stringify(use['input'])).toBe('{"n":9007199254740993,"a":"\\"b\\""}');
  });

  it.each([
    ['{"a":'],
    ['"{\\"a\\":"'],
    ['"[1]"'],
    ['"\\"{}\\""'],
    ['[1]'],
    ['"x"'],
    ['7'],
    ['{}{}'],
    ['not json'],
    ['{"a":'.repeat(300) + '1' + '}'.repeat(300)],
  ])(
    'keep custom tool input, and arguments that are not a JSON object, as `_raw_arguments`: %.20s',
    (args) => {
      const custom = { id: 'c', custom: { name: 'f', input: args } };
      for (const each of [call('c', 'f', args), custom])
        expect(contentOf({ tool_calls: [each] })).toEqual([use('c', 'f', { _raw_arguments: args })]);
    },
  );
});

describe('stop_reason', () => {
  const calls = { tool_calls: [call('c', 'f', '{}')] };

  it.each<[Json, string, string]>([
    ['stop', 'end_turn', 'tool_use'],
    ['length', 'max_tokens', 'max_tokens'],
    ['tool_calls', 'end_turn', 'tool_use'],
    ['function_call', 'end_turn', 'tool_use'],
    ['content_filter', 'refusal', 'refusal'],
    ['', 'end_turn', 'tool_use'],
    [null, 'end_turn', 'tool_use'],
    ['eos', 'end_turn', 'tool_use'],
    ['toString', 'end_turn', 'tool_use'],
    [7, 'end_turn', 'tool_use'],
    ...['model_length', 'max_tokens', 'MAX_TOKENS', 'max_output_tokens', 'time_limit', 'repetition'].map(
      (finish): [Json, string, string] => [finish, 'max_tokens', 'max_tokens'],
    ),
    ['model_context_window_exceeded', 'model_context_window_exceeded', 'model_context_window_exceeded'],
    ['stop_sequence', 'stop_sequence', 'tool_use'],
    ...[
      'refusal',
      'guardrail_intervened',
      'sensitive',
      'SAFETY',
      'RECITATION',
      'PROHIBITED_CONTENT',
      'BLOCKLIST',
      'SPII',
      'content_filter: RECITATION',
      'function_call_filter: MALFORMED_FUNCTION_CALL',
    ].map((finish): [Json, string, string] => [finish, 'refusal', 'refusal']),
  ])('for finish_reason %j is %s, or %s if there are tool calls', (finish, alone, withCalls) => {
    expect([stopOf({ content: 'a' }, finish), stopOf(calls, finish)]).toEqual([alone, withCalls]);
  });

  it.each(failedFinishes)('finish_reason %j is a failure, whatever the answer contains', (finish) => {
    for (const message of [{ content: 'Half an ans' }, calls, { refusal: 'No.' }])
      expect(fromChatCompletion(completionOf(message, finish), about)).toEqual(
        E.left({ kind: 'protocol', message: `The upstream did not finish its answer (${finish}).` }),
      );
  });

  it.each([
    ['stop_sequence', 'stop', 'stop_sequence', 'tool_use'],
    [
      'model_context_window_exceeded',
      'length',
      'model_context_window_exceeded',
      'model_context_window_exceeded',
    ],
    ['pause_turn', 'stop', 'pause_turn', 'tool_use'],
    ['compaction', 'stop', 'compaction', 'tool_use'],
    ['end_turn', 'length', 'max_tokens', 'max_tokens'],
    ['anything', 'stop', 'end_turn', 'tool_use'],
    [7, 'stop', 'end_turn', 'tool_use'],
  ])(
    'for %j in provider metadata and finish_reason %s is %s, or %s if there are tool calls',
    (kept, finish, alone, withCalls) => {
      const provider_metadata = { a: { stop_reason: null }, b: { stop_reason: kept }, c: 'x' };
      const stopWith = (message: JsonObject) =>
        messageOf({ ...completionOf(message, finish), provider_metadata })['stop_reason'];
      expect([stopWith({ content: 'a' }), stopWith(calls)]).toEqual([alone, withCalls]);
      expect(stopWith({ refusal: 'No.' })).toBe('refusal');
    },
  );

  it('is refusal for a non-empty refusal, even if the finish_reason is stop', () => {
    expect(stopOf({ refusal: 'No.' }, 'stop')).toBe('refusal');
    expect(stopOf({ refusal: '' }, 'stop')).toBe('end_turn');
  });
});

describe('the translation of a chat answer', () => {
  const blocks: ReadonlySet<Json | undefined> = new Set(['text', 'thinking', 'tool_use']);
  const malformed = { kind: 'protocol', message: 'The upstream sent a malformed answer.' };
  const withoutMessage = { kind: 'protocol', message: 'The upstream answered without a message.' };

  it('returns a message that can be serialised, or a protocol fault, and never throws', () => {
    const anything = fc.oneof(
      fc.dictionary(fc.constantFrom('choices', 'usage', 'x_groq', 'message'), fc.jsonValue({ maxDepth: 5 })),
      aChunkSoup.map((chunks) => ({
        choices: chunks.flatMap(({ choices }) =>
          Array.isArray(choices)
            ? choices.map((choice: Json) =>
                typeof choice === 'object' && choice !== null && 'delta' in choice
                  ? { ...choice, message: choice['delta'] }
                  : choice,
              )
            : [],
        ),
      })),
    );
    fc.assert(
      fc.property(anything, (completion) => {
        const translated = fromChatCompletion(completion, about);
        if (E.isLeft(translated)) return expect([malformed, withoutMessage]).toContainEqual(translated.left);
        const message = JSON.parse(JSON.stringify(translated.right)) as JsonObject;
        expect(message).toMatchObject({ id: 'msg_1', type: 'message', role: 'assistant', model: 'fast' });
        expect(typeof message['stop_reason']).toBe('string');
        expect((message['content'] as readonly JsonObject[]).every(({ type }) => blocks.has(type))).toBe(
          true,
        );
      }),
      { numRuns: 500 },
    );
  });

  it('ignores deeply nested reasoning metadata, and fails on deeply nested arguments', () => {
    const deep = `${'{"thinking":['.repeat(5000)}${']}'.repeat(5000)}`;
    const provider_metadata = { a: { reasoning: JSON.parse(deep) as Json } };
    expect(contentOf({ content: 'a', provider_metadata })).toEqual([text('a')]);
    const tool_calls = [call('c', 'f', JSON.parse(deep) as Json)];
    expect(fromChatCompletion(completionOf({ tool_calls }), about)).toEqual(E.left(malformed));
  });

  it('reads a number in place of content or reasoning as its digits', () => {
    expect(contentOf({ content: parseExact('12.0') })).toEqual([text('12.0')]);
    expect(contentOf({ reasoning_content: 7, content: 0 })).toMatchObject([{ thinking: '7' }, text('0')]);
  });

  it.each(malformedInChat)('fails on malformed content, which would otherwise be lost: %s', (_, message) => {
    expect(fromChatCompletion(completionOf(message), about)).toEqual(E.left(malformed));
  });

  it.each(emptyInChat)('ignores empty content: %s', (_, message) => {
    expect(contentOf(message)).toEqual([]);
  });

  it.each<[string, Json]>([
    ['no choice', []],
    ['a null choice', [null]],
    ['no choice with the index 0', [{ index: 1, message: { content: 'a' }, finish_reason: 'stop' }]],
    ['no message', [{ index: 0, finish_reason: 'stop' }]],
    ['a null message', [{ index: 0, message: null, finish_reason: 'tool_calls' }]],
  ])('fails on an answer without a message: %s', (_, choices) => {
    expect(fromChatCompletion({ choices }, about)).toEqual(E.left(withoutMessage));
  });

  it('returns an empty refusal for an answer without a message if the finish_reason is content_filter', () => {
    const choices = [{ index: 0, finish_reason: 'content_filter' }];
    expect(messageOf({ choices })).toMatchObject({ content: [], stop_reason: 'refusal' });
  });

  it.each<[string, JsonObject]>([
    [
      'images',
      { content: '', images: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AA' } }] },
    ],
    ['audio', { content: null, audio: { id: 'a', data: 'AA==' } }],
    ['content', { content: [{ type: 'image_url', image_url: { url: 'https://x.test' } }] }],
    ['images', { reasoning: 'A cat it is.', images: [{ type: 'image_url' }] }],
    ['provider_metadata', { content: '', provider_metadata: { a: { parts: [{ inlineData: {} }] } } }],
    ['provider_metadata', { content: '', provider_metadata: { a: {}, b: { blocks: [{ video: {} }] } } }],
  ])('fails on an answer that has %s but no text, and names that field', (field, message) => {
    expect(fromChatCompletion(completionOf(message), about)).toEqual(
      E.left({
        kind: 'protocol',
        message: `The upstream's answer has no words, and its \`${field}\` cannot be told in a message.`,
      }),
    );
  });
});
