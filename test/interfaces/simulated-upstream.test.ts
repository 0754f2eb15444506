import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { connect } from 'node:net';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import OpenAI from 'openai';
import {
  type SeenRequest,
  type SimulatedUpstream,
  startSimulatedUpstream,
} from '../../tools/simulated-upstream/server.ts';

type Json = Record<string, unknown>;

/** What arrived on the socket; `ended` is how the body ended. */
interface Received {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** The body as the parser handed it over, one element per HTTP chunk or packet. */
  readonly pieces: readonly Buffer[];
  readonly text: string;
  readonly ended: 'clean' | 'broken' | 'no head';
}

interface Chunk {
  readonly id?: string;
  readonly choices: readonly {
    readonly delta: {
      readonly role?: string;
      readonly content?: string | null;
      readonly reasoning_content?: string;
      readonly tool_calls?: readonly ToolPart[];
    };
    readonly finish_reason: string | null;
    readonly usage?: Json;
  }[];
  readonly usage?: Json | null;
  readonly error?: Json;
}

interface ToolPart {
  readonly index: number;
  readonly id?: string;
  readonly function: { readonly name?: string; readonly arguments: string };
}

let upstream: SimulatedUpstream;
let seen: SeenRequest | undefined;

beforeAll(async () => {
  upstream = await startSimulatedUpstream({
    port: 0,
    onRequest: (request) => {
      seen = request;
    },
  });
});
afterAll(() => upstream.close());

const hello = [{ role: 'user', content: 'Hello out there, how are you today?' }];

function send(body: Json | string, headers: Record<string, string> = {}, base = upstream): Promise<Received> {
  return new Promise((resolve) => {
    const pieces: Buffer[] = [];
    const asked = httpRequest(`${base.url}/chat/completions`, { method: 'POST', headers, agent: false });
    asked.on('response', (response) => {
      const finish = (ended: Received['ended']) => () =>
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          pieces,
          text: Buffer.concat(pieces).toString(),
          ended,
        });
      response.on('data', (piece: Buffer) => pieces.push(piece));
      response.on('end', finish('clean'));
      response.on('error', finish('broken'));
    });
    asked.on('error', () => resolve({ status: 0, headers: {}, pieces, text: '', ended: 'no head' }));
    asked.end(typeof body === 'string' ? body : JSON.stringify(body));
  });
}

const whole = (query = '', more: Json = {}): Promise<Received> =>
  send({ model: `simulated?${query}`, messages: hello, ...more });
const streamed = (query = '', more: Json = {}): Promise<Received> =>
  send({ model: `simulated?${query}`, messages: hello, stream: true, ...more });

const dataOf = (text: string): readonly string[] =>
  text.split('\n\n').flatMap((event) => (event.startsWith('data: ') ? [event.slice(6)] : []));
const chunksOf = (text: string): readonly Chunk[] =>
  dataOf(text)
    .filter((data) => data !== '[DONE]')
    .map((data) => JSON.parse(data) as Chunk);
const contentOf = (text: string): readonly string[] =>
  chunksOf(text).flatMap((chunk) =>
    chunk.choices.flatMap(({ delta }) => (delta.content ? [delta.content] : [])),
  );
const isDone = (text: string): boolean => dataOf(text).at(-1) === '[DONE]';

interface Completion extends Json {
  readonly id: string;
  readonly usage?: Json;
  readonly choices: readonly {
    readonly message: {
      readonly content: string | null;
      readonly reasoning_content?: string;
      readonly tool_calls?: readonly {
        readonly id: string;
        readonly function: { name: string; arguments: string };
      }[];
    };
    readonly finish_reason: string | null;
    readonly usage?: Json;
  }[];
}
const completionOf = ({ text }: Received): Completion => JSON.parse(text) as Completion;
const errorOf = ({ text }: Received): Json => (JSON.parse(text) as { error: Json }).error;

