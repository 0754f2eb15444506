import { describe, expect, it } from '@jest/globals';
import { InternalServerError as ServerError } from '@anthropic-ai/sdk';
import { APIError, InternalServerError } from 'openai';
import { claude, embeddingModels, google, newest, platformAScene } from './platform-a-scene.ts';
import { anthropicClient } from './platform-anthropic.ts';
import { describeChat, expectUnable, openAiClient } from './platform-openai.ts';
import { answerTo, hello, pixel, pixelUrl, reasonOf, simulatedReasoning } from './scenario.ts';

const { scenario, fakes, platform } = platformAScene();

const user = [{ role: 'user' as const, content: hello }];
const at = (publisher: string, call: string): string =>
  `/v1/projects/project-1/locations/us-central1/publishers/${publisher}/models/${call}`;

describe('requests to the platform', () => {
  const asked = { max_completion_tokens: 100, messages: user };
  const headersNobodyForwards = /^(?:x-stainless|anthropic|openai|x-api-key|x-request-id)/;

  it.each([
    [
      'google',
      at('google', 'gemini-2.5-pro:generateContent'),
      at('google', 'gemini-2.5-pro:streamGenerateContent?alt=sse'),
    ],
    [
      'claude',
      at('anthropic', 'claude-opus-4-6:rawPredict'),
      at('anthropic', 'claude-opus-4-6:streamRawPredict'),
    ],
  ])(
    '%s: go to the publisher’s path with a token of the metadata server, without the caller’s headers',
    async (id, whole, streamed) => {
      const { chat } = openAiClient(scenario);
      await chat.completions.create({ model: `${id}-plain`, ...asked });
      await chat.completions.stream({ model: `${id}-plain`, ...asked }).finalChatCompletion();
      await anthropicClient(scenario).messages.create({
        model: `${id}-plain`,
        max_tokens: 9,
        messages: user,
      });
      expect(scenario.seen().map(({ target }) => target)).toEqual([whole, streamed, whole]);
      for (const { headers } of scenario.seen()) {
        expect(fakes().tokens.map((token) => `Bearer ${token}`)).toContain(headers.authorization);
        expect(Object.keys(headers).filter((name) => headersNobodyForwards.test(name))).toEqual([]);
      }
    },
  );

  it('anthropic/*: have the version in the body, and no `model`, for chat and for messages callers', async () => {
    const body = { anthropic_version: 'vertex-2023-10-16', messages: [{ role: 'user' }] };
    await openAiClient(scenario).chat.completions.create({ model: 'claude-plain', ...asked });
    expect(scenario.sent()).toMatchObject({ ...body, max_tokens: 100 });
    expect(scenario.sent()).not.toHaveProperty('model');
    await anthropicClient(scenario).messages.create({ model: 'claude-plain', max_tokens: 9, messages: user });
    expect(scenario.sent()).toEqual({
      anthropic_version: 'vertex-2023-10-16',
      max_tokens: 9,
      messages: user,
    });
  });

  it('google/*: set `thinkingBudget` or `thinkingLevel`, depending on the generation of the model', async () => {
    const configs: unknown[] = [];
    for (const id of ['google', 'newest']) {
      const { chat } = openAiClient(scenario);
      await chat.completions.create({ model: `${id}-plain`, ...asked, reasoning_effort: 'low' });
      configs.push(scenario.sent()?.['generationConfig']);
    }
    expect(configs).toEqual([
      { maxOutputTokens: 100, thinkingConfig: { thinkingBudget: 1024, includeThoughts: true } },
      { maxOutputTokens: 100, thinkingConfig: { thinkingLevel: 'LOW', includeThoughts: true } },
    ]);
  });

  it('google/*: count thinking tokens as completion tokens, which are priced', async () => {
    const thoughts = Math.ceil(simulatedReasoning.length / 4);
    for (const stream of [false, true]) {
      const { completions } = openAiClient(scenario).chat;
      const body = { model: 'google-cached', messages: user, reasoning_effort: 'low' as const };
      const requestId = `thoughts-${stream}`;
      const named = { headers: { 'x-request-id': requestId } };
      const { usage } = stream
        ? await completions.stream(body, named).finalChatCompletion()
        : await completions.create(body, named);
      expect(usage).toMatchObject({
        prompt_tokens: 100,
        completion_tokens: 7 + thoughts,
        completion_tokens_details: { reasoning_tokens: thoughts },
      });
      const call = { route: google, operation: 'chat_completions', stream } as const;
      await scenario.expectSold(requestId, call, { prompt: 100, completion: 7 + thoughts });
    }
  });

  it('include an image on google/*, and are refused with a 400 that names `vision` on anthropic/*', async () => {
    const messages = [
      {
        role: 'user' as const,
        content: [
          { type: 'image_url' as const, image_url: { url: pixelUrl } },
          { type: 'text' as const, text: hello },
        ],
      },
    ];
    const { chat } = openAiClient(scenario);
    const completion = await chat.completions.create({ model: 'google-plain', messages });
    expect(completion.choices[0]?.message.content).toBe(answerTo(hello));
    expect(scenario.sent()).toMatchObject({
      contents: [{ parts: [{ inlineData: { mimeType: 'image/png', data: pixel } }, { text: hello }] }],
    });
    await expectUnable(
      scenario,
      chat.completions.create({ model: 'claude-plain', max_completion_tokens: 9, messages }),
      /`vision`/,
    );
  });

  it('anthropic/*: have a default `max_tokens` if a chat caller sets none', async () => {
    const { chat } = openAiClient(scenario);
    const completion = await chat.completions.create({ model: 'claude-plain', messages: user });
    expect(completion.choices[0]?.message.content).toBe(answerTo(hello));
    expect(scenario.sent()).toMatchObject({ max_tokens: 128_000 });
  });
});

