import { describe, expect, it } from '@jest/globals';
import Anthropic1 from '@anthropic-ai/sdk';
import { betaZodTool as betaZodTool1 } from '@anthropic-ai/sdk/helpers/beta/zod';
import { zodOutputFormat as zodOutputFormat1 } from '@anthropic-ai/sdk/helpers/zod';
import Anthropic0 from 'anthropic-sdk-0';
import { betaZodTool as betaZodTool0 } from 'anthropic-sdk-0/helpers/beta/zod';
import { zodOutputFormat as zodOutputFormat0 } from 'anthropic-sdk-0/helpers/zod';
import { z } from 'zod';
import { simulatedRedaction, simulatedSignature } from '../support/messages-body-faults.ts';
import { answerAfterAll, simulatedPlace } from './platform-openai.ts';
import {
  type Behaviour,
  type ClassOf,
  type PlatformRoute,
  type PlatformScenario,
  upstreamRefusals,
} from './platform-scenario.ts';
import {
  answerAfter,
  answerTo,
  hello,
  midStream,
  reasonOf,
  type Refusal,
  resultOf,
  simulatedReasoning,
  toolInput,
  toolNames,
  toolParameters,
} from './scenario.ts';

type Sdk = typeof Anthropic1;

interface Line {
  readonly line: '1.x' | '0.x';
  readonly Sdk: Sdk;
  readonly betaZodTool: typeof betaZodTool1;
  readonly zodOutputFormat: typeof zodOutputFormat1;
}

/** The two release lines of the library, which share the interface that is used here. */
const lines: readonly Line[] = [
  { line: '1.x', Sdk: Anthropic1, betaZodTool: betaZodTool1, zodOutputFormat: zodOutputFormat1 },
  {
    line: '0.x',
    Sdk: Anthropic0 as unknown as Sdk,
    betaZodTool: betaZodTool0,
    zodOutputFormat: zodOutputFormat0,
  },
];

const user = [{ role: 'user' as const, content: hello }];
const max_tokens = 4000;
const thinking = { type: 'enabled' as const, budget_tokens: 1024 };
const ephemeral = { cache_control: { type: 'ephemeral' as const } };

export const anthropicClient = (scenario: PlatformScenario, SdkOf: Sdk = Anthropic1): Anthropic1 =>
  new SdkOf({ baseURL: scenario.url(), apiKey: scenario.key, maxRetries: 0 });

/** The Anthropic clients over one route; bodies are translated unless the upstream speaks messages. */
export function describeMessages(scenario: PlatformScenario, route: PlatformRoute): void {
  describe.each(lines)(`the Anthropic client $line over ${route.id}`, (each) => {
    const suite = { scenario, route, ...each };
    describeAnswers(suite);
    describeTools(suite);
    describeReplay(suite);
    describeFailures(suite);
  });
}

type Suite = Line & { readonly scenario: PlatformScenario; readonly route: PlatformRoute };

const ways = ({ route }: Suite) => (route.streams ? (['whole', 'streamed'] as const) : (['whole'] as const));

/** Both lines run against one gateway, so each has request ids of its own. */
const idOf =
  ({ line, route }: Suite) =>
  (name: string): string =>
    `messages-${route.id}-${line}-${name}`;

const named = (requestId: string) => ({ headers: { 'x-request-id': requestId } });

const bodyOf = ({ route }: Suite, behaviour: Behaviour) => ({
  model: `${route.id}-${behaviour}`,
  max_tokens,
  messages: user,
});

/** The complete message, requested with or without a stream. */
const answered = (
  { scenario, Sdk: SdkOf }: Suite,
  how: string,
  body: Anthropic1.MessageCreateParamsNonStreaming,
  options: object = {},
): Promise<Anthropic1.Message> => {
  const { messages } = anthropicClient(scenario, SdkOf);
  return how === 'whole' ? messages.create(body, options) : messages.stream(body, options).finalMessage();
};

const promptOf = ({ usage }: Anthropic1.Message): number =>
  usage.input_tokens + (usage.cache_read_input_tokens ?? 0) + (usage.cache_creation_input_tokens ?? 0);

