import { describe, expect, it } from '@jest/globals';
import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import {
  APICallError,
  embedMany,
  generateText,
  type LanguageModel,
  Output,
  RetryError,
  stepCountIs,
  streamText,
  tool,
} from 'ai';
import { z } from 'zod';
import { timed } from '../support/undisturbed.ts';
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
  refusals,
  resultOf,
  simulatedReasoning,
  toolInput,
  toolNames,
} from './scenario.ts';

// The library prints hints about unknown models.
Object.assign(globalThis, { AI_SDK_LOG_WARNINGS: false });

const scenario = clientScenario();

const settings = (key: Refusal['key']) => ({
  baseURL: `${scenario.url()}/v1`,
  apiKey: scenario.keys[key],
});
const compatible = (key: Refusal['key']) =>
  createOpenAICompatible({
    name: 'gateway',
    includeUsage: true,
    supportsStructuredOutputs: true,
    ...settings(key),
  });

interface Family {
  readonly family: string;
  readonly model: (id: string, key?: Refusal['key']) => LanguageModel;
  /** Whether the library returns reasoning of this family at all. */
  readonly showsReasoning: boolean;
  /**
   * Whether the library treats a tool call that an error cut off as finished. It does not run the tool, since
   * its input cannot be parsed, but reports this to the model in another request.
   */
  readonly asksAgain: boolean;
  /** The member of the upstream body that holds the messages. */
  readonly messages: 'messages' | 'input';
  /** The gateway's code in an error of the library. */
  readonly codeOf: (error: APICallError) => unknown;
}

const openAiCode = ({ data }: APICallError): unknown => (data as { error: { code: unknown } }).error.code;

const families: readonly Family[] = [
  {
    family: '@ai-sdk/openai, chat',
    model: (id, key = 'good') => createOpenAI(settings(key)).chat(id),
    showsReasoning: false,
    asksAgain: true,
    messages: 'messages',
    codeOf: openAiCode,
  },
  {
    family: '@ai-sdk/openai, responses',
    model: (id, key = 'good') => createOpenAI(settings(key)).responses(id),
    showsReasoning: true,
    asksAgain: false,
    messages: 'input',
    codeOf: openAiCode,
  },
  {
    family: '@ai-sdk/openai-compatible',
    model: (id, key = 'good') => compatible(key)(id),
    showsReasoning: true,
    asksAgain: true,
    messages: 'messages',
    codeOf: openAiCode,
  },
  {
    family: '@ai-sdk/anthropic',
    model: (id, key = 'good') => createAnthropic(settings(key))(id),
    showsReasoning: true,
    asksAgain: false,
    messages: 'messages',
    // The library keeps only the type and the message.
    codeOf: ({ responseBody }) =>
      (JSON.parse(responseBody ?? '') as { error: { details: { error_code: unknown } } }).error.details
        .error_code,
  },
];

const maxOutputTokens = 1000;

