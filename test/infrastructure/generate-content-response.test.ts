import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import * as E from 'fp-ts/lib/Either.js';
import { observeCompletion } from '../../domain/chat/observe-chat.ts';
import type { JsonObject } from '../../domain/shared/json.ts';
import { generatedCompletion } from '../../infrastructure/providers/cloud-a/generate-content-response.ts';
import { malformedCandidates } from '../support/malformed-pieces.ts';
import { noBlocks } from './generate-content-told.ts';

const about = { id: 'chatcmpl-7f3a', model: 'asked', createdSecs: 1_700_000_000 };
const sanitise = (message: string): string => message.replaceAll('secret', '***');

const read = (text: string) => generatedCompletion(text, about, sanitise);

function completion(answer: object | string): JsonObject {
  const told = read(typeof answer === 'string' ? answer : JSON.stringify(answer));
  if (E.isLeft(told)) throw new Error(JSON.stringify(told.left));
  return told.right;
}

function fault(answer: object | string): unknown {
  const told = read(typeof answer === 'string' ? answer : JSON.stringify(answer));
  return E.isLeft(told) ? told.left : 'an answer';
}

const choices = (answer: object | string) => completion(answer)['choices'] as readonly JsonObject[];
const message = (answer: object | string) => choices(answer)[0]!['message'] as JsonObject;

const says = (parts: readonly object[], more: object = { finishReason: 'STOP' }) => ({
  candidates: [{ content: { role: 'model', parts }, ...more }],
});

