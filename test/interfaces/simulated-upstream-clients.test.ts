import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import Anthropic from '@anthropic-ai/sdk';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ChatAnthropic } from '@langchain/anthropic';
import { type AIMessageChunk, HumanMessage } from '@langchain/core/messages';
import { tool as langchainTool } from '@langchain/core/tools';
import { ChatOpenAI, OpenAIEmbeddings } from '@langchain/openai';
import { embedMany, generateText, isStepCount, type LanguageModel, streamText, tool } from 'ai';
import FormerAnthropic from 'anthropic-sdk-0';
import OpenAI, { RateLimitError } from 'openai';
import { z } from 'zod';
import { type SimulatedUpstream, startSimulatedUpstream } from '../../tools/simulated-upstream/server.ts';

let upstream: SimulatedUpstream;
/** The base URL for Anthropic clients, which add the version themselves. */
let origin: string;
beforeAll(async () => {
  Object.assign(globalThis, { AI_SDK_LOG_WARNINGS: false });
  upstream = await startSimulatedUpstream({ port: 0 });
  ({ origin } = new URL(upstream.url));
});
afterAll(() => upstream.close());

const said = 'This is a simulated answer; no model was asked. You said: "Hello.".';
const returned = (what: string): string =>
  `This is a simulated answer; no model was asked. The tool returned: "${what}".`;
const city = {
  type: 'object' as const,
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
};
const inCity = { city: 'simulated city' };

/** The error that a call throws. */
const thrownBy = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );

describe('the openai client', () => {
  const client = (): OpenAI => new OpenAI({ apiKey: 'none', baseURL: upstream.url, maxRetries: 0 });

  it('gets a response, whole and streamed', async () => {
    const request = { model: 'simulated', input: 'Hello.' };
    expect((await client().responses.create(request)).output_text).toBe(said);
    const stream = client().responses.stream(request);
    let deltas = '';
    stream.on('response.output_text.delta', ({ delta }) => {
      deltas += delta;
    });
    const response = await stream.finalResponse();
    expect(response).toMatchObject({ output_text: said, status: 'completed', usage: { total_tokens: 22 } });
    expect(deltas).toBe(said);
  });

  it('runs a tool in a response, with reasoning before it', async () => {
    const tools = [
      { type: 'function' as const, name: 'weather', parameters: city, strict: true },
      { type: 'web_search' as const },
    ];
    const input: OpenAI.Responses.ResponseInput = [{ role: 'user', content: 'Hello.' }];
    const request = { model: 'simulated-reasoning-tools', tools };
    const { output } = await client()
      .responses.stream({ ...request, input })
      .finalResponse();
    expect(output.map(({ type }) => type)).toEqual(['reasoning', 'function_call']);
    const call = output.find((item) => item.type === 'function_call');
    expect(JSON.parse(call?.arguments ?? '')).toEqual(inCity);
    const result = { type: 'function_call_output' as const, call_id: call?.call_id ?? '', output: '21' };
    const replayed = output as OpenAI.Responses.ResponseInput;
    const answer = await client().responses.create({ ...request, input: [...input, ...replayed, result] });
    expect(answer.output_text).toBe(returned('21'));
  });

  it('throws on an error event in a response, and on an error status', async () => {
    const read = async (): Promise<void> => {
      const events = await client().responses.create({
        model: 'simulated?error-at=2&message=no',
        input: 'Hello.',
        stream: true,
      });
      for await (const event of events) expect(event.type).toMatch(/^response\./);
    };
    expect(await thrownBy(read())).toMatchObject({ name: 'Error', message: 'no', type: 'server_error' });
    const refused = client().responses.create({ model: 'simulated?status=429', input: 'Hello.' });
    expect(await thrownBy(refused)).toBeInstanceOf(RateLimitError);
  });

  it("gets embeddings in the client's encoding, equal to those in plain numbers", async () => {
    const request = { model: 'simulated', input: ['Hello.', 'Goodbye.'], dimensions: 5 };
    const { data, usage } = await client().embeddings.create(request);
    const plain = await client().embeddings.create({ ...request, encoding_format: 'float' });
    expect(data.map(({ embedding }) => embedding.length)).toEqual([5, 5]);
    expect(data.map(({ embedding }) => [...embedding])).toEqual(plain.data.map(({ embedding }) => embedding));
    expect(usage).toEqual({ prompt_tokens: 4, total_tokens: 4 });
  });
});