describeChat(scenario, google, 'cloud_a_platform');
describeChat(scenario, newest, 'cloud_a_platform');
describeChat(scenario, claude, 'cloud_a_platform');

it('the platform’s own events are not in the streams of callers', async () => {
  const read = async (path: string, body: object): Promise<string> => {
    const response = await fetch(`${scenario.url()}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${scenario.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'claude-plain', max_tokens: 99, stream: true, messages: user, ...body }),
    });
    return response.text();
  };
  const [chat, native] = [await read('/v1/chat/completions', {}), await read('/v1/messages', {})];
  expect(chat).toContain('[DONE]');
  expect(native).toContain('event: message_stop');
  expect(chat + native).not.toContain('vertex_event');
});

it.each(embeddingModels)('embeddings are in the order of their texts: %s', async (id) => {
  const { embeddings } = openAiClient(scenario);
  const answer = await embeddings.create({ model: id, input: ['a', 'bb', 'ccc'], encoding_format: 'float' });
  expect(answer.data.map(({ index, embedding }) => [index, ...embedding])).toEqual([
    [0, 1, 0.5],
    [1, 2, 0.5],
    [2, 3, 0.5],
  ]);
  expect(answer.usage).toEqual({ prompt_tokens: 6, total_tokens: 6 });
});

describe('the token of the gateway', () => {
  it('is fetched once with a service account file, and used for both publishers', async () => {
    const before = fakes().requests.length;
    for (const id of ['google', 'claude']) {
      const body = { model: `${id}-by-account`, max_completion_tokens: 9, messages: user };
      const completion = await openAiClient(scenario).chat.completions.create(body);
      expect(completion.choices[0]?.message.content).toBe(answerTo(hello));
    }
    expect(fakes().requests.slice(before)).toMatchObject([{ from: 'assertion', kind: 'access' }]);
  });

  const detail = expect.stringMatching(/^Request had invalid authentication credentials: [^y]\S*\. Expected/);

  /** A 502 with one attempt, whose message omits the token, although the platform's message has it. */
  async function expectTurnedAway(id: string): Promise<void> {
    const body = { model: id, max_completion_tokens: 9, messages: user };
    const { chat } = openAiClient(scenario);
    const error = await reasonOf(chat.completions.create(body));
    expect(error).toBeInstanceOf(InternalServerError);
    expect(error).toMatchObject({ status: 502, code: 'UNAUTHENTICATED', error: { message: detail } });
    const attempt = { status: 'provider_error', status_code: 401, error_detail: detail };
    await scenario.expectFailed((error as APIError).requestID, 502, attempt);
  }

  async function expectTurnedAwayAlways(id: string): Promise<void> {
    await expectTurnedAway(id);
    const body = { model: id, max_completion_tokens: 9, messages: user };
    const { chat } = openAiClient(scenario);
    const attempt = { status_code: 401, error_detail: detail };
    const streamed = (await reasonOf(chat.completions.create({ ...body, stream: true }))) as APIError;
    await scenario.expectFailed(streamed.requestID, 502, { ...attempt, status: 'stream_start_error' });
    const { messages } = anthropicClient(scenario);
    const refused = await reasonOf(messages.create({ model: id, max_tokens: 9, messages: user }));
    expect(refused).toBeInstanceOf(ServerError);
    expect(refused).toMatchObject({ status: 502, error: { error: { type: 'api_error', message: detail } } });
  }

  it.each(['google', 'claude'])('causes a 502 if expired: %s', (id) =>
    expectTurnedAwayAlways(`${id}-by-stale`),
  );

  it('causes a 502 if it expires while the gateway holds it', async () => {
    platform().endTokens();
    await expectTurnedAway('google-plain');
  });

  it('is stored in no table and no log line', () => scenario.expectNoSecretKept());
});

describe('the fake platform, which follows the rules of the real one', () => {
  const generate = (over: object) => ({ contents: [{ role: 'user', parts: [{ text: 'x' }] }], ...over });
  const said = (...contents: readonly (readonly [role: string, part: object])[]) =>
    generate({ contents: contents.map(([role, part]) => ({ role, parts: [part] })) });
  const call = { functionCall: { name: 'f', args: {} } };
  const result = { functionResponse: { name: 'f', response: {} } };
  const predict = (over: object) => ({
    anthropic_version: 'vertex-2023-10-16',
    max_tokens: 9,
    messages: user,
    ...over,
  });
  const use = { type: 'tool_use', id: 'a', name: 'f', input: {} };
  const used = { role: 'assistant', content: [use] };
  const answered = { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content: 'x' }] };

  const post = async (target: string, body: object): Promise<number> => {
    // Tokens issued from here on are valid, even if an earlier test expired the previous ones.
    fakes().tokens.push('a-token-of-the-test');
    const response = await fetch(`${platform().url}${target}`, {
      method: 'POST',
      headers: { authorization: 'Bearer a-token-of-the-test' },
      body: JSON.stringify(body),
    });
    await response.text();
    return response.status;
  };

  it('accepts valid requests', async () => {
    const turns = said(['user', { text: 'x' }], ['model', call], ['user', result], ['user', { text: 'y' }]);
    expect(await post(at('google', 'gemini-2.5-pro:generateContent'), turns)).toBe(200);
    const messages = [...user, used, answered];
    expect(await post(at('anthropic', 'claude-opus-4-6:rawPredict'), predict({ messages }))).toBe(200);
  });

  it.each([
    ['no contents', generate({ contents: [] })],
    ['an unknown member', generate({ model: 'x' })],
    ['an unknown role', said(['assistant', { text: 'x' }])],
    ['an empty text', said(['user', { text: '' }])],
    ['two consecutive turns of one role', said(['user', { text: 'x' }], ['user', { text: 'y' }])],
    ['a call without its result', said(['user', { text: 'x' }], ['model', call], ['user', { text: 'y' }])],
    ['a result without its call', said(['user', { text: 'x' }], ['model', { text: 'y' }], ['user', result])],
    [
      'a result beside something else',
      generate({
        contents: [
          { role: 'user', parts: [{ text: 'x' }] },
          { role: 'model', parts: [call] },
          { role: 'user', parts: [result, { text: 'y' }] },
        ],
      }),
    ],
    ['an unknown control', generate({ generationConfig: { max_tokens: 1 } })],
    [
      'a tool configuration without tools',
      generate({ toolConfig: { functionCallingConfig: { mode: 'ANY' } } }),
    ],
    [
      'a thinking level before generation 3',
      generate({ generationConfig: { thinkingConfig: { thinkingLevel: 'LOW' } } }),
    ],
  ])('google/*: returns 400 for %s', async (_, body) => {
    expect(await post(at('google', 'gemini-2.5-pro:generateContent'), body)).toBe(400);
  });

  it('google/*: returns 400 for a call of generation 3 that is sent back without a signature', async () => {
    const turns = said(['user', { text: 'x' }], ['model', call], ['user', result]);
    expect(await post(at('google', 'gemini-3-pro-preview:generateContent'), turns)).toBe(400);
  });

  it.each([
    ['no version', predict({ anthropic_version: undefined })],
    ['another platform’s version', predict({ anthropic_version: 'bedrock-2023-05-31' })],
    ['a model', predict({ model: 'claude-opus-4-6' })],
    ['no `max_tokens`', predict({ max_tokens: undefined })],
    ['`stream` on a call that cannot stream', predict({ stream: true })],
    ['an unknown member', predict({ response_format: {} })],
    ['an unknown beta', predict({ anthropic_beta: ['x'] })],
    ['a member of a beta that is not enabled', predict({ context_management: { edits: [] } })],
    ['an unknown role', predict({ messages: [{ role: 'system', content: 'x' }, ...user] })],
    ['blank text', predict({ messages: [{ role: 'user', content: [{ type: 'text', text: ' ' }] }] })],
    ['a call without its result', predict({ messages: [...user, used, ...user] })],
    ['a result without its call', predict({ messages: [...user, answered] })],
    ['an assistant turn at the end', predict({ messages: [...user, used] })],
    [
      'a tool id of another platform',
      predict({ messages: [...user, { ...used, content: [{ ...use, id: 'a:0' }] }, answered] }),
    ],
    [
      'thinking without a signature',
      predict({
        messages: [
          ...user,
          { role: 'assistant', content: [{ type: 'thinking', thinking: 'x', signature: '' }] },
          ...user,
        ],
      }),
    ],
    ['a thinking budget over `max_tokens`', predict({ thinking: { type: 'enabled', budget_tokens: 1024 } })],
    ['a `tool_choice` without tools', predict({ tool_choice: { type: 'auto' } })],
  ])('anthropic/*: returns 400 for %s', async (_, body) => {
    expect(await post(at('anthropic', 'claude-opus-4-6:rawPredict'), body)).toBe(400);
  });

  it.each([
    ['another project', at('google', 'gemini-2.5-pro:generateContent').replace('project-1', 'project-2')],
    ['a stream without `alt=sse`', at('google', 'gemini-2.5-pro:streamGenerateContent')],
    ['a call of the other publisher', at('google', 'gemini-2.5-pro:rawPredict')],
  ])('returns 404 for %s', async (_, target) => {
    expect(await post(target, generate({}))).toBe(404);
  });
});