describe('a whole response', () => {
  it('becomes a chat completion with the requested model and the joined text', () => {
    const answer = {
      ...says([{ text: 'Good ' }, { text: 'day.' }]),
      usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 2, totalTokenCount: 5 },
      modelVersion: 'other',
      responseId: 'other',
    };
    expect(completion(answer)).toEqual({
      id: 'chatcmpl-7f3a',
      object: 'chat.completion',
      created: 1_700_000_000,
      model: 'asked',
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: 'Good day.', refusal: null },
          logprobs: null,
          finish_reason: 'stop',
        },
      ],
      usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
    });
  });

  it('keeps native reasoning in `provider_metadata` and never in the content', () => {
    const parts = [
      { text: 'hm', thought: true, thoughtSignature: 's1' },
      { text: 'Yes', thoughtSignature: 's2' },
      { text: '', thoughtSignature: 's3' },
    ];
    expect(message(says(parts))).toEqual({
      role: 'assistant',
      content: 'Yes',
      refusal: null,
      provider_metadata: {
        cloud_a_platform: {
          reasoning: [
            { type: 'thinking', thinking: 'hm', signature: 's1' },
            { type: 'thinking', thinking: '', signature: 's2' },
            { type: 'thinking', thinking: '', signature: 's3' },
          ],
        },
      },
    });
  });

  it('keeps parts without a chat completion field in `provider_metadata`', () => {
    const parts = [
      { executableCode: { language: 'PYTHON', code: '1' }, thoughtSignature: 's' },
      { codeExecutionResult: { output: '1' } },
      { inlineData: { mimeType: 'audio/wav', data: 'AA' } },
      { inlineData: { mimeType: 'image/png', data: 'AA' }, thought: true },
      { inlineData: { mimeType: 'image/png' } },
      { inlineData: { mimeType: 7, data: 'AA' } },
      { text: 'One', thoughtSignature: 7 },
      {},
    ];
    expect(message(says(parts))).toEqual({
      role: 'assistant',
      content: 'One',
      refusal: null,
      provider_metadata: {
        cloud_a_platform: {
          reasoning: [{ type: 'thinking', thinking: '', signature: 's' }],
          parts: [{ executableCode: parts[0]!.executableCode }, ...parts.slice(1, 6)],
        },
      },
    });
  });

  it('returns images beside the content, with their thought signatures', () => {
    const parts = [
      { text: 'Here:' },
      { text: '', inlineData: { mimeType: 'image/png', data: 'AA' } },
      { inlineData: { mimeType: 'image/webp', data: 'BB' }, thoughtSignature: 's' },
    ];
    expect(message(says(parts))).toMatchObject({
      content: 'Here:',
      images: [
        { type: 'image_url', image_url: { url: 'data:image/png;base64,AA' } },
        {
          type: 'image_url',
          image_url: { url: 'data:image/webp;base64,BB' },
          extra_content: { google: { thought_signature: 's' } },
        },
      ],
    });
  });

  it('keeps grounding and citations unchanged in `provider_metadata`', () => {
    const groundingMetadata = { webSearchQueries: ['q'], groundingSupports: [{ confidenceScores: [0.5] }] };
    const citationMetadata = { citations: [{ startIndex: 1, uri: 'https://example.com' }] };
    const urlContextMetadata = { urlMetadata: [{ retrievedUrl: 'https://example.com' }] };
    const about = { groundingMetadata, citationMetadata, urlContextMetadata };
    const answer = { candidates: [{ content: { parts: [{ text: 'a' }] }, finishReason: 'STOP', ...about }] };
    expect(message(answer)).toMatchObject({ content: 'a', provider_metadata: { cloud_a_platform: about } });
  });

  it('returns the thought signature of a call on the call and in the reasoning metadata', () => {
    const parts = [
      { text: 'hm', thought: true },
      { functionCall: { name: 'f' }, thoughtSignature: 's' },
      { functionCall: { name: 'g' } },
    ];
    const said = message(says(parts));
    expect(said['tool_calls']).toEqual([
      {
        id: 'call_7f3a_0_0',
        type: 'function',
        function: { name: 'f', arguments: '{}' },
        extra_content: { google: { thought_signature: 's' } },
      },
      { id: 'call_7f3a_0_1', type: 'function', function: { name: 'g', arguments: '{}' } },
    ]);
    expect(said['provider_metadata']).toEqual({
      cloud_a_platform: {
        reasoning: [
          { type: 'thinking', thinking: 'hm' },
          { type: 'thinking', thinking: '', signature: 's', tool_call_id: 'call_7f3a_0_0' },
        ],
      },
    });
  });

  it('keeps every digit of call arguments, and derives missing call ids from the response id', () => {
    const text =
      '{"candidates":[{"content":{"parts":[' +
      '{"functionCall":{"name":"f","args":{"n":9007199254740993,"x":1.0,"s":"ü"}}},' +
      '{"functionCall":{"name":"g"}},' +
      '{"functionCall":{"id":"own","name":"h","args":{}}},{"functionCall":{}}]},"finishReason":"STOP"}]}';
    expect(choices(text)[0]).toEqual({
      index: 0,
      message: {
        role: 'assistant',
        content: null,
        refusal: null,
        tool_calls: [
          {
            id: 'call_7f3a_0_0',
            type: 'function',
            function: { name: 'f', arguments: '{"n":9007199254740993,"x":1.0,"s":"ü"}' },
          },
          { id: 'call_7f3a_0_1', type: 'function', function: { name: 'g', arguments: '{}' } },
          { id: 'own', type: 'function', function: { name: 'h', arguments: '{}' } },
        ],
      },
      logprobs: null,
      finish_reason: 'tool_calls',
    });
  });

  it('returns each candidate as a choice', () => {
    const answer = {
      candidates: [
        { content: { parts: [{ text: 'a' }] }, finishReason: 'STOP' },
        { index: 2, content: {}, finishReason: 'SAFETY' },
        { index: 1, content: { parts: [{ functionCall: { name: 'f' } }] }, finishReason: 'STOP' },
      ],
    };
    expect(choices(answer).map(({ index, finish_reason }) => [index, finish_reason])).toEqual([
      [0, 'stop'],
      [2, 'content_filter'],
      [1, 'tool_calls'],
    ]);
    expect(JSON.stringify(choices(answer)[2])).toContain('call_7f3a_1_0');
  });

  it('returns logprobs in the choice', () => {
    const chosen = { token: 'A', tokenId: 1, logProbability: -0.25 };
    const other = { token: 'B', logProbability: -3 };
    const answer = says([{ text: 'A' }], {
      finishReason: 'STOP',
      logprobsResult: { chosenCandidates: [chosen], topCandidates: [{ candidates: [chosen, other] }] },
    });
    const told = (token: string, logprob: number) => ({ token, logprob, bytes: null });
    expect(choices(answer)[0]!['logprobs']).toEqual({
      content: [{ ...told('A', -0.25), top_logprobs: [told('A', -0.25), told('B', -3)] }],
      refusal: null,
    });
  });
});

