import { describe, expect, it } from '@jest/globals';
import OpenAI, {
  APIError,
  APIUserAbortError,
  AuthenticationError,
  BadRequestError,
  InternalServerError,
  NotFoundError,
  PermissionDeniedError,
  RateLimitError,
} from 'openai';
import { zodResponseFormat, zodTextFormat } from 'openai/helpers/zod';
import { z } from 'zod';
import { named, readToEnd } from './platform-openai.ts';
import {
  answerAfter,
  answerTo,
  clientScenario,
  hello,
  midStream,
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

const client = (key: Refusal['key'] = 'good', maxRetries = 0): OpenAI =>
  new OpenAI({ baseURL: `${scenario.url()}/v1`, apiKey: scenario.keys[key], maxRetries });

const user = [{ role: 'user' as const, content: hello }];
const placeShape = z.object({ city: z.string(), degrees: z.number() });

const classOf = {
  400: BadRequestError,
  401: AuthenticationError,
  403: PermissionDeniedError,
  404: NotFoundError,
  429: RateLimitError,
  502: InternalServerError,
  503: InternalServerError,
} as const;

/** The library's own error class, with the gateway's message, headers and request id. */
async function expectRefused(error: unknown, refusal: Refusal): Promise<void> {
  const { status, code, toldCode = code, type, message, retryAfter } = refusal;
  expect(error).toBeInstanceOf(classOf[status]);
  const refused = error as APIError;
  expect(refused).toMatchObject({ status, code: toldCode, type });
  expect(refused.headers?.get('x-gateway-error')).toBe(code);
  expect(refused.message.slice(`${status} `.length)).toMatch(message);
  expect(refused.headers?.get('retry-after') ?? '').toMatch(retryAfter ?? /^$/);
  expect(refused.headers?.get('x-should-retry')).toBe(isFinal(refusal) ? 'false' : null);
  expect(refused.requestID).toBe(refused.headers?.get('x-request-id'));
  const { logs } = await scenario.traceOf(refused.requestID ?? '');
  expect(logs).toMatchObject(code === 'invalid_api_key' ? [] : [{ status_code: status, error_code: code }]);
}

describe('the openai client, chat completions', () => {
  const tools = (ran: string[]) =>
    toolNames.map((name) => ({
      type: 'function' as const,
      function: {
        name,
        description: `Tells the ${name}.`,
        parameters: toolParameters,
        parse: JSON.parse,
        function: (input: object) => {
          expect(input).toEqual(toolInput);
          ran.push(name);
          return resultOf(name);
        },
      },
    }));

  it('sends system and developer prompts and an image, which arrive upstream unchanged', async () => {
    const messages: OpenAI.ChatCompletionMessageParam[] = [
      { role: 'system', content: 'Be brief.' },
      { role: 'developer', content: [{ type: 'text', text: 'Be kind.' }] },
      {
        role: 'user',
        content: [
          { type: 'image_url', image_url: { url: pixelUrl, detail: 'low' } },
          { type: 'text', text: hello },
        ],
      },
    ];
    const completion = await client().chat.completions.create({ model: 'fast', messages });
    expect(completion.choices[0]?.message.content).toContain(hello);
    expect(scenario.sent()['messages']).toEqual(messages);
  });

  it('parses an answer that follows its schema, which arrives upstream unchanged', async () => {
    const format = zodResponseFormat(placeShape, 'place');
    const completion = await client().chat.completions.parse({
      model: 'schema',
      messages: user,
      response_format: format,
    });
    expect(completion.choices[0]?.message.parsed).toEqual(place);
    expect(scenario.sent()['response_format']).toEqual(JSON.parse(JSON.stringify(format)));
  });

  // Only streams are normalised: a non-streamed answer keeps the upstream's own name of the field.
  it('receives the reasoning of a non-streamed answer in `reasoning_content`, apart from the content', async () => {
    const completion = await client().chat.completions.create({ model: 'reasoning', messages: user });
    expect(completion.choices[0]?.message).toMatchObject({
      content: answerTo(hello),
      reasoning_content: simulatedReasoning,
    });
  });

  it.each([
    ['tools', 'whole', ['weather']],
    ['tools', 'streamed', ['weather']],
    ['parallel', 'whole', ['weather', 'time']],
    ['parallel', 'streamed', ['weather', 'time']],
  ])('runs tools with its runner, sending each result upstream: %s, %s', async (model, how, expected) => {
    const ran: string[] = [];
    const body = { model, messages: user, tools: tools(ran) };
    const { completions } = client().chat;
    const runner =
      how === 'streamed' ? completions.runTools({ ...body, stream: true }) : completions.runTools(body);
    expect(await runner.finalContent()).toBe(answerAfter(resultOf(expected.at(-1)!)));
    expect(ran).toEqual(expected);
    const said = scenario.sent()['messages'] as { role: string; content: string; tool_call_id?: string }[];
    const results = said.filter(({ role }) => role === 'tool');
    expect(results.map(({ content }) => content)).toEqual(expected.map(resultOf));
    expect(new Set(results.map(({ tool_call_id }) => tool_call_id)).size).toBe(expected.length);
  });

  it.each(midStream)('throws when the upstream fails mid-stream: %s', async (model, message) => {
    const stream = await client().chat.completions.create({ model, messages: user, stream: true });
    const { events, error } = await readToEnd(stream);
    expect(error).toBeInstanceOf(APIError);
    expect(error).toMatchObject({ code: 'upstream_error', type: 'upstream_error', message });
    expect(events.map((chunk) => chunk.choices[0]?.delta.content ?? '').join('')).toMatch(/^This is a/);
    expect(events.some((chunk) => (chunk.choices[0]?.finish_reason ?? null) !== null)).toBe(false);
    await scenario.expectFailedRow((error as APIError).requestID, message);
  });

  it('throws with the upstream’s own error code when the upstream fails mid-stream', async () => {
    const stream = await client().chat.completions.create({
      model: 'too-long-midway',
      messages: user,
      stream: true,
    });
    const { error } = await readToEnd(stream);
    expect(error).toMatchObject({ code: 'context_length_exceeded', type: 'upstream_error' });
  });

  it.each(midStream)('rejects in its stream helper on a mid-stream failure: %s', async (model, message) => {
    const helper = client().chat.completions.stream({ model, messages: user });
    expect(await reasonOf(helper.finalChatCompletion())).toMatchObject({ message });
  });

  it('never runs a tool if the upstream fails before the end of its call', async () => {
    const ran: string[] = [];
    const runner = client().chat.completions.runTools({
      model: 'tools-fall-over',
      messages: user,
      tools: tools(ran),
      stream: true,
    });
    expect(await reasonOf(runner.finalContent())).toMatchObject({ message: 'The model fell over.' });
    expect(ran).toEqual([]);
  });

  it('cancels the upstream request, logged with 499, when aborted before the response starts', async () => {
    const leaving = new AbortController();
    const call = client().chat.completions.create(
      { model: 'silent', messages: user },
      { ...named('chat-abort'), signal: leaving.signal },
    );
    const reason = reasonOf(call);
    await scenario.arrived();
    await scenario.expectCancelled('chat-abort', () => leaving.abort());
    expect(await reason).toBeInstanceOf(APIUserAbortError);
  });
});

/** A response without the ids and times of its request, and without what only the stream helper adds. */
const sameInBoth = (response: OpenAI.Responses.Response): unknown =>
  JSON.parse(
    JSON.stringify(response, (name, value: unknown) =>
      /^(?:id|created_at|completed_at|parsed|output_parsed|_request_id)$/.test(name) ? undefined : value,
    ),
  );

describe('the openai client, responses', () => {
  const tools: OpenAI.Responses.FunctionTool[] = toolNames.map((name) => ({
    type: 'function',
    name,
    parameters: toolParameters,
    strict: true,
  }));
  const events = (model: string, options: { requestId?: string; signal?: AbortSignal } = {}) =>
    client().responses.create(
      { model, input: hello, stream: true },
      {
        ...(options.requestId === undefined ? {} : named(options.requestId)),
        ...(options.signal === undefined ? {} : { signal: options.signal }),
      },
    );

  it('receives a non-streamed answer with usage and its request id, and one priced ledger row', async () => {
    const response = await client().responses.create({ model: 'fast', input: hello }, named('response-1'));
    expect(response.output_text).toBe(answerTo(hello));
    expect(response.status).toBe('completed');
    expect(response.usage).toMatchObject({ input_tokens: 5, output_tokens: 17, total_tokens: 22 });
    expect(response._request_id).toBe('response-1');
    const { logs, ledger } = await scenario.traceOf('response-1');
    expect(logs).toMatchObject([
      { status_code: 200, metadata_json: { operation: 'responses', stream: false } },
    ]);
    expect(ledger).toMatchObject([
      { pricing_status: 'priced', cost_picousd: String(5n * 150_000n + 17n * 600_000n) },
    ]);
  });

  it('reads a stream to its end: numbered events, the same text, usage, and a priced ledger row', async () => {
    const { events: seen, error } = await readToEnd(await events('fast', { requestId: 'response-2' }));
    expect(error).toBeUndefined();
    const text = seen
      .map((event) => (event.type === 'response.output_text.delta' ? event.delta : ''))
      .join('');
    expect(text).toBe(answerTo(hello));
    expect(seen[0]?.type).toBe('response.created');
    const last = seen.at(-1);
    expect(last).toMatchObject({
      type: 'response.completed',
      response: { status: 'completed', usage: { input_tokens: 5, output_tokens: 17 } },
    });
    expect(seen.map(({ sequence_number }) => sequence_number)).toEqual([...seen.keys()]);
    expect((await scenario.traceOf('response-2')).ledger).toMatchObject([
      { pricing_status: 'priced', total_tokens: '22' },
    ]);
  });

  it('assembles the same response from a stream as it receives non-streamed, with reasoning tokens', async () => {
    const body = { model: 'reasoning', input: hello };
    const response = await client().responses.stream(body).finalResponse();
    expect(response.output_text).toBe(answerTo(hello));
    expect(response.usage?.output_tokens_details.reasoning_tokens).toBeGreaterThan(0);
    expect(sameInBoth(response)).toEqual(sameInBoth(await client().responses.create(body)));
  });

  it.each([
    ['tools', 'whole'],
    ['tools', 'streamed'],
    ['parallel', 'whole'],
    ['parallel', 'streamed'],
  ])('makes a tool round trip: %s, %s', async (model, how) => {
    const answer = async (input: OpenAI.Responses.ResponseInput): Promise<OpenAI.Responses.Response> =>
      how === 'whole'
        ? client().responses.create({ model, input, tools })
        : client().responses.stream({ model, input, tools }).finalResponse();
    const asked = await answer(user);
    const calls = asked.output.filter((item) => item.type === 'function_call');
    expect(calls.map(({ name, arguments: text }) => [name, JSON.parse(text)])).toEqual(
      toolNames.slice(0, model === 'tools' ? 1 : 2).map((name) => [name, toolInput]),
    );
    expect(new Set(calls.map(({ call_id }) => call_id)).size).toBe(calls.length);
    const results = calls.map(({ call_id, name }) => ({
      type: 'function_call_output' as const,
      call_id,
      output: resultOf(name),
    }));
    const input = [...user, ...asked.output, ...results] as OpenAI.Responses.ResponseInput;
    const answered = await answer(input);
    expect(answered.output_text).toBe(answerAfter(resultOf(calls.at(-1)!.name)));
    // The calls and results that were sent back arrive, each id unchanged.
    const arrived = scenario.sent()['input'] as { type?: string; call_id?: string; id?: string }[];
    const ofType = (wanted: string) => arrived.filter(({ type }) => type === wanted);
    expect(ofType('function_call').map(({ id, call_id }) => [id, call_id])).toEqual(
      calls.map(({ id, call_id }) => [id, call_id]),
    );
    expect(ofType('function_call_output')).toEqual(results);
  });

  it('receives reasoning as a separate item, which arrives upstream unchanged when sent back', async () => {
    const asked = await client().responses.create({
      model: 'reasoning',
      input: hello,
      include: ['reasoning.encrypted_content'],
      store: false,
    });
    expect(asked.output.map(({ type }) => type)).toEqual(['reasoning', 'message']);
    expect(asked.output[0]).toMatchObject({ summary: [{ text: simulatedReasoning }] });
    const input = [...user, ...asked.output, ...user] as OpenAI.Responses.ResponseInput;
    const again = await client().responses.create({ model: 'reasoning', input, store: false });
    expect(again.output_text).toBe(answerTo(hello));
    expect((scenario.sent()['input'] as unknown[])[1]).toEqual(asked.output[0]);
  });

  it('receives streamed reasoning as `response.reasoning_summary_text.delta` events', async () => {
    const { events: seen } = await readToEnd(await events('reasoning'));
    const reasoning = seen.map((event) =>
      event.type === 'response.reasoning_summary_text.delta' ? event.delta : '',
    );
    expect(reasoning.join('')).toBe(simulatedReasoning);
  });

  it('parses an answer that follows its schema; schema, instructions and image arrive upstream unchanged', async () => {
    const input: OpenAI.Responses.ResponseInput = [
      { role: 'developer', content: 'Be kind.' },
      {
        role: 'user',
        content: [
          { type: 'input_text', text: hello },
          { type: 'input_image', image_url: pixelUrl, detail: 'auto' },
        ],
      },
    ];
    const format = zodTextFormat(placeShape, 'place');
    const response = await client().responses.parse({
      model: 'schema',
      instructions: 'Be brief.',
      input,
      text: { format },
    });
    expect(response.output_parsed).toEqual(place);
    expect(scenario.sent()).toMatchObject({
      instructions: 'Be brief.',
      input,
      text: { format: JSON.parse(JSON.stringify(format)) as object },
    });
  });

  it.each(refusals)('throws the error class of $status for $what ($code)', async (refusal) => {
    const { responses } = client(refusal.key);
    const before = scenario.seen.length;
    await expectRefused(await reasonOf(responses.create({ model: refusal.model, input: hello })), refusal);
    await expectRefused(
      await reasonOf(responses.create({ model: refusal.model, input: hello, stream: true })),
      refusal,
    );
    expect(scenario.seen.length - before).toBe(refusal.code === 'upstream_error' ? 2 : 0);
  });

  it.each(midStream)('throws when the upstream fails mid-stream: %s', async (model, message) => {
    const { events: seen, error } = await readToEnd(await events(model));
    expect(error).toBeInstanceOf(APIError);
    expect((error as APIError).message).toBe(message);
    expect(seen.some(({ type }) => type === 'response.output_text.delta')).toBe(true);
    expect(seen.some(({ type }) => type === 'response.completed')).toBe(false);
    await scenario.expectFailedRow((error as APIError).requestID, message);
  });

  it.each(midStream)('rejects in its stream helper on a mid-stream failure: %s', async (model, message) => {
    const helper = client().responses.stream({ model, input: hello });
    expect(await reasonOf(helper.finalResponse())).toMatchObject({ message });
  });

  it("throws the upstream's own error event, and yields no `response.failed` or `response.completed`", async () => {
    const { events: seen, error } = await readToEnd(await events('error-failed'));
    // The upstream's event has no code; an event of the gateway has `upstream_error`.
    expect(error).toMatchObject({ message: 'The model fell over.', code: null });
    expect(seen.some(({ type }) => type === 'response.failed' || type === 'response.completed')).toBe(false);
    await scenario.expectFailedRow((error as APIError).requestID, 'The model fell over.');
  });

  it("throws an upstream's own error event of an open stream, and the request is logged as failed", async () => {
    const { error } = await readToEnd(await events('error-then-silence'));
    expect(error).toMatchObject({ message: 'The model fell over.' });
    await scenario.expectFailedRow((error as APIError).requestID, 'The model fell over.');
  });

  // The specification preserves the event. To this library it is one like any other: callers check its type.
  it('yields a lone `response.failed` as its last event, without an error, and the request is logged as failed', async () => {
    const { events: seen, error } = await readToEnd(await events('failed', { requestId: 'response-failed' }));
    expect(error).toBeUndefined();
    expect(seen.at(-1)).toMatchObject({
      type: 'response.failed',
      response: { status: 'failed', error: { message: 'The model fell over.' } },
    });
    await scenario.expectFailedRow('response-failed', 'The model fell over.');
  });

  it('cancels the upstream request, logged with 499, when aborted mid-stream', async () => {
    const leaving = new AbortController();
    const stream = await events('endless', { requestId: 'response-abort', signal: leaving.signal });
    let finished = false;
    for await (const { type } of stream) {
      if (type === 'response.output_text.delta' && !leaving.signal.aborted)
        await scenario.expectCancelled('response-abort', () => leaving.abort());
      finished ||= type === 'response.completed';
    }
    expect(finished).toBe(false);
  });

  it('cancels the upstream request, logged with 499, when the caller stops reading the stream', async () => {
    const iterator = (await events('endless', { requestId: 'response-left' }))[Symbol.asyncIterator]();
    for (;;) if ((await iterator.next()).value?.type === 'response.output_text.delta') break;
    await scenario.expectCancelled('response-left', async () => void (await iterator.return?.()));
  });
});

describe('the openai client, embeddings', () => {
  it('requests base64 by default, and receives the same vectors as with float, priced by prompt tokens', async () => {
    const input = [hello, 'Good-bye'];
    const answer = await client().embeddings.create({ model: 'fast', input }, named('embeddings-1'));
    expect(scenario.sent()).toMatchObject({ encoding_format: 'base64', input });
    const asFloat = await client().embeddings.create({ model: 'fast', input, encoding_format: 'float' });
    expect(answer.data.map(({ index }) => index)).toEqual([0, 1]);
    for (const [index, { embedding }] of answer.data.entries()) {
      expect(embedding).toHaveLength(8);
      expect([...embedding].map(Math.fround)).toEqual(asFloat.data[index]!.embedding.map(Math.fround));
    }
    expect(answer.data[0]!.embedding).not.toEqual(answer.data[1]!.embedding);
    expect(answer.usage).toEqual(asFloat.usage);
    const { logs, ledger } = await scenario.traceOf('embeddings-1');
    expect(logs).toMatchObject([{ status_code: 200, metadata_json: { operation: 'embeddings' } }]);
    expect(ledger).toMatchObject([
      {
        pricing_status: 'priced',
        prompt_tokens: String(answer.usage.prompt_tokens),
        completion_tokens: '0',
        cost_picousd: String(BigInt(answer.usage.prompt_tokens) * 150_000n),
      },
    ]);
  });

  it('can set the number of dimensions, and send tokens as input', async () => {
    const answer = await client().embeddings.create({ model: 'fast', input: [1, 2, 3], dimensions: 3 });
    expect(answer.data.map(({ embedding }) => embedding.length)).toEqual([3]);
  });

  it.each(refusals)('throws the error class of $status for $what ($code)', async (refusal) => {
    const call = client(refusal.key).embeddings.create({ model: refusal.model, input: hello });
    await expectRefused(await reasonOf(call), refusal);
  });

  it('cancels the upstream request, logged with 499, when aborted', async () => {
    const leaving = new AbortController();
    const call = client().embeddings.create(
      { model: 'silent', input: hello },
      { ...named('embeddings-abort'), signal: leaving.signal },
    );
    const reason = reasonOf(call);
    await scenario.arrived();
    await scenario.expectCancelled('embeddings-abort', () => leaving.abort());
    expect(await reason).toBeInstanceOf(APIUserAbortError);
  });
});

describe('the openai client, models', () => {
  it('lists and retrieves the models that its key may use', async () => {
    const ids = async (key: Refusal['key']): Promise<string[]> => {
      const found: string[] = [];
      for await (const { id, object } of client(key).models.list()) {
        expect(object).toBe('model');
        found.push(id);
      }
      return found;
    };
    expect(await ids('good')).toEqual(expect.arrayContaining(['fast', 'tools', 'schema']));
    expect(await ids('narrow')).toEqual(['tools']);
    expect(await client('narrow').models.retrieve('tools')).toMatchObject({ object: 'model', id: 'tools' });
    expect(await reasonOf(client('narrow').models.retrieve('fast'))).toBeInstanceOf(NotFoundError);
  });

  it('throws the error class of 401 for an unknown key', async () => {
    expect(await reasonOf(client('wrong').models.list())).toBeInstanceOf(AuthenticationError);
  });
});

describe("the openai client's own retries", () => {
  it('stop after one call when the budget is used up, in every family', async () => {
    const patient = new OpenAI({ baseURL: `${scenario.url()}/v1`, apiKey: scenario.keys.poor });
    const calls = [
      (options: object) => patient.chat.completions.create({ model: 'fast', messages: user }, options),
      (options: object) => patient.responses.create({ model: 'fast', input: hello }, options),
      (options: object) => patient.embeddings.create({ model: 'fast', input: hello }, options),
    ];
    for (const [index, call] of calls.entries()) {
      expect(await reasonOf(call(named(`poor-${index}`)))).toBeInstanceOf(RateLimitError);
      expect((await scenario.traceOf(`poor-${index}`)).logs).toHaveLength(1);
    }
  });

  it('wait for the time in the upstream’s `retry-after`', async () => {
    const startedAt = performance.now();
    const call = client('good', 1).responses.create({ model: 'limited-briefly', input: hello });
    expect(await reasonOf(call)).toBeInstanceOf(RateLimitError);
    expect(scenario.seen).toHaveLength(2);
    // Without the header the library waits half a second at most.
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(790);
  });
});
