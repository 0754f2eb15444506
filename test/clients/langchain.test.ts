import { describe, expect, it } from '@jest/globals';
import { ChatAnthropic } from '@langchain/anthropic';
import type { BaseChatModel } from '@langchain/core/language_models/chat_models';
import { AIMessageChunk, type BaseMessage, HumanMessage, SystemMessage } from '@langchain/core/messages';
import { tool } from '@langchain/core/tools';
import { ChatOpenAI, OpenAIEmbeddings } from '@langchain/openai';
import { z } from 'zod';
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
  refusals,
  resultOf,
  simulatedReasoning,
  toolInput,
  toolNames,
} from './scenario.ts';

const scenario = clientScenario();

interface Ask {
  readonly key?: Refusal['key'];
  readonly requestId?: string;
  readonly maxRetries?: number;
}

/** An error of the underlying libraries, which LangChain throws, with a code of its own on some. */
interface ApiError extends Error {
  readonly status: number | undefined;
  readonly code?: unknown;
  readonly error: object;
  readonly headers: Headers;
  readonly requestID: string;
  readonly lc_error_code?: string;
}

interface Family {
  readonly family: string;
  readonly harness: string;
  readonly model: (id: string, ask?: Ask) => BaseChatModel;
  readonly messages: 'messages' | 'input';
  /** The members of an error that hold the gateway's code and message. */
  readonly error: (code: string, message: unknown) => object;
  /** The reasoning of an answer. */
  readonly reasoning: (message: BaseMessage) => unknown;
  readonly reasoningStreamed: string | undefined;
  /** How many of the five prompt tokens the library counts in a stream. */
  readonly promptTokensStreamed: 0 | 5;
}

const headersOf = ({ requestId }: Ask) => ({
  defaultHeaders: requestId === undefined ? {} : { 'x-request-id': requestId },
});

const chatOpenAi = (id: string, ask: Ask, useResponsesApi: boolean): BaseChatModel =>
  new ChatOpenAI({
    model: id,
    apiKey: scenario.keys[ask.key ?? 'good'],
    maxRetries: ask.maxRetries ?? 0,
    useResponsesApi,
    configuration: { baseURL: `${scenario.url()}/v1`, ...headersOf(ask) },
  });

const thought = (message: BaseMessage): unknown =>
  message.contentBlocks.find(({ type }) => type === 'reasoning')?.['reasoning'];

const families: readonly Family[] = [
  {
    family: '@langchain/openai, chat',
    harness: 'langchain',
    model: (id, ask = {}) => chatOpenAi(id, ask, false),
    messages: 'messages',
    error: (code, message) => ({ code, message }),
    reasoning: ({ additional_kwargs }) => additional_kwargs['reasoning_content'],
    // Streams name the field `reasoning`, which this library ignores.
    reasoningStreamed: undefined,
    promptTokensStreamed: 5,
  },
  {
    family: '@langchain/openai, responses',
    harness: 'langchain',
    model: (id, ask = {}) => chatOpenAi(id, ask, true),
    messages: 'input',
    error: (code, message) => ({ code, message }),
    reasoning: thought,
    reasoningStreamed: simulatedReasoning,
    promptTokensStreamed: 5,
  },
  {
    family: '@langchain/anthropic',
    harness: 'anthropic_sdk',
    model: (id, ask = {}) =>
      new ChatAnthropic({
        model: id,
        apiKey: scenario.keys[ask.key ?? 'good'],
        maxRetries: ask.maxRetries ?? 0,
        anthropicApiUrl: scenario.url(),
        clientOptions: headersOf(ask),
      }),
    messages: 'messages',
    error: (code, message) => ({ type: 'error', error: { message, details: { error_code: code } } }),
    reasoning: thought,
    reasoningStreamed: simulatedReasoning,
    // It reads them at the start of a stream, before an upstream that speaks chat has reported them.
    promptTokensStreamed: 0,
  },
];

