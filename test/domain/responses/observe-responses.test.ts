import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { observeResponse, ResponsesObserver } from '../../../domain/responses/observe-responses.ts';
import { type JsonObject, parseExact } from '../../../domain/shared/json.ts';
import { maxCountedToolCalls } from '../../../domain/shared/limits.ts';
import { nothingObserved } from '../../../domain/upstream/observation.ts';
import { aJsonObject } from '../../support/arbitraries/json-text.ts';

const observedStream = (payloads: readonly JsonObject[]) => {
  const observer = new ResponsesObserver();
  for (const payload of payloads) observer.see(payload);
  return observer.observed();
};

const usage = (input: number, output: number) => ({ input_tokens: input, output_tokens: output });
const tokens = (input: number, output: number) => ({
  promptTokens: input,
  completionTokens: output,
  totalTokens: input + output,
});

describe('usage of a response', () => {
  it.each<[string, JsonObject, object | undefined, boolean]>([
    ['its usage', { usage: usage(3, 5) }, tokens(3, 5), false],
    [
      'an explicit total',
      { usage: { ...usage(3, 5), total_tokens: 50 } },
      { ...tokens(3, 5), totalTokens: 50 },
      false,
    ],
    ['no usage', {}, undefined, false],
    ['null usage', { usage: null }, undefined, false],
    ['usage without counts', { usage: {} }, undefined, true],
    ['a negative count', { usage: usage(-1, 5) }, undefined, true],
    ['only one of the counts', { usage: { input_tokens: 3 } }, undefined, true],
  ])('%s', (_, response, expected, unusable) => {
    expect(observeResponse(response)).toMatchObject({ usage: expected, usageUnusable: unusable });
    expect(observedStream([{ type: 'response.completed', response }])).toMatchObject({
      usage: expected,
      usageUnusable: unusable,
    });
  });

  it.each<[string, readonly JsonObject[], object | undefined, boolean]>([
    [
      'null, then counts',
      [{ response: { usage: null } }, { response: { usage: usage(3, 5) } }],
      tokens(3, 5),
      false,
    ],
    [
      'growing',
      [{ response: { usage: usage(3, 0) } }, { response: { usage: usage(3, 5) } }],
      tokens(3, 5),
      false,
    ],
    ['then null', [{ response: { usage: usage(3, 5) } }, { response: { usage: null } }], tokens(3, 5), false],
    ['then unusable', [{ response: { usage: usage(3, 5) } }, { response: { usage: {} } }], undefined, true],
    ['outside of the response', [{ usage: usage(3, 5) }], undefined, false],
    ['a response that is not an object', [{ response: 'resp_1' }], undefined, false],
  ])('is the last one reported, never a sum: %s', (_, payloads, expected, unusable) => {
    expect(observedStream(payloads)).toMatchObject({ usage: expected, usageUnusable: unusable });
  });

  it('is absent before the first event', () => {
    expect(observedStream([])).toEqual(nothingObserved);
  });

  it('is read also from numbers written as 12.0 and 1E1', () => {
    const payload = parseExact('{"response":{"usage":{"input_tokens":12.0,"output_tokens":1E1}}}');
    expect(observedStream([payload as JsonObject]).usage).toEqual(tokens(12, 10));
  });
});

describe('the tokens of an image model that a hosted tool called', () => {
  const drawn = (image_gen: unknown, tools: unknown = [{ type: 'image_generation', model: 'gpt-image-2' }]) =>
    ({ usage: usage(3, 5), tool_usage: { image_gen }, tools }) as JsonObject;
  const counted = { input_tokens: 7, output_tokens: 515, output_tokens_details: { image_tokens: 515 } };

  it.each<[string, JsonObject, object | undefined]>([
    ['with their model', drawn(counted), { model: 'gpt-image-2', input_tokens: 7, output_tokens: 515 }],
    [
      'of a tool that names none',
      drawn(counted, [{ type: 'web_search' }, { type: 'image_generation' }]),
      { model: null, input_tokens: 7, output_tokens: 515 },
    ],
    [
      'without input',
      drawn({ output_tokens: 5 }),
      { model: 'gpt-image-2', input_tokens: 0, output_tokens: 5 },
    ],
    ['none, as in most answers', drawn({ input_tokens: 0, output_tokens: 0 }), undefined],
    ['counts that cannot be used', drawn({ input_tokens: -7, output_tokens: 515 }), undefined],
    ['null', drawn(null), undefined],
    ['no report', { usage: usage(3, 5) }, undefined],
  ])('are reported beside the usage of the response, whole and streamed: %s', (_, response, images) => {
    const beside = images === undefined ? {} : { beside: { imageGeneration: images } };
    const seen = { usage: tokens(3, 5), usageUnusable: false, invokedToolCount: 0, ...beside };
    expect(observeResponse(response)).toEqual(seen);
    const events = [{ response: { tool_usage: null } }, { type: 'response.completed', response }];
    expect(observedStream(events)).toEqual(seen);
  });
});

