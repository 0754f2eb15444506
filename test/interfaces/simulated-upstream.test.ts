import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import OpenAI from 'openai';
import { startSimulatedUpstream } from '../../tools/simulated-upstream/server.ts';
import { undisturbed } from '../support/undisturbed.ts';
import {
  chunksOf,
  completionOf,
  contentOf,
  dataOf,
  errorOf,
  hello,
  isDone,
  type Received,
  simulatedChatScene,
  type ToolPart,
} from './simulated-chat-scene.ts';

const { seen, send, streamed, upstream, whole } = simulatedChatScene();

describe('an answer without directives', () => {
  it("is a chat completion that states it is simulated and echoes the caller's text", async () => {
    const received = await send({ model: 'gpt-4o-mini', messages: hello });
    expect(received.status).toBe(200);
    expect(received.headers['content-type']).toBe('application/json');
    expect(received.headers['content-length']).toBe(String(received.text.length));
    expect(completionOf(received)).toEqual({
      id: expect.stringMatching(/^chatcmpl-sim-/),
      object: 'chat.completion',
      created: expect.any(Number),
      model: 'gpt-4o-mini',
      choices: [
        {
          index: 0,
          message: {
            role: 'assistant',
            content:
              'This is a simulated answer; no model was asked. You said: "Hello out there, how are you today?".',
            refusal: null,
          },
          logprobs: null,
          finish_reason: 'stop',
        },
      ],
      usage: { prompt_tokens: 12, completion_tokens: 24, total_tokens: 36 },
    });
  });

  it('streams role, words, finish and [DONE], each delta in a piece of its own', async () => {
    const received = await send({ model: 'fast', messages: hello, stream: true });
    expect(received.headers['content-type']).toBe('text/event-stream; charset=utf-8');
    const chunks = chunksOf(received.text);
    expect(chunks[0]?.choices[0]?.delta).toEqual({ role: 'assistant', content: '' });
    expect(chunks.at(-1)?.choices[0]).toMatchObject({ delta: {}, finish_reason: 'stop' });
    expect(chunks.every((chunk) => !('usage' in chunk) && chunk.id === chunks[0]?.id)).toBe(true);
    expect(isDone(received.text)).toBe(true);
    expect(received.pieces.length).toBe(chunks.length + 1);
  });

  it('streams usage in a chunk without choices if the caller requests it, and null usage before', async () => {
    const { text } = await send({
      model: 'f',
      messages: hello,
      stream: true,
      stream_options: { include_usage: true },
    });
    const chunks = chunksOf(text);
    expect(chunks.at(-1)).toMatchObject({
      choices: [],
      usage: { prompt_tokens: 12, completion_tokens: 24, total_tokens: 36 },
    });
    expect(chunks.slice(0, -1).every((chunk) => chunk.usage === null)).toBe(true);
    expect(isDone(text)).toBe(true);
  });

  it('is the same for the same body except for its id, with and without directives', async () => {
    const body = {
      model: 'again',
      messages: [{ role: 'user', content: [{ type: 'text', text: 'twice "é" 🙂' }] }],
    };
    const first = completionOf(await send(body));
    const second = completionOf(await send(body));
    const slower = completionOf(await send(body, { 'x-simulate': 'latency-ms=1' }));
    expect(first.id).not.toBe(second.id);
    expect(second.choices).toEqual(first.choices);
    expect(slower.choices).toEqual(first.choices);
    const { text } = await send({ ...body, stream: true });
    const { text: again } = await send({ ...body, stream: true });
    expect(contentOf(text).join('')).toBe(first.choices[0]?.message.content);
    expect(contentOf(again)).toEqual(contentOf(text));
  });

  it('quotes only part of a long message', async () => {
    const said = `${'long '.repeat(79)}tale🙂${' more'.repeat(1000)}`;
    const { choices } = completionOf(await send({ model: 'f', messages: [{ role: 'user', content: said }] }));
    expect(choices[0]?.message.content?.length).toBeLessThan(500);
    expect(choices[0]?.message.content?.isWellFormed()).toBe(true);
  });

  it('is parsed by the official client, streamed and whole', async () => {
    const client = new OpenAI({ apiKey: 'none', baseURL: upstream().url });
    const messages = [{ role: 'user' as const, content: 'Hello.' }];
    const answer = await client.chat.completions.create({ model: 'simulated', messages });
    let text = '';
    for await (const chunk of await client.chat.completions.create({
      model: 'simulated',
      messages,
      stream: true,
    })) {
      text += chunk.choices[0]?.delta.content ?? '';
    }
    expect(answer.choices[0]?.message.content).toContain('You said: "Hello."');
    expect(text).toBe(answer.choices[0]?.message.content);
    expect((await client.models.list()).data.map(({ id }) => id)).toEqual(
      expect.arrayContaining(['simulated-fast', 'simulated-slow']),
    );
  });
});