describe('finish reasons', () => {
  const withheld = [
    'SAFETY',
    'RECITATION',
    'LANGUAGE',
    'OTHER',
    'BLOCKLIST',
    'PROHIBITED_CONTENT',
    'SPII',
    'MALFORMED_FUNCTION_CALL',
    'MODEL_ARMOR',
    'IMAGE_SAFETY',
    'NEVER_HEARD_OF',
    3,
    8,
    10,
  ];
  it.each([
    ['STOP', 'stop', 'tool_calls'],
    [1, 'stop', 'tool_calls'],
    ['MAX_TOKENS', 'length', 'length'],
    [2, 'length', 'length'],
    ['CONTINUATION', 'length', 'length'],
    ['UNEXPECTED_TOOL_CALL', 'content_filter', 'tool_calls'],
    ['TOO_MANY_TOOL_CALLS', 'content_filter', 'tool_calls'],
    ['FINISH_REASON_UNSPECIFIED', 'stop', 'tool_calls'],
    [0, 'stop', 'tool_calls'],
    [undefined, 'stop', 'tool_calls'],
    ['', 'stop', 'tool_calls'],
    [true, 'stop', 'tool_calls'],
    ...withheld.map((reason) => [reason, 'content_filter', 'content_filter'] as const),
  ])('%p becomes %s, or with tool calls %s', (finishReason, finish, called) => {
    expect(choices(says([{ text: 'a' }], { finishReason }))[0]!['finish_reason']).toBe(finish);
    expect(choices(says([{ functionCall: { name: 'f' } }], { finishReason }))[0]!['finish_reason']).toBe(
      called,
    );
  });

  it.each([
    ['STOP', undefined],
    [1, undefined],
    ['MAX_TOKENS', undefined],
    [undefined, undefined],
    ['CONTINUATION', { stop_reason: 'CONTINUATION' }],
    ['UNEXPECTED_TOOL_CALL', { stop_reason: 'UNEXPECTED_TOOL_CALL' }],
    ['MALFORMED_FUNCTION_CALL', { stop_reason: 'MALFORMED_FUNCTION_CALL' }],
    ['NEVER_HEARD_OF', { stop_reason: 'NEVER_HEARD_OF' }],
  ])('%p is kept in `provider_metadata` as %j', (finishReason, own) => {
    const answer = says([{ text: 'a' }, { functionCall: { name: 'f' } }], { finishReason });
    expect(message(answer)['provider_metadata']).toEqual(
      own === undefined ? undefined : { cloud_a_platform: own },
    );
  });

  it('the finish message becomes the sanitised refusal of a blocked answer, and is dropped otherwise', () => {
    const finishMessage = 'It was secret.';
    expect(message(says([], { finishReason: 'SPII', finishMessage }))).toMatchObject({
      content: '',
      refusal: 'It was ***.',
    });
    expect(message(says([{ text: 'a' }], { finishReason: 'STOP', finishMessage }))['refusal']).toBeNull();
    for (const nothing of ['', 7])
      expect(message(says([], { finishReason: 'SPII', finishMessage: nothing }))['refusal']).toBeNull();
  });
});