function describeAnswers(suite: Suite): void {
  const { scenario, route, Sdk: SdkOf } = suite;
  const id = idOf(suite);
  const call = (how: string) => ({ route, operation: 'messages' as const, stream: how !== 'whole' });

  it.each(ways(suite))('receives a message with usage; one attempt, one priced row: %s', async (how) => {
    const message = await answered(suite, how, bodyOf(suite, 'plain'), named(id(how)));
    expect(message).toMatchObject({
      type: 'message',
      role: 'assistant',
      content: [{ type: 'text', text: answerTo(hello) }],
      stop_reason: 'end_turn',
      stop_sequence: null,
    });
    if (!route.native) expect(message.model).toBe(`${route.id}-plain`);
    const usage = { prompt: promptOf(message), completion: message.usage.output_tokens };
    await scenario.expectSold(id(how), call(how), usage);
  });

  it.each(ways(suite))('counts cached tokens apart from its input tokens: %s', async (how) => {
    const message = await answered(suite, how, bodyOf(suite, 'cached'), named(id(`cached-${how}`)));
    expect(message.usage).toMatchObject({
      input_tokens: route.cachedPrompt - 40,
      cache_read_input_tokens: 40,
      output_tokens: 7,
    });
    const usage = { prompt: route.cachedPrompt, completion: 7 };
    await scenario.expectSold(id(`cached-${how}`), call(how), usage);
  });

  if (route.streams)
    it('receives each stream event once, in the order of the protocol', async () => {
      const stream = await anthropicClient(scenario, SdkOf).messages.create({
        ...bodyOf(suite, 'plain'),
        stream: true,
      });
      const events: Anthropic1.MessageStreamEvent[] = [];
      for await (const event of stream) events.push(event);
      const deltas = events.filter((event) => event.type === 'content_block_delta');
      expect(deltas.length).toBeGreaterThan(1);
      expect(events.map(({ type }) => type)).toEqual([
        'message_start',
        'content_block_start',
        ...deltas.map(({ type }) => type),
        'content_block_stop',
        'message_delta',
        'message_stop',
      ]);
      const text = deltas.map(({ delta }) => (delta.type === 'text_delta' ? delta.text : ''));
      expect(text.join('')).toBe(answerTo(hello));
    });
}

function describeTools(suite: Suite): void {
  const { scenario, route, Sdk: SdkOf, betaZodTool } = suite;
  const tools = toolNames.map((name) => ({ name, input_schema: toolParameters }));
  const running = (ran: string[]) =>
    toolNames.map((name) =>
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
    );

  it.each(ways(suite).flatMap((how) => [['tools', how] as const, ['parallel', how] as const]))(
    'makes a tool round trip: %s, %s',
    async (behaviour, how) => {
      const body = { ...bodyOf(suite, behaviour), tools };
      const asked = await answered(suite, how, body);
      expect(asked.stop_reason).toBe('tool_use');
      const calls = asked.content.filter((block) => block.type === 'tool_use');
      expect(calls.map(({ name, input }) => [name, input])).toEqual(
        toolNames.slice(0, behaviour === 'tools' ? 1 : 2).map((name) => [name, toolInput]),
      );
      expect(new Set(calls.map((each) => each.id)).size).toBe(calls.length);
      const results = calls.map(({ id, name }) => ({
        type: 'tool_result' as const,
        tool_use_id: id,
        content: resultOf(name),
      }));
      const last = await answered(suite, how, {
        ...body,
        messages: [
          ...user,
          { role: 'assistant', content: asked.content },
          { role: 'user', content: results },
        ],
      });
      expect(last).toMatchObject({
        stop_reason: 'end_turn',
        content: [
          {
            type: 'text',
            text: answerAfterAll(
              route,
              calls.map(({ name }) => name),
            ),
          },
        ],
      });
    },
  );

  it.each(ways(suite))('runs tools with its tool runner: %s', async (how) => {
    const ran: string[] = [];
    const runner = anthropicClient(scenario, SdkOf).beta.messages.toolRunner({
      ...bodyOf(suite, 'parallel'),
      stream: how !== 'whole',
      tools: running(ran),
    });
    const last = await runner.runUntilDone();
    expect(last.content).toMatchObject([{ type: 'text', text: answerAfterAll(route, toolNames) }]);
    expect(ran.toSorted()).toEqual(toolNames.toSorted());
  });

  it('sends the result of a failed tool, which reaches the upstream as an error', async () => {
    const body = { ...bodyOf(suite, 'tools'), tools };
    const asked = await answered(suite, 'whole', body);
    const tool_use_id = asked.content.find((block) => block.type === 'tool_use')!.id;
    const result = { type: 'tool_result' as const, tool_use_id, is_error: true, content: 'It rains.' };
    const messages = [
      ...user,
      { role: 'assistant' as const, content: asked.content },
      { role: 'user' as const, content: [result] },
    ];
    const last = await answered(suite, 'whole', { ...body, messages });
    expect(last.content).toMatchObject([
      { text: answerAfter(route.native ? 'It rains.' : 'Error: It rains.') },
    ]);
    if (route.native) expect(JSON.stringify(scenario.sent())).toContain('"is_error":true');
  });

  it('follows `tool_choice`: the named tool, one for `any`, none for `none`', async () => {
    const calledBy = async (behaviour: Behaviour, tool_choice: Anthropic1.ToolChoice) => {
      const { content } = await answered(suite, 'whole', { ...bodyOf(suite, behaviour), tools, tool_choice });
      return content.flatMap((block) => (block.type === 'tool_use' ? [block.name] : []));
    };
    expect(await calledBy('plain', { type: 'tool', name: 'time' })).toEqual(['time']);
    expect(await calledBy('plain', { type: 'any' })).toEqual(['weather']);
    expect(await calledBy('tools', { type: 'none' })).toEqual([]);
  });

  if (route.streams)
    it('never runs a tool if the upstream fails before the end of its call', async () => {
      const ran: string[] = [];
      const runner = anthropicClient(scenario, SdkOf).beta.messages.toolRunner({
        ...bodyOf(suite, 'tools-fall-over'),
        stream: true,
        tools: running(ran),
      });
      expect(String(await reasonOf(runner.runUntilDone()))).toContain('The model fell over.');
      expect(ran).toEqual([]);
    });
}

