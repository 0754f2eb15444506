import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import { chatCompletions } from '../../application/families.ts';
import type { Arrival, FinishedRequest, Telemetry } from '../../application/ports/telemetry.ts';
import type { Caller } from '../../domain/identity/caller.ts';
import { unusedStanding } from '../../domain/limits/rate-limit.ts';
import { secretsOf } from '../../domain/payload/secrets.ts';
import { decompress } from '../../infrastructure/providers/decompression.ts';
import { bodyPace } from '../../interfaces/http/body-pace.ts';
import { bodyTurns } from '../../interfaces/http/body-turns.ts';
import { streamKeepAlive } from '../../interfaces/http/keep-alive.ts';
import { loadGate } from '../../interfaces/http/load-gate.ts';
import { type ModelEndpointPorts, modelEndpoint } from '../../interfaces/http/public/model-endpoint.ts';
import { chatFormat } from '../../interfaces/http/public/wire-format.ts';
import { openContext } from '../../interfaces/http/request-context.ts';
import { rawSocket } from '../e2e/raw-http.ts';
import { until } from '../support/otlp-receiver.ts';
import { undisturbed } from '../support/undisturbed.ts';

type Told =
  | { readonly kind: 'begun'; readonly arrival: Arrival }
  | { readonly kind: 'finished'; readonly request: FinishedRequest }
  | { readonly kind: 'over'; readonly status: number | undefined };

/** Telemetry that is recorded instead of exported. */
function toldTelemetry(): Telemetry & { readonly told: Told[] } {
  const told: Told[] = [];
  return {
    told,
    begin: (arrival) => {
      told.push({ kind: 'begun', arrival });
      return {
        during: (_step, work) => work(),
        upstream: () => ({ traceContext: {}, firstContent: () => undefined, ended: () => undefined }),
        finished: (request) => void told.push({ kind: 'finished', request }),
        over: (status) => void told.push({ kind: 'over', status }),
      };
    },
  };
}

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

async function serving(over: Partial<ModelEndpointPorts>): Promise<{ url: string; told: readonly Told[] }> {
  const telemetry = toldTelemetry();
  const endpoint = modelEndpoint(
    {
      authenticate: async () => E.left({ code: 'invalid_api_key', message: 'No.' }),
      serve: async () => ({ kind: 'whole', text: '{}' }),
      telemetry,
      gate: loadGate({ maxInFlight: 10, maxInFlightPerOwner: 2, maxBufferedBytes: 1e6 }),
      pace: bodyPace(),
      turns: bodyTurns(),
      decompress,
      keepAlive: streamKeepAlive(() => 0),
      clock: { now: Date.now, newId: () => 'id' },
      bodyMaxBytes: 1e6,
      secrets: () => secretsOf(['"upstream-credential"']),
      limitsNow: () => ({ standings: [], now: new Date(0) }),
      ...over,
    },
    chatCompletions,
    chatFormat,
  );
  const server = createServer((req, res) => {
    const context = openContext(req, res, Date.now(), () => 'id');
    endpoint(context).catch(() => res.writeHead(500).end());
  }).listen(0, '127.0.0.1');
  servers.push(server);
  await once(server, 'listening');
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, told: telemetry.told };
}

const post = (url: string, headers: Readonly<Record<string, string>> = {}) =>
  fetch(url, { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body: '{}' });

const callerOf = (userId: string): Caller => ({
  apiKeyId: `key of ${userId}`,
  keyOwner: { kind: 'user', userId, requestLoggingEnabled: true },
  allowedModels: [],
});

const kinds = (told: readonly Told[]) => told.map(({ kind }) => kind);
const finishedOf = (told: readonly Told[]) =>
  told.flatMap((each) => (each.kind === 'finished' ? [each.request] : []));

