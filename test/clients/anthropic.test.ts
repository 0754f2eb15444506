import { describe, expect, it } from '@jest/globals';
import type Anthropic1 from '@anthropic-ai/sdk';
import { z } from 'zod';
import { lines, type Sdk } from './anthropic-lines.ts';
import {
  answerAfter,
  answerTo,
  clientScenario,
  hello,
  midStream,
  pixel,
  pixelUrl,
  place,
  reasonOf,
  type Refusal,
  isFinal,
  refusals,
  resultOf,
  simulatedReasoning,
  toolInput,
  toolNames,
  toolParameters,
} from './scenario.ts';

const scenario = clientScenario();

type Stream = AsyncIterable<Anthropic1.RawMessageStreamEvent>;

const user = [{ role: 'user' as const, content: hello }];
const max_tokens = 1000;

describe.each(lines)('the Anthropic client $line', ({ line, Sdk, betaZodTool, zodOutputFormat, ...wire }) => {
  const client = (key: Refusal['key'] = 'good', maxRetries = 0): Anthropic1 =>
    new Sdk({ baseURL: scenario.url(), apiKey: scenario.keys[key], maxRetries });
  /** Both lines run against one gateway, so each has request ids of its own. */
  const id = (name: string): string => `anthropic-${line}-${name}`;
  const named = (name: string) => ({ headers: { 'x-request-id': id(name) } });
  const tools = toolNames.map((name) => ({ name, input_schema: toolParameters }));

  async function expectRefused(error: unknown, refusal: Refusal): Promise<void> {
    const classOf = {
      400: Sdk.BadRequestError,
      401: Sdk.AuthenticationError,
      403: Sdk.PermissionDeniedError,
      404: Sdk.NotFoundError,
      429: Sdk.RateLimitError,
      502: Sdk.InternalServerError,
      503: Sdk.InternalServerError,
    } as const;
    const { status, code, messagesType: type, message, retryAfter } = refusal;
    expect(error).toBeInstanceOf(classOf[status]);
    const refused = error as InstanceType<Sdk['APIError']>;
    expect(refused).toMatchObject({ status, type });
    if (line === '1.x') expect(refused).toMatchObject({ errorCode: code, details: { error_code: code } });
    const body = refused.error as { error: { message: string; details: object }; request_id: string };
    expect(body).toMatchObject({ type: 'error', error: { type, details: { error_code: code } } });
    expect(body.error.message).toMatch(message);
    expect(refused.headers?.get('retry-after') ?? '').toMatch(retryAfter ?? /^$/);
    expect(refused.headers?.get('x-should-retry')).toBe(isFinal(refusal) ? 'false' : null);
    expect(refused.headers?.get('x-gateway-error')).toBe(code);
    expect(refused.requestID).toBe(refused.headers?.get('x-request-id'));
    expect(body.request_id).toBe(refused.requestID);
    const { logs } = await scenario.traceOf(refused.requestID ?? '');
    expect(logs).toMatchObject(code === 'invalid_api_key' ? [] : [{ status_code: status, error_code: code }]);
  }

  it('receives a non-streamed message with text, usage, the requested model and its request id', async () => {
    const message = await client().messages.create(
      { model: 'fast', max_tokens, messages: user },
      named('whole'),
    );
    expect(message).toMatchObject({
      type: 'message',
      role: 'assistant',
      model: 'fast',
      content: [{ type: 'text', text: answerTo(hello) }],
      stop_reason: 'end_turn',
      stop_sequence: null,
      usage: { input_tokens: 5, output_tokens: 17, cache_read_input_tokens: 0 },
    });
    expect(message.id).toMatch(/^msg_[0-9a-f]{32}$/);
    expect(message._request_id).toBe(id('whole'));
    const { logs, ledger } = await scenario.traceOf(id('whole'));
    expect(logs).toMatchObject([
      { status_code: 200, metadata_json: { operation: 'messages', stream: false } },
    ]);
    expect(ledger).toMatchObject([
      { pricing_status: 'priced', cost_picousd: String(5n * 150_000n + 17n * 600_000n) },
    ]);
  });

  it('authenticates with its own headers, none of which is sent upstream', async () => {
    let sent: Headers | undefined;
    const watching = new Sdk({
      baseURL: scenario.url(),
      apiKey: scenario.keys.good,
      fetch: (url, init) => {
        sent = new Headers(init?.headers);
        return fetch(url, init);
      },
    });
    await watching.beta.messages.create({ model: 'fast', max_tokens, messages: user, betas: ['some-beta'] });
    expect(sent?.get(wire.auth)).toContain(scenario.keys.good);
    expect(sent?.get('anthropic-version')).toBe(wire.version);
    expect(scenario.seen[0]?.headers).not.toHaveProperty('anthropic-version');
    expect(scenario.seen[0]?.headers).not.toHaveProperty('anthropic-beta');
    expect(scenario.seen[0]?.headers.authorization).toBe('Bearer upstream-token-0123456789');
  });

  it('assembles a message with text and usage from a stream, and one priced ledger row', async () => {
    const stream = client().messages.stream(
      { model: 'counted', max_tokens, messages: user },
      named('streamed'),
    );
    let text = '';
    stream.on('text', (piece) => void (text += piece));
    const message = await stream.finalMessage();
    expect(text).toBe(answerTo(hello));
    expect(message).toMatchObject({
      model: 'counted',
      content: [{ type: 'text', text }],
      stop_reason: 'end_turn',
      usage: { input_tokens: 5, output_tokens: 17 },
    });
    expect(stream.request_id).toBe(id('streamed'));
    expect((await scenario.traceOf(id('streamed'))).ledger).toMatchObject([
      { pricing_status: 'priced', cost_picousd: String(5n * 150_000n + 17n * 600_000n) },
    ]);
  });

  it('receives stream events in order: message_start with no output tokens, blocks, message_delta, message_stop', async () => {
    const stream: Stream = await client().messages.create({
      model: 'counted',
      max_tokens,
      messages: user,
      stream: true,
    });
    const types: string[] = [];
    for await (const event of stream) {
      if (types.at(-1) !== event.type) types.push(event.type);
      if (event.type === 'message_start') expect(event.message.usage.output_tokens).toBe(0);
      if (event.type === 'message_delta') expect(event.usage.output_tokens).toBe(17);
    }
    expect(types).toEqual([
      'message_start',
      'content_block_start',
      'content_block_delta',
      'content_block_stop',
      'message_delta',
      'message_stop',
    ]);
  });

  it('receives zeros as usage in a stream if the upstream reports none, and the ledger row is `usage_missing`', async () => {
    const stream = client().messages.stream(
      { model: 'fast', max_tokens, messages: user },
      named('uncounted'),
    );
    expect(await stream.finalMessage()).toMatchObject({
      content: [{ type: 'text', text: answerTo(hello) }],
      stop_reason: 'end_turn',
      usage: { input_tokens: 0, output_tokens: 0 },
    });
    expect((await scenario.traceOf(id('uncounted'))).ledger).toMatchObject([
      { pricing_status: 'usage_missing' },
    ]);
  });

  it('counts cached tokens apart from its input tokens, non-streamed and streamed', async () => {
    const body = { model: 'cached', max_tokens, messages: user };
    const usage = { input_tokens: 60, cache_read_input_tokens: 40 };
    expect((await client().messages.create(body)).usage).toMatchObject(usage);
    expect((await client().messages.stream(body).finalMessage()).usage).toMatchObject(usage);
  });

  it.each([
    ['tools', 'whole'],
    ['tools', 'streamed'],
    ['parallel', 'whole'],
    ['parallel', 'streamed'],
  ])('makes a tool round trip: %s, %s', async (model, how) => {
    const answer = (messages: Anthropic1.MessageParam[]): Promise<Anthropic1.Message> => {
      const body = { model, max_tokens, tools, messages };
      return how === 'whole' ? client().messages.create(body) : client().messages.stream(body).finalMessage();
    };
    const asked = await answer(user);
    expect(asked.stop_reason).toBe('tool_use');
    const calls = asked.content.filter((block) => block.type === 'tool_use');
    expect(calls.map(({ name, input }) => [name, input])).toEqual(
      toolNames.slice(0, model === 'tools' ? 1 : 2).map((name) => [name, toolInput]),
    );
    expect(new Set(calls.map((call) => call.id)).size).toBe(calls.length);
    const results = calls.map((call) => ({
      type: 'tool_result' as const,
      tool_use_id: call.id,
      content: resultOf(call.name),
    }));
    const answered = await answer([
      ...user,
      { role: 'assistant', content: asked.content },
      { role: 'user', content: results },
    ]);
    expect(answered).toMatchObject({
      stop_reason: 'end_turn',
      content: [{ type: 'text', text: answerAfter(resultOf(calls.at(-1)!.name)) }],
    });
    const said = scenario.sent()['messages'] as { role: string; tool_calls?: { id: string }[] }[];
    expect(said.filter(({ role }) => role === 'tool')).toEqual(
      calls.map((call) => ({ role: 'tool', tool_call_id: call.id, content: resultOf(call.name) })),
    );
    expect(said[1]?.tool_calls?.map((call) => call.id)).toEqual(calls.map((call) => call.id));
  });

  it.each([false, true])('runs tools with its tool runner (stream: %s)', async (stream) => {
    const ran: string[] = [];
    const runner = client().beta.messages.toolRunner({
      model: 'parallel',
      max_tokens,
      messages: user,
      stream,
      tools: toolNames.map((name) =>
        betaZodTool({
          name,
          description: `Tells the ${name}.`,
          inputSchema: z.object({ city: z.string() }),
          run: (input) => {
            expect(input).toEqual(toolInput);
            ran.push(name);
            return resultOf(name);
          },
        }),
      ),
    });
    const last = await runner.runUntilDone();
    expect(last.content).toMatchObject([{ type: 'text', text: answerAfter(resultOf('time')) }]);
    expect(ran.toSorted()).toEqual(toolNames.toSorted());
    // The client sends the complete conversation, since no server stores it.
    const said = scenario.sent()['messages'] as { role: string }[];
    expect(said.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'tool']);
  });

  it('sends the result of a failed tool, which reaches the upstream as an error', async () => {
    const asked = await client().messages.create({ model: 'tools', max_tokens, tools, messages: user });
    const call = asked.content.find((block) => block.type === 'tool_use')!;
    const answered = await client().messages.create({
      model: 'tools',
      max_tokens,
      tools,
      messages: [
        ...user,
        { role: 'assistant', content: asked.content },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: call.id, is_error: true, content: 'It rains too hard.' },
          ],
        },
      ],
    });
    expect(answered.content).toMatchObject([{ text: answerAfter('Error: It rains too hard.') }]);
  });

  it('receives reasoning as a thinking block, non-streamed and streamed, and can send it back', async () => {
    const body = { model: 'reasoning', max_tokens, messages: user };
    const content = [
      { type: 'thinking', thinking: simulatedReasoning, signature: '' },
      { type: 'text', text: answerTo(hello) },
    ];
    const whole = await client().messages.create(body);
    expect(whole.content).toEqual(content);
    const stream = client().messages.stream(body);
    let thinking = '';
    stream.on('thinking', (piece) => void (thinking += piece));
    expect((await stream.finalMessage()).content).toMatchObject(content);
    expect(thinking).toBe(simulatedReasoning);
    await client().messages.create({
      ...body,
      messages: [...user, { role: 'assistant', content: whole.content }, ...user],
    });
    expect(scenario.sent()['messages']).toEqual([
      ...user,
      { role: 'assistant', content: answerTo(hello) },
      ...user,
    ]);
  });

  it('sends a system prompt and images, which arrive upstream in the chat format', async () => {
    await client().messages.create({
      model: 'fast',
      max_tokens,
      system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }],
      metadata: { user_id: 'somebody' },
      messages: [
        {
          role: 'user',
          content: [
            { type: 'image', source: { type: 'base64', media_type: 'image/png', data: pixel } },
            { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } },
            { type: 'text', text: hello },
          ],
        },
      ],
    });
    expect(scenario.sent()).toEqual({
      model: 'simulated-fast',
      max_completion_tokens: max_tokens,
      messages: [
        { role: 'system', content: 'Be brief.' },
        {
          role: 'user',
          content: [
            { type: 'image_url', image_url: { url: pixelUrl } },
            { type: 'image_url', image_url: { url: 'https://example.com/a.png' } },
            { type: 'text', text: hello },
          ],
        },
      ],
    });
  });

  it('parses an answer that follows its schema, which the upstream receives as a strict `json_schema`', async () => {
    const format = zodOutputFormat(z.object({ city: z.string(), degrees: z.number() }));
    const message = await client().messages.parse({
      model: 'schema',
      max_tokens,
      messages: user,
      output_config: { format },
    });
    expect(message.parsed_output).toEqual(place);
    expect(scenario.sent()['response_format']).toMatchObject({
      type: 'json_schema',
      json_schema: { strict: true, schema: JSON.parse(JSON.stringify(format.schema)) as object },
    });
  });

  it.each(refusals)('throws the error class of $status for $what ($code)', async (refusal) => {
    const { messages } = client(refusal.key);
    const body = { model: refusal.model, max_tokens, messages: user };
    await expectRefused(await reasonOf(messages.create(body)), refusal);
    await expectRefused(await reasonOf(messages.create({ ...body, stream: true })), refusal);
    expect(scenario.seen).toHaveLength(refusal.code === 'upstream_error' ? 2 : 0);
  });

  it.each(midStream)('throws when the upstream fails mid-stream: %s', async (model, message) => {
    const types: string[] = [];
    let error: unknown;
    try {
      const stream: Stream = await client().messages.create({
        model,
        max_tokens,
        messages: user,
        stream: true,
      });
      for await (const { type } of stream) types.push(type);
    } catch (thrown) {
      error = thrown;
    }
    expect(error).toBeInstanceOf(Sdk.APIError);
    const failed = error as InstanceType<Sdk['APIError']>;
    expect(failed.type).toBe('api_error');
    expect(failed.error).toMatchObject({
      error: { message, details: { error_code: 'upstream_error' } },
      request_id: failed.headers?.get('request-id'),
    });
    if (line === '1.x') expect(failed).toMatchObject({ errorCode: 'upstream_error', apiMessage: message });
    expect(types).toContain('content_block_delta');
    expect(types).not.toContain('message_delta');
    expect(types).not.toContain('message_stop');
    await scenario.expectFailedRow(failed.headers?.get('request-id'), message);
  });

  it.each(midStream)('rejects in its stream helper on a mid-stream failure: %s', async (model, message) => {
    const helper = client().messages.stream({ model, max_tokens, messages: user });
    expect(String(await reasonOf(helper.finalMessage()))).toContain(message);
  });

  it('never runs a tool if the upstream fails before the end of its call', async () => {
    const ran: string[] = [];
    const runner = client().beta.messages.toolRunner({
      model: 'tools-fall-over',
      max_tokens,
      messages: user,
      stream: true,
      tools: [
        betaZodTool({
          name: 'weather',
          description: 'Tells the weather.',
          inputSchema: z.object({ city: z.string() }),
          run: () => {
            ran.push('weather');
            return resultOf('weather');
          },
        }),
      ],
    });
    expect(String(await reasonOf(runner.runUntilDone()))).toContain('The model fell over.');
    expect(ran).toEqual([]);
  });

  it('cancels the upstream request, logged with 499, when aborted mid-stream', async () => {
    const leaving = new AbortController();
    const stream: Stream = await client().messages.create(
      { model: 'endless', max_tokens, messages: user, stream: true },
      { ...named('abort'), signal: leaving.signal },
    );
    const types: string[] = [];
    for await (const { type } of stream) {
      types.push(type);
      if (type === 'content_block_delta' && !leaving.signal.aborted)
        await scenario.expectCancelled(id('abort'), () => leaving.abort());
    }
    expect(types).not.toContain('message_stop');
  });

  it('cancels the upstream request, logged with 499, when aborted before the response starts', async () => {
    const leaving = new AbortController();
    const call = client().messages.create(
      { model: 'silent', max_tokens, messages: user },
      { ...named('abort-early'), signal: leaving.signal },
    );
    const reason = reasonOf(call);
    await scenario.arrived();
    await scenario.expectCancelled(id('abort-early'), () => leaving.abort());
    expect(await reason).toBeInstanceOf(Sdk.APIUserAbortError);
  });

  it('does not retry when the budget is used up', async () => {
    const patient = new Sdk({ baseURL: scenario.url(), apiKey: scenario.keys.poor });
    const call = patient.messages.create({ model: 'fast', max_tokens, messages: user }, named('poor'));
    expect(await reasonOf(call)).toBeInstanceOf(Sdk.RateLimitError);
    expect((await scenario.traceOf(id('poor'))).logs).toHaveLength(1);
  });

  it('waits for the time in the upstream’s `retry-after` before it retries', async () => {
    const startedAt = performance.now();
    const body = { model: 'limited-briefly', max_tokens, messages: user };
    expect(await reasonOf(client('good', 1).messages.create(body))).toBeInstanceOf(Sdk.RateLimitError);
    expect(scenario.seen).toHaveLength(2);
    // Without the header the library waits half a second at most.
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(790);
  });

  it('lists and retrieves the models that its key may use, and is refused with 401 for an unknown key', async () => {
    const ids: string[] = [];
    for await (const model of client().models.list({ limit: 1000 })) {
      expect(model).toMatchObject({ type: 'model', display_name: model.id });
      ids.push(model.id);
    }
    expect(ids).toEqual(expect.arrayContaining(['fast', 'tools', 'schema']));
    expect(new Set(ids).size).toBe(ids.length);
    const narrow = await client('narrow').models.list();
    expect(narrow.data.map((model) => model.id)).toEqual(['tools']);
    expect(narrow.hasNextPage()).toBe(false);
    expect(await client().models.retrieve('fast')).toMatchObject({ type: 'model', id: 'fast' });
    expect(await reasonOf(client('narrow').models.retrieve('fast'))).toBeInstanceOf(Sdk.NotFoundError);
    expect(await reasonOf(Promise.resolve(client('wrong').models.list()))).toBeInstanceOf(
      Sdk.AuthenticationError,
    );
  });

  it('is refused with `not_supported` in its own error envelope when it counts tokens', async () => {
    const error = await reasonOf(client().messages.countTokens({ model: 'fast', messages: user }));
    expect(error).toBeInstanceOf(Sdk.NotFoundError);
    expect((error as InstanceType<Sdk['APIError']>).error).toMatchObject({
      type: 'error',
      error: { type: 'not_found_error', details: { error_code: 'not_supported' } },
    });
  });
});