describe('sources of directives', () => {
  it('words of a simulated model name count, those of any other name do not', async () => {
    const reasoned = completionOf(await send({ model: 'simulated-reasoning', messages: hello }));
    expect(reasoned.choices[0]?.message.reasoning_content).toContain('simulated reasoning');
    const other = completionOf(await send({ model: 'deep-reasoning', messages: hello }));
    expect(other.choices[0]?.message).not.toHaveProperty('reasoning_content');
    const started = Date.now();
    await send({ model: 'simulated-slow', messages: hello });
    expect(Date.now() - started).toBeGreaterThanOrEqual(990);
  });

  it('the header overrides the model name, and the body overrides the header', async () => {
    const model = 'sim?status=500&message=from+the%20model';
    expect((await send({ model, messages: hello })).status).toBe(500);
    expect(errorOf(await send({ model, messages: hello }))['message']).toBe('from the model');
    expect((await send({ model, messages: hello }, { 'x-simulate': 'status=503' })).status).toBe(503);
    const all = await send(
      { model, messages: hello, simulate: { status: 429 } },
      { 'x-simulate': 'status=503' },
    );
    expect(all.status).toBe(429);
  });

  it('the body removes directives with false and null, and may write them with underscores', async () => {
    const body = { model: 'sim?status=500&reasoning', messages: hello };
    const taken = completionOf(
      await send({ ...body, simulate: { status: null, reasoning: false, prompt_tokens: 7 } }),
    );
    expect(taken.usage?.['prompt_tokens']).toBe(7);
    expect(taken.choices[0]?.message).not.toHaveProperty('reasoning_content');
  });

  it.each([
    ['a model name', { model: 'sim?statsu=500' }, {}],
    ['the header', { model: 'sim' }, { 'x-simulate': 'statsu=500' }],
    ['the body', { model: 'sim', simulate: { statsu: 500 } }, {}],
  ])('an unknown directive in %s is a 400 that names it', async (_, body, headers) => {
    const received = await send({ ...body, messages: hello }, headers);
    expect(received.status).toBe(400);
    expect(errorOf(received)).toMatchObject({
      message: "Unknown simulation directive 'statsu'.",
      type: 'invalid_request_error',
      param: 'simulate',
    });
  });

  it.each([
    'status=200',
    'status=many',
    'usage=often',
    'hang=maybe',
    'chunks=-1',
    'tools=perhaps',
    'content-type=',
  ])('the value of %s is rejected with a 400 that names the directive', async (query) => {
    const received = await whole(query);
    expect(received.status).toBe(400);
    expect(errorOf(received)['message']).toContain(`'${query.split('=')[0]}'`);
  });

  it('an unknown directive name is always a 400', () =>
    fc.assert(
      fc.asyncProperty(
        fc.string({ unit: 'grapheme', maxLength: 30 }),
        fc.string({ maxLength: 10 }),
        async (name, value) => {
          const { status } = await send({ model: 'sim', messages: hello, simulate: { [`x${name}`]: value } });
          return status === 400;
        },
      ),
      { numRuns: 50 },
    ));
});

