import { createHash, createHmac } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { InternalServerError as ServerError } from '@anthropic-ai/sdk';
import { SignatureV4 } from '@smithy/signature-v4';
import type OpenAI from 'openai';
import { type APIError, InternalServerError } from 'openai';
import { chatStyleModel } from '../support/platform-b.ts';
import { eventsIn } from '../e2e/scene.ts';
import { anthropicClient } from './platform-anthropic.ts';
import {
  endpointbChat,
  endpointbMessages,
  endpointbResponses,
  invoked,
  oddIds,
  platformBScene,
  profile,
  role,
  runtimeChat,
  unified,
} from './platform-b-scene.ts';
import { describeChat, expectUnable, openAiClient } from './platform-openai.ts';
import { describeResponses } from './platform-openai-responses.ts';
import type { PlatformRoute } from './platform-scenario.ts';
import {
  answerAfter,
  answerTo,
  hello,
  pixel,
  pixelUrl,
  reasonOf,
  resultOf,
  toolParameters,
} from './scenario.ts';

const { scenario, platform } = platformBScene();

const user = [{ role: 'user' as const, content: hello }];
const max_completion_tokens = 100;
const weather = { type: 'function' as const, function: { name: 'weather', parameters: toolParameters } };

describe('requests to the platform', () => {
  const claude = encodeURIComponent(unified.upstreamModel);

  it.each([
    ['unified', unified, [`/model/${claude}/converse`, `/model/${claude}/converse-stream`]],
    ['invoked', invoked, [`/model/${claude}/invoke`]],
    ['endpointb-messages', endpointbMessages, ['/anthropic/v1/messages', '/anthropic/v1/messages']],
    ['runtime-chat', runtimeChat, ['/openai/v1/chat/completions', '/openai/v1/chat/completions']],
    ['endpointb-chat', endpointbChat, ['/openai/v1/chat/completions', '/openai/v1/chat/completions']],
  ])('%s: go to the path of the style, signed for the host, no SDK headers', async (_, route, targets) => {
    const { completions } = openAiClient(scenario).chat;
    const body = { model: `${route.id}-plain`, max_completion_tokens, messages: user };
    await completions.create(body);
    if (route.streams) await completions.stream(body).finalChatCompletion();
    const runtime = [unified, invoked, runtimeChat].includes(route);
    const { seen } = runtime ? platform().runtime : platform().endpointb;
    expect(seen.map(({ target }) => target)).toEqual(targets);
    for (const { headers } of seen) {
      const service = runtime ? 'bedrock' : 'bedrock-mantle';
      expect(headers.authorization).toContain(`/us-east-1/${service}/aws4_request, `);
      expect(
        Object.keys(headers).filter((name) => /^(?:x-stainless|openai|x-request-id)/.test(name)),
      ).toEqual([]);
    }
  });

  it.each(['unified', 'invoked'])('%s: have the encoded ARN in the path if the model is one', async (id) => {
    const { completions } = openAiClient(scenario).chat;
    const body = { model: `${id}-profile`, max_completion_tokens, messages: user };
    expect((await completions.create(body)).choices[0]?.message.content).toBe(answerTo(hello));
    const call = id === 'unified' ? 'converse' : 'invoke';
    expect(scenario.seen()[0]?.target).toBe(`/model/${encodeURIComponent(profile)}/${call}`);
  });

  it('have the version of the messages format in the body for invoke, and in a header for endpointb', async () => {
    const { messages } = anthropicClient(scenario);
    await messages.create({ model: 'invoked-plain', max_tokens: 9, messages: user });
    expect(scenario.sent()).toEqual({
      anthropic_version: 'bedrock-2023-05-31',
      max_tokens: 9,
      messages: user,
    });
    expect(scenario.seen()[0]?.headers).not.toHaveProperty('anthropic-version');
    await messages.create({ model: 'endpointb-messages-plain', max_tokens: 9, messages: user });
    expect(scenario.sent()).toEqual({ model: 'anthropic.claude-opus-4-6', max_tokens: 9, messages: user });
    expect(platform().endpointb.seen[0]?.headers['anthropic-version']).toBe('2023-06-01');
  });

  it.each([unified, invoked, endpointbMessages])('$id: include a base64 image', async ({ id }) => {
    const image = { type: 'image_url' as const, image_url: { url: pixelUrl } };
    const messages = [{ role: 'user' as const, content: [image, { type: 'text' as const, text: hello }] }];
    const { completions } = openAiClient(scenario).chat;
    const completion = await completions.create({ model: `${id}-plain`, max_completion_tokens, messages });
    expect(completion.choices[0]?.message.content).toBe(answerTo(hello));
    expect(JSON.stringify(scenario.sent())).toContain(pixel);
  });

  it.each([unified, invoked])('$id: are refused with 400 if an image is a remote URL', async ({ id }) => {
    const image = { type: 'image_url' as const, image_url: { url: 'https://example.com/a.png' } };
    const call = openAiClient(scenario).chat.completions.create({
      model: `${id}-plain`,
      max_completion_tokens,
      messages: [{ role: 'user', content: [image] }],
    });
    await expectUnable(
      scenario,
      call,
      /`messages\[0\]\.content\[0\]\.image_url\.url` must be a base64 data URL/,
    );
  });

  it.each<[string, object, string[]]>([
    ['n', { n: 2 }, ['unified', 'invoked']],
    ['seed', { seed: 1 }, ['unified', 'invoked']],
    ['frequency_penalty', { frequency_penalty: 1 }, ['unified', 'invoked']],
    ['parallel_tool_calls', { parallel_tool_calls: false, tools: [weather] }, ['invoked']],
  ])(
    'are refused with a 400 that names a field that invoke or converse cannot express: %s',
    async (field, over, by) => {
      for (const id of by) {
        const body = { model: `${id}-plain`, max_completion_tokens, messages: user, ...over };
        const call = openAiClient(scenario).chat.completions.create(body);
        await expectUnable(scenario, call, new RegExp(`\`${field}\``));
      }
    },
  );

  it('succeed with fields that do not change the answer, and with an unknown field', async () => {
    const controls = { user: 'u', store: true, metadata: { a: 'b' }, prompt_cache_key: 'k', x_unknown: 1 };
    for (const id of ['unified', 'invoked', 'endpointb-messages']) {
      const body = { model: `${id}-plain`, max_completion_tokens, messages: user, ...controls };
      const { choices } = await openAiClient(scenario).chat.completions.create(body);
      expect(choices[0]?.message.content).toBe(answerTo(hello));
    }
  });
});

