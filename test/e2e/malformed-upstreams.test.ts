import { createServer, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { type SimulatedUpstream, startSimulatedUpstream } from '../../tools/simulated-upstream/server.ts';
import {
  type ExpectedLabels,
  expectMessagesError,
  expectRefusal,
  expectStreamFailure,
  expectStreamSuccess,
  expectSuccessRows,
} from '../recordings/expectations.ts';
import { readStream } from '../recordings/received.ts';
import { type Answer, rehearsal, replayConfig } from '../recordings/rehearsal.ts';
import type { ConfigFile } from '../support/gateway.ts';
import type { Replay } from '../support/replay-upstream.ts';

/** One line without an end. */
const GIB = 1024 ** 3;
const endlessLine = `simulated-fast?long-line=${GIB}`;

/** A credential of the provider `up`; upstreams quote such things in their error messages. */
const upstreamToken = 'upstream-token-0123456789';

let sim: SimulatedUpstream;
let deaf: Server;
let gone: Server;
const deafSockets = new Set<Socket>();

const listening = (server: Server): Promise<Server> =>
  new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server)));
const portOf = (server: Server): number => (server.address() as { port: number }).port;

beforeAll(async () => {
  sim = await startSimulatedUpstream({ port: 0 });
  // Takes connections and says nothing: a TLS handshake with it never ends.
  deaf = await listening(createServer((socket) => void deafSockets.add(socket)));
  gone = await listening(createServer());
});
afterAll(async () => {
  await sim?.close();
  for (const socket of deafSockets) socket.destroy();
  deaf?.close();
});

/** The model of each name is served by the provider of the same name. */
const patience = {
  quick_head: { first_byte_ms: 300 },
  quick_idle: { idle_ms: 300 },
  quick_total: { total_ms: 700 },
};

function config(url: string, key: string): ConfigFile {
  const auth = { mode: 'bearer', token: upstreamToken };
  const base = replayConfig(url, key, ['up', ...Object.keys(patience)], { auth });
  const closedPort = portOf(gone);
  gone.close();
  const more = [
    ...Object.entries(patience).map(([id, timeouts]) => ({
      id,
      base_url: url,
      pricing_provider_id: 'up',
      timeouts,
    })),
    { id: 'refused', base_url: `http://127.0.0.1:${closedPort}/v1` },
    { id: 'deaf', base_url: `https://127.0.0.1:${portOf(deaf)}/v1`, timeouts: { connect_ms: 300 } },
    { id: 'simulated', base_url: sim.url },
  ];
  return {
    ...base,
    providers: [
      ...(base['providers'] as object[]),
      ...more.map((each) => ({ type: 'compat', auth: { mode: 'none' }, ...each })),
    ],
    models: [
      ...(base['models'] as object[]).slice(0, 1),
      ...more.map(({ id }) => ({
        id,
        routes: [{ provider: id, upstream_model: id === 'simulated' ? endlessLine : id }],
      })),
    ],
  };
}

const { ask, upstream } = rehearsal(config, () => '/v1/chat/completions');

const json = { 'content-type': 'application/json' };
const sse = { 'content-type': 'text/event-stream' };

const whole = (replay: Replay, model = 'up'): Promise<Answer> => ask(replay, { model, stream: false });
const streamed = (replay: Replay, model = 'up'): Promise<Answer> => ask(replay, { model, stream: true });

/** A chunk of a chat stream, as an upstream sends it. */
const chunk = (delta: object, finish: string | null = null, more: object = {}): string =>
  `data: ${JSON.stringify({
    id: 'c1',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'm',
    choices: [{ index: 0, delta, finish_reason: finish }],
    ...more,
  })}\n\n`;

const hello = chunk({ role: 'assistant', content: 'Hello' });
const stop = chunk({}, 'stop');
const done = 'data: [DONE]\n\n';
const usage = { prompt_tokens: 5, completion_tokens: 7, total_tokens: 12 };
const usageChunk = (reported: unknown): string =>
  `data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[],"usage":${
    typeof reported === 'string' ? reported : JSON.stringify(reported)
  }}\n\n`;