describe('validation', () => {
  it.each([
    ['no messages', { model: 'm' }, 'messages'],
    ['empty messages', { model: 'm', messages: [] }, 'messages'],
    ['messages that are no objects', { model: 'm', messages: ['hello'] }, 'messages'],
    ['no model', { messages: hello }, 'model'],
    ['simulate that is no object', { model: 'm', messages: hello, simulate: 'status=500' }, 'simulate'],
  ])('%s is a 400', async (_, body, param) => {
    const received = await send(body);
    expect(received.status).toBe(400);
    expect(errorOf(received)).toMatchObject({ type: 'invalid_request_error', param });
  });

  it.each(['', '{', '[]', 'null'])('the body %p is a 400', async (body) => {
    expect((await send(body)).status).toBe(400);
  });

  it('unknown paths are 404, known ones with another method 405, and any path prefix works', async () => {
    const origin = new URL(upstream().url).origin;
    expect((await fetch(`${origin}/v1/elsewhere`)).status).toBe(404);
    expect((await fetch(`${origin}/v1/chat/completions`)).status).toBe(405);
    const body = JSON.stringify({ model: 'm', messages: hello });
    expect((await fetch(`${origin}/a/b/chat/completions?x=1`, { method: 'POST', body })).status).toBe(200);
    expect(await (await fetch(`${origin}/openai/models`)).json()).toMatchObject({ object: 'list' });
  });

  it('a body over 64 MiB is rejected with 413', async () => {
    const received = await send(' '.repeat(64 * 1024 * 1024 + 1));
    expect(received.status).toBe(413);
    expect((await whole()).status).toBe(200);
  });
});

describe('recorded requests', () => {
  it('onRequest gets method, path, headers and the body as received', async () => {
    const body = `{"model":"m" , "messages":[{"role":"user","content":"ü"}],"n":1.0}`;
    await fetch(`${upstream().url}/chat/completions?beta=true`, {
      method: 'POST',
      body,
      headers: { 'x-mine': 'yes' },
    });
    expect(seen()).toMatchObject({ method: 'POST', path: '/v1/chat/completions?beta=true', body });
    expect(seen()?.headers['x-mine']).toBe('yes');
  });
});

describe('text and timing', () => {
  it.each([0, 1, 7, 500])('chunks=%i produces that many content deltas', async (count) => {
    expect(contentOf((await streamed(`chunks=${count}`)).text)).toHaveLength(count);
  });

  it('chunk-bytes sets the size of every delta, streamed and whole', async () => {
    const deltas = contentOf((await streamed('chunks=3&chunk-bytes=100000')).text);
    expect(deltas.map((delta) => Buffer.byteLength(delta))).toEqual([100000, 100000, 100000]);
    const { choices } = completionOf(await whole('chunks=3&chunk-bytes=100000'));
    expect(choices[0]?.message.content).toBe(deltas.join(''));
  });

  it('a whole answer over the size limit is rejected', async () => {
    expect((await whole('chunks=1000&chunk-bytes=1000000')).status).toBe(400);
  });

  it('a stream has the same text as the whole answer, for any number of chunks', () =>
    fc.assert(
      fc.asyncProperty(fc.string({ unit: 'binary', maxLength: 500 }), fc.nat(9), async (said, chunks) => {
        const messages = [{ role: 'user', content: said }];
        const query = chunks === 0 ? '' : `chunks=${chunks}`;
        const { choices } = completionOf(await whole(query, { messages }));
        return choices[0]?.message.content === contentOf((await streamed(query, { messages })).text).join('');
      }),
      { numRuns: 50 },
    ));

  it('write-bytes splits the stream anywhere without changing it', async () => {
    const { text } = await streamed('id=a');
    const cut = await streamed('id=a&write-bytes=50');
    expect(contentOf(cut.text)).toEqual(contentOf(text));
    expect(Math.max(...cut.pieces.map((piece) => piece.length))).toBeLessThanOrEqual(100);
  });

  it('latency-ms and chunk-delay-ms delay the stream', async () => {
    const started = Date.now();
    await streamed('latency-ms=100&chunks=5&chunk-delay-ms=40');
    expect(Date.now() - started).toBeGreaterThanOrEqual(290);
  });

  it('delays can be set for the whole server, and a directive overrides them', async () => {
    const slow = await startSimulatedUpstream({ port: 0, latencyMs: 150, chunkDelayMs: 20 });
    const body = { model: 'simulated', messages: hello, stream: true };
    const started = Date.now();
    await send(body, {}, slow);
    expect(Date.now() - started).toBeGreaterThanOrEqual(240);
    await undisturbed(20, async () => {
      const between = Date.now();
      await send(body, { 'x-simulate': 'latency-ms=0&chunk-delay-ms=0' }, slow);
      expect(Date.now() - between).toBeLessThan(150);
    });
    await slow.close();
  });

  it('id, finish and digits appear in every chunk, the digits exactly', async () => {
    const { text } = await streamed('id=mine&finish=length&digits');
    expect(chunksOf(text).every((chunk) => chunk.id === 'mine')).toBe(true);
    expect(chunksOf(text).at(-1)?.choices[0]?.finish_reason).toBe('length');
    const chunks = dataOf(text).filter((data) => data !== '[DONE]');
    expect(chunks.every((data) => data.includes('"digits":[9007199254740993,0.10]'))).toBe(true);
    const answer = await whole('id=mine&finish=length&digits');
    expect(answer.text).toContain('"digits":[9007199254740993,0.10]');
    expect(completionOf(answer)).toMatchObject({ id: 'mine', choices: [{ finish_reason: 'length' }] });
  });
});