describe('invoked_tool_count counts tool-call artifacts in the provider’s output', () => {
  const calls = [
    'function_call',
    'custom_tool_call',
    'web_search_call',
    'file_search_call',
    'code_interpreter_call',
    'computer_call',
    'image_generation_call',
    'local_shell_call',
    'shell_call',
    'apply_patch_call',
    'mcp_call',
    'tool_search_call',
  ];
  const others = [
    'message',
    'reasoning',
    'mcp_list_tools',
    'mcp_approval_request',
    'function_call_output',
    'shell_call_output',
    'tool_search_output',
    'program',
  ];
  const item = (type: unknown, index: number) => ({ type, id: `i_${index}` }) as JsonObject;
  const added = (type: unknown, index: number) =>
    ({ output_index: index, item: item(type, index) }) as JsonObject;

  it.each([
    ['no output', {}, 0],
    ['an empty output', { output: [] }, 0],
    ['every type of call', { output: calls.map(item) }, calls.length],
    ['items that are not calls', { output: others.map(item) }, 0],
    ['both', { output: ['reasoning', 'function_call', 'message', 'mcp_call'].map(item) }, 2],
    ['items without a type', { output: [{}, null, 'function_call', { type: 7 }] }, 0],
    ['output that is not a list', { output: { type: 'function_call' } }, 0],
  ])('whole: %s', (_, response, count) => {
    expect(observeResponse(response as JsonObject).invokedToolCount).toBe(count);
  });

  it.each<[string, readonly JsonObject[], number]>([
    ['an item that is added and done', [added('function_call', 1), added('function_call', 1)], 1],
    ['two items', [added('function_call', 0), added('web_search_call', 1)], 2],
    ['items that are not calls', others.map(added), 0],
    ['every type of call', [...calls.map(added), ...calls.map(added)], calls.length],
    ['an item that is only done', [added('mcp_call', 3)], 1],
    [
      'an item whose id changes when it is done',
      [
        { output_index: 0, item: { type: 'function_call', id: 'fc_tmp_1' } },
        { output_index: 0, item: { type: 'function_call', id: 'fc_1' } },
      ],
      1,
    ],
    [
      'items without an index, by their ids',
      [{ item: item('mcp_call', 1) }, { item: item('mcp_call', 1) }, { item: item('mcp_call', 2) }],
      2,
    ],
    [
      'items without an index and an id, by their call ids',
      [
        { item: { type: 'function_call', call_id: 'c1' } },
        { item: { type: 'function_call', call_id: 'c1' } },
      ],
      1,
    ],
    [
      'items without any identifier',
      [{ item: { type: 'function_call' } }, { item: { type: 'function_call' } }],
      2,
    ],
    [
      'deltas of arguments',
      [{ type: 'response.function_call_arguments.delta', output_index: 0, delta: '{' }],
      0,
    ],
    ['an item that is not an object', [{ item: 'function_call', output_index: 0 }], 0],
    [
      'only in the output of the terminal event',
      [
        { type: 'response.created', response: { output: [] } },
        {
          type: 'response.completed',
          response: { output: ['reasoning', 'mcp_call', 'function_call'].map(item) },
        },
      ],
      2,
    ],
    [
      'in the output of an event that an empty output follows',
      [{ response: { output: ['mcp_call', 'function_call'].map(item) } }, { response: { output: [] } }],
      2,
    ],
    [
      'as items, and again in the output of the terminal event',
      [
        added('function_call', 0),
        added('function_call', 0),
        { type: 'response.completed', response: { output: [item('function_call', 0)] } },
      ],
      1,
    ],
  ])('streamed: %s', (_, payloads, count) => {
    expect(observedStream(payloads).invokedToolCount).toBe(count);
  });

  it('at most `maxCountedToolCalls` calls are counted', () => {
    const many = Array.from({ length: maxCountedToolCalls + 10 }, (_, index) => added('mcp_call', index));
    expect(observedStream(many).invokedToolCount).toBe(maxCountedToolCalls);
  });
});

it('observing never throws, whatever an answer contains', () => {
  const payload = fc.oneof(
    aJsonObject,
    aJsonObject.map((response) => ({ response })),
    aJsonObject.map((item) => ({ item: { ...item, type: 'function_call' } })),
  );
  fc.assert(
    fc.property(fc.array(payload), (payloads) => {
      observedStream(payloads);
      for (const each of payloads) observeResponse(each);
    }),
  );
});