/** Sends a request, waits until `until` says so (on each piece of body), then leaves. */
function leave(query: string, until: (bytes: number) => boolean, base = upstream): Promise<number> {
  return new Promise((resolve) => {
    let bytes = 0;
    const body = JSON.stringify({ model: `simulated?${query}`, messages: hello, stream: true });
    const socket = connect(Number(new URL(base.url).port), '127.0.0.1', () => {
      socket.write(
        `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
      );
    });
    socket.on('data', (piece) => {
      bytes += piece.length;
      if (until(bytes)) socket.destroy();
    });
    socket.on('close', () => resolve(bytes));
  });
}

const eventually = async (holds: () => boolean): Promise<void> => {
  for (let tries = 0; tries < 200 && !holds(); tries += 1)
    await new Promise((resolve) => setTimeout(resolve, 10));
  expect(holds()).toBe(true);
};

describe('an answer without directives', () => {
  it('is a chat completion that says it is simulated and echoes the caller', async () => {
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

  it('streams usage in a chunk without choices when the caller asks, and null usage before it', async () => {
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

  it('is the same, but for its id, when the same bytes come again, and says the same with and without directives', async () => {
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

  it('quotes a long message only in part', async () => {
    const said = `${'long '.repeat(79)}tale🙂${' more'.repeat(1000)}`;
    const { choices } = completionOf(await send({ model: 'f', messages: [{ role: 'user', content: said }] }));
    expect(choices[0]?.message.content?.length).toBeLessThan(500);
    expect(choices[0]?.message.content?.isWellFormed()).toBe(true);
  });

  it('is understood by the official client, streamed and not', async () => {
    const client = new OpenAI({ apiKey: 'none', baseURL: upstream.url });
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
    expect((await client.models.list()).data.map(({ id }) => id)).toContain('simulated-slow');
  });
});

describe('where directives come from', () => {
  it('words of a simulated model name count, those of any other name do not', async () => {
    const reasoned = completionOf(await send({ model: 'simulated-reasoning', messages: hello }));
    expect(reasoned.choices[0]?.message.reasoning_content).toContain('simulated reasoning');
    const other = completionOf(await send({ model: 'deep-reasoning', messages: hello }));
    expect(other.choices[0]?.message).not.toHaveProperty('reasoning_content');
    const started = Date.now();
    await send({ model: 'simulated-slow', messages: hello });
    expect(Date.now() - started).toBeGreaterThanOrEqual(990);
  });

  it('the header wins over the model name and the body over the header', async () => {
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

  it('the body takes directives back with false and null, and may spell them with underscores', async () => {
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
  ])('the value of %s is refused with a 400 that names the directive', async (query) => {
    const received = await whole(query);
    expect(received.status).toBe(400);
    expect(errorOf(received)['message']).toContain(`'${query.split('=')[0]}'`);
  });

  it('a name that is no directive is always a 400', () =>
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
  ])('%s: 400', async (_, body, param) => {
    const received = await send(body);
    expect(received.status).toBe(400);
    expect(errorOf(received)).toMatchObject({ type: 'invalid_request_error', param });
  });

  it.each(['', '{', '[]', 'null'])('the body %p: 400', async (body) => {
    expect((await send(body)).status).toBe(400);
  });

  it('unknown paths are 404, known ones with another method 405, any prefix will do', async () => {
    const origin = new URL(upstream.url).origin;
    expect((await fetch(`${origin}/v1/elsewhere`)).status).toBe(404);
    expect((await fetch(`${origin}/v1/chat/completions`)).status).toBe(405);
    const body = JSON.stringify({ model: 'm', messages: hello });
    expect((await fetch(`${origin}/a/b/chat/completions?x=1`, { method: 'POST', body })).status).toBe(200);
    expect(await (await fetch(`${origin}/openai/models`)).json()).toMatchObject({ object: 'list' });
  });

  it('a body beyond 64 MiB is refused with 413', async () => {
    const received = await send(' '.repeat(64 * 1024 * 1024 + 1));
    expect(received.status).toBe(413);
    expect((await whole()).status).toBe(200);
  });
});

describe('what was seen', () => {
  it('onRequest gets method, path, headers and the body as it came', async () => {
    const body = `{"model":"m" , "messages":[{"role":"user","content":"ü"}],"n":1.0}`;
    await fetch(`${upstream.url}/chat/completions?beta=true`, {
      method: 'POST',
      body,
      headers: { 'x-mine': 'yes' },
    });
    expect(seen).toMatchObject({ method: 'POST', path: '/v1/chat/completions?beta=true', body });
    expect(seen?.headers['x-mine']).toBe('yes');
  });
});

describe('text and timing', () => {
  it.each([0, 1, 7, 500])('chunks=%i gives that many content deltas', async (count) => {
    expect(contentOf((await streamed(`chunks=${count}`)).text)).toHaveLength(count);
  });

  it('chunk-bytes gives every delta that many bytes, streamed or not', async () => {
    const deltas = contentOf((await streamed('chunks=3&chunk-bytes=100000')).text);
    expect(deltas.map((delta) => Buffer.byteLength(delta))).toEqual([100000, 100000, 100000]);
    const { choices } = completionOf(await whole('chunks=3&chunk-bytes=100000'));
    expect(choices[0]?.message.content).toBe(deltas.join(''));
  });

  it('a whole answer beyond the bound is refused', async () => {
    expect((await whole('chunks=1000&chunk-bytes=1000000')).status).toBe(400);
  });

  it('a stream always says what the whole answer says, however it is cut', () =>
    fc.assert(
      fc.asyncProperty(fc.string({ unit: 'binary', maxLength: 500 }), fc.nat(9), async (said, chunks) => {
        const messages = [{ role: 'user', content: said }];
        const query = chunks === 0 ? '' : `chunks=${chunks}`;
        const { choices } = completionOf(await whole(query, { messages }));
        return choices[0]?.message.content === contentOf((await streamed(query, { messages })).text).join('');
      }),
      { numRuns: 50 },
    ));

  it('write-bytes cuts the stream anywhere without changing it', async () => {
    const { text } = await streamed('id=a');
    const cut = await streamed('id=a&write-bytes=50');
    expect(contentOf(cut.text)).toEqual(contentOf(text));
    expect(Math.max(...cut.pieces.map((piece) => piece.length))).toBeLessThanOrEqual(100);
  });

  it('latency-ms and chunk-delay-ms take that long', async () => {
    const started = Date.now();
    await streamed('latency-ms=100&chunks=5&chunk-delay-ms=40');
    expect(Date.now() - started).toBeGreaterThanOrEqual(290);
  });

  it('delays may be set for the whole server, and a directive overrides them', async () => {
    const slow = await startSimulatedUpstream({ port: 0, latencyMs: 150, chunkDelayMs: 20 });
    const body = { model: 'simulated', messages: hello, stream: true };
    const started = Date.now();
    await send(body, {}, slow);
    const between = Date.now();
    await send(body, { 'x-simulate': 'latency-ms=0&chunk-delay-ms=0' }, slow);
    expect(between - started).toBeGreaterThanOrEqual(240);
    expect(Date.now() - between).toBeLessThan(150);
    await slow.close();
  });

  it('id, finish and digits appear in every chunk, the digits to the letter', async () => {
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
  it('comes before the content and is counted apart and within the completion', async () => {
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

  it('parallel-tools calls two, with different ids unless tool-id says otherwise', async () => {
    const calls = callsOf(await send({ model: 'simulated-parallel-tools', messages: hello, tools }));
    expect(calls?.map((call) => call.function.name)).toEqual(['weather', 'time']);
    expect(new Set(calls?.map((call) => call.id)).size).toBe(2);
    const parts = partsOf(await streamed('parallel-tools&tool-id=a|b', { tools: tools.slice(0, 1) }));
    expect(parts.filter((part) => part.id !== undefined)).toMatchObject([
      { index: 0, id: 'a|b', function: { name: 'weather' } },
      { index: 1, id: 'a|b', function: { name: 'weather' } },
    ]);
  });

  it('ids of tool calls differ from one answer to the next', async () => {
    const body = { model: 'm', messages: hello, tools, tool_choice: 'required' };
    expect(callsOf(await send(body))?.[0]?.id).not.toBe(callsOf(await send(body))?.[0]?.id);
  });

  it('a tool result is quoted, even where a tool is demanded', async () => {
    const messages = [...hello, { role: 'tool', tool_call_id: 'c', content: '21 degrees' }];
    const { choices } = completionOf(await whole('tools', { messages, tools, tool_choice: 'required' }));
    expect(choices[0]?.message.content).toContain('The tool returned: "21 degrees"');
    expect(choices[0]?.finish_reason).toBe('stop');
  });
});

describe('usage', () => {
  it.each(['-1', '1.5', '1e300', '9007199254740993', '"12"', 'null'])(
    'prompt-tokens=%s goes out to the letter',
    async (raw) => {
      expect((await whole(`prompt-tokens=${encodeURIComponent(raw)}`)).text).toContain(
        `"prompt_tokens":${raw},`,
      );
    },
  );

  it('the total is the sum unless it is dictated; a count without text is left out', async () => {
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
  ])('usage=%s is put where it says, streamed and not', async (place, expected) => {
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

  it('usage=none holds back usage that the caller asked for', async () => {
    const { text } = await streamed('usage=none', { stream_options: { include_usage: true } });
    expect(text).not.toContain('"usage"');
  });
});

describe('errors', () => {
  it.each([
    [401, 'authentication_error'],
    [404, 'invalid_request_error'],
    [429, 'rate_limit_error'],
    [503, 'server_error'],
  ])('status=%i answers with the envelope, also to a streamed request', async (status, type) => {
    for (const received of [
      await whole(`status=${status}&message=no`),
      await streamed(`status=${status}&message=no`),
    ]) {
      expect(received.status).toBe(status);
      expect(received.headers['content-type']).toBe('application/json');
      expect(errorOf(received)).toMatchObject({ type, message: 'no', param: null });
    }
  });

  it('retry-after goes along, and redirections lead somewhere', async () => {
    expect((await whole('status=429&retry-after=3')).headers['retry-after']).toBe('3');
    expect((await whole('status=307')).headers.location).toBe('/v1/redirected');
  });

  it('json-error is an error body under status 200, streamed or not', async () => {
    for (const received of [
      await whole('json-error&message=odd'),
      await streamed('json-error&message=odd'),
    ]) {
      expect(received.status).toBe(200);
      expect(received.headers['content-type']).toBe('application/json');
      expect(errorOf(received)['message']).toBe('odd');
    }
  });

  it('error-at=N sends an error chunk after N deltas and ends without [DONE]', async () => {
    for (const count of [0, 2]) {
      const received = await streamed(`error-at=${count}&message=broke`);
      expect(received.ended).toBe('clean');
      expect(chunksOf(received.text).at(-1)?.error).toMatchObject({ message: 'broke' });
      expect(isDone(received.text)).toBe(false);
      expect(received.text.match(/"content":"[^"]/g) ?? []).toHaveLength(count);
    }
    expect(errorOf(await whole('error-at=2'))['type']).toBe('server_error');
  });
});

describe('bodies that are not what was asked for', () => {
  it('html is a page under status 200, or under another', async () => {
    const received = await streamed('html');
    expect(received).toMatchObject({ status: 200, headers: { 'content-type': 'text/html; charset=utf-8' } });
    expect(received.text).toMatch(/^<!doctype html>/);
    expect((await whole('html&status=502')).status).toBe(502);
  });

  it('empty has no body', async () => {
    for (const received of [await whole('empty'), await streamed('empty')]) {
      expect(received).toMatchObject({ status: 200, text: '', ended: 'clean' });
    }
    expect((await whole('empty&status=500')).status).toBe(500);
  });

  it('content-type replaces the header and nothing else', async () => {
    const received = await streamed('content-type=application/octet-stream');
    expect(received.headers['content-type']).toBe('application/octet-stream');
    expect(isDone(received.text)).toBe(true);
  });

  it('gzip compresses whole answers and streams, flushing each frame', async () => {
    const answer = await whole('gzip');
    expect(answer.headers['content-encoding']).toBe('gzip');
    expect(
      JSON.parse(
        gunzipSync(answer.pieces.length === 1 ? answer.pieces[0]! : Buffer.concat(answer.pieces)).toString(),
      ),
    ).toMatchObject({ object: 'chat.completion' });
    const stream = await streamed('gzip&chunk-delay-ms=5');
    expect(isDone(gunzipSync(Buffer.concat(stream.pieces)).toString())).toBe(true);
    expect(stream.pieces.length).toBeGreaterThan(5);
  });

  it('crlf ends every line with CR LF', async () => {
    const { text } = await streamed('crlf');
    expect(text.replaceAll('\r\n', '')).not.toMatch(/[\r\n]/);
    expect(isDone(text.replaceAll('\r\n', '\n'))).toBe(true);
  });

  it('comments come before every frame', async () => {
    const { text } = await streamed('comments');
    expect(text.match(/^: simulated comment$/gm)).toHaveLength(dataOf(text).length);
  });

  it('garbage=N is a malformed frame after N deltas, and the stream goes on', async () => {
    const { text } = await streamed('garbage=2');
    const bad = dataOf(text).findIndex((data) => data !== '[DONE]' && !data.endsWith('}'));
    expect(bad).toBe(3);
    expect(isDone(text)).toBe(true);
    const { text: body, ended } = await whole('garbage');
    expect(() => JSON.parse(body) as unknown).toThrow(SyntaxError);
    expect(ended).toBe('clean');
  });

  it.each([1, 65536, 300000])('long-line=%i writes one line of that length without an end', async (bytes) => {
    const { text, ended } = await streamed(`long-line=${bytes}`);
    expect(text.slice(text.lastIndexOf('\n') + 1)).toBe(`data: {"simulated":"${'x'.repeat(bytes)}`);
    expect(ended).toBe('clean');
    expect((await whole(`long-line=${bytes}`)).text).toBe(`{"simulated":"${'x'.repeat(bytes)}`);
  });
});

describe('streams that end badly', () => {
  it('break=0 closes the socket before the head', async () => {
    expect((await streamed('break=0')).ended).toBe('no head');
    expect((await whole('break')).ended).toBe('no head');
  });

  it.each([1, 3, 40])('break=%i closes the socket after that many deltas', async (count) => {
    const { text, ended } = await streamed(`break=${count}`);
    expect(ended).toBe('broken');
    expect(contentOf(text)).toHaveLength(count);
    expect(text.endsWith('\n\n')).toBe(true);
  });

  it('a place beyond the last of a given number of deltas means the last', async () => {
    expect(contentOf((await streamed('chunks=2&break=9')).text)).toHaveLength(2);
  });

  it.each([
    ['role', 1],
    ['finish', 4],
    ['end', 5],
  ])('break=%s closes the socket after %i frames', async (place, frames) => {
    const { text, ended } = await streamed(`break=${place}&chunks=2&usage=last`);
    expect(ended).toBe('broken');
    expect(dataOf(text)).toHaveLength(frames);
  });

  it.each([
    ['0', 0],
    ['1', 1],
    ['2', 2],
    ['finish', 3],
    ['usage', 4],
    ['done', 5],
  ])('cut=%s closes the socket in the middle of that frame', async (frame, before) => {
    const { text, ended } = await streamed(`cut=${frame}&chunks=2&usage=last`);
    expect(ended).toBe('broken');
    expect(text.split('\n\n')).toHaveLength(before + 1);
    expect(text.split('\n\n').at(-1)).toMatch(/^data: /);
  });

  it.each([0, 2])('eof=%i ends the body cleanly after that many deltas', async (count) => {
    const { text, ended } = await streamed(`eof=${count}`);
    expect(ended).toBe('clean');
    expect(contentOf(text)).toHaveLength(count);
    expect(text).not.toMatch(/DONE|"stop"/);
  });

  it('no-done and no-finish leave out just that', async () => {
    const { text: undone } = await streamed('no-done');
    expect(chunksOf(undone).at(-1)?.choices[0]?.finish_reason).toBe('stop');
    expect(isDone(undone)).toBe(false);
    const { text: unfinished } = await streamed('no-finish');
    expect(unfinished).not.toContain('"stop"');
    expect(isDone(unfinished)).toBe(true);
    expect(completionOf(await whole('no-finish')).choices[0]?.finish_reason).toBeNull();
  });

  it.each(['break=1', 'cut'])('%s gives half of a whole answer', async (query) => {
    const { text, ended } = await whole(query);
    expect(ended).toBe('broken');
    expect(text).toMatch(/^\{"id"/);
  });

  it('eof gives half of a whole answer and a clean end', async () => {
    const { text, ended } = await whole('eof');
    expect(ended).toBe('clean');
    expect(() => JSON.parse(text) as unknown).toThrow(SyntaxError);
  });

  it('faults apply to tool calls as to text', async () => {
    const tools = [{ type: 'function', function: { name: 'f' } }];
    const { text, ended } = await streamed('tools&break=1', { tools });
    expect(ended).toBe('broken');
    expect(chunksOf(text).at(-1)?.choices[0]?.delta.tool_calls?.[0]?.function.name).toBe('f');
  });

  it('a break that was asked for is not the client leaving', async () => {
    const before = upstream.aborted();
    await streamed('break=1');
    await streamed('cut=1');
    await eventually(() => upstream.inFlight() === 0);
    expect(upstream.aborted()).toBe(before);
  });
});

describe('silence and clients that leave', () => {
  it.each([
    ['hang=headers', ''],
    ['hang=0', 'HTTP/1.1 200'],
    ['hang=1', '"content":"This is '],
    ['hang=finish&usage=last', '"finish_reason":"stop"'],
    ['hang&usage=last', '"total_tokens":36'],
  ])('%s sends what comes before it and then nothing, until the client leaves', async (query, last) => {
    const before = upstream.aborted();
    const received: Buffer[] = [];
    const body = JSON.stringify({ model: `simulated?${query}`, messages: hello, stream: true });
    const socket = connect(Number(new URL(upstream.url).port), '127.0.0.1');
    socket.on('data', (piece) => received.push(piece));
    socket.write(
      `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    );
    await new Promise((resolve) => setTimeout(resolve, 150));
    const text = Buffer.concat(received).toString();
    expect(text).toContain(last);
    expect(text).not.toContain('[DONE]');
    if (query.startsWith('hang=finish')) expect(text).not.toContain('total_tokens');
    expect(socket.closed).toBe(false);
    expect(upstream.inFlight()).toBe(1);
    socket.destroy();
    await eventually(() => upstream.inFlight() === 0);
    expect(upstream.aborted()).toBe(before + 1);
  });

  it.each([
    ['chunk-delay-ms=60000', 10],
    ['chunks=1000000', 100_000],
    ['chunks=1000000&chunk-bytes=10000&gzip', 1000],
    ['long-line=1000000000', 1_000_000],
  ])('%s: everything is cancelled when the client leaves', async (query, bytes) => {
    const before = upstream.aborted();
    await leave(query, (received) => received > bytes);
    await eventually(() => upstream.inFlight() === 0);
    expect(upstream.aborted()).toBe(before + 1);
  });

  it('latency-ms=60000: everything is cancelled when the client leaves before the head', async () => {
    const before = upstream.aborted();
    const body = JSON.stringify({ model: 'simulated?latency-ms=60000', messages: hello });
    const url = `${upstream.url}/chat/completions`;
    await expect(fetch(url, { method: 'POST', body, signal: AbortSignal.timeout(50) })).rejects.toThrow();
    await eventually(() => upstream.inFlight() === 0);
    expect(upstream.aborted()).toBe(before + 1);
  });

  it('a client that leaves in the middle of its own body counts too', async () => {
    const before = upstream.aborted();
    const socket = connect(Number(new URL(upstream.url).port), '127.0.0.1');
    socket.write('POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{"model"');
    await eventually(() => upstream.inFlight() === 1);
    socket.destroy();
    await eventually(() => upstream.inFlight() === 0);
    expect(upstream.aborted()).toBe(before + 1);
  });

  it('a reader that does not read is not written to without end', async () => {
    const before = process.memoryUsage().rss;
    const body = JSON.stringify({ model: 'simulated?long-line=1000000000', messages: hello, stream: true });
    const socket = connect(Number(new URL(upstream.url).port), '127.0.0.1');
    socket.pause();
    socket.write(
      `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    );
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(process.memoryUsage().rss - before).toBeLessThan(200 * 1024 * 1024);
    socket.destroy();
  });
});

describe('the server', () => {
  it('counts requests, closes with answers in flight, and counts none of them as aborted', async () => {
    const own = await startSimulatedUpstream({ port: 0 });
    const { port } = new URL(own.url);
    expect(own.url).toBe(`http://127.0.0.1:${port}/v1`);
    await send({ model: 'm', messages: hello }, {}, own);
    const hanging = send({ model: 'm?hang', messages: hello, stream: true }, {}, own);
    await eventually(() => own.inFlight() === 1);
    await own.close();
    expect((await hanging).ended).toBe('broken');
    expect(own.requests()).toBe(2);
    expect(own.aborted()).toBe(0);
    await expect(fetch(`${own.url}/models`)).rejects.toThrow();
  });

  it('says so when the port is taken', async () => {
    const port = Number(new URL(upstream.url).port);
    await expect(startSimulatedUpstream({ port })).rejects.toThrow('EADDRINUSE');
  });
});