describe('a blocked answer becomes an empty completion', () => {
  it.each([
    [
      'a candidate without content',
      { candidates: [{ finishReason: 'MODEL_ARMOR' }] },
      { stop_reason: 'MODEL_ARMOR' },
    ],
    [
      'content that is empty',
      { candidates: [{ content: {}, finishReason: 'SAFETY' }] },
      { stop_reason: 'SAFETY' },
    ],
    [
      'content without parts',
      { candidates: [{ content: { role: 'model' }, finishReason: 'SPII' }] },
      { stop_reason: 'SPII' },
    ],
    [
      'content without any part',
      { candidates: [{ content: { parts: [] }, finishReason: 'BLOCKLIST' }] },
      { stop_reason: 'BLOCKLIST' },
    ],
    [
      'no candidates',
      { promptFeedback: { blockReason: 'MODEL_ARMOR' }, usageMetadata: { trafficType: 'ON_DEMAND' } },
      { block_reason: 'MODEL_ARMOR' },
    ],
    ['an empty list of candidates', { candidates: [], promptFeedback: { blockReason: 4 } }, undefined],
  ])('with %s', (_case, answer, own) => {
    const told = completion(answer);
    const metadata = own === undefined ? {} : { provider_metadata: { cloud_a_platform: own } };
    expect(told['choices']).toEqual([
      {
        index: 0,
        message: { role: 'assistant', content: '', refusal: null, ...metadata },
        logprobs: null,
        finish_reason: 'content_filter',
      },
    ]);
    expect(told).not.toHaveProperty('usage');
    expect(observeCompletion(told)).toEqual({ usage: undefined, usageUnusable: false, invokedToolCount: 0 });
  });

  it('the sanitised block message becomes the refusal', () => {
    const promptFeedback = { blockReason: 'OTHER', blockReasonMessage: 'Blocked: secret.' };
    expect(message({ promptFeedback })['refusal']).toBe('Blocked: ***.');
    expect(message({ promptFeedback: { ...promptFeedback, blockReasonMessage: 7 } })['refusal']).toBeNull();
  });

  it('candidates are returned despite a block reason', () => {
    const answer = { ...says([{ text: 'a' }]), promptFeedback: { blockReason: 'SAFETY' } };
    expect(choices(answer)).toMatchObject([{ message: { content: 'a' }, finish_reason: 'stop' }]);
  });
});

describe('usage is summed as it is billed: prompt + tool-use prompt, candidates + thoughts', () => {
  const counted = (usageMetadata: object) =>
    observeCompletion(completion({ ...says([{ text: 'a' }]), usageMetadata }));
  const usage = (promptTokens: number, completionTokens: number, totalTokens: number) => ({
    usage: { promptTokens, completionTokens, totalTokens },
    usageUnusable: false,
    invokedToolCount: 0,
  });
  const missing = { usage: undefined, usageUnusable: true, invokedToolCount: 0 };

  it.each([
    [
      'all parts',
      {
        promptTokenCount: 95,
        toolUsePromptTokenCount: 439,
        candidatesTokenCount: 66,
        thoughtsTokenCount: 132,
        totalTokenCount: 732,
      },
      usage(534, 198, 732),
    ],
    [
      'thinking that used up the budget',
      { promptTokenCount: 5, thoughtsTokenCount: 4, totalTokenCount: 9 },
      usage(5, 4, 9),
    ],
    ['an answer that was withheld', { promptTokenCount: 14, totalTokenCount: 14 }, usage(14, 0, 14)],
    ['no total', { promptTokenCount: 5, candidatesTokenCount: 2 }, usage(5, 2, 7)],
    [
      'a total of more than its parts',
      { promptTokenCount: 5, candidatesTokenCount: 2, totalTokenCount: 12 },
      usage(5, 2, 12),
    ],
    ['no prompt', { candidatesTokenCount: 18, thoughtsTokenCount: 58 }, missing],
    ['a negative count', { promptTokenCount: 5, candidatesTokenCount: -1, totalTokenCount: 4 }, missing],
    ['half a token', { promptTokenCount: 1.5, candidatesTokenCount: 1, totalTokenCount: 2 }, missing],
    ['counts that are text', { promptTokenCount: '5', candidatesTokenCount: 1, totalTokenCount: 6 }, missing],
    [
      'a sum that is no token count',
      { promptTokenCount: Number.MAX_SAFE_INTEGER, toolUsePromptTokenCount: 1, candidatesTokenCount: 0 },
      missing,
    ],
  ])('with %s', (_case, metadata, observed) => {
    expect(counted(metadata)).toEqual(observed);
  });

  it.each([
    ['the sum, where no total is told', { promptTokenCount: 5, candidatesTokenCount: 2 }, [5, 2, 7]],
    ['null, where no prompt is told', { candidatesTokenCount: 2 }, [null, 2, null]],
    ['null, where a count is none', { promptTokenCount: 5, candidatesTokenCount: -1 }, [5, null, null]],
  ])('the caller receives %s', (_case, usageMetadata, [prompt_tokens, completion_tokens, total_tokens]) => {
    expect(completion({ ...says([]), usageMetadata })['usage']).toEqual({
      prompt_tokens,
      completion_tokens,
      total_tokens,
    });
  });

  it('tokens that were cached, that are not text, or that are reasoning, are returned as token details', () => {
    const usageMetadata = {
      promptTokenCount: 9,
      promptTokensDetails: [
        { modality: 'TEXT', tokenCount: 2 },
        { modality: 'AUDIO', tokenCount: 2 },
        { modality: 'VIDEO', tokenCount: 5 },
      ],
      candidatesTokenCount: 4,
      candidatesTokensDetails: [{ modality: 'IMAGE', tokenCount: 4 }],
      cachedContentTokenCount: 8,
      thoughtsTokenCount: 3,
      totalTokenCount: 16,
    };
    expect(completion({ ...says([]), usageMetadata })['usage']).toEqual({
      prompt_tokens: 9,
      completion_tokens: 7,
      total_tokens: 16,
      prompt_tokens_details: { cached_tokens: 8, audio_tokens: 2, video_tokens: 5 },
      completion_tokens_details: { reasoning_tokens: 3, image_tokens: 4 },
    });
  });
});