describe.each([
  ['present', Anthropic],
  ['former', FormerAnthropic as unknown as typeof Anthropic],
])('the %s Anthropic client', (_, Client) => {
  const client = (): Anthropic => new Client({ apiKey: 'none', baseURL: origin, maxRetries: 0 });
  const hello = { max_tokens: 2000, messages: [{ role: 'user' as const, content: 'Hello.' }] };

  it('gets a message, whole and streamed', async () => {
    const whole = await client().messages.create({ model: 'simulated', ...hello });
    expect(whole).toMatchObject({ content: [{ type: 'text', text: said }], stop_reason: 'end_turn' });
    const stream = client().messages.stream({ model: 'simulated', ...hello });
    expect(await stream.finalMessage()).toMatchObject({ content: whole.content, usage: whole.usage });
  });

  it('gets thinking with its signature', async () => {
    const thinking = { type: 'enabled' as const, budget_tokens: 1024 };
    const stream = client().messages.stream({ model: 'simulated', ...hello, thinking });
    expect((await stream.finalMessage()).content).toEqual([
      {
        type: 'thinking',
        thinking: expect.stringContaining('simulated reasoning'),
        signature: expect.stringMatching(/./),
      },
      { type: 'text', text: said },
    ]);
  });

  it('runs two tools, one of them without arguments', async () => {
    const request = {
      model: 'simulated-parallel-tools',
      ...hello,
      tools: [
        { name: 'weather', input_schema: city },
        { name: 'time', input_schema: { type: 'object' as const } },
      ],
    };
    const { content, stop_reason: reason } = await client().messages.stream(request).finalMessage();
    const calls = content.filter((block) => block.type === 'tool_use');
    expect(calls.map(({ name, input }) => [name, input])).toEqual([
      ['weather', inCity],
      ['time', {}],
    ]);
    expect(reason).toBe('tool_use');
    const results = calls.map(({ id, name }) => ({
      type: 'tool_result' as const,
      tool_use_id: id,
      content: `the ${name}`,
    }));
    const answer = await client().messages.create({
      ...request,
      messages: [...hello.messages, { role: 'assistant', content }, { role: 'user', content: results }],
    });
    expect(answer.content).toMatchObject([{ text: returned('the weather the time') }]);
  });

  it('throws on an error event, and on an error status', async () => {
    const broken = client().messages.stream({ model: 'simulated?error-at=2&message=no', ...hello });
    expect(await thrownBy(broken.finalMessage())).toMatchObject({ type: 'api_error' });
    const refused = client().messages.create({ model: 'simulated?status=429', ...hello });
    expect(await thrownBy(refused)).toMatchObject({ status: 429, type: 'rate_limit_error' });
  });
});