describe('reasoning', () => {
  it('comes before the content, and is counted separately and within the completion tokens', async () => {
    const { text } = await streamed('reasoning&usage=last');
    const kinds = chunksOf(text).flatMap(({ choices }) =>
      choices.flatMap(({ delta }) => Object.keys(delta).filter((key) => key !== 'role')),
    );
    expect(kinds[1]).toBe('reasoning_content');
    expect(kinds.lastIndexOf('reasoning_content')).toBeLessThan(kinds.indexOf('content', 1));
    const answer = completionOf(await whole('reasoning'));
    expect(answer.usage).toEqual(chunksOf(text).at(-1)?.usage);
    const plain = completionOf(await whole('reasoning=off')).usage?.['completion_tokens'];
    const details = answer.usage?.['completion_tokens_details'] as { reasoning_tokens: number };
    expect(answer.usage?.['completion_tokens']).toBe(Number(plain) + details.reasoning_tokens);
  });
});

describe('tool calls', () => {
  const parameters = {
    type: 'object',
    properties: {
      city: { type: 'string' },
      unit: { type: 'string', enum: ['celsius', 'kelvin'] },
      days: { type: 'integer' },
      where: { type: 'object', properties: { street: { type: 'string' } }, required: ['street'] },
      note: { type: 'string' },
    },
    required: ['city', 'unit', 'days', 'where'],
  };
  const tools = [
    { type: 'function', function: { name: 'weather', parameters } },
    { type: 'function', function: { name: 'time' } },
  ];
  const filled = { city: 'simulated city', unit: 'celsius', days: 1, where: { street: 'simulated street' } };
  const callsOf = (received: Received) => completionOf(received).choices[0]?.message.tool_calls;
  const partsOf = ({ text }: Received): readonly ToolPart[] =>
    chunksOf(text).flatMap(({ choices }) => choices.flatMap(({ delta }) => delta.tool_calls ?? []));

  it.each([
    ['tools', {}],
    ['', { tool_choice: 'required' }],
    ['', { tool_choice: { type: 'function', function: { name: 'weather' } } }],
  ])('%p with %j calls the tool with its required properties', async (query, choice) => {
    const received = await whole(query, { tools, ...choice });
    expect(callsOf(received)).toEqual([
      {
        id: expect.stringMatching(/^call_sim_/),
        type: 'function',
        function: { name: 'weather', arguments: expect.any(String) },
      },
    ]);
    expect(JSON.parse(callsOf(received)?.[0]?.function.arguments ?? '')).toEqual(filled);
    expect(completionOf(received).choices[0]).toMatchObject({
      message: { content: null },
      finish_reason: 'tool_calls',
    });
  });

  it.each([
    ['', {}],
    ['tools', { tool_choice: 'none' }],
    ['tools', { tools: [] }],
    ['tools', { messages: [...hello, { role: 'assistant', content: 'x' }] }],
  ])('%p with %j calls nothing', async (query, more) => {
    expect(callsOf(await whole(query, { tools, ...more }))).toBeUndefined();
  });

  it('streams id and name first, then the arguments in pieces', async () => {
    const received = await streamed('tools', { tools });
    const [first, ...rest] = partsOf(received);
    expect(first).toMatchObject({
      index: 0,
      id: expect.any(String),
      function: { name: 'weather', arguments: '' },
    });
    expect(rest.length).toBeGreaterThan(3);
    expect(JSON.parse(rest.map((part) => part.function.arguments).join(''))).toEqual(filled);
    expect(chunksOf(received.text).at(-1)?.choices[0]?.finish_reason).toBe('tool_calls');
  });

  it('parallel-tools calls two tools, with different ids unless tool-id sets one', async () => {
    const calls = callsOf(await send({ model: 'simulated-parallel-tools', messages: hello, tools }));
    expect(calls?.map((call) => call.function.name)).toEqual(['weather', 'time']);
    expect(new Set(calls?.map((call) => call.id)).size).toBe(2);
    const parts = partsOf(await streamed('parallel-tools&tool-id=a|b', { tools: tools.slice(0, 1) }));
    expect(parts.filter((part) => part.id !== undefined)).toMatchObject([
      { index: 0, id: 'a|b', function: { name: 'weather' } },
      { index: 1, id: 'a|b', function: { name: 'weather' } },
    ]);
  });

  it('ids of tool calls differ between answers', async () => {
    const body = { model: 'm', messages: hello, tools, tool_choice: 'required' };
    expect(callsOf(await send(body))?.[0]?.id).not.toBe(callsOf(await send(body))?.[0]?.id);
  });

  it('a tool result is quoted, even if a tool call is required', async () => {
    const messages = [...hello, { role: 'tool', tool_call_id: 'c', content: '21 degrees' }];
    const { choices } = completionOf(await whole('tools', { messages, tools, tool_choice: 'required' }));
    expect(choices[0]?.message.content).toContain('The tool returned: "21 degrees"');
    expect(choices[0]?.finish_reason).toBe('stop');
  });
});