function describeReplay(suite: Suite): void {
  const { scenario, route, Sdk: SdkOf, zodOutputFormat } = suite;
  const signature = route.native ? simulatedSignature : '';

  it.each(ways(suite))('receives a thinking block, replayed only on a native route: %s', async (how) => {
    const asked = { ...bodyOf(suite, 'reasoning'), thinking };
    const content = [
      { type: 'thinking' as const, thinking: simulatedReasoning, signature },
      { type: 'text' as const, text: answerTo(hello) },
    ];
    const message = await answered(suite, how, asked);
    expect(message.content).toMatchObject(content);
    const messages = [...user, { role: 'assistant' as const, content: message.content }, ...user];
    await answered(suite, how, { ...asked, messages });
    const sent = JSON.stringify(scenario.sent());
    // If it can be replayed, it is sent upstream unchanged, with its signature; otherwise none of it is sent.
    expect(sent.includes(JSON.stringify(content[0]))).toBe(route.native);
    expect(sent.includes(simulatedReasoning)).toBe(route.native);
  });

  if (route.native) {
    it('sends cache marks, thinking, tools and messages, which arrive upstream unchanged', async () => {
      const system = [{ type: 'text' as const, text: 'Be brief.', ...ephemeral }];
      const tools = [{ name: 'weather', input_schema: toolParameters, ...ephemeral }];
      const messages: Anthropic1.MessageParam[] = [
        { role: 'user', content: [{ type: 'text', text: hello, ...ephemeral }] },
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'So far.', signature: simulatedSignature },
            { type: 'redacted_thinking', data: simulatedRedaction },
            { type: 'tool_use', id: 'toolu_1', name: 'weather', input: toolInput },
          ],
        },
        {
          role: 'user',
          content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'Rain.', ...ephemeral }],
        },
      ];
      const body = { ...bodyOf(suite, 'plain'), system, tools, thinking, messages };
      const message = await answered(suite, 'whole', body);
      expect(message.content.at(-1)).toMatchObject({ text: answerAfter('Rain.') });
      expect(scenario.sent()).toMatchObject({ max_tokens, system, tools, thinking, messages });
    });

    it('sends betas, of which only those that the upstream supports are forwarded', async () => {
      const edits = [{ type: 'clear_tool_uses_20250919' as const }];
      await anthropicClient(scenario, SdkOf).beta.messages.create({
        ...bodyOf(suite, 'plain'),
        betas: ['context-management-2025-06-27', 'some-beta-of-tomorrow'],
        context_management: { edits },
      });
      expect(scenario.sent()).toMatchObject({ context_management: { edits } });
      const [call] = scenario.seen();
      expect([call?.headers['anthropic-beta'] ?? call?.body?.['anthropic_beta']].flat()).toEqual([
        'context-management-2025-06-27',
      ]);
    });
  }

  it('parses an answer that follows its schema, or is refused with 400 if the route has no `json_schema`', async () => {
    const format = zodOutputFormat(z.object({ city: z.string(), degrees: z.number() }));
    const asked = anthropicClient(scenario, SdkOf).messages.parse({
      ...bodyOf(suite, 'plain'),
      output_config: { format },
    });
    if (route.schemas) expect((await asked).parsed_output).toEqual(simulatedPlace);
    else await expectUnable(suite, asked, /`json_schema`/);
  });
}

