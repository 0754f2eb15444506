import { gzipSync } from 'node:zlib';
import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import {
  type ExpectedLabels,
  expectMessagesError,
  expectRefusal,
  expectStreamFailure,
  expectStreamSuccess,
  expectSuccessRows,
} from '../recordings/expectations.ts';
import { readStream } from '../recordings/received.ts';
import type { Answer } from '../recordings/rehearsal.ts';
import type { Replay } from '../support/replay-upstream.ts';
import {
  upstreamToken,
  json,
  sse,
  chunk,
  hello,
  stop,
  done,
  usage,
  usageChunk,
  completion,
  errorBody,
  labels,
  until,
  malformedScene,
} from './malformed-scene.ts';

const { ask, upstream, whole, streamed } = malformedScene();

describe('a 200 from an upstream that is not the requested answer', () => {
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
  it.each(impostors)(
    '%s is answered with 502, whole or streamed',
    async (_name, replay, message, called = {}) => {
      const expected = { status: 502, message, labels: called };
      expectRefusal(await whole(replay), { ...expected, attempt: 'provider_error' });
      expectRefusal(await streamed(replay), { ...expected, attempt: 'stream_start_error' });
    },
  );

  it('a chat completion that cannot be translated to messages without loss is a 502 and writes no ledger row', async () => {
    const replay = { headers: json, body: completion().replace('"Hello"', 'true') };
    const answer = await ask(replay, { model: 'up', stream: false, family: 'messages' });
    const message = 'The upstream sent a malformed answer.';
    const expected = { status: 502, message, attempt: 'provider_error', upstreamStatus: 200 } as const;
    expectRefusal(answer, expected, expectMessagesError(502, answer.requestId));
  });

  it('an event stream in an unsupported content encoding is answered with 502', async () => {
    const headers = { ...sse, 'content-encoding': 'compress' };
    const answer = await streamed({ headers, body: gzipSync(hello + stop + done) });
    expectRefusal(answer, { status: 502, message: /compressed/, attempt: 'stream_start_error' });
  });

  it.each(['text/plain', 'application/json', 'application/octet-stream'])(
    'an event stream with the content type %s is answered with 502',
    async (type) => {
      const answer = await streamed({ headers: { 'content-type': type }, body: hello + stop + done });
      expectRefusal(answer, { status: 502, attempt: 'stream_start_error' });
    },
  );

  it('an event stream in answer to a request that is not streamed is answered with 502', async () => {
    const answer = await whole({ headers: sse, body: hello + stop + done });
    expectRefusal(answer, { status: 502, attempt: 'provider_error' });
  });

  it('a whole answer to a streamed request is answered with 502, and its usage and cost are logged', async () => {
    const message = 'The upstream answered a streamed request with something else.';
    const answer = await streamed({ headers: json, body: completion() });
    expectRefusal(answer, { status: 502, message, attempt: 'stream_start_error' });
    const [log] = answer.after.logs;
    expect(log).toMatchObject({ prompt_tokens: '5', completion_tokens: '7' });
    expect(JSON.stringify(log?.['metadata_json'])).toContain('0.00000495');
  });

  it('a valid whole answer is accepted whatever its content type', async () => {
    const answer = await whole({
      headers: { 'content-type': 'application/octet-stream' },
      body: completion(),
    });
    expectSuccessRows(answer, usage);
    expect(answer.bytes.toString()).toBe(completion());
  });

  it.each([
    ['small', 0],
    ['large', 2 * 1024 * 1024],
  ])('the byte order mark in front of a whole answer is removed: a %s answer', async (_, more) => {
    const body = completion().replace('Hello', `Hello${'o'.repeat(more)}`);
    const answer = await whole({ headers: json, body: `\ufeff${body}`, cuts: { kind: 'at', offsets: [2] } });
    expectSuccessRows(answer, usage);
    expect(answer.bytes.toString() === body).toBe(true);
  });

  it('an empty event stream ends with an error chunk', async () => {
    const answer = await streamed({ headers: sse, body: '' });
    expectStreamFailure(answer, readStream(answer.bytes), /before the answer was complete/);
  });
});