describe('telemetry of each request to a model endpoint', () => {
  it('reports its arrival, its one outcome, and the end of its answer', async () => {
    const { url, told } = await serving({});
    const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
    expect((await post(url, { 'user-agent': 'agent/1', traceparent, tracestate: 'v=1' })).status).toBe(401);
    await until(() => told.length === 3);
    expect(told[0]).toEqual({
      kind: 'begun',
      arrival: {
        family: 'chat_completions',
        scheme: 'http',
        userAgent: 'agent/1',
        traceContext: { traceparent, tracestate: 'v=1' },
      },
    });
    expect(finishedOf(told)).toMatchObject([
      { outcome: 'unauthenticated', statusCode: 401, caller: undefined },
    ]);
    expect(told[2]).toEqual({ kind: 'over', status: 401 });
  });

  it.each([
    ['as long as it took', 1500, 1500, 61_500],
    ['0 if the clock was set back meanwhile', -60_000, 0, 0],
  ])('reports the latency of a rejected request: %s', async (_, aheadMs, least, most) => {
    const clock = { now: () => Date.now() + aheadMs, newId: () => 'id' };
    const { url, told } = await serving({ clock });
    expect((await post(url)).status).toBe(401);
    await until(() => finishedOf(told).length === 1);
    const [request] = finishedOf(told);
    expect(request?.latencyMs).toBeGreaterThanOrEqual(least);
    expect(request?.latencyMs).toBeLessThanOrEqual(most);
  });

  it('redacts a request id that is a configured or presented credential, if no valid key was sent', async () => {
    const { url, told } = await serving({});
    const shown = 'a-key-of-somebody-else';
    const ids = ['mine', '"upstream-credential"', shown];
    for (const id of ids)
      expect((await post(url, { 'x-request-id': id, authorization: `Bearer ${shown}` })).status).toBe(401);
    await until(() => finishedOf(told).length === ids.length);
    expect(finishedOf(told).map(({ requestId }) => requestId)).toEqual(['mine', '[REDACTED]', '[REDACTED]']);
  });

  it('reports a request for which there is no room as `overloaded`', async () => {
    const { url, told } = await serving({
      gate: loadGate({ maxInFlight: 0, maxInFlightPerOwner: 0, maxBufferedBytes: 1e6 }),
    });
    expect((await post(url)).status).toBe(503);
    await until(() => told.length === 3);
    expect(finishedOf(told)).toMatchObject([{ outcome: 'overloaded', errorCode: 'overloaded' }]);
    expect(told[2]).toEqual({ kind: 'over', status: 503 });
  });

  it('reports a request that a defect ended before it had an outcome as `internal_error`', async () => {
    const { url, told } = await serving({
      authenticate: async () => {
        throw new Error('a defect of the test');
      },
    });
    expect((await post(url)).status).toBe(500);
    expect(kinds(told)).toEqual(['begun', 'finished', 'over']);
    expect(finishedOf(told)).toMatchObject([{ outcome: 'internal_error', statusCode: 500 }]);
    expect(told[2]).toEqual({ kind: 'over', status: undefined });
  });

  it.each([
    ['zeros for a trace', `00-${'0'.repeat(32)}-${'1'.repeat(16)}-01`],
    ['zeros for a span', `00-${'1'.repeat(32)}-${'0'.repeat(16)}-01`],
    ['an invalid version', `ff-${'1'.repeat(32)}-${'1'.repeat(16)}-01`],
    ['more fields than version 00 has', `00-${'1'.repeat(32)}-${'1'.repeat(16)}-01-more`],
    ['a digit before it', `000-${'1'.repeat(32)}-${'1'.repeat(16)}-01`],
    ['a digit behind it', `00-${'1'.repeat(32)}-${'1'.repeat(16)}-011`],
    [
      'more than 128 characters of later fields',
      `01-${'1'.repeat(32)}-${'1'.repeat(16)}-01-${'x'.repeat(129)}`,
    ],
    ['capitals', `00-${'A'.repeat(32)}-${'1'.repeat(16)}-01`],
    ['something else', 'anything'],
  ])('ignores an invalid traceparent: %s', async (_what, traceparent) => {
    const { url, told } = await serving({});
    await post(url, { traceparent, tracestate: 'v=1' });
    await until(() => told.length === 3);
    expect(told[0]).toMatchObject({ kind: 'begun', arrival: { traceContext: {} } });
    expect(told[0]).not.toHaveProperty('arrival.traceContext.traceparent');
  });

  const member = (index: number) => `k${index}=v`;
  const list = (members: number) => Array.from({ length: members }, (_, index) => member(index)).join(',');
  it.each([
    ['a key that begins with digits', '1a@b=x'],
    ['blanks and empty members', 'a=1 , ,b=2'],
    ['a key of 256 characters', `${'a'.repeat(256)}=1`],
    ['any character that a value may have', 'a=!"#$%&\'()*+-./09:;<>?@AZ[]^_`az{|}~ ~'],
    ['32 members', list(32)],
    ['512 characters', `a=${'x'.repeat(250)},b=${'x'.repeat(256)},`.padEnd(512, ',')],
  ])('keeps a valid tracestate unchanged: %s', async (_what, tracestate) => {
    const { url, told } = await serving({});
    const traceparent = `00-${'1'.repeat(32)}-${'1'.repeat(16)}-01`;
    await post(url, { traceparent, tracestate });
    await until(() => told.length === 3);
    expect(told[0]).toMatchObject({ arrival: { traceContext: { traceparent, tracestate } } });
  });

  it.each([
    ['nothing', ','],
    ['no value', 'a=1,b'],
    ['an empty value', 'a='],
    ['a capital in a key', 'A=1'],
    ['a key that begins with a sign', '@a=1'],
    ['an equals sign in a value', 'a=b=c'],
    ['a control character', 'a=1\tb'],
    ['a character beyond ASCII', 'a=\u00e9'],
    ['a key of 257 characters', `${'a'.repeat(257)}=1`],
    ['a value of 257 characters', `a=${'1'.repeat(257)}`],
    ['33 members', list(33)],
    ['513 characters', `a=${'x'.repeat(250)},b=${'x'.repeat(256)},`.padEnd(513, ',')],
    ['the key of the caller', `a=1,b=gwk_${'1'.repeat(32)}.${'2'.repeat(64)}`],
    ['the secret of the caller', `a=${'2'.repeat(64)}`],
    ['the key of another caller', `a=gwk_${'3'.repeat(32)}.${'4'.repeat(64)}`],
    ['a credential of the configuration', 'a=1,b=x%22upstream-credential%22'],
  ])('drops a tracestate that is malformed or contains a credential: %s', async (_what, tracestate) => {
    const { url, told } = await serving({});
    const traceparent = `00-${'1'.repeat(32)}-${'1'.repeat(16)}-01`;
    const authorization = `Bearer gwk_${'1'.repeat(32)}.${'2'.repeat(64)}`;
    await post(url, { authorization, traceparent, tracestate });
    await until(() => told.length === 3);
    expect(told[0]).toHaveProperty('arrival.traceContext', { traceparent });
  });

  it.each([
    ['of a later version with additional fields', `01-${'1'.repeat(32)}-${'1'.repeat(16)}-01-more`],
    ['with 128 characters of them', `01-${'1'.repeat(32)}-${'1'.repeat(16)}-01-${'x'.repeat(128)}`],
    ['whose ids are not all zeros', `00-${'0'.repeat(31)}1-${'0'.repeat(15)}1-01`],
  ])('keeps a traceparent %s', async (_what, traceparent) => {
    const { url, told } = await serving({});
    await post(url, { traceparent });
    await until(() => told.length === 3);
    expect(told[0]).toMatchObject({ arrival: { traceContext: { traceparent } } });
  });
});