/** A refusal by the gateway itself, for which nothing was sent upstream. */
async function expectUnable(
  { scenario, Sdk: SdkOf }: Suite,
  call: Promise<unknown>,
  message: RegExp,
): Promise<void> {
  const error = await reasonOf(call);
  expect(error).toBeInstanceOf(SdkOf.BadRequestError);
  const refused = error as InstanceType<Sdk['APIError']>;
  expect(refused.error).toMatchObject({
    type: 'error',
    error: {
      type: 'invalid_request_error',
      message: expect.stringMatching(message),
      details: { error_code: 'invalid_request' },
    },
  });
  expect(scenario.seen()).toEqual([]);
  await scenario.expectFailed(refused.requestID, 400, undefined);
}

function describeFailures(suite: Suite): void {
  const { scenario, route, line, Sdk: SdkOf } = suite;
  const id = idOf(suite);

  async function expectRefused(error: unknown, refusal: Refusal, stream: boolean): Promise<void> {
    const classOf: Readonly<Record<number, ClassOf>> = {
      400: SdkOf.BadRequestError,
      404: SdkOf.NotFoundError,
      429: SdkOf.RateLimitError,
      502: SdkOf.InternalServerError,
      503: SdkOf.InternalServerError,
    };
    const { status, messagesType: type, message, retryAfter } = refusal;
    expect(error).toBeInstanceOf(classOf[status]);
    const refused = error as InstanceType<Sdk['APIError']>;
    expect(refused).toMatchObject({ status, type });
    expect(refused.error).toMatchObject({
      error: { type, message, details: { error_code: 'upstream_error' } },
      request_id: refused.requestID,
    });
    expect(refused.headers?.get('retry-after') ?? '').toMatch(retryAfter ?? /^$/);
    await scenario.expectFailed(refused.requestID, status, {
      status: stream ? 'stream_start_error' : 'provider_error',
      error_detail: message,
    });
  }

  it.each(upstreamRefusals)('throws the error class of $status for $what', async (refusal) => {
    const { messages } = anthropicClient(scenario, SdkOf);
    const body = bodyOf(suite, refusal.model);
    await expectRefused(await reasonOf(messages.create(body)), refusal, false);
    if (!route.streams) return;
    await expectRefused(await reasonOf(messages.create({ ...body, stream: true })), refusal, true);
  });

  it('cancels the upstream request, logged with 499, when aborted before the response starts', async () => {
    const leaving = new AbortController();
    const call = anthropicClient(scenario, SdkOf).messages.create(bodyOf(suite, 'silent'), {
      ...named(id('abort-early')),
      signal: leaving.signal,
    });
    const reason = reasonOf(call);
    await scenario.arrived();
    await scenario.expectCancelled(id('abort-early'), () => leaving.abort());
    expect(await reason).toBeInstanceOf(SdkOf.APIUserAbortError);
  });

  if (!route.streams) {
    it('is refused with a 400 that names `stream` if the route cannot stream', async () => {
      const { messages } = anthropicClient(scenario, SdkOf);
      await expectUnable(suite, messages.create({ ...bodyOf(suite, 'plain'), stream: true }), /`stream`/);
    });
    return;
  }

  it.each(midStream)('throws when the upstream fails mid-stream: %s', async (behaviour, message) => {
    const types: string[] = [];
    const read = async (): Promise<void> => {
      const { messages } = anthropicClient(scenario, SdkOf);
      const stream = await messages.create({ ...bodyOf(suite, behaviour), stream: true });
      for await (const { type } of stream) types.push(type);
    };
    const error = await reasonOf(read());
    expect(error).toBeInstanceOf(SdkOf.APIError);
    const failed = error as InstanceType<Sdk['APIError']>;
    expect(failed.type).toBe('api_error');
    expect(failed.error).toMatchObject({ error: { message, details: { error_code: 'upstream_error' } } });
    if (line === '1.x') expect(failed).toMatchObject({ errorCode: 'upstream_error', apiMessage: message });
    expect(types).toContain('content_block_delta');
    expect(types).not.toContain('message_delta');
    expect(types).not.toContain('message_stop');
    await scenario.expectFailed(failed.headers?.get('request-id'), 502, {
      status: 'stream_error',
      error_detail: message,
    });
  });

  it('cancels the upstream request, logged with 499, when aborted mid-stream', async () => {
    const leaving = new AbortController();
    const stream = await anthropicClient(scenario, SdkOf).messages.create(
      { ...bodyOf(suite, 'endless'), stream: true },
      { ...named(id('abort')), signal: leaving.signal },
    );
    const types: string[] = [];
    for await (const { type } of stream) {
      types.push(type);
      if (type === 'content_block_delta' && !leaving.signal.aborted)
        await scenario.expectCancelled(id('abort'), () => leaving.abort());
    }
    expect(types).not.toContain('message_stop');
    expect(leaving.signal.aborted).toBe(true);
  });
}