describe('usage', () => {
  it.each(['-1', '1.5', '1e300', '9007199254740993', '"12"', 'null'])(
    'prompt-tokens=%s is sent exactly',
    async (raw) => {
      expect((await whole(`prompt-tokens=${encodeURIComponent(raw)}`)).text).toContain(
        `"prompt_tokens":${raw},`,
      );
    },
  );

  it('the total is the sum unless a directive sets it; an empty count is omitted', async () => {
    expect((await whole('prompt-tokens=9007199254740993&completion-tokens=1')).text).toContain(
      '"total_tokens":9007199254740994',
    );
    expect(completionOf(await whole('prompt-tokens=3&completion-tokens=4&total-tokens=70')).usage).toEqual({
      prompt_tokens: 3,
      completion_tokens: 4,
      total_tokens: 70,
    });
    expect(
      completionOf(await whole('prompt-tokens=3&completion-tokens=&total-tokens=&reasoning-tokens=2')).usage,
    ).toEqual({
      prompt_tokens: 3,
      completion_tokens_details: { reasoning_tokens: 2 },
    });
  });

  it.each([
    ['none', []],
    ['finish', ['finish stop']],
    ['choices', ['choices stop']],
    ['last', ['last']],
  ])('usage=%s sets where usage is sent, streamed and whole', async (place, expected) => {
    const chunks = chunksOf((await streamed(`usage=${place}`)).text);
    const found = chunks.flatMap((chunk) => [
      ...(chunk.usage
        ? [chunk.choices.length === 0 ? 'last' : `finish ${chunk.choices[0]?.finish_reason}`]
        : []),
      ...(chunk.choices[0]?.usage ? [`choices ${chunk.choices[0].finish_reason}`] : []),
    ]);
    expect(found).toEqual(expected);
    const answer = completionOf(await whole(`usage=${place}`));
    expect(answer.usage === undefined).toBe(place === 'none' || place === 'choices');
    expect(answer.choices[0]?.usage === undefined).toBe(place !== 'choices');
  });

  it('usage=none omits usage that the caller requested', async () => {
    const { text } = await streamed('usage=none', { stream_options: { include_usage: true } });
    expect(text).not.toContain('"usage"');
  });
});