describeChat(scenario, unified, 'cloud_b_platform');
describeChat(scenario, invoked, 'cloud_b_platform');
describeChat(scenario, endpointbMessages, 'cloud_b_platform');
describeChat(scenario, runtimeChat, undefined);
describeResponses(scenario, endpointbResponses);

it.each([false, true])('endpointb_chat answers the same as runtime_chat (stream: %s)', async (stream) => {
  const { completions } = openAiClient(scenario).chat;
  const answered = async ({ id }: PlatformRoute) => {
    const body = { model: `${id}-plain`, messages: user };
    const { choices, usage, object } = stream
      ? await completions.stream({ ...body, stream_options: { include_usage: true } }).finalChatCompletion()
      : await completions.create(body);
    return { choices, usage, object };
  };
  const answer = await answered(endpointbChat);
  expect(answer.choices[0]?.message.content).toBe(answerTo(hello));
  expect(answer.usage?.total_tokens).toBeGreaterThan(0);
  expect(answer).toEqual(await answered(runtimeChat));
});

describe('conversations with tools', () => {
  const asking = { max_completion_tokens, tools: [weather] };
  const result = (call: OpenAI.ChatCompletionMessageToolCall) => ({
    role: 'tool' as const,
    tool_call_id: call.id,
    content: resultOf('weather'),
  });

  it('can move between the styles, also with tool call ids that only one style accepts', async () => {
    const { completions } = openAiClient(scenario).chat;
    const messages: OpenAI.ChatCompletionMessageParam[] = [...user];
    const models = [
      'unified-odd',
      'endpointb-messages-tools',
      'runtime-chat-odd',
      'invoked-tools',
      'unified-tools',
      'endpointb-chat-tools',
    ];
    for (const id of models) {
      const { choices } = await completions.create({ model: id, ...asking, messages });
      const [call] = choices[0]?.message.tool_calls ?? [];
      if (id in oddIds) expect(call?.id).toBe(oddIds[id as keyof typeof oddIds][1]);
      messages.push(choices[0]!.message, result(call!));
      const answered = await completions.create({ model: id, ...asking, messages });
      expect(answered.choices[0]?.message.content).toBe(answerAfter(resultOf('weather')));
      messages.push(answered.choices[0]!.message, ...user);
    }
    expect(messages).toHaveLength(1 + 4 * models.length);
  });

  it.each([unified, invoked, endpointbMessages, runtimeChat])(
    'continue when a later request omits the tools: $id',
    async ({ id }) => {
      const { completions } = openAiClient(scenario).chat;
      const body = { model: `${id}-tools`, max_completion_tokens };
      const asked = await completions.create({ ...body, tools: [weather], messages: user });
      const { message } = asked.choices[0]!;
      const messages = [...user, message, result(message.tool_calls![0]!)];
      const answered = await completions.create({ ...body, messages });
      expect(answered.choices[0]?.message.content).toContain(resultOf('weather'));
    },
  );
});