describe('an upstream error status', () => {
  const statuses: [number, number][] = [
    ...[400, 404, 408, 413, 422, 429].map((status): [number, number] => [status, status]),
    ...[300, 304, 399, 401, 402, 403, 405, 409, 418, 451, 500, 501, 502, 504, 520, 599].map(
      (status): [number, number] => [status, 502],
    ),
    [503, 503],
    [529, 503],
  ];
  it.each(statuses)(
    "%i is returned to the caller as %i, with the upstream's message",
    async (status, told) => {
      const replay = { status, headers: json, body: errorBody('No, thank you.') };
      // A 304 has no body.
      const said =
        status === 304
          ? { message: 'The upstream answered with status 304.' }
          : { message: 'No, thank you.', labels };
      const expected = { status: told, ...said, upstreamStatus: status };
      expectRefusal(await whole(replay), { ...expected, attempt: 'provider_error' });
      expectRefusal(await streamed(replay), { ...expected, attempt: 'stream_start_error' });
    },
  );

  it.each([
    [404, 'data: {"error":{"message":"No such model."}}\n\n', 'No such model.'],
    [429, ': hello\n\nevent: error\ndata: {"error":"Slow down."}', 'Slow down.'],
    [429, 'data: [1]\r\n\r\ndata: {"message":"Later."}\r\n\r\ndata: [DONE]\r\n\r\n', 'Later.'],
    [429, 'data: [DONE]\n\n', 'The upstream answered with status 429.'],
  ])('%i with an event stream as its body keeps the error message: %j', async (status, body, message) => {
    const replay = { status, headers: sse, body };
    const expected = { status, message, upstreamStatus: status };
    expectRefusal(await whole(replay), { ...expected, attempt: 'provider_error' });
    expectRefusal(await streamed(replay), { ...expected, attempt: 'stream_start_error' });
  });

  it.each([
    '\nSee the troubleshooting guide:\nhttps://learn.example.com/endpoints#http-status-codes',
    '\r\n\r\nSee the guide.\r\n',
  ])('with plain text behind its JSON keeps the error message and the code: %j', async (behind) => {
    const replay = { status: 400, headers: json, body: `${errorBody('No such tool {f}.')}${behind}` };
    const expected = { status: 400, message: 'No such tool {f}.', labels, upstreamStatus: 400 };
    expectRefusal(await whole(replay), { ...expected, attempt: 'provider_error' });
    expectRefusal(await streamed(replay), { ...expected, attempt: 'stream_start_error' });
  });

  it.each([301, 302, 303, 307, 308])('%i is never followed as a redirect', async (status) => {
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

  it.each([429, 503])('%i has its rate-limit headers passed to the caller, and no others', async (status) => {
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

  it('drops a rate-limit header that holds a secret and a retry-after that is no time, and keeps the others', async () => {
    const told = { 'retry-after': 'soon', 'x-ratelimit-key': upstreamToken, 'x-ratelimit-reset': '1s' };
    const answer = await whole({ status: 429, headers: { ...json, ...told }, body: errorBody('Slow down.') });
    expect(answer.headers.get('x-ratelimit-reset')).toBe('1s');
    for (const name of ['retry-after', 'x-ratelimit-key']) expect(answer.headers.get(name)).toBeNull();
  });

  it('a 200 has neither its rate-limit headers nor its other headers passed to the caller', async () => {
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

  it('has its message returned without URL queries, userinfo and credentials', async () => {
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
  ])('with %s as its body is reported by its status alone', async (_name, type, body) => {
    const answer = await whole({ status: 500, headers: { 'content-type': type }, body });
    expectRefusal(answer, {
      status: 502,
      message: 'The upstream answered with status 500.',
      attempt: 'provider_error',
      upstreamStatus: 500,
    });
  });

  it('with a body of 10 MB is cut off and keeps its status', async () => {
    const aborted = upstream().aborted();
    const body = errorBody('x'.repeat(10_000_000));
    const answer = await whole({ status: 422, headers: json, body, cuts: { kind: 'random', seed: 3 } });
    expectRefusal(answer, { status: 422, attempt: 'provider_error', upstreamStatus: 422 });
    expect(answer.bytes.length).toBeLessThan(4096);
    await until(() => upstream().aborted() > aborted);
    expect(upstream().aborted()).toBeGreaterThan(aborted);
  });

  const half = errorBody('Slow down.').slice(0, 20);
  it.each<[string, Partial<Replay>]>([
    ['breaks off', { ending: { kind: 'break', after: 20 } }],
    ['is reset', { ending: { kind: 'reset', after: 20 } }],
    ['is not compressed as it says', { headers: { ...json, 'content-encoding': 'gzip' } }],
    [
      'breaks off, compressed',
      {
        headers: { ...json, 'content-encoding': 'gzip' },
        body: gzipSync(half),
        ending: { kind: 'break', after: 20 },
      },
    ],
  ])('with a body that %s keeps its status and its retry-after header', async (_, broken) => {
    const replay: Replay = { status: 429, body: half, ...broken };
    for (const stream of [false, true]) {
      const headers = { ...json, ...replay.headers, 'retry-after': '7' };
      const answer = await ask({ ...replay, headers }, { model: 'up', stream });
      expectRefusal(answer, {
        status: 429,
        message: 'The upstream answered with status 429.',
        attempt: stream ? 'stream_start_error' : 'provider_error',
        upstreamStatus: 429,
      });
      expect(answer.headers.get('retry-after')).toBe('7');
    }
  });

  it('with a long message has it truncated to 1,024 characters', async () => {
    const answer = await whole({ status: 400, headers: json, body: errorBody('x'.repeat(50_000)) });
    expectRefusal(answer, { status: 400, message: /^x{1000,1023}…$/, labels, attempt: 'provider_error' });
  });
});

describe('a stream with too many, faulty or late events', () => {
  const ending = (body: string): Promise<Answer> => streamed({ headers: sse, body });

  it('`[DONE]` twice is sent to the caller once', async () => {
    const answer = await ending(hello + stop + usageChunk(usage) + done + done);
    expectStreamSuccess(answer, readStream(answer.bytes), usage);
  });

  it.each([
    ['a chunk', chunk({ content: ' again' })],
    ['an error', 'data: {"error":{"message":"Late."}}\n\n'],
    ['usage', usageChunk({ prompt_tokens: 900, completion_tokens: 900 })],
    ['garbage', 'data: {\n\n'],
  ])('%s after `[DONE]` is ignored', async (_name, late) => {
    for (const cuts of [{ kind: 'whole' }, { kind: 'random', seed: 1 }] as const) {
      const body = hello + stop + usageChunk(usage) + done + late;
      const answer = await streamed({ headers: sse, body, cuts });
      const received = readStream(answer.bytes);
      expectStreamSuccess(answer, received, usage);
      expect(received.choices['0']?.text).toBe('Hello');
    }
  });

  it('a stream of only `[DONE]` is a success without usage', async () => {
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
  ])('%s fails the stream, before the finish reason and after it', async (_name, fault, message) => {
    for (const before of [hello, hello + stop, hello + stop + usageChunk(usage)]) {
      const answer = await ending(before + fault + hello + stop + done);
      const received = readStream(answer.bytes);
      expectStreamFailure(answer, received, message);
      expect(received.choices['0']?.text).toBe('Hello');
    }
  });

  it.each([
    ['a field', `error: {"detail":"x","error":{"message":"Out of ${upstreamToken}."}}\n\n`],
    ['a field without its blank line', `error: {"error":{"message":"Out of ${upstreamToken}."}}`],
    ['plain JSON', `{\n  "error": {\n    "message": "Out of ${upstreamToken}."\n  }\n}\n`],
  ])(
    'an error outside the events (%s) fails the stream, before the finish reason and after it',
    async (_name, beside) => {
      for (const before of ['', hello, hello + stop + usageChunk(usage)]) {
        const answer = await ending(before + beside);
        expectStreamFailure(answer, readStream(answer.bytes), 'Out of [REDACTED].');
      }
    },
  );

  it('a message outside the events is the error of an incomplete stream, and is ignored in a complete one', async () => {
    const words = '{"message":"Out of memory."}\n\n';
    const answer = await ending(hello + words);
    expectStreamFailure(answer, readStream(answer.bytes), 'Out of memory.');
    const whole = await ending(hello + stop + usageChunk(usage) + words);
    expectStreamSuccess(whole, readStream(whole.bytes), usage);
  });

  it('a whole answer with an error and usage logs the usage and its cost, without a ledger row', async () => {
    const body = `{"error":{"message":"Late."},"choices":[],"usage":${JSON.stringify(usage)}}`;
    const { after } = await whole({ headers: json, body });
    expect(after.logs).toMatchObject([{ status_code: 502, prompt_tokens: '5', completion_tokens: '7' }]);
    expect(JSON.stringify(after.logs[0]?.['metadata_json'])).toContain('0.00000495');
    expect(after.ledger).toEqual([]);
  });

  it('usage received before a stream fails is logged, with its cost', async () => {
    const answer = await ending(`${hello}${stop}${usageChunk(usage)}data: {"error":{"message":"Late."}}\n\n`);
    expectStreamFailure(answer, readStream(answer.bytes), 'Late.');
    const [log] = answer.after.logs;
    expect(log).toMatchObject({ prompt_tokens: '5', completion_tokens: '7', total_tokens: '12' });
    expect(JSON.stringify(log?.['metadata_json'])).toContain('0.00000495');
  });

  it('tool calls over the limit are passed on, and the logged count stays at the limit', async () => {
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
  it.each(unusable)('%s counts as missing usage, and the answer still succeeds', async (reported) => {
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

  it('reported more than once are taken from the last report, never summed', async () => {
    const first = usageChunk({ prompt_tokens: 5, completion_tokens: 1, total_tokens: 6 });
    const body = hello + first + usageChunk('null') + stop + usageChunk(usage) + usageChunk('null') + done;
    const answer = await streamed({ headers: sse, body });
    expectStreamSuccess(answer, readStream(answer.bytes), usage);
  });

  it('of a cache that the total counts beside the prompt are billed at the price of input', async () => {
    const counts = { prompt_tokens: 4142, completion_tokens: 254, total_tokens: 8724 };
    const reported = JSON.stringify({ ...counts, prompt_tokens_details: { cached_tokens: 4328 } });
    const answers = [
      await whole({ headers: json, body: completion(reported) }),
      await streamed({ headers: sse, body: hello + stop + usageChunk(reported) + done }),
    ];
    for (const { after } of answers)
      expect(after.ledger).toMatchObject([
        { prompt_tokens: '8470', cost_picousd: String(8470n * 150_000n + 254n * 600_000n) },
      ]);
  });

  it('of every size are recorded exactly, and count as missing where their sum is no safe integer', async () => {
    const count = fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER });
    await fc.assert(
      fc.asyncProperty(count, count, async (prompt, generated) => {
        // An absent total is the sum; a sum that is not a safe integer makes the usage missing.
        const usable = Number.isSafeInteger(prompt + generated);
        const reported = { prompt_tokens: prompt, completion_tokens: generated };
        const answer = await whole({ headers: json, body: completion(reported) });
        expectSuccessRows(answer, usable ? reported : undefined);
      }),
      { numRuns: 20 },
    );
  });
});