describe('an invalid response', () => {
  it.each([
    ['an error body', { error: { code: 400, message: 'no secret', status: 'X' } }, 'no ***', 'X'],
    ['an error beside candidates', { ...says([{ text: 'a' }]), error: { message: 'no' } }, 'no'],
    ['nothing', {}, 'The upstream answered without `candidates`.'],
    ['feedback without a reason', { promptFeedback: {} }, 'The upstream answered without `candidates`.'],
    ...noBlocks.map(
      (blockReason) =>
        [
          `the reason ${JSON.stringify(blockReason)}`,
          { promptFeedback: { blockReason } },
          'The upstream answered without `candidates`.',
        ] as const,
    ),
    [
      'candidates that are none',
      { candidates: [1, null, 'a'] },
      'The upstream answered without `candidates`.',
    ],
    ['a page', '<html>', expect.any(String)],
    ['an array', '[{"error":{"message":"no"}}]', expect.any(String)],
    ['a number', '12.0', expect.any(String)],
    [
      'what is nested too deeply',
      `{"candidates":[{"x":${'['.repeat(300)}${']'.repeat(300)}}]}`,
      'The upstream sent an answer that is nested too deeply.',
    ],
  ])('fails with a protocol fault: %s', (_case, answer, words, code = '') => {
    const named = code === '' ? {} : { labels: { code } };
    expect(fault(answer)).toEqual({ kind: 'protocol', message: words, ...named });
  });

  it.each(malformedCandidates)(
    'fails with a malformed piece that would otherwise be lost: %s',
    (_, candidates) => {
      if (!Array.isArray(candidates))
        return expect(fault({ candidates })).toMatchObject({ kind: 'protocol' });
      const all = [...(candidates as readonly object[]), ...says([{ text: 'a' }]).candidates];
      expect(fault({ candidates: all })).toEqual({
        kind: 'protocol',
        message: 'The upstream sent a malformed answer.',
      });
    },
  );

  it('never makes the translation throw', () => {
    const answers = fc
      .json({ maxDepth: 6 })
      .map((text) => `{"candidates":[{"content":{"parts":${text}}},${text}],"usageMetadata":${text}}`);
    fc.assert(
      fc.property(fc.oneof(answers, fc.string()), (text) => void read(text)),
      { numRuns: 400 },
    );
  });
});