const completion = (reported: unknown = usage): string =>
  `{"id":"c1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Hello"},"finish_reason":"stop"}],"usage":${
    typeof reported === 'string' ? reported : JSON.stringify(reported)
  }}`;

const errorBody = (message: string): string => JSON.stringify({ error: { message, type: 't', ...labels } });

/** What it calls its failure. */
const labels: ExpectedLabels = { param: 'p', code: 'c' };

/** Waits until it is so; a test that waits in vain fails by what it looks at next. */
async function until(isSo: () => boolean): Promise<void> {
  for (let tries = 0; tries < 200 && !isSo(); tries += 1) await sleep(10);
}

/** The request that waits for `[DONE]` in vain takes ten seconds: it runs beside the other tests. */
let hanging: Promise<{ readonly answer: Answer; readonly tookMs: number }>;
beforeAll(() => {
  const startedAt = Date.now();
  hanging = streamed({
    headers: sse,
    body: hello + stop + usageChunk(usage),
    ending: { kind: 'hang' },
  }).then((answer) => ({ answer, tookMs: Date.now() - startedAt }));
});

describe('a 200 that is not the answer that was asked for', () => {
  const impostors: [string, Replay, RegExp, ExpectedLabels?][] = [
    [
      'an HTML page',
      { headers: { 'content-type': 'text/html' }, body: '<html>Sign in</html>' },
      /^The upstream/,
    ],
    ['an empty body', { headers: json, body: '' }, /^The upstream/],
    ['a 204', { status: 204, body: '' }, /^The upstream/],
    ['half a JSON object', { headers: json, body: completion().slice(0, 90) }, /^The upstream/],
    ['a JSON array', { headers: json, body: '[]' }, /^The upstream/],
    [
      'an error as JSON',
      { headers: json, body: errorBody('Overloaded, sorry.') },
      /^Overloaded, sorry\.$/,
      labels,
    ],
    [
      'an answer that is not compressed as it says',
      { headers: { ...json, 'content-encoding': 'gzip' }, body: completion() },
      /^The upstream/,
    ],
    [
      'an answer that is compressed twice',
      { headers: { ...json, 'content-encoding': 'gzip, gzip' }, body: gzipSync(gzipSync(completion())) },
      /^The upstream/,
    ],
  ];
  it.each(impostors)('%s is a 502, whole or streamed', async (_name, replay, message, called = {}) => {
    const expected = { status: 502, message, labels: called };
    expectRefusal(await whole(replay), { ...expected, attempt: 'provider_error' });
    expectRefusal(await streamed(replay), { ...expected, attempt: 'stream_start_error' });
  });

  it('a chat completion with a piece that messages would lose is a 502 to their callers, and a charge to nobody', async () => {
    const replay = { headers: json, body: completion().replace('"Hello"', '7') };
    const answer = await ask(replay, { model: 'up', stream: false, family: 'messages' });
    const message = 'The upstream sent a malformed answer.';
    const expected = { status: 502, message, attempt: 'provider_error', upstreamStatus: 200 } as const;
    expectRefusal(answer, expected, expectMessagesError(502, answer.requestId));
  });

  it('events in a coding that is not read are a 502', async () => {
    const headers = { ...sse, 'content-encoding': 'compress' };
    const answer = await streamed({ headers, body: gzipSync(hello + stop + done) });
    expectRefusal(answer, { status: 502, message: /compressed/, attempt: 'stream_start_error' });
  });

  it.each(['text/plain', 'application/json', 'application/octet-stream'])(
    'events that come as %s are a 502',
    async (type) => {
      const answer = await streamed({ headers: { 'content-type': type }, body: hello + stop + done });
      expectRefusal(answer, { status: 502, attempt: 'stream_start_error' });
    },
  );

  it('events are no answer to a request that is not streamed', async () => {
    const answer = await whole({ headers: sse, body: hello + stop + done });
    expectRefusal(answer, { status: 502, attempt: 'provider_error' });
  });

  it('a whole answer is judged by what it is, whatever its content type says', async () => {
    const answer = await whole({
      headers: { 'content-type': 'application/octet-stream' },
      body: completion(),
    });
    expectSuccessRows(answer, usage);
    expect(answer.bytes.toString()).toBe(completion());
  });

  it('an event stream with nothing in it ends with an error chunk', async () => {
    const answer = await streamed({ headers: sse, body: '' });
    expectStreamFailure(answer, readStream(answer.bytes), /before the answer was complete/);
  });
});