describe.each(['responses', 'chat', 'messages'])('the AI SDK on %s', (family) => {
  const model = (name: string): LanguageModel => {
    const settings = { apiKey: 'none', baseURL: upstream.url };
    if (family === 'messages') return createAnthropic(settings)(name);
    return family === 'chat' ? createOpenAI(settings).chat(name) : createOpenAI(settings).responses(name);
  };
  const tools = {
    weather: tool({
      inputSchema: z.object({ city: z.string() }),
      execute: ({ city: name }) => `21 in ${name}`,
    }),
    time: tool({ inputSchema: z.object({}), execute: () => 'noon' }),
  };

  it('gets a text and its reasoning, whole and streamed', async () => {
    const request = { model: model('simulated-reasoning'), prompt: 'Hello.' };
    const whole = await generateText(request);
    const streamed = streamText(request);
    await streamed.consumeStream();
    expect(whole).toMatchObject({ text: said, finishReason: 'stop' });
    expect(await streamed.text).toBe(said);
    expect(await streamed.usage).toEqual(whole.usage);
    expect(await streamed.reasoningText).toBe(whole.reasoningText);
    // This client does not read the reasoning of chat completions.
    expect(whole.reasoningText?.includes('simulated reasoning')).toBe(family === 'chat' ? undefined : true);
    expect(whole.usage.outputTokenDetails.reasoningTokens).toBeGreaterThan(0);
  });

  it('runs two tools and continues, whole and streamed', async () => {
    const request = {
      model: model('simulated-parallel-tools'),
      prompt: 'Hello.',
      tools,
      stopWhen: isStepCount(4),
    };
    const streamed = streamText(request);
    await streamed.consumeStream();
    for (const steps of [(await generateText(request)).steps, await streamed.steps]) {
      expect(steps).toHaveLength(2);
      expect(steps[0]?.toolResults.map(({ toolName, output }) => [toolName, output])).toEqual([
        ['weather', '21 in simulated city'],
        ['time', 'noon'],
      ]);
      expect(steps[1]?.text).toContain('noon');
    }
  });

  it('reports an error in the middle of a stream', async () => {
    const errors: unknown[] = [];
    const streamed = streamText({
      model: model('simulated?error-at=2&message=no'),
      prompt: 'Hello.',
      maxRetries: 0,
      onError: ({ error }) => {
        errors.push(error);
      },
    });
    await streamed.consumeStream();
    expect(errors).toMatchObject([{ message: 'no' }]);
  });
});

describe('the AI SDK', () => {
  it('gets embeddings', async () => {
    const openai = createOpenAI({ apiKey: 'none', baseURL: upstream.url });
    const { embeddings, usage } = await embedMany({
      model: openai.embedding('simulated'),
      values: ['a', 'b'],
    });
    expect(embeddings.map((vector) => vector.length)).toEqual([8, 8]);
    expect(usage).toEqual({ tokens: 2 });
  });
});

describe.each(['responses', 'chat', 'messages'])('LangChain on %s', (family) => {
  const chat = (model: string): ChatOpenAI | ChatAnthropic => {
    const settings = { model, apiKey: 'none', maxRetries: 0 };
    return family === 'messages'
      ? new ChatAnthropic({ ...settings, anthropicApiUrl: origin, maxTokens: 100 })
      : new ChatOpenAI({
          ...settings,
          useResponsesApi: family === 'responses',
          configuration: { baseURL: upstream.url },
        });
  };
  const weather = langchainTool(({ city: name }) => `21 in ${name}`, {
    name: 'weather',
    schema: z.object({ city: z.string() }),
  });
  const gathered = async (chunks: AsyncIterable<AIMessageChunk>): Promise<AIMessageChunk> => {
    let all: AIMessageChunk | undefined;
    for await (const chunk of chunks) all = all === undefined ? chunk : all.concat(chunk);
    return all!;
  };

  it('gets a text, whole and streamed', async () => {
    const whole = await chat('simulated').invoke('Hello.');
    const streamed = await gathered(await chat('simulated').stream('Hello.'));
    expect([whole.text, streamed.text]).toEqual([said, said]);
    for (const answer of [whole, streamed])
      expect(answer).toHaveProperty('usage_metadata', expect.objectContaining({ input_tokens: 5 }));
  });

  it('runs a tool', async () => {
    const model = chat('simulated-tools').bindTools([weather]);
    const asked = await gathered(await model.stream('Hello.'));
    expect(asked.tool_calls).toMatchObject([{ name: 'weather', args: inCity }]);
    const result = await weather.invoke(asked.tool_calls![0]!);
    const answer = await model.invoke([new HumanMessage('Hello.'), asked, result]);
    expect(answer.text).toBe(returned('21 in simulated city'));
  });
});

describe('LangChain', () => {
  it('gets embeddings', async () => {
    const embeddings = new OpenAIEmbeddings({
      apiKey: 'none',
      model: 'simulated',
      dimensions: 3,
      configuration: { baseURL: upstream.url },
    });
    expect(await embeddings.embedDocuments(['a', 'b'])).toEqual([
      await embeddings.embedQuery('a'),
      await embeddings.embedQuery('b'),
    ]);
  });
});
