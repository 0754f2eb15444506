import { describe, expect, it } from '@jest/globals';
import OpenAI, {
  APIError,
  APIUserAbortError,
  BadRequestError,
  InternalServerError,
  NotFoundError,
  RateLimitError,
} from 'openai';
import { zodResponseFormat } from 'openai/helpers/zod';
import { z } from 'zod';
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
  resultOf,
  simulatedReasoning,
  toolInput,
  toolNames,
  toolParameters,
} from './scenario.ts';

/** A schema, and the object that the simulation generates from it. */
export const placeShape = z.object({ city: z.string(), degrees: z.number() });
export const simulatedPlace = { city: 'simulated city', degrees: 1 };

export const user = [{ role: 'user' as const, content: hello }];
const max_completion_tokens = 4000;
const stream_options = { include_usage: true };

const classOf: Readonly<Record<number, ClassOf>> = {
  400: BadRequestError,
  404: NotFoundError,
  429: RateLimitError,
  502: InternalServerError,
  503: InternalServerError,
};

export const openAiClient = (scenario: PlatformScenario): OpenAI =>
  new OpenAI({ baseURL: `${scenario.url()}/v1`, apiKey: scenario.key, maxRetries: 0 });

export const named = (requestId: string) => ({ headers: { 'x-request-id': requestId } });

/** The answer to several consecutive tool results. */
export const answerAfterAll = ({ hears }: PlatformRoute, names: readonly string[]): string =>
  answerAfter(hears === 'all' ? names.map(resultOf).join(' ') : resultOf(names.at(-1) ?? ''));

/** All events that were read, and the error that ended the stream, if any. */
export async function readToEnd<E>(
  stream: AsyncIterable<E>,
): Promise<{ readonly events: readonly E[]; readonly error: unknown }> {
  const events: E[] = [];
  try {
    for await (const event of stream) events.push(event);
  } catch (error) {
    return { events, error };
  }
  return { events, error: undefined };
}

interface Thought {
  readonly reasoning?: string;
  readonly reasoning_content?: string;
  readonly provider_metadata?: Readonly<
    Record<
      string,
      { readonly reasoning?: readonly { readonly thinking?: string; readonly signature?: string }[] }
    >
  >;
}

/** A native platform's reasoning, read only from its metadata; a chat-style host has a field for it. */
export const thoughtIn = (said: object, namespace: string | undefined): string => {
  const { reasoning, reasoning_content, provider_metadata: metadata } = said as Thought;
  return namespace === undefined
    ? (reasoning ?? reasoning_content ?? '')
    : (metadata?.[namespace]?.reasoning ?? []).map(({ thinking }) => thinking ?? '').join('');
};

/** The library's own error class, with the upstream's message, and the upstream's code if it has one. */
export async function expectRefused(
  scenario: PlatformScenario,
  { codes }: PlatformRoute,
  error: unknown,
  refusal: (typeof upstreamRefusals)[number],
  stream: boolean,
) {
  const { status, code, type, message, model, retryAfter } = refusal;
  expect(error).toBeInstanceOf(classOf[status]);
  const refused = error as APIError;
  expect(refused).toMatchObject({ status, code: codes?.[model] ?? code, type });
  expect(refused.headers?.get('x-gateway-error')).toBe(code);
  expect(refused.message.slice(`${status} `.length)).toMatch(message);
  expect(refused.headers?.get('retry-after') ?? '').toMatch(retryAfter ?? /^$/);
  await scenario.expectFailed(refused.requestID, status, {
    status: stream ? 'stream_start_error' : 'provider_error',
    error_detail: message,
  });
}

/** A refusal by the gateway itself, for which nothing was sent upstream. */
export async function expectUnable(scenario: PlatformScenario, call: Promise<unknown>, message: RegExp) {
  const before = scenario.seen().length;
  const error = await reasonOf(call);
  expect(error).toBeInstanceOf(BadRequestError);
  expect(error).toMatchObject({ status: 400, code: 'invalid_request', message });
  expect(scenario.seen().length).toBe(before);
  await scenario.expectFailed((error as APIError).requestID, 400, undefined);
}