describe('an upstream that refuses', () => {
  const statuses: [number, number][] = [
    ...[400, 404, 408, 413, 422, 429].map((status): [number, number] => [status, status]),
    ...[300, 304, 399, 401, 402, 403, 405, 409, 418, 451, 500, 501, 502, 504, 520, 599].map(
      (status): [number, number] => [status, 502],
    ),
    [503, 503],
    [529, 503],
  ];
  it.each(statuses)('with %i gives its caller %i, in the words of the upstream', async (status, told) => {
    const replay = { status, headers: json, body: errorBody('No, thank you.') };
    // A 304 has no body.
    const said =
      status === 304
        ? { message: 'The upstream answered with status 304.' }
        : { message: 'No, thank you.', labels };
    const expected = { status: told, ...said, upstreamStatus: status };
    expectRefusal(await whole(replay), { ...expected, attempt: 'provider_error' });
    expectRefusal(await streamed(replay), { ...expected, attempt: 'stream_start_error' });
  });

  it.each([
    [404, 'data: {"error":{"message":"No such model."}}\n\n', 'No such model.'],
    [429, ': hello\n\nevent: error\ndata: {"error":"Slow down."}', 'Slow down.'],
    [429, 'data: [1]\r\n\r\ndata: {"message":"Later."}\r\n\r\ndata: [DONE]\r\n\r\n', 'Later.'],
    [429, 'data: [DONE]\n\n', 'The upstream answered with status 429.'],
  ])('with %i and an event stream keeps its words: %j', async (status, body, message) => {
    const replay = { status, headers: sse, body };
    const expected = { status, message, upstreamStatus: status };
    expectRefusal(await whole(replay), { ...expected, attempt: 'provider_error' });
    expectRefusal(await streamed(replay), { ...expected, attempt: 'stream_start_error' });
  });

  it.each([301, 302, 303, 307, 308])('with a %i is never followed', async (status) => {
    const answer = await whole({ status, headers: { location: `${upstream().url}/elsewhere` }, body: '' });
    expectRefusal(answer, { status: 502, attempt: 'provider_error', upstreamStatus: status });
    expect(answer.headers.get('location')).toBeNull();
    const seen = upstream()
      .requests()
      .filter(({ body }) => body['user'] === answer.requestId);
    expect(seen.map(({ path }) => path)).toEqual(['/v1/chat/completions']);
  });

  const rateHeaders = {
    'retry-after': '17',
    'retry-after-ms': '17000',
    'x-ratelimit-limit-requests': '100',
    'x-ratelimit-reset': '1s',
    'anthropic-ratelimit-tokens-remaining': '0',
  };
  const ownHeaders = { 'set-cookie': 'a=b', 'x-account': 'acme', 'openai-organization': 'acme' };

  it.each([429, 503])('with a %i has its rate-limit headers passed, and no others', async (status) => {
    const headers = { ...json, ...rateHeaders, ...ownHeaders };
    for (const stream of [false, true]) {
      const answer = await ask({ status, headers, body: errorBody('Slow down.') }, { model: 'up', stream });
      expectRefusal(answer, {
        status,
        message: 'Slow down.',
        labels,
        attempt: stream ? 'stream_start_error' : 'provider_error',
        upstreamStatus: status,
      });
      for (const [name, value] of Object.entries(rateHeaders)) expect(answer.headers.get(name)).toBe(value);
      for (const name of Object.keys(ownHeaders)) expect(answer.headers.get(name)).toBeNull();
    }
  });

  it('passes none of them with an answer', async () => {
    const headers = { ...rateHeaders, ...ownHeaders };
    const answers = [
      await whole({ headers: { ...json, ...headers }, body: completion() }),
      await streamed({ headers: { ...sse, ...headers }, body: hello + stop + done }),
    ];
    for (const answer of answers) {
      expect(answer.status).toBe(200);
      for (const name of Object.keys(headers)) expect(answer.headers.get(name)).toBeNull();
    }
  });

  it('has its message shown without URL queries, userinfo and credentials, never its raw body', async () => {
    const said = `Key ${upstreamToken} may not read https://me:pw@files.example.com/a/b.png?sig=abc#top now`;
    const answer = await whole({ status: 403, headers: json, body: errorBody(said) });
    expectRefusal(answer, {
      status: 502,
      message: 'Key [REDACTED] may not read https://files.example.com/a/b.png?[REDACTED] now',
      labels,
      attempt: 'provider_error',
      upstreamStatus: 403,
    });
    const kept = JSON.stringify(answer.after);
    for (const secret of [upstreamToken, 'sig=abc', 'me:pw']) expect(kept).not.toContain(secret);
    expect(kept).toContain('files.example.com/a/b.png');
  });

  it.each([
    ['HTML', 'text/html', '<html><h1>502 Bad Gateway at 10.0.0.7</h1></html>'],
    ['nothing', 'application/json', ''],
    ['JSON without a message', 'application/json', '{"error":{"account":"acme"}}'],
  ])('with %s is told by its status alone', async (_name, type, body) => {
    const answer = await whole({ status: 500, headers: { 'content-type': type }, body });
    expectRefusal(answer, {
      status: 502,
      message: 'The upstream answered with status 500.',
      attempt: 'provider_error',
      upstreamStatus: 500,
    });
  });

  it('with 10 MB is cut off and keeps its status', async () => {
    const aborted = upstream().aborted();
    const body = errorBody('x'.repeat(10_000_000));
    const answer = await whole({ status: 422, headers: json, body, cuts: { kind: 'random', seed: 3 } });
    expectRefusal(answer, { status: 422, attempt: 'provider_error', upstreamStatus: 422 });
    expect(answer.bytes.length).toBeLessThan(4096);
    await until(() => upstream().aborted() > aborted);
    expect(upstream().aborted()).toBeGreaterThan(aborted);
  });

  it('with a long message has it cut', async () => {
    const answer = await whole({ status: 400, headers: json, body: errorBody('x'.repeat(50_000)) });
    expectRefusal(answer, { status: 400, message: /^x{1000,1023}…$/, labels, attempt: 'provider_error' });
  });
});