/** All chunks of a stream as one message; the chunks before an error are in `chunks`. */
async function joined(stream: AsyncIterable<AIMessageChunk>, chunks: AIMessageChunk[] = []) {
  for await (const chunk of stream) chunks.push(chunk);
  return together(chunks);
}
const together = (chunks: readonly AIMessageChunk[]): AIMessageChunk =>
  chunks.reduce((all, chunk) => all.concat(chunk), new AIMessageChunk(''));

const tools = toolNames.map((name) =>
  tool(({ city }: { city: string }) => `${resultOf(name)}, but not of ${city.length}`, {
    name,
    description: `Tells the ${name}.`,
    schema: z.object({ city: z.string() }),
  }),
);
const resultIn = (name: string): string => `${resultOf(name)}, but not of ${toolInput.city.length}`;

describe.each(families)('LangChain with $family', ({ family, harness, model, messages, ...shown }) => {
  const id = (name: string): string => `${family}-${name}`.replaceAll(/[^a-z-]/g, '-');
  const streamed = async (name: string, ask: Ask = {}) =>
    joined((await model(name, ask).stream(hello)) as AsyncIterable<AIMessageChunk>);

  it('receives a non-streamed answer with text and usage, and one priced ledger row', async () => {
    const requestId = id('whole');
    const answer = await model('fast', { requestId }).invoke(hello);
    expect(answer.text).toBe(answerTo(hello));
    expect(answer.usage_metadata).toMatchObject({
      input_tokens: 5,
      output_tokens: 17,
      total_tokens: 22,
    });
    const { logs, ledger } = await scenario.traceOf(requestId);
    expect(logs).toMatchObject([{ status_code: 200, agent_harness_key: harness }]);
    expect(ledger).toMatchObject([{ pricing_status: 'priced', total_tokens: '22' }]);
  });

  it('receives text and usage from a stream, and one priced ledger row', async () => {
    const requestId = id('streamed');
    const answer = await streamed('counted', { requestId });
    expect(answer.text).toBe(answerTo(hello));
    expect(answer.usage_metadata).toMatchObject({
      input_tokens: shown.promptTokensStreamed,
      output_tokens: 17,
      total_tokens: shown.promptTokensStreamed + 17,
    });
    expect((await scenario.traceOf(requestId)).ledger).toMatchObject([
      { pricing_status: 'priced', total_tokens: '22' },
    ]);
  });

  it.each([
    ['tools', 'whole', ['weather']],
    ['tools', 'streamed', ['weather']],
    ['parallel', 'whole', ['weather', 'time']],
    ['parallel', 'streamed', ['weather', 'time']],
  ])('makes a tool round trip: %s, %s', async (name, how, expected) => {
    const bound = model(name).bindTools!(tools);
    const ask = async (said: BaseMessage[]): Promise<AIMessageChunk> =>
      how === 'whole'
        ? await bound.invoke(said)
        : joined((await bound.stream(said)) as AsyncIterable<AIMessageChunk>);
    const asked = await ask([new HumanMessage(hello)]);
    const calls = asked.tool_calls ?? [];
    expect(calls.map((call) => [call.name, call.args])).toEqual(expected.map((each) => [each, toolInput]));
    const results: BaseMessage[] = [];
    for (const call of calls) {
      const called = tools.find((each) => each.name === call.name)!;
      results.push(await called.invoke({ ...call, type: 'tool_call' }));
    }
    const answered = await ask([new HumanMessage(hello), asked, ...results]);
    expect(answered.text).toBe(answerAfter(resultIn(expected.at(-1)!)));
    expect(answered.tool_calls).toEqual([]);
    // Every call and every result reach the upstream, each pair under an id of its own.
    const sent = JSON.stringify(scenario.sent()[messages]);
    expect(new Set(calls.map((call) => call.id)).size).toBe(expected.length);
    for (const call of calls) expect(sent.split(`"${call.id}"`)).toHaveLength(3);
    for (const each of expected) expect(sent).toContain(resultIn(each));
  });

  it('receives reasoning apart from the text, in a stream only if the library reads it there', async () => {
    const whole = await model('reasoning').invoke(hello);
    expect([shown.reasoning(whole), whole.text]).toEqual([simulatedReasoning, answerTo(hello)]);
    const pieces = await streamed('reasoning');
    expect([shown.reasoning(pieces), pieces.text]).toEqual([shown.reasoningStreamed, answerTo(hello)]);
  });

  it('sends a system prompt and an image, which arrive upstream', async () => {
    const answer = await model('fast').invoke([
      new SystemMessage('Be brief.'),
      new HumanMessage({
        content: [
          { type: 'image_url', image_url: { url: pixelUrl } },
          { type: 'text', text: hello },
        ],
      }),
    ]);
    expect(answer.text).toContain(hello);
    const [first, second] = scenario.sent()[messages] as { role: string; content: unknown }[];
    expect(first).toMatchObject({ role: 'system', content: 'Be brief.' });
    expect(JSON.stringify(second)).toContain(JSON.stringify(pixelUrl));
  });

  it.each([
    ['jsonSchema', 'schema', place],
    ['functionCalling', 'fast', { city: 'simulated city', degrees: 1 }],
  ] as const)('parses an answer that follows its schema: %s', async (method, name, expected) => {
    const schema = z.object({ city: z.string(), degrees: z.number() });
    const structured = model(name).withStructuredOutput(schema, { name: 'place', method });
    expect(await structured.invoke(hello)).toEqual(expected);
    if (method === 'jsonSchema') expect(JSON.stringify(scenario.sent())).toContain('"type":"json_schema"');
  });

  it.each(refusals)('throws the error of its library for $status, $what ($code)', async (refusal) => {
    const { status, code, message, retryAfter, key } = refusal;
    const shownCode = family.includes('anthropic') ? code : (refusal.toldCode ?? code);
    const asked = model(refusal.model, { key });
    const streamedCall = asked
      .stream(hello)
      .then((stream) => joined(stream as AsyncIterable<AIMessageChunk>));
    for (const call of [asked.invoke(hello), streamedCall]) {
      const error = (await reasonOf(call)) as ApiError;
      expect(error.constructor.name).toBe(classOf[status]);
      expect(error.status).toBe(status);
      expect(error.error).toMatchObject(shown.error(shownCode, expect.stringMatching(message)));
      expect(error.lc_error_code).toBe(langChainCodeOf[status]);
      expect(error.headers.get('retry-after') ?? '').toMatch(retryAfter ?? /^$/);
      expect(error.requestID).toBe(error.headers.get('x-request-id'));
      const { logs } = await scenario.traceOf(error.requestID);
      expect(logs).toMatchObject(
        code === 'invalid_api_key' ? [] : [{ status_code: status, error_code: code }],
      );
    }
  });

  it('does not retry when the budget is used up', async () => {
    const requestId = id('poor');
    const call = model('fast', { key: 'poor', requestId, maxRetries: 6 }).invoke(hello);
    expect(await reasonOf(call)).toMatchObject({ status: 429 });
    expect((await scenario.traceOf(requestId)).logs).toHaveLength(1);
  });

  it.each(midStream)('throws when the upstream fails mid-stream: %s', async (name, message) => {
    const requestId = id(`midway-${name}`);
    const chunks: AIMessageChunk[] = [];
    const stream = (await model(name, { requestId }).stream(hello)) as AsyncIterable<AIMessageChunk>;
    const error = (await reasonOf(joined(stream, chunks))) as ApiError;
    expect(error.constructor.name).toBe('APIError');
    // An upstream's own error event is forwarded unchanged if it has the caller's family of events.
    expect(error.error).toMatchObject(
      name === 'falls-over' && family.endsWith('responses')
        ? { message }
        : shown.error('upstream_error', message),
    );
    const before = together(chunks);
    expect(before.text).toMatch(/^This is a/);
    expect(JSON.stringify([before.response_metadata, before.additional_kwargs])).not.toMatch(
      /"(?:finish_reason|stop_reason|status)":"/,
    );
    await scenario.expectFailedRow(requestId, message);
  });

  it('cancels the upstream request, logged with 499, when aborted mid-stream', async () => {
    const requestId = id('abort');
    const leaving = new AbortController();
    const stream = await model('endless', { requestId }).stream(hello, { signal: leaving.signal });
    const read = async (): Promise<void> => {
      for await (const chunk of stream)
        if (chunk.text !== '' && !leaving.signal.aborted)
          await scenario.expectCancelled(requestId, () => leaving.abort());
    };
    expect(String(await reasonOf(read()))).toMatch(/abort/i);
  });

  it('cancels the upstream request, logged with 499, when aborted before the response starts', async () => {
    const requestId = id('abort-early');
    const leaving = new AbortController();
    const reason = reasonOf(model('silent', { requestId }).invoke(hello, { signal: leaving.signal }));
    await scenario.arrived();
    await scenario.expectCancelled(requestId, () => leaving.abort());
    expect(String(await reason)).toMatch(/abort/i);
  });
});

