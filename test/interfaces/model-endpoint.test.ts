import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import { chatCompletions } from '../../application/families.ts';
import type { Arrival, FinishedRequest, Telemetry } from '../../application/ports/telemetry.ts';
import { secretsOf } from '../../domain/payload/secrets.ts';
import { streamKeepAlive } from '../../interfaces/http/keep-alive.ts';
import { loadGate } from '../../interfaces/http/load-gate.ts';
import { type ModelEndpointPorts, modelEndpoint } from '../../interfaces/http/public/model-endpoint.ts';
import { chatWords } from '../../interfaces/http/public/words.ts';
import { openContext } from '../../interfaces/http/request-context.ts';
import { until } from '../support/otlp-receiver.ts';

type Told =
  | { readonly kind: 'begun'; readonly arrival: Arrival }
  | { readonly kind: 'finished'; readonly request: FinishedRequest }
  | { readonly kind: 'over'; readonly status: number | undefined };

/** Telemetry that is kept instead of exported. */
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
      gate: loadGate({ maxInFlight: 10, maxBufferedBytes: 1e6 }),
      keepAlive: streamKeepAlive(() => 0),
      clock: { now: Date.now, newId: () => 'id' },
      bodyMaxBytes: 1e6,
      secrets: () => secretsOf(['"upstream-credential"']),
      ...over,
    },
    chatCompletions,
    chatWords,
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

const kinds = (told: readonly Told[]) => told.map(({ kind }) => kind);
const finishedOf = (told: readonly Told[]) =>
  told.flatMap((each) => (each.kind === 'finished' ? [each.request] : []));

describe('a path that serves models tells of each request', () => {
  it('when it arrives, of its one outcome, and when nothing more is sent', async () => {
    const { url, told } = await serving({});
    const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
    expect((await post(url, { 'user-agent': 'agent/1', traceparent, tracestate: 'v=1' })).status).toBe(401);
    await until(() => told.length === 3);
    expect(told[0]).toEqual({
      kind: 'begun',
      arrival: {
        family: 'chat_completions',
        userAgent: 'agent/1',
        traceContext: { traceparent, tracestate: 'v=1' },
      },
    });
    expect(finishedOf(told)).toMatchObject([
      { outcome: 'unauthenticated', statusCode: 401, caller: undefined },
    ]);
    expect(told[2]).toEqual({ kind: 'over', status: 401 });
  });

  it('also of one that there is no room for', async () => {
    const { url, told } = await serving({ gate: loadGate({ maxInFlight: 0, maxBufferedBytes: 1e6 }) });
    expect((await post(url)).status).toBe(503);
    await until(() => told.length === 3);
    expect(finishedOf(told)).toMatchObject([{ outcome: 'overloaded', errorCode: 'overloaded' }]);
    expect(told[2]).toEqual({ kind: 'over', status: 503 });
  });

  it('also of one that a defect ended before it had an outcome', async () => {
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
    ['a version that is none', `ff-${'1'.repeat(32)}-${'1'.repeat(16)}-01`],
    ['more than version 00 has', `00-${'1'.repeat(32)}-${'1'.repeat(16)}-01-more`],
    ['capitals', `00-${'A'.repeat(32)}-${'1'.repeat(16)}-01`],
    ['something else', 'anything'],
  ])('a traceparent that is not valid is none: %s', async (_what, traceparent) => {
    const { url, told } = await serving({});
    await post(url, { traceparent, tracestate: 'v=1' });
    await until(() => told.length === 3);
    expect(told[0]).toMatchObject({ kind: 'begun', arrival: { traceContext: {} } });
    expect(told[0]).not.toHaveProperty('arrival.traceContext.traceparent');
  });

  const member = (index: number) => `k${index}=v`;
  const list = (members: number) => Array.from({ length: members }, (_, index) => member(index)).join(',');
  it.each([
    ['a key that digits begin', '1a@b=x'],
    ['blanks and empty members', 'a=1 , ,b=2'],
    ['any character that a value may have', 'a=!"#$%&\'()*+-./09:;<>?@AZ[]^_`az{|}~ ~'],
    ['32 members', list(32)],
    ['512 characters', `a=${'x'.repeat(250)},b=${'x'.repeat(256)},`.padEnd(512, ',')],
  ])('a tracestate is what the caller sent: %s', async (_what, tracestate) => {
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
    ['a sign that begins a key', '@a=1'],
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
  ])('a tracestate is dropped that is malformed, or says what it must not: %s', async (_what, tracestate) => {
    const { url, told } = await serving({});
    const traceparent = `00-${'1'.repeat(32)}-${'1'.repeat(16)}-01`;
    const authorization = `Bearer gwk_${'1'.repeat(32)}.${'2'.repeat(64)}`;
    await post(url, { authorization, traceparent, tracestate });
    await until(() => told.length === 3);
    expect(told[0]).toHaveProperty('arrival.traceContext', { traceparent });
  });

  it('a traceparent of a later version, with more behind its flags, is one', async () => {
    const { url, told } = await serving({});
    const traceparent = `01-${'1'.repeat(32)}-${'1'.repeat(16)}-01-more`;
    await post(url, { traceparent });
    await until(() => told.length === 3);
    expect(told[0]).toMatchObject({ arrival: { traceContext: { traceparent } } });
  });
});