/** Whether a route cannot serve a request that needs `what`; a native platform has only its own messages. */
const lacks = ({ route, streams }: PlatformRoute, native: boolean, what: string): boolean => {
  if (what === 'stream') return !streams;
  if (native) return true;
  const { capabilities } = (route ?? {}) as { readonly capabilities?: Readonly<Record<string, boolean>> };
  return capabilities?.[what] === false;
};

/** The `openai` client's chat completions over one route; `namespace` is that of native reasoning. */
export function describeChat(
  scenario: PlatformScenario,
  route: PlatformRoute,
  namespace: string | undefined,
): void {
  const client = (): OpenAI => openAiClient(scenario);
  const model = (behaviour: Behaviour): string => `${route.id}-${behaviour}`;
  const body = (behaviour: Behaviour) => ({ model: model(behaviour), messages: user, max_completion_tokens });
  const id = (name: string): string => `chat-${route.id}-${name}`;
  const call = (stream: boolean) => ({ route, operation: 'chat_completions' as const, stream });
  const usageOf = (usage: OpenAI.CompletionUsage | undefined) => ({
    prompt: usage!.prompt_tokens,
    completion: usage!.completion_tokens,
  });
  const ways = route.streams ? (['whole', 'streamed'] as const) : (['whole'] as const);
  const streamIt = (name: string, test: () => Promise<void>): void => {
    if (route.streams) it(name, test);
  };

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
  const plainTools = toolNames.map((name) => ({
    type: 'function' as const,
    function: { name, parameters: toolParameters },
  }));

  describe(`the openai client, chat completions over ${route.id}`, () => {
    it('receives a non-streamed answer with usage and its request id; one attempt, one priced row', async () => {
      const completion = await client().chat.completions.create(
        {
          ...body('plain'),
          messages: [
            { role: 'system', content: 'Be brief.' },
            { role: 'developer', content: 'Be kind.' },
            ...user,
          ],
        },
        named(id('whole')),
      );
      expect(completion.choices).toMatchObject([
        { index: 0, finish_reason: 'stop', message: { role: 'assistant', content: answerTo(hello) } },
      ]);
      expect(completion.object).toBe('chat.completion');
      if (namespace !== undefined) expect(completion.model).toBe(model('plain'));
      expect(completion._request_id).toBe(id('whole'));
      expect(completion.usage?.total_tokens).toBe(
        completion.usage!.prompt_tokens + completion.usage!.completion_tokens,
      );
      await scenario.expectSold(id('whole'), call(false), usageOf(completion.usage));
    });

    streamIt('reads a stream to its end: text, one finish reason, usage once, one priced row', async () => {
      const stream = await client().chat.completions.create(
        { ...body('plain'), stream: true, stream_options },
        named(id('streamed')),
      );
      const { events, error } = await readToEnd(stream);
      expect(error).toBeUndefined();
      expect(events[0]?.choices[0]?.delta.role).toBe('assistant');
      expect(events.map(({ choices }) => choices[0]?.delta.content ?? '').join('')).toBe(answerTo(hello));
      const finishes = events.flatMap(({ choices }) => choices[0]?.finish_reason ?? []);
      expect(finishes).toEqual(['stop']);
      const usages = events.flatMap(({ usage }) => usage ?? []);
      expect(usages).toHaveLength(1);
      await scenario.expectSold(id('streamed'), call(true), usageOf(usages[0]));
    });

    streamIt('assembles the same answer and usage from a stream as it receives non-streamed', async () => {
      const { completions } = client().chat;
      const partsOf = ({ object, model: name, usage, choices }: OpenAI.ChatCompletion) => ({
        object,
        name,
        usage,
        choices: choices.map(({ index, finish_reason, message: { role, content } }) => ({
          index,
          finish_reason,
          role,
          content,
        })),
      });
      const streamed = await completions.stream({ ...body('plain'), stream_options }).finalChatCompletion();
      expect(streamed.choices[0]?.message.content).toBe(answerTo(hello));
      expect(partsOf(streamed)).toEqual(partsOf(await completions.create(body('plain'))));
    });

    it.each(ways)('counts cached tokens as part of the prompt: %s', async (how) => {
      const requestId = id(`cached-${how}`);
      const usage =
        how === 'whole'
          ? (await client().chat.completions.create(body('cached'), named(requestId))).usage
          : (
              await client()
                .chat.completions.stream({ ...body('cached'), stream_options }, named(requestId))
                .finalChatCompletion()
            ).usage;
      expect(usage).toMatchObject({
        prompt_tokens: route.cachedPrompt,
        completion_tokens: 7,
        prompt_tokens_details: { cached_tokens: 40 },
      });
      await scenario.expectSold(requestId, call(how === 'streamed'), {
        prompt: route.cachedPrompt,
        completion: 7,
      });
    });

    it('receives no usage if the upstream reports none: the row is `usage_missing`, and nothing is estimated', async () => {
      const completion = await client().chat.completions.create(body('uncounted'), named(id('uncounted')));
      expect(completion.usage).toBeUndefined();
      await scenario.expectSold(id('uncounted'), call(false), 'usage_missing');
    });

    it.each(
      ways.flatMap((how) => [
        ['tools', how, ['weather']] as const,
        ['parallel', how, ['weather', 'time']] as const,
      ]),
    )('runs tools with its tool runner: %s, %s', async (behaviour, how, expected) => {
      const ran: string[] = [];
      const { completions } = client().chat;
      const runner =
        how === 'streamed'
          ? completions.runTools({ ...body(behaviour), tools: tools(ran), stream: true })
          : completions.runTools({ ...body(behaviour), tools: tools(ran) });
      expect(await runner.finalContent()).toBe(answerAfterAll(route, expected));
      expect(ran).toEqual(expected);
      const called = runner.messages.flatMap((message) =>
        'tool_calls' in message ? (message.tool_calls ?? []) : [],
      );
      expect(new Set(called.map((each) => each.id)).size).toBe(expected.length);
      expect(scenario.seen()).toHaveLength(2);
    });

    it.each(ways)('receives `{}` as the arguments of a call without arguments: %s', async (how) => {
      const asked = { ...body('empty'), tools: plainTools };
      const completion =
        how === 'whole'
          ? await client().chat.completions.create(asked)
          : await client().chat.completions.stream(asked).finalChatCompletion();
      expect(completion.choices[0]).toMatchObject({
        finish_reason: 'tool_calls',
        message: { tool_calls: [{ function: { name: 'weather', arguments: '{}' } }] },
      });
    });

    it('follows `tool_choice`: the named tool, one for `required`, none for `none` or if `auto` needs none', async () => {
      const calledBy = async (behaviour: Behaviour, tool_choice: OpenAI.ChatCompletionToolChoiceOption) => {
        const asked = { ...body(behaviour), tools: plainTools, tool_choice };
        const { choices } = await client().chat.completions.create(asked);
        return (choices[0]?.message.tool_calls ?? []).map((each) => 'function' in each && each.function.name);
      };
      const time = { type: 'function' as const, function: { name: 'time' } };
      expect(await calledBy('plain', time)).toEqual(['time']);
      expect(await calledBy('plain', 'required')).toEqual(['weather']);
      expect(await calledBy('plain', 'auto')).toEqual([]);
      expect(await calledBy('tools', 'none')).toEqual([]);
    });

    it('parses an answer that follows its schema, or is refused with 400 if the route has no `json_schema`', async () => {
      const asked = { ...body('plain'), response_format: zodResponseFormat(placeShape, 'place') };
      if (!route.schemas) {
        await expectUnable(scenario, client().chat.completions.parse(asked), /`json_schema`/);
        return;
      }
      const completion = await client().chat.completions.parse(asked);
      expect(completion.choices[0]?.message.parsed).toEqual(simulatedPlace);
    });

    it.each(ways)('receives reasoning apart from the content, and can send it back: %s', async (how) => {
      const asked = {
        ...body(namespace === undefined ? 'reasoning' : 'plain'),
        reasoning_effort: 'high' as const,
      };
      let thought = '';
      const { completions } = client().chat;
      let message: OpenAI.ChatCompletionMessage;
      if (how === 'whole') {
        message = (await completions.create(asked)).choices[0]!.message;
        thought = thoughtIn(message, namespace);
      } else {
        const { events } = await readToEnd(await completions.create({ ...asked, stream: true }));
        thought = events.map(({ choices }) => thoughtIn(choices[0]?.delta ?? {}, namespace)).join('');
        const content = events.map(({ choices }) => choices[0]?.delta.content ?? '').join('');
        const kept = events.flatMap(
          ({ choices }) => (choices[0]?.delta as Thought | undefined)?.provider_metadata ?? [],
        );
        const whole = { role: 'assistant' as const, content, refusal: null, provider_metadata: kept[0] };
        message = whole;
      }
      expect(thought).toBe(simulatedReasoning);
      expect(message.content).toBe(answerTo(hello));
      const again = await completions.create({ ...asked, messages: [...user, message, ...user] });
      expect(again.choices[0]?.message.content).toBe(answerTo(hello));
      if (namespace !== undefined)
        expect(JSON.stringify(scenario.sent())).not.toContain('simulated reasoning');
    });

    it.each(upstreamRefusals)('throws the error class of $status for $what', async (refusal) => {
      const { completions } = client().chat;
      await expectRefused(
        scenario,
        route,
        await reasonOf(completions.create(body(refusal.model))),
        refusal,
        false,
      );
      if (!route.streams) return;
      const streamed = completions.create({ ...body(refusal.model), stream: true });
      await expectRefused(scenario, route, await reasonOf(streamed), refusal, true);
    });

    for (const [behaviour, message] of midStream)
      streamIt(`throws when the upstream fails mid-stream: ${behaviour}`, async () => {
        const stream = await client().chat.completions.create({ ...body(behaviour), stream: true });
        const { events, error } = await readToEnd(stream);
        expect(error).toBeInstanceOf(APIError);
        expect(error).toMatchObject({
          code: route.codes?.[behaviour] ?? 'upstream_error',
          type: 'upstream_error',
          message,
        });
        expect(events.map(({ choices }) => choices[0]?.delta.content ?? '').join('')).toMatch(/^This is a/);
        expect(events.some(({ choices }) => (choices[0]?.finish_reason ?? null) !== null)).toBe(false);
        await scenario.expectFailed((error as APIError).requestID, 502, {
          status: 'stream_error',
          error_detail: message,
        });
      });

    streamIt('never runs a tool if the upstream fails before the end of its call', async () => {
      const ran: string[] = [];
      const runner = client().chat.completions.runTools({
        ...body('tools-fall-over'),
        tools: tools(ran),
        stream: true,
      });
      expect(await reasonOf(runner.finalContent())).toMatchObject({ message: 'The model fell over.' });
      expect(ran).toEqual([]);
    });

    streamIt('cancels the upstream request, logged with 499, when aborted mid-stream', async () => {
      const leaving = new AbortController();
      const stream = await client().chat.completions.create(
        { ...body('endless'), stream: true },
        { ...named(id('abort')), signal: leaving.signal },
      );
      for await (const { choices } of stream)
        if ((choices[0]?.delta.content ?? '') !== '' && !leaving.signal.aborted)
          await scenario.expectCancelled(id('abort'), () => leaving.abort());
      expect(leaving.signal.aborted).toBe(true);
    });

    it('cancels the upstream request, logged with 499, when aborted before the response starts', async () => {
      const leaving = new AbortController();
      const asked = client().chat.completions.create(body('silent'), {
        ...named(id('abort-early')),
        signal: leaving.signal,
      });
      const reason = reasonOf(asked);
      await scenario.arrived();
      await scenario.expectCancelled(id('abort-early'), () => leaving.abort());
      expect(await reason).toBeInstanceOf(APIUserAbortError);
    });

    const input = () => ({ model: model('plain'), input: hello });
    const biased = () => ({ ...body('plain'), logit_bias: { '50256': -100 } });
    const needing: Readonly<Record<string, () => Promise<unknown>>> = {
      stream: () => client().chat.completions.create({ ...body('plain'), stream: true }),
      responses: () => client().responses.create(input()),
      embeddings: () => client().embeddings.create(input()),
      logit_bias: () => client().chat.completions.create(biased()),
    };
    for (const [what, send] of Object.entries(needing))
      if (lacks(route, namespace !== undefined, what))
        it(`is refused with a 400 that names \`${what}\`, which the route does not support`, () =>
          expectUnable(scenario, send(), new RegExp(`\`${what}\``)));

    if (namespace === undefined)
      it('sends `logit_bias` upstream unchanged, since the upstream has the chat format', async () => {
        await client().chat.completions.create(biased());
        expect(scenario.sent()).toMatchObject({ logit_bias: biased().logit_bias });
      });
  });
}