const classOf = {
  400: 'BadRequestError',
  401: 'AuthenticationError',
  403: 'PermissionDeniedError',
  404: 'NotFoundError',
  429: 'RateLimitError',
  502: 'InternalServerError',
  503: 'InternalServerError',
} as const;

const langChainCodeOf: Readonly<Record<number, string>> = {
  401: 'MODEL_AUTHENTICATION',
  404: 'MODEL_NOT_FOUND',
  429: 'MODEL_RATE_LIMIT',
};

describe('LangChain with @langchain/openai, a failed response', () => {
  const chunksOf = async (name: string, requestId: string): Promise<AIMessageChunk[]> => {
    const chunks: AIMessageChunk[] = [];
    const stream = await chatOpenAi(name, { requestId }, true).stream(hello);
    await joined(stream as AsyncIterable<AIMessageChunk>, chunks);
    return chunks;
  };

  it('throws if an error event precedes `response.failed`', async () => {
    expect(await reasonOf(chunksOf('error-failed', 'error-failed-1'))).toMatchObject({
      message: 'The model fell over.',
    });
    await scenario.expectFailedRow('error-failed-1', 'The model fell over.');
  });

  // The library ignores the event, which the gateway forwards unchanged, without `[DONE]`; the row has the
  // failure.
  it('reports neither an error nor a completed status for a lone `response.failed`', async () => {
    const answer = together(await chunksOf('failed', 'failed-1'));
    expect(answer.text).toBe(answerTo(hello));
    expect(answer.response_metadata).not.toHaveProperty('status');
    expect(answer.usage_metadata).toBeUndefined();
    await scenario.expectFailedRow('failed-1', 'The model fell over.');
  });
});