describe.each(families)(
  'the AI SDK with $family',
  ({ family, model, showsReasoning, asksAgain, messages, codeOf }) => {
    const id = (name: string): string => `${family}-${name}`.replaceAll(/[^a-z-]/g, '-');
    const ask = (name: string, key?: Refusal['key']) => ({
      model: model(name, key),
      maxOutputTokens,
      maxRetries: 0,
    });

    const tools = (ran: string[]) =>
      Object.fromEntries(
        toolNames.map((name) => [
          name,
          tool({
            description: `Tells the ${name}.`,
            inputSchema: z.object({ city: z.string() }),
            execute: (input) => {
              expect(input).toEqual(toolInput);
              ran.push(name);
              return resultOf(name);
            },
          }),
        ]),
      );

    /** The outcome of a stream: its parts, the error that it reports or throws, and its finish reason. */
    const watched = async (options: Parameters<typeof streamText>[0]) => {
      const parts: string[] = [];
      let text = '';
      let error: unknown;
      let finished: string | undefined;
      const result = streamText({ ...options, onError: () => undefined });
      try {
        for await (const part of result.fullStream) {
          parts.push(part.type);
          if (part.type === 'text-delta') text += part.text;
          if (part.type === 'error') error = part.error;
          if (part.type === 'finish') finished = part.finishReason;
        }
      } catch (thrown) {
        error = thrown;
      }
      return { parts, text, error, finished };
    };

    async function expectRefused(error: unknown, refusal: Refusal): Promise<void> {
      const { status, code, toldCode = code, message, retryAfter } = refusal;
      expect(APICallError.isInstance(error)).toBe(true);
      const refused = error as APICallError;
      expect(refused.statusCode).toBe(status);
      expect(refused.isRetryable).toBe(status === 429 || status >= 500);
      expect(refused.message).toMatch(message);
      expect(codeOf(refused)).toBe(codeOf === openAiCode ? toldCode : code);
      expect(refused.responseHeaders?.['x-gateway-error']).toBe(code);
      expect(refused.responseHeaders?.['retry-after'] ?? '').toMatch(retryAfter ?? /^$/);
      const { logs } = await scenario.traceOf(refused.responseHeaders?.['x-request-id'] ?? '');
      expect(logs).toMatchObject(
        code === 'invalid_api_key' ? [] : [{ status_code: status, error_code: code }],
      );
    }

    it('receives a non-streamed answer with text, usage and its request id, and one priced ledger row', async () => {
      const answer = await generateText({
        ...ask('fast'),
        prompt: hello,
        headers: { 'x-request-id': id('whole') },
      });
      expect(answer).toMatchObject({ text: answerTo(hello), finishReason: 'stop' });
      expect(answer.usage).toMatchObject({ inputTokens: 5, outputTokens: 17, totalTokens: 22 });
      expect(answer.response.headers?.['x-request-id']).toBe(id('whole'));
      const { logs, ledger } = await scenario.traceOf(id('whole'));
      expect(logs).toMatchObject([{ status_code: 200, agent_harness_key: 'ai-sdk' }]);
      expect(ledger).toMatchObject([{ pricing_status: 'priced', total_tokens: '22' }]);
    });

    it('receives text and usage from a stream, and one priced ledger row', async () => {
      const answer = streamText({
        ...ask('counted'),
        prompt: hello,
        headers: { 'x-request-id': id('streamed') },
      });
      let text = '';
      for await (const piece of answer.textStream) text += piece;
      expect(text).toBe(answerTo(hello));
      expect(await answer.finishReason).toBe('stop');
      expect(await answer.usage).toMatchObject({ inputTokens: 5, outputTokens: 17, totalTokens: 22 });
      const { logs, ledger } = await scenario.traceOf(id('streamed'));
      expect(logs).toMatchObject([{ status_code: 200, agent_harness_key: 'ai-sdk' }]);
      expect(ledger).toMatchObject([{ pricing_status: 'priced', total_tokens: '22' }]);
    });

    it.each([
      ['tools', 'whole', ['weather']],
      ['tools', 'streamed', ['weather']],
      ['parallel', 'whole', ['weather', 'time']],
      ['parallel', 'streamed', ['weather', 'time']],
    ])('runs tools, and sends each call and result upstream: %s, %s', async (name, how, expected) => {
      const ran: string[] = [];
      const options = { ...ask(name), prompt: hello, tools: tools(ran), stopWhen: stepCountIs(3) };
      const answer = how === 'whole' ? await generateText(options) : streamText(options);
      expect(await answer.text).toBe(answerAfter(resultOf(expected.at(-1)!)));
      expect(await answer.finishReason).toBe('stop');
      const [first, ...others] = await answer.steps;
      expect(first?.finishReason).toBe('tool-calls');
      expect(others).toHaveLength(1);
      expect(ran).toEqual(expected);
      // Every call and every result reach the upstream, each pair under an id of its own.
      const sent = JSON.stringify(scenario.sent()[messages]);
      const ids = first?.toolCalls.map(({ toolCallId }) => toolCallId) ?? [];
      expect(new Set(ids).size).toBe(expected.length);
      for (const each of ids) expect(sent.split(`"${each}"`)).toHaveLength(3);
      for (const each of expected) expect(sent).toContain(resultOf(each));
    });

    it(`${showsReasoning ? 'returns reasoning' : 'returns no reasoning, since the library ignores it,'} beside the text`, async () => {
      const expected = showsReasoning ? simulatedReasoning : undefined;
      const whole = await generateText({ ...ask('reasoning'), prompt: hello });
      expect([whole.reasoningText, whole.text]).toEqual([expected, answerTo(hello)]);
      const streamed = streamText({ ...ask('reasoning'), prompt: hello });
      expect([await streamed.reasoningText, await streamed.text]).toEqual([expected, answerTo(hello)]);
      if (family !== '@ai-sdk/anthropic')
        expect((await streamed.usage).outputTokenDetails.reasoningTokens).toBeGreaterThan(0);
    });

    it('sends a system prompt and an image, which arrive upstream', async () => {
      const answer = await generateText({
        ...ask('fast'),
        system: 'Be brief.',
        messages: [
          {
            role: 'user',
            content: [
              { type: 'file', mediaType: 'image/png', data: pixel },
              { type: 'text', text: hello },
            ],
          },
        ],
      });
      expect(answer.text).toContain(hello);
      const [first, second] = scenario.sent()[messages] as { role: string; content: unknown }[];
      expect(first).toMatchObject({ role: 'system', content: 'Be brief.' });
      expect(JSON.stringify(second)).toContain(JSON.stringify(pixelUrl));
    });

    it('parses an answer that follows its schema, which is sent as `json_schema`', async () => {
      const answer = await generateText({
        ...ask('schema'),
        prompt: hello,
        output: Output.object({ schema: z.object({ city: z.string(), degrees: z.number() }) }),
        // The library would use a tool for the output of an unknown model.
        providerOptions: { anthropic: { structuredOutputMode: 'outputFormat' } },
      });
      expect(answer.output).toEqual(place);
      expect(JSON.stringify(scenario.sent())).toContain('"type":"json_schema"');
    });

    it.each(refusals)('reports an API call error with status $status for $what ($code)', async (refusal) => {
      const options = { ...ask(refusal.model, refusal.key), prompt: hello };
      await expectRefused(await reasonOf(generateText(options)), refusal);
      const { error, finished } = await watched(options);
      await expectRefused(error, refusal);
      expect(finished).not.toBe('stop');
      expect(scenario.seen).toHaveLength(refusal.code === 'upstream_error' ? 2 : 0);
    });

    it.each(midStream)('reports an error when the upstream fails mid-stream: %s', async (name, message) => {
      const requestId = id(`midway-${name}`);
      const { parts, text, error, finished } = await watched({
        ...ask(name),
        prompt: hello,
        headers: { 'x-request-id': requestId },
      });
      expect(String((error as Error | undefined)?.message)).toBe(message);
      expect(text).toMatch(/^This is a/);
      expect(parts).toContain('error');
      expect(finished).toBe('error');
      await scenario.expectFailedRow(requestId, message);
    });

    it('never runs a tool if the upstream fails before the end of its call', async () => {
      const ran: string[] = [];
      const { error, finished } = await watched({
        ...ask('tools-fall-over'),
        prompt: hello,
        tools: tools(ran),
        stopWhen: stepCountIs(3),
      });
      expect(error).toMatchObject({ message: 'The model fell over.' });
      expect(finished).toBe('error');
      expect(ran).toEqual([]);
      expect(scenario.seen).toHaveLength(asksAgain ? 2 : 1);
    });

    it('cancels the upstream request, logged with 499, when aborted mid-stream', async () => {
      const leaving = new AbortController();
      const answer = streamText({
        ...ask('endless'),
        prompt: hello,
        abortSignal: leaving.signal,
        headers: { 'x-request-id': id('abort') },
      });
      const parts: string[] = [];
      for await (const { type } of answer.fullStream) {
        parts.push(type);
        if (type === 'text-delta' && !leaving.signal.aborted)
          await scenario.expectCancelled(id('abort'), () => leaving.abort());
      }
      expect(parts.at(-1)).toBe('abort');
      expect(parts).not.toContain('finish');
    });

    it('cancels the upstream request, logged with 499, when aborted before the response starts', async () => {
      const leaving = new AbortController();
      const call = generateText({
        ...ask('silent'),
        prompt: hello,
        abortSignal: leaving.signal,
        headers: { 'x-request-id': id('abort-early') },
      });
      const reason = reasonOf(call);
      await scenario.arrived();
      await scenario.expectCancelled(id('abort-early'), () => leaving.abort());
      expect(await reason).toMatchObject({ name: 'AbortError' });
    });
  },
);