describe('a line without end', () => {
  it.each([
    ['streamed', true],
    ['whole', false],
  ])('of 1 GiB is cut off (%s), and memory stays bounded', async (_name, stream) => {
    const aborted = sim.aborted();
    const before = process.memoryUsage().rss;
    let peak = before;
    const watch = setInterval(() => {
      peak = Math.max(peak, process.memoryUsage().rss);
    }, 5);
    const answer = await ask({ body: '' }, { model: 'simulated', stream });
    clearInterval(watch);
    if (stream) expectStreamFailure(answer, readStream(answer.bytes), /too large/);
    else expectRefusal(answer, { status: 502, message: /too large/, attempt: 'provider_error' });
    await until(() => sim.aborted() > aborted);
    expect(sim.aborted()).toBe(aborted + 1);
    // Twice the larger of the two bounds (64 MiB), and what the runtime itself takes meanwhile.
    expect(peak - before).toBeLessThan(256 * 1024 * 1024);
  });
});

describe('an upstream that takes its time', () => {
  it('and does not begin to answer is a 504', async () => {
    const silent: Replay = { raw: true, body: '', ending: { kind: 'hang' } };
    const expected = { status: 504, message: /begin to answer/, upstreamStatus: null };
    expectRefusal(await whole(silent, 'quick_head'), { ...expected, attempt: 'provider_error' });
    expectRefusal(await streamed(silent, 'quick_head'), { ...expected, attempt: 'stream_start_error' });
  });

  it('and falls silent in the middle of its stream ends it with an error chunk', async () => {
    const aborted = upstream().aborted();
    const body = hello + hello.slice(0, 40);
    const answer = await streamed({ headers: sse, body, ending: { kind: 'hang' } }, 'quick_idle');
    const received = readStream(answer.bytes);
    expect(received.choices['0']?.text).toBe('Hello');
    expectStreamFailure(answer, received, /silent/, 504);
    await until(() => upstream().aborted() > aborted);
    expect(upstream().aborted()).toBeGreaterThan(aborted);
  });

  it('and falls silent in the middle of a whole answer is a 504', async () => {
    const answer = await whole({ headers: json, body: '{"id":', ending: { kind: 'hang' } }, 'quick_idle');
    expectRefusal(answer, { status: 504, message: /silent/, attempt: 'provider_error' });
  });

  it('and is never done is cut off after the longest time', async () => {
    const dribble = { cuts: { kind: 'bytes' }, pauseMs: 20 } as const;
    const comments = ': still thinking\n\n'.repeat(200);
    const answer = await streamed({ headers: sse, body: hello + comments, ...dribble }, 'quick_total');
    expectStreamFailure(answer, readStream(answer.bytes), /finish in time/, 504);
    const slow = await whole({ headers: json, body: ' '.repeat(500), ...dribble }, 'quick_total');
    expectRefusal(slow, { status: 504, message: /finish in time/, attempt: 'provider_error' });
  });

  it('and keeps its caller waiting for a connection is a 504', async () => {
    const expected = { status: 504, message: /accept a connection/, upstreamStatus: null };
    expectRefusal(await whole({ body: '' }, 'deaf'), { ...expected, attempt: 'provider_error' });
    expectRefusal(await streamed({ body: '' }, 'deaf'), { ...expected, attempt: 'stream_start_error' });
  });
});