describe('an error of an upstream', () => {
  it('has rate limit headers of the gateway in place of upstream ones with the same prefix', async () => {
    const limit = {
      subject: { kind: 'api_key', id: 'k' },
      terms: { requests: 9, tokens: undefined, inFlight: undefined },
    } as const;
    const now = new Date('2028-01-01T00:00:30Z');
    const headers = {
      'retry-after': '7',
      'x-ratelimit-remaining-requests': '0',
      'x-ratelimit-reset': '1s',
      'anthropic-ratelimit-tokens-remaining': '5',
    };
    const { url } = await serving({
      authenticate: async ({ headers: { 'x-user': user } }) =>
        E.right({ ...callerOf('a'), ...(user === 'limited' ? { limits: [limit] } : {}) }),
      serve: async () => ({
        kind: 'refused',
        error: { code: 'upstream_error', message: 'No.', upstream: { status: 429, headers } },
      }),
      limitsNow: () => ({ standings: [unusedStanding(limit, now)], now }),
    });
    const told = async (user: string) =>
      Object.fromEntries(
        [...(await post(url, { 'x-user': user })).headers].filter(([name]) => /ratelimit|retry/.test(name)),
      );
    expect(await told('free')).toEqual(headers);
    expect(await told('limited')).toEqual({
      'retry-after': '7',
      'x-ratelimit-limit-requests': '9',
      'x-ratelimit-remaining-requests': '9',
      'x-ratelimit-reset-requests': '30s',
      'anthropic-ratelimit-tokens-remaining': '5',
    });
  });
});

