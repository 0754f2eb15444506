import { describe, expect, it } from '@jest/globals';
import OpenAI, { APIError, APIUserAbortError } from 'openai';
import { zodTextFormat } from 'openai/helpers/zod';
import {
  answerAfterAll,
  expectRefused,
  expectUnable,
  named,
  openAiClient,
  placeShape,
  readToEnd,
  simulatedPlace,
  user,
} from './platform-openai.ts';
import {
  type Behaviour,
  type PlatformRoute,
  type PlatformScenario,
  upstreamRefusals,
} from './platform-scenario.ts';
import {
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

/** The `openai` client's responses over one route. */
export function describeResponses(scenario: PlatformScenario, route: PlatformRoute): void {
  const client = (): OpenAI => openAiClient(scenario);
  const body = (behaviour: Behaviour) => ({ model: `${route.id}-${behaviour}`, input: hello });
  const id = (name: string): string => `responses-${route.id}-${name}`;
  const call = (stream: boolean) => ({ route, operation: 'responses' as const, stream });
  const usageOf = (usage: OpenAI.Responses.ResponseUsage | null | undefined) => ({
    prompt: usage!.input_tokens,
    completion: usage!.output_tokens,
  });
  const ways = ['whole', 'streamed'] as const;
  const tools: OpenAI.Responses.FunctionTool[] = toolNames.map((name) => ({
    type: 'function',
    name,
    parameters: toolParameters,
    strict: true,
  }));

  describe(`the openai client, responses over ${route.id}`, () => {
    it('receives a non-streamed answer with usage and its request id; one attempt, one priced row', async () => {
      const response = await client().responses.create(
        { ...body('plain'), instructions: 'Be brief.' },
        named(id('whole')),
      );
      expect(response.output_text).toBe(answerTo(hello));
      expect(response.status).toBe('completed');
      expect(response._request_id).toBe(id('whole'));
      await scenario.expectSold(id('whole'), call(false), usageOf(response.usage));
    });

    it('reads a stream to its end: numbered events, the same text, usage, one priced row', async () => {
      const stream = await client().responses.create(
        { ...body('plain'), stream: true },
        named(id('streamed')),
      );
      const { events, error } = await readToEnd(stream);
      expect(error).toBeUndefined();
      expect(events[0]?.type).toBe('response.created');
      const text = events.map((event) => (event.type === 'response.output_text.delta' ? event.delta : ''));
      expect(text.join('')).toBe(answerTo(hello));
      expect(events.map(({ sequence_number }) => sequence_number)).toEqual([...events.keys()]);
      const last = events.at(-1);
      if (last?.type !== 'response.completed') throw new Error(`the last event is ${last?.type}`);
      await scenario.expectSold(id('streamed'), call(true), usageOf(last.response.usage));
    });

    it.each(ways)('counts cached tokens as part of the prompt: %s', async (how) => {
      const requestId = id(`cached-${how}`);
      const response =
        how === 'whole'
          ? await client().responses.create(body('cached'), named(requestId))
          : await client().responses.stream(body('cached'), named(requestId)).finalResponse();
      expect(response.usage).toMatchObject({
        input_tokens: 100,
        input_tokens_details: { cached_tokens: 40 },
      });
      await scenario.expectSold(requestId, call(how === 'streamed'), { prompt: 100, completion: 7 });
    });

    it.each(ways.flatMap((how) => [['tools', how] as const, ['parallel', how] as const]))(
      'makes a tool round trip: %s, %s',
      async (behaviour, how) => {
        const answer = (input: OpenAI.Responses.ResponseInput): Promise<OpenAI.Responses.Response> => {
          const asked = { ...body(behaviour), input, tools };
          return how === 'whole'
            ? client().responses.create(asked)
            : client().responses.stream(asked).finalResponse();
        };
        const asked = await answer(user);
        const calls = asked.output.filter((item) => item.type === 'function_call');
        expect(calls.map(({ name, arguments: text }) => [name, JSON.parse(text)])).toEqual(
          toolNames.slice(0, behaviour === 'tools' ? 1 : 2).map((name) => [name, toolInput]),
        );
        const results = calls.map(({ call_id, name }) => ({
          type: 'function_call_output' as const,
          call_id,
          output: resultOf(name),
        }));
        const answered = await answer([
          ...user,
          ...asked.output,
          ...results,
        ] as OpenAI.Responses.ResponseInput);
        expect(answered.output_text).toBe(
          answerAfterAll(
            route,
            calls.map(({ name }) => name),
          ),
        );
      },
    );

    it('receives reasoning as a separate item, which arrives upstream unchanged when sent back', async () => {
      const asked = { ...body('reasoning'), include: ['reasoning.encrypted_content' as const], store: false };
      const response = await client().responses.create(asked);
      expect(response.output.map(({ type }) => type)).toEqual(['reasoning', 'message']);
      expect(response.output[0]).toMatchObject({ summary: [{ text: simulatedReasoning }] });
      const input = [...user, ...response.output, ...user] as OpenAI.Responses.ResponseInput;
      const again = await client().responses.create({ ...asked, input });
      expect(again.output_text).toBe(answerTo(hello));
      expect(scenario.sent()).toMatchObject({ input: [{}, response.output[0], {}, {}] });
    });

    it('receives streamed reasoning as `response.reasoning_summary_text.delta` events', async () => {
      const { events } = await readToEnd(
        await client().responses.create({ ...body('reasoning'), stream: true }),
      );
      const thought = events.map((event) =>
        event.type === 'response.reasoning_summary_text.delta' ? event.delta : '',
      );
      expect(thought.join('')).toBe(simulatedReasoning);
    });

    it('parses an answer that follows its schema, or is refused with 400 if the route has no `json_schema`', async () => {
      const format = zodTextFormat(placeShape, 'place');
      const asked = client().responses.parse({ ...body('plain'), text: { format } });
      if (route.schemas) expect((await asked).output_parsed).toEqual(simulatedPlace);
      else await expectUnable(scenario, asked, /`json_schema`/);
    });

    it.each(upstreamRefusals)('throws the error class of $status for $what', async (refusal) => {
      const { responses } = client();
      await expectRefused(
        scenario,
        route,
        await reasonOf(responses.create(body(refusal.model))),
        refusal,
        false,
      );
      const streamed = responses.create({ ...body(refusal.model), stream: true });
      await expectRefused(scenario, route, await reasonOf(streamed), refusal, true);
    });

    it.each(midStream)('throws when the upstream fails mid-stream: %s', async (behaviour, message) => {
      const stream = await client().responses.create({ ...body(behaviour), stream: true });
      const { events, error } = await readToEnd(stream);
      expect(error).toBeInstanceOf(APIError);
      expect((error as APIError).message).toBe(message);
      expect(events.some(({ type }) => type === 'response.output_text.delta')).toBe(true);
      expect(events.some(({ type }) => type === 'response.completed')).toBe(false);
      await scenario.expectFailed((error as APIError).requestID, 502, {
        status: 'stream_error',
        error_detail: message,
      });
    });

    it('cancels the upstream request, logged with 499, when aborted mid-stream', async () => {
      const leaving = new AbortController();
      const stream = await client().responses.create(
        { ...body('endless'), stream: true },
        { ...named(id('abort')), signal: leaving.signal },
      );
      for await (const { type } of stream)
        if (type === 'response.output_text.delta' && !leaving.signal.aborted)
          await scenario.expectCancelled(id('abort'), () => leaving.abort());
      expect(leaving.signal.aborted).toBe(true);
    });

    it('cancels the upstream request, logged with 499, when aborted before the response starts', async () => {
      const leaving = new AbortController();
      const asked = client().responses.create(body('silent'), {
        ...named(id('abort-early')),
        signal: leaving.signal,
      });
      const reason = reasonOf(asked);
      await scenario.arrived();
      await scenario.expectCancelled(id('abort-early'), () => leaving.abort());
      expect(await reason).toBeInstanceOf(APIUserAbortError);
    });
  });
}