describe('an upstream whose connection does not hold', () => {
  const transport = { status: 502, message: /connection to the upstream/ };

  it('and cannot be reached is a 502', async () => {
    const expected = { ...transport, upstreamStatus: null };
    expectRefusal(await whole({ body: '' }, 'refused'), { ...expected, attempt: 'provider_error' });
    expectRefusal(await streamed({ body: '' }, 'refused'), { ...expected, attempt: 'stream_start_error' });
  });

  it.each(['break', 'reset'] as const)('(%s) before the head is a 502', async (kind) => {
    const replay: Replay = { raw: true, body: '', ending: { kind } };
    expectRefusal(await whole(replay), { ...transport, attempt: 'provider_error' });
    expectRefusal(await streamed(replay), { ...transport, attempt: 'stream_start_error' });
  });

  it.each(['break', 'reset'] as const)('(%s) in the middle of a whole answer is a 502', async (kind) => {
    const answer = await whole({ headers: json, body: completion(), ending: { kind, after: 50 } });
    expectRefusal(answer, { ...transport, attempt: 'provider_error' });
  });

  it.each(['break', 'reset'] as const)('(%s) in the middle of a chunk is an error chunk', async (kind) => {
    const answer = await streamed({
      headers: sse,
      body: hello + stop,
      ending: { kind, after: hello.length + 9 },
    });
    const received = readStream(answer.bytes);
    expect(received.choices['0']?.text).toBe('Hello');
    expectStreamFailure(answer, received, /connection to the upstream/);
  });

  it.each(['break', 'reset'] as const)(
    '(%s) after the finish reason is a success with the usage seen so far',
    async (kind) => {
      const body = hello + stop + usageChunk(usage);
      const answer = await streamed({ headers: sse, body: `${body}data: {"cut`, ending: { kind } });
      expectStreamSuccess(answer, readStream(answer.bytes), usage);
    },
  );

  it.each([
    ['no HTTP at all', 'SSH-2.0-OpenSSH_9.9\r\n'],
    ['a status line that is none', 'HTTP/1.1 okay then\r\n\r\n'],
    [
      'a chunk size that is none',
      'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nxyz\r\n{}\r\n0\r\n\r\n',
    ],
    ['two lengths', 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\n{}'],
    ['less than its length', 'HTTP/1.1 200 OK\r\ncontent-length: 900\r\n\r\n{}'],
    ['a head without end', `HTTP/1.1 200 OK\r\n${`x-h: ${'x'.repeat(1000)}\r\n`.repeat(200)}\r\n{}`],
  ])('and speaks %s is a 502', async (_name, body) => {
    expectRefusal(await whole({ raw: true, body }), { ...transport, attempt: 'provider_error' });
    expectRefusal(await streamed({ raw: true, body }), { ...transport, attempt: 'stream_start_error' });
  });
});

describe('a stream that says too much', () => {
  const ending = (body: string): Promise<Answer> => streamed({ headers: sse, body });

  it('`[DONE]` twice: the caller gets one', async () => {
    const answer = await ending(hello + stop + usageChunk(usage) + done + done);
    expectStreamSuccess(answer, readStream(answer.bytes), usage);
  });

  it.each([
    ['a chunk', chunk({ content: ' again' })],
    ['an error', 'data: {"error":{"message":"Late."}}\n\n'],
    ['usage', usageChunk({ prompt_tokens: 900, completion_tokens: 900 })],
    ['garbage', 'data: {\n\n'],
  ])('%s after `[DONE]` is not heard', async (_name, late) => {
    for (const cuts of [{ kind: 'whole' }, { kind: 'random', seed: 1 }] as const) {
      const body = hello + stop + usageChunk(usage) + done + late;
      const answer = await streamed({ headers: sse, body, cuts });
      const received = readStream(answer.bytes);
      expectStreamSuccess(answer, received, usage);
      expect(received.choices['0']?.text).toBe('Hello');
    }
  });

  it('only `[DONE]`: a success without usage', async () => {
    const answer = await ending(done);
    expectStreamSuccess(answer, readStream(answer.bytes), undefined);
  });

  it.each([
    ['an error as a chunk', 'data: {"error":{"message":"Out of memory."}}\n\n', 'Out of memory.'],
    ['an error beside choices', chunk({}, null, { error: { message: 'Out of memory.' } }), 'Out of memory.'],
    ['an error by name', 'event: error\ndata: {"message":"Out of memory."}\n\n', 'Out of memory.'],
    ['an error that is a string', 'data: {"error":"Out of memory."}\n\n', 'Out of memory.'],
    ['malformed JSON', 'data: {"id":"c1","choices":[\n\n', 'The upstream sent a malformed event.'],
    ['a number', 'data: 5\n\n', 'The upstream sent a malformed event.'],
    ['null', 'data: null\n\n', 'The upstream sent a malformed event.'],
    ['an array', 'data: []\n\n', 'The upstream sent a malformed event.'],
    ['HTML', 'data: <html>\n\n', 'The upstream sent a malformed event.'],
  ])('%s is a failure, before the finish reason and after it', async (_name, fault, message) => {
    for (const before of [hello, hello + stop, hello + stop + usageChunk(usage)]) {
      const answer = await ending(before + fault + hello + stop + done);
      const received = readStream(answer.bytes);
      expectStreamFailure(answer, received, message);
      expect(received.choices['0']?.text).toBe('Hello');
    }
  });

  it('usage seen before a failure is kept on the log row, and so is its cost', async () => {
    const answer = await ending(`${hello}${stop}${usageChunk(usage)}data: {"error":{"message":"Late."}}\n\n`);
    expectStreamFailure(answer, readStream(answer.bytes), 'Late.');
    const [log] = answer.after.logs;
    expect(log).toMatchObject({ prompt_tokens: '5', completion_tokens: '7', total_tokens: '12' });
    expect(JSON.stringify(log?.['metadata_json'])).toContain('0.00000495');
  });

  it('tool calls beyond the bound are passed on, and the count stays at the bound', async () => {
    const calls = Array.from({ length: 5000 }, (_, index) => ({
      index,
      id: `call_${index}`,
      type: 'function',
      function: { name: 'f', arguments: '{}' },
    }));
    const body = calls.map((call) => chunk({ tool_calls: [call] })).join('') + chunk({}, 'tool_calls') + done;
    const answer = await ending(body);
    const received = readStream(answer.bytes);
    expectStreamSuccess(answer, received, undefined);
    expect(received.toolCalls).toHaveLength(5000);
    expect(answer.after.logs[0]).toMatchObject({ invoked_tool_count: 4096 });
  });
});

describe('token counts', () => {
  const unusable = [
    '{"prompt_tokens":-1,"completion_tokens":7}',
    '{"prompt_tokens":5,"completion_tokens":7.5}',
    '{"prompt_tokens":1e300,"completion_tokens":7}',
    '{"prompt_tokens":9007199254740992,"completion_tokens":7}',
    '{"prompt_tokens":"5","completion_tokens":7}',
    '{"prompt_tokens":5}',
    '{"prompt_tokens":5,"completion_tokens":7,"total_tokens":-12}',
    '{"prompt_tokens":5,"completion_tokens":7,"total_tokens":1e400}',
    '[5,7,12]',
    '"many"',
  ];
  it.each(unusable)('%s is missing usage, and the answer is none the worse', async (reported) => {
    const answers = [
      await whole({ headers: json, body: completion(reported) }),
      await streamed({ headers: sse, body: hello + stop + usageChunk(reported) + done }),
    ];
    for (const answer of answers) {
      expectSuccessRows(answer, undefined);
      expect(answer.after.outcomes[0]).toMatchObject({
        pricing_status: 'usage_missing',
        usage_unusable: true,
      });
      expect(answer.after.logs[0]).toMatchObject({ prompt_tokens: null, completion_tokens: null });
      expect(answer.bytes.toString()).toContain(reported);
    }
  });

  it('reported more than once: the last report counts, never a sum', async () => {
    const first = usageChunk({ prompt_tokens: 5, completion_tokens: 1, total_tokens: 6 });
    const body = hello + first + usageChunk('null') + stop + usageChunk(usage) + usageChunk('null') + done;
    const answer = await streamed({ headers: sse, body });
    expectStreamSuccess(answer, readStream(answer.bytes), usage);
  });

  it('of every size that can be counted are priced to the last picodollar', async () => {
    const count = fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER });
    await fc.assert(
      fc.asyncProperty(count, count, async (prompt, generated) => {
        // An absent total is the sum, and a sum that is no token count makes the usage missing.
        const usable = Number.isSafeInteger(prompt + generated);
        const reported = { prompt_tokens: prompt, completion_tokens: generated };
        const answer = await whole({ headers: json, body: completion(reported) });
        expectSuccessRows(answer, usable ? reported : undefined);
      }),
      { numRuns: 20 },
    );
  });
});

describe('an upstream that goes silent after its finish reason', () => {
  it('is waited for ten seconds, then the answer is complete with the usage seen so far', async () => {
    const { answer, tookMs } = await hanging;
    expectStreamSuccess(answer, readStream(answer.bytes), usage);
    expect(tookMs).toBeGreaterThan(9_900);
    expect(tookMs).toBeLessThan(15_000);
  });

  it('is cut off by its longest time, when that is over before', async () => {
    const body = hello + stop + usageChunk(usage);
    const answer = await streamed({ headers: sse, body, ending: { kind: 'hang' } }, 'quick_total');
    expectStreamSuccess(answer, readStream(answer.bytes), usage);
  });
});