describe('LangChain with @langchain/openai, embeddings', () => {
  const embeddings = (name: string, ask: Ask & { readonly encodingFormat?: 'float' }): OpenAIEmbeddings =>
    new OpenAIEmbeddings({
      model: name,
      apiKey: scenario.keys[ask.key ?? 'good'],
      maxRetries: 0,
      configuration: { baseURL: `${scenario.url()}/v1`, ...headersOf(ask) },
      ...(ask.encodingFormat === undefined ? {} : { encodingFormat: ask.encodingFormat }),
    });

  it.each([undefined, 'float'] as const)('embeds texts in order (encoding %s)', async (encodingFormat) => {
    const embedder = embeddings('fast', encodingFormat === undefined ? {} : { encodingFormat });
    const one = await embedder.embedQuery(hello);
    expect(scenario.sent()).toMatchObject({ encoding_format: encodingFormat ?? 'base64' });
    expect(one).toHaveLength(8);
    const many = await embedder.embedDocuments(['Good-bye', hello]);
    expect(many[1]).toEqual(one);
    expect(many[0]).not.toEqual(one);
  });

  it.each(refusals)('throws the error of its library for $status, $what ($code)', async (refusal) => {
    const error = (await reasonOf(
      embeddings(refusal.model, { key: refusal.key }).embedQuery(hello),
    )) as ApiError;
    expect(error.constructor.name).toBe(classOf[refusal.status]);
    expect(error).toMatchObject({
      status: refusal.status,
      error: { code: refusal.toldCode ?? refusal.code, message: expect.stringMatching(refusal.message) },
    });
    expect(error.requestID).toBe(error.headers.get('x-request-id'));
  });
});