describe('the AI SDK', () => {
  it('reports an error for a lone `response.failed` of the upstream', async () => {
    const answer = streamText({
      model: createOpenAI(settings('good')).responses('failed'),
      prompt: hello,
      onError: () => undefined,
    });
    const errors: unknown[] = [];
    for await (const part of answer.fullStream) if (part.type === 'error') errors.push(part.error);
    expect(errors).toMatchObject([{ message: 'The model fell over.' }]);
    expect(await answer.finishReason).toBe('error');
  });

  it('waits for the time in the upstream’s `retry-after` before it retries', async () => {
    const { value, ms, allMs } = await timed(() =>
      reasonOf(generateText({ model: compatible('good')('limited-briefly'), prompt: hello, maxRetries: 1 })),
    );
    expect(RetryError.isInstance(value)).toBe(true);
    expect(scenario.seen).toHaveLength(2);
    // Without the header the library waits two seconds.
    expect(allMs).toBeGreaterThanOrEqual(790);
    expect(ms).toBeLessThan(2000);
  });

  it.each([
    ['@ai-sdk/openai', () => createOpenAI(settings('good')).embedding('fast')],
    ['@ai-sdk/openai-compatible', () => compatible('good').embeddingModel('fast')],
  ])('embeds texts in order, with usage: %s', async (_, model) => {
    const { embeddings, usage } = await embedMany({ model: model(), values: [hello, 'Good-bye', hello] });
    expect(embeddings.map((vector) => vector.length)).toEqual([8, 8, 8]);
    expect(embeddings[0]).toEqual(embeddings[2]);
    expect(embeddings[0]).not.toEqual(embeddings[1]);
    expect(usage.tokens).toBeGreaterThan(0);
  });
});