describe('responses', () => {
  const model = 'endpointb-responses-plain';

  it('a hosted image-generation tool is removed, or refused with 400 if `tool_choice` requires it', async () => {
    const { responses } = openAiClient(scenario);
    const tools: OpenAI.Responses.Tool[] = [
      { type: 'image_generation' },
      { type: 'function', name: 'weather', parameters: toolParameters, strict: true },
    ];
    const response = await responses.create({ model, input: hello, tools });
    expect(response.output_text).toBe(answerTo(hello));
    expect(scenario.sent()).toMatchObject({ tools: [{ type: 'function' }] });
    const required = responses.create({
      model,
      input: hello,
      tools,
      tool_choice: { type: 'image_generation' },
    });
    await expectUnable(scenario, required, /image/);
  });

  it('items and tools of a coding agent are rewritten that this host rejects, although it has what they mean', async () => {
    const weather = { type: 'function', name: 'weather', parameters: toolParameters, strict: true };
    const namespace = { type: 'namespace', name: 'functions', tools: [weather] };
    const input: unknown[] = [
      { type: 'additional_tools', role: 'developer', tools: [namespace, { ...namespace, name: 'web' }] },
      {
        type: 'agent_message',
        author: 'a',
        recipient: 'b',
        content: [{ type: 'input_text', text: 'Done.' }],
      },
      { type: 'message', role: 'user', content: hello },
    ];
    const response = await openAiClient(scenario).responses.create({
      model,
      input: input as OpenAI.Responses.ResponseInput,
    });
    expect(response.output_text).toBe(answerTo(hello));
    expect(scenario.sent()).toMatchObject({
      tools: [weather],
      input: [{ role: 'assistant', content: [{ type: 'output_text', text: 'Done.' }] }, { role: 'user' }],
    });
  });

  it('ids of another upstream in the input are replaced by valid ones, the same for a call and its result', async () => {
    const call_id = 'call|from another upstream';
    const response = await openAiClient(scenario).responses.create({
      model,
      input: [
        { type: 'message', role: 'user', content: hello },
        { type: 'reasoning', id: 'rs tmp', summary: [] },
        { type: 'function_call', id: 'fc-tmp', call_id, name: 'weather', arguments: '{}' },
        { type: 'function_call_output', call_id, output: 'Rain.' },
      ],
    });
    expect(response.output_text).toBe(answerAfter('Rain.'));
    const { input } = scenario.sent() as { readonly input: readonly Readonly<Record<string, unknown>>[] };
    const [, reasoning, call, result] = input;
    expect(reasoning).toMatchObject({ id: expect.stringMatching(/^rs_[\w-]{43}$/) });
    expect(call).toMatchObject({
      id: expect.stringMatching(/^fc_[\w-]{43}$/),
      call_id: expect.stringMatching(/^call_[\w-]{43}$/),
    });
    expect(result?.['call_id']).toBe(call?.['call_id']);
  });

  it('each event has the `type` of its payload as its name, although this host writes the name last', async () => {
    const answer = await fetch(`${scenario.url()}/v1/responses`, {
      method: 'POST',
      headers: { authorization: `Bearer ${scenario.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model, input: hello, stream: true }),
    });
    const events = eventsIn(await answer.text());
    expect(events.at(-1)?.data).toBe('[DONE]');
    expect(events.length).toBeGreaterThan(5);
    for (const { event, data } of events.slice(0, -1))
      expect((JSON.parse(data) as { type: string }).type).toBe(event);
  });

  it('requests of other families are refused with a 400 that names the family', async () => {
    const { chat, embeddings } = openAiClient(scenario);
    await expectUnable(scenario, chat.completions.create({ model, messages: user }), /`chat_completions`/);
    await expectUnable(scenario, embeddings.create({ model, input: hello }), /`embeddings`/);
  });
});

describe('requests with a wrong signature', () => {
  const said = {
    forged: [
      'InvalidSignatureException',
      /^The request signature we calculated does not match the signature you provided\./,
    ],
    ended: ['ExpiredTokenException', /^The security token included in the request is expired$/],
    unknown: ['UnrecognizedClientException', /^The security token included in the request is invalid\.$/],
    astray: ['InvalidSignatureException', /^Credential should be scoped to a valid region\.$/],
  } as const;

  it.each(Object.entries(said))('return 502 after one attempt: %s', async (signer, [code, message]) => {
    for (const id of ['unified', 'endpointb-messages']) {
      const body = { model: `${id}-by-${signer}`, max_completion_tokens, messages: user };
      const { completions } = openAiClient(scenario).chat;
      const detail = expect.stringMatching(message);
      const error = await reasonOf(completions.create(body));
      expect(error).toBeInstanceOf(InternalServerError);
      expect(error).toMatchObject({ status: 502, code, error: { message: detail } });
      const attempt = { status: 'provider_error', status_code: 403, error_detail: detail };
      await scenario.expectFailed((error as APIError).requestID, 502, attempt);
      const streamed = (await reasonOf(completions.create({ ...body, stream: true }))) as APIError;
      await scenario.expectFailed(streamed.requestID, 502, { ...attempt, status: 'stream_start_error' });
      const { messages } = anthropicClient(scenario);
      const refused = await reasonOf(messages.create({ model: body.model, max_tokens: 9, messages: user }));
      expect(refused).toBeInstanceOf(ServerError);
      expect(refused).toMatchObject({
        status: 502,
        error: { error: { type: 'api_error', message: detail } },
      });
      for (const told of [error, streamed, refused])
        expect(JSON.stringify((told as APIError).error)).not.toContain(role.token);
    }
  });

  it('store no key or token in any table or log line', () => scenario.expectNoSecretKept());
});

describe('the fake platform, which follows the rules of the real one', () => {
  /** Signs with another library than the gateway's. */
  async function post(
    host: 'runtime' | 'endpointb',
    target: string,
    body: object,
    over: { readonly service?: string; readonly region?: string; readonly spoil?: (sent: Sent) => Sent } = {},
  ): Promise<number> {
    const url = new URL(platform()[host].url);
    const text = JSON.stringify(body);
    const signed = await new SignatureV4({
      credentials: {
        accessKeyId: role.accessKeyId,
        secretAccessKey: role.secret,
        sessionToken: role.token,
      },
      region: over.region ?? 'us-east-1',
      service: over.service ?? (host === 'runtime' ? 'bedrock' : 'bedrock-mantle'),
      sha256: Sha256,
    }).sign({
      method: 'POST',
      protocol: 'http:',
      hostname: url.hostname,
      path: target,
      headers: { host: url.host, 'anthropic-version': '2023-06-01' },
      body: text,
    });
    const { headers, body: spoilt } = (over.spoil ?? ((sent) => sent))({
      headers: signed.headers,
      body: text,
    });
    const { host: _, ...rest } = headers;
    const response = await fetch(url.origin + target, { method: 'POST', headers: rest, body: spoilt });
    await response.text();
    return response.status;
  }

  const turn = (role: string, ...content: readonly object[]) => ({ role, content });
  const converse = (over: object) => ({ messages: [turn('user', { text: 'x' })], ...over });
  const toolConfig = { tools: [{ toolSpec: { name: 'f', inputSchema: { json: { type: 'object' } } } }] };
  const use = { toolUse: { toolUseId: 'a', name: 'f', input: {} } };
  const answer = { toolResult: { toolUseId: 'a', content: [{ text: 'x' }] } };
  const turns = (...messages: readonly object[]) => ({ toolConfig, messages });
  const first = turn('user', { text: 'x' });
  const target = `/model/${encodeURIComponent(unified.upstreamModel)}/converse`;
  const chat = (over: object) => ({ model: chatStyleModel, messages: user, ...over });
  const called = {
    role: 'assistant',
    tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }],
  };

  it('accepts valid requests', async () => {
    expect(await post('runtime', target, turns(first, turn('assistant', use), turn('user', answer)))).toBe(
      200,
    );
    expect(await post('endpointb', '/openai/v1/chat/completions', chat({}))).toBe(200);
    expect(await post('endpointb', '/openai/v1/responses', { model: chatStyleModel, input: 'x' })).toBe(200);
  });

  it.each<[string, Parameters<typeof post>[3]]>([
    ['for the other host', { service: 'bedrock-mantle' }],
    ['for another region', { region: 'eu-west-1' }],
    ['over another body', { spoil: ({ headers, body }) => ({ headers, body: `${body} ` }) }],
    [
      'with a bearer token instead',
      { spoil: ({ headers, body }) => ({ headers: { ...headers, authorization: 'Bearer x' }, body }) },
    ],
    [
      'without the session token',
      { spoil: ({ headers, body }) => ({ headers: { ...headers, 'x-amz-security-token': '' }, body }) },
    ],
    [
      'with a date of 2020',
      { spoil: ({ headers, body }) => ({ headers: { ...headers, 'x-amz-date': '20200101T000000Z' }, body }) },
    ],
  ])('returns 403 for a request signed %s', async (_, over) => {
    expect(await post('runtime', target, converse({}), over)).toBe(403);
  });

  it.each([
    ['no messages', converse({ messages: [] })],
    ['an unknown member', converse({ model: 'x' })],
    ['an unknown role', converse({ messages: [turn('system', { text: 'x' })] })],
    ['blank text', converse({ messages: [turn('user', { text: ' ' })] })],
    ['two consecutive turns of one role', converse({ messages: [first, first] })],
    ['a block of two kinds', converse({ messages: [turn('user', { text: 'x', ...answer })] })],
    ['tool blocks without tools', { messages: [first, turn('assistant', use), turn('user', answer)] }],
    ['a call without its result', turns(first, turn('assistant', use), first)],
    ['a result without its call', turns(first, turn('assistant', { text: 'x' }), turn('user', answer))],
    [
      'a tool call id of another platform',
      turns(
        first,
        turn('assistant', { toolUse: { ...use.toolUse, toolUseId: 'a|b' } }),
        turn('user', answer),
      ),
    ],
    ['an empty list of tools', converse({ toolConfig: { tools: [] } })],
    ['a control of another API', converse({ inferenceConfig: { max_tokens: 1 } })],
  ])('returns 400 for converse with %s', async (_, body) => {
    expect(await post('runtime', target, body)).toBe(400);
  });

  it.each([
    ['another model', chat({ model: 'x' })],
    ['an unknown role', chat({ messages: [{ role: 'model', content: 'x' }] })],
    ['a call without its result', chat({ messages: [called, ...user] })],
    ['a result without its call', chat({ messages: [{ role: 'tool', tool_call_id: 'a', content: 'x' }] })],
  ])('returns 400 for chat completions with %s', async (_, body) => {
    expect(await post('runtime', '/openai/v1/chat/completions', body)).toBe(400);
  });

  it.each([
    ['a hosted tool', { tools: [{ type: 'image_generation' }] }],
    ['a foreign id', { input: [{ type: 'reasoning', id: 'x', summary: [] }] }],
    ['a result without its call', { input: [{ type: 'function_call_output', call_id: 'a', output: 'x' }] }],
  ])('returns 400 for responses with %s', async (_, over) => {
    expect(
      await post('endpointb', '/openai/v1/responses', { model: chatStyleModel, input: 'x', ...over }),
    ).toBe(400);
  });

  it.each([
    ['invoke without a version', 'runtime', `/model/x/invoke`, { max_tokens: 9, messages: user }],
    [
      'invoke with `stream`',
      'runtime',
      `/model/x/invoke`,
      { anthropic_version: 'bedrock-2023-05-31', max_tokens: 9, messages: user, stream: true },
    ],
    ['messages without a model', 'endpointb', '/anthropic/v1/messages', { max_tokens: 9, messages: user }],
  ] as const)('returns 400 for %s', async (_, host, path, body) => {
    expect(await post(host, path, body)).toBe(400);
  });
});

interface Sent {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** The signer's hash. */
class Sha256 {
  private readonly hash: ReturnType<typeof createHash> | ReturnType<typeof createHmac>;

  constructor(secret?: string | ArrayBuffer | ArrayBufferView) {
    this.hash = secret === undefined ? createHash('sha256') : createHmac('sha256', secret as Buffer);
  }

  update(data: string | ArrayBuffer | ArrayBufferView): void {
    this.hash.update(data as Buffer);
  }

  digest(): Promise<Uint8Array> {
    return Promise.resolve(this.hash.digest());
  }
}