describe('a request body', () => {
  const head = 'POST / HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n';
  /** 0.3 s, then 5,000 bytes a second. */
  const pace = bodyPace({ firstMs: 300, bytesPerSec: 5000, lookMs: 20 });

  async function slowDoor(over: Partial<ModelEndpointPorts> = {}) {
    const gate = loadGate({ maxInFlight: 10, maxInFlightPerOwner: 2, maxBufferedBytes: 1e6 });
    const door = await serving({
      pace,
      gate,
      authenticate: async ({ headers }) => E.right(callerOf(String(headers['x-user'] ?? 'a'))),
      serve: async (_family, { body }) =>
        E.isLeft(body) ? { kind: 'refused', error: body.left } : { kind: 'whole', text: '{}' },
      ...over,
    });
    const begin = (user: string, body: string) => {
      const socket = rawSocket(door.url);
      const heard = { text: '', endedMs: 0 };
      const begunAt = performance.now();
      socket.on('error', () => undefined);
      socket.on('data', (piece: Buffer) => void (heard.text += piece.toString()));
      socket.on('close', () => (heard.endedMs = performance.now() - begunAt));
      socket.write(`${head}x-user: ${user}\r\n${body}`);
      return { socket, heard };
    };
    return { ...door, gate, begin };
  }

  it('that stops arriving is answered 400 and its connection closed, whatever came before', async () => {
    const { begin, gate } = await slowDoor();
    const [nothing, some] = [
      begin('a', 'content-length: 100\r\n\r\n'),
      begin('b', `transfer-encoding: chunked\r\n\r\nf000\r\n${'x'.repeat(0xf000)}\r\n`),
    ];
    for (const { heard } of [nothing, some]) {
      await until(() => heard.endedMs > 0);
      expect(heard.text).toMatch(
        /^HTTP\/1\.1 400 [^]*connection: close[^]*The request body arrived too slowly/i,
      );
      expect(heard.endedMs).toBeGreaterThan(290);
      // The bytes received would allow 12 s if time were accumulated.
      expect(heard.endedMs).toBeLessThan(8000);
    }
    expect(gate.inFlight()).toBe(0);
  });

  it('is not too slow if the process was blocked while it arrived', async () => {
    const { begin } = await slowDoor();
    const { socket, heard } = begin('a', 'content-length: 2\r\n\r\n');
    await sleep(100);
    const stoodUntil = performance.now() + 400;
    while (performance.now() < stoodUntil);
    await sleep(50);
    socket.write('{}');
    await until(() => heard.text !== '');
    expect(heard.text).toMatch(/^HTTP\/1\.1 200/);
  });

  it('that keeps the minimum pace is served however long it takes; a slower one gets 400', async () => {
    const { begin } = await slowDoor();
    const drip = async (user: string, bytes: number) => {
      const { socket, heard } = begin(user, 'content-length: 40000\r\n\r\n');
      for (let sent = 0; sent < 40_000 && heard.text === ''; sent += bytes) {
        socket.write('x'.repeat(Math.min(bytes, 40_000 - sent)));
        await sleep(20);
      }
      await until(() => heard.text !== '');
      return heard.text.slice(0, 12);
    };
    await undisturbed(150, async () => {
      const startedAt = performance.now();
      expect(await Promise.all([drip('a', 1000), drip('b', 40)])).toEqual(['HTTP/1.1 200', 'HTTP/1.1 400']);
      expect(performance.now() - startedAt).toBeGreaterThan(600);
    });
  });

  it('that decompresses beyond the free buffer gets 503, and nothing of it stays held', async () => {
    const { url, gate, told } = await slowDoor({ bodyMaxBytes: 1e9, pace: bodyPace() });
    const bomb = gzipSync(Buffer.alloc(50_000_000));
    const sent = (body: Buffer) =>
      fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' },
        body,
      });
    expect((await sent(bomb)).status).toBe(503);
    expect(finishedOf(told)).toEqual([]);
    // No bytes of the first body are held any longer.
    expect((await sent(gzipSync(Buffer.alloc(990_000)))).status).toBe(200);
    await until(() => gate.inFlight() === 0);
  });

  it('that is compressed must keep the pace in compressed bytes', async () => {
    const { begin } = await slowDoor();
    const body = gzipSync(Buffer.alloc(900_000));
    const { socket, heard } = begin('a', `content-encoding: gzip\r\ncontent-length: ${body.length}\r\n\r\n`);
    for (let sent = 0; sent < body.length && heard.text === ''; sent += 8) {
      socket.write(body.subarray(sent, sent + 8));
      await sleep(20);
    }
    await until(() => heard.text !== '');
    expect(heard.text).toMatch(/^HTTP\/1\.1 400 [^]*The request body arrived too slowly/);
  });

  it.each([
    ['small', 10],
    ['large', 2 * 1024 * 1024],
  ])('loses its byte order mark, wherever the chunks are split: a %s one', async (_, size) => {
    const texts: string[] = [];
    const { begin } = await slowDoor({
      pace: bodyPace(),
      bodyMaxBytes: 1e8,
      gate: loadGate({ maxInFlight: 10, maxInFlightPerOwner: 10, maxBufferedBytes: 1e8 }),
      serve: async (_family, { body }) => {
        if (E.isRight(body)) texts.push(Buffer.from(body.right).toString());
        return { kind: 'whole', text: '{}' };
      },
    });
    const text = `{"a":"${'x'.repeat(size)}"}`;
    const bytes = Buffer.from(`\ufeff${text}`);
    for (const cut of [1, 2, 3]) {
      const { socket, heard } = begin('a', `content-length: ${bytes.length}\r\n\r\n`);
      await sleep(20);
      socket.write(bytes.subarray(0, cut));
      await sleep(20);
      socket.write(bytes.subarray(cut));
      await until(() => heard.text !== '');
    }
    expect(texts.map((each) => each === text)).toEqual([true, true, true]);
  });

  it('begins few of the requests that arrive at one instant in one turn of the event loop', async () => {
    let begun = 0;
    let most = 0;
    const { begin } = await slowDoor({
      pace: bodyPace(),
      bodyMaxBytes: 1e8,
      gate: loadGate({ maxInFlight: 200, maxInFlightPerOwner: 200, maxBufferedBytes: 1e8 }),
      serve: async () => {
        if (begun === 0)
          setImmediate(() => {
            begun = 0;
          });
        begun += 1;
        most = Math.max(most, begun);
        return { kind: 'whole', text: '{}' };
      },
    });
    const body = JSON.stringify({ a: 'x'.repeat(160_000) });
    const all = Array.from({ length: 60 }, () => begin('a', `content-length: ${body.length}\r\n\r\n`));
    await sleep(200);
    for (const { socket } of all) socket.write(body);
    await until(() => all.every(({ heard }) => heard.text.includes(' 200 ')));
    // Seven have a mebibyte, and what is counted as one turn may be two.
    expect(most).toBeLessThanOrEqual(14);
  });

  it("over its owner's limit of requests is rejected with 429 unread; other owners are served", async () => {
    const { begin, url, told } = await slowDoor({ pace: bodyPace() });
    const half = 'content-length: 1000\r\n\r\n{"model":';
    const all = Array.from({ length: 12 }, () => begin('a', half));
    await until(() => all.filter(({ heard }) => heard.text.includes(' 429 ')).length === 10);
    const [refused] = all.flatMap(({ heard }) => (heard.text === '' ? [] : [heard.text]));
    expect(refused).toMatch(/\r\nretry-after: 1\r\n/);
    expect(JSON.parse(refused?.split('\r\n\r\n')[1] ?? '')).toEqual({
      error: {
        message: expect.any(String),
        type: 'rate_limit_error',
        param: null,
        code: 'too_many_requests',
      },
    });
    expect(finishedOf(told)).toHaveLength(10);
    for (const request of finishedOf(told))
      expect(request).toMatchObject({
        outcome: 'overloaded',
        statusCode: 429,
        errorCode: 'too_many_requests',
        caller: callerOf('a'),
      });
    expect((await post(url, { 'x-user': 'b' })).status).toBe(200);
    for (const { socket } of all) socket.destroy();
    await until(() => finishedOf(told).length >= 10);
    let answer = await post(url, { 'x-user': 'a' });
    while (answer.status === 429) answer = await post(url, { 'x-user': 'a' });
    expect(answer.status).toBe(200);
  });
});
