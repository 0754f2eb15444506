import { createServer, type Server } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import type { UpstreamCall } from '../../application/ports/upstream.ts';
import type { JsonObject } from '../../domain/shared/json.ts';
import type { StreamChunk, StreamEvent } from '../../domain/shared/stream-event.ts';
import type { ProviderConfig } from '../../infrastructure/config/provider-config.ts';
import { ConnectionPool } from '../../infrastructure/providers/connection-pool.ts';
import { executor } from '../../infrastructure/providers/executor.ts';
import { aRoute } from '../support/arbitraries/routing.ts';
import { oracle } from '../support/example-provider/index.ts';

const timeouts = { connectMs: 1000, firstByteMs: 1000, idleMs: 1000, totalMs: 5000 };
const sanitise = (message: string): string => message;
let server: Server;
let seen: { readonly url: string | undefined; readonly word: string | undefined; readonly body: string }[] =
  [];

beforeAll(async () => {
  server = createServer((req, res) => {
    let body = '';
    req.on('data', (chunk) => (body += String(chunk)));
    req.on('end', () => {
      seen.push({ url: req.url, word: req.headers.authorization, body });
      if (req.url === '/answer') {
        res.writeHead(200, { 'content-type': 'application/json' });
        return res.end('{"answer":"Perhaps.","spent":{"in":3,"out":1}}');
      }
      res.writeHead(200, { 'content-type': 'text/event-stream' });
      res.write('data: {"piece":"Per"}\n\ndata: {"piece":"haps."}\n\n');
      return res.end(body.includes('break') ? '' : 'data: {"spent":{"in":3,"out":1}}\n\n');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterAll(() => {
  server.close();
});

/** The provider as the executor knows it; nothing else in the gateway knows about it. */
function upstream() {
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : 0;
  const provider = oracle.connect(
    {
      baseUrl: `http://127.0.0.1:${port}`,
      auth: { mode: 'header', name: 'authorization', value: 'Word sesame' },
      defaultHeaders: {},
    },
    { sanitise, digest: (text) => text, conceal: () => undefined, warn: () => undefined },
  );
  const pools = new Map(provider.endpoints.map((each) => [each, new ConnectionPool(each.baseUrl, timeouts)]));
  return executor(() => ({ config: inItsPlace, provider, timeouts, sanitise, pools }));
}

/** A placeholder: the example has no kind of its own, and needs no configuration for small bodies. */
const inItsPlace: ProviderConfig = {
  id: 'oracle',
  kind: 'compat',
  baseUrl: 'http://127.0.0.1:1',
  pricingProviderId: 'oracle',
  defaultHeaders: {},
  timeouts,
  auth: { mode: 'none' },
};

const call = (content: string, over: Partial<UpstreamCall> = {}): UpstreamCall => ({
  route: aRoute({ extraBody: { tone: 'grave' } }),
  family: 'chat_completions',
  stream: false,
  body: JSON.stringify({ model: 'oracle', messages: [{ role: 'user', content }], user: 'somebody' }),
  answer: { id: 'chatcmpl-1', model: 'oracle', createdSecs: 7 },
  betas: [],
  ...over,
});

async function streamed(content: string): Promise<readonly StreamEvent<JsonObject>[]> {
  const prepared = upstream().prepare(call(content, { stream: true }));
  if (E.isLeft(prepared)) throw new Error(prepared.left.message);
  const reply = await prepared.right.begin({}, () => undefined).reply;
  if (E.isLeft(reply) || reply.right.kind !== 'stream') throw new Error('no stream');
  const events: StreamEvent<JsonObject>[] = [];
  const pass = (chunks: readonly StreamChunk<JsonObject>[]): undefined => void events.push(...chunks);
  const end = await reply.right.forward(pass, () => undefined);
  return [...events, end];
}

describe('a provider that is added as docs/adding-a-provider.md describes', () => {
  it('receives requests in its own format, with its credentials and the overrides of the route', async () => {
    seen = [];
    const prepared = upstream().prepare(call('Will it rain?'));
    if (E.isLeft(prepared)) throw new Error(prepared.left.message);
    const reply = await prepared.right.begin({ traceparent: '00-1' }, () => undefined).reply;
    expect(seen).toEqual([
      { url: '/answer', word: 'Word sesame', body: '{"question":"Will it rain?","tone":"grave"}' },
    ]);
    expect(reply).toMatchObject(
      E.right({
        kind: 'whole',
        answer: {
          value: {
            id: 'chatcmpl-1',
            model: 'oracle',
            choices: [{ message: { content: 'Perhaps.' }, finish_reason: 'stop' }],
            usage: { prompt_tokens: 3, completion_tokens: 1 },
          },
        },
      }),
    );
  });

  it('streams canonical chunks', async () => {
    const events = await streamed('Will it rain?');
    expect(events.map(({ kind }) => kind)).toEqual(['chunk', 'chunk', 'chunk', 'done']);
  });

  it('ends a stream that breaks off with a failure, and without `done`', async () => {
    const events = await streamed('break');
    expect(events.map(({ kind }) => kind)).toEqual(['chunk', 'chunk', 'failed']);
  });

  it('rejects a field that it cannot express, names it, and sends nothing', () => {
    seen = [];
    const body = JSON.stringify({ messages: [{ role: 'user', content: 'x' }], temperature: 0.5 });
    expect(upstream().prepare(call('x', { body }))).toMatchObject(
      E.left({ code: 'invalid_request', param: 'temperature' }),
    );
    expect(seen).toEqual([]);
  });
});
