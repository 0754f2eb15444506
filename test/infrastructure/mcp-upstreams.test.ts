import { randomBytes } from 'node:crypto';
import type { RequestListener } from 'node:http';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { afterEach, expect, it } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import type { McpExchange, McpFrame } from '../../application/ports/mcp-upstreams.ts';
import { type McpServerPool, mcpUpstreams } from '../../infrastructure/mcp/upstreams.ts';
import { sealedSessions } from '../../infrastructure/mcp/sealed-sessions.ts';
import { listening, type RunningServer } from '../support/mcp-servers.ts';
import { anMcpExchange } from '../support/mcp-exchange.ts';

const running: { readonly server: RunningServer; readonly pool: McpServerPool }[] = [];
afterEach(async () => {
  for (const { server, pool } of running.splice(0)) {
    await pool.close();
    await server.stop();
  }
});

const configOf = (id: string, url: string) => ({
  id,
  displayName: id,
  url,
  auth: { mode: 'none' as const },
  policy: { allowedOwners: [], allowedTools: undefined, deniedTools: [] },
  timeoutMs: 20_000,
  maxResultBytes: 4096,
});

async function poolTo(answer: RequestListener, ids: readonly string[]) {
  const server = await listening(answer);
  let configs = ids.map((id) => configOf(id, server.url));
  const pool = mcpUpstreams(() => configs, { conceal: () => undefined, warn: () => undefined });
  running.push({ server, pool });
  return {
    server: server.server,
    send: async (id: string, ask: McpExchange = anMcpExchange()) => {
      const reply = await pool.send(configOf(id, server.url), ask);
      // The connection is free for the next one a little later.
      await sleep(20);
      return reply;
    },
    /** As a reload does: every configuration is a new object. */
    reload: (left: readonly string[], timeoutMs = 20_000) => {
      configs = left.map((id) => ({ ...configOf(id, server.url), timeoutMs }));
    },
  };
}

async function sendingTo(answer: RequestListener) {
  const { send } = await poolTo(answer, ['own']);
  return (over: Partial<McpExchange> = {}) => send('own', anMcpExchange(over));
}

it('a reload keeps the connections of an unchanged server, and closes those of changed and removed ones', async () => {
  const { server, send, reload } = await poolTo(
    (_req, res) => void res.writeHead(202).end(),
    ['own', 'other'],
  );
  server.keepAliveTimeout = 60_000;
  const sockets: Socket[] = [];
  server.on('connection', (socket) => sockets.push(socket));
  await send('own');
  reload(['own', 'other']);
  await send('own');
  expect(sockets).toHaveLength(1);
  const changed = new Promise((resolve) => sockets[0]?.once('close', resolve));
  reload(['own', 'other'], 10_000);
  await send('own');
  await changed;
  expect(sockets).toHaveLength(2);
  const gone = new Promise((resolve) => sockets[1]?.once('close', resolve));
  reload(['other'], 10_000);
  await send('other');
  await gone;
  expect(await send('own')).toMatchObject({ left: { code: 'unknown_server' } });
});

it('a message that is already cancelled is sent to no server', async () => {
  let heard = 0;
  const send = await sendingTo((_req, res) => {
    heard += 1;
    res.writeHead(202).end();
  });
  expect(await send({ signal: AbortSignal.abort() })).toMatchObject({
    left: { code: 'upstream_unreachable' },
  });
  expect(heard).toBe(0);
});

it('an endless event fails with `result_too_large`', async () => {
  const send = await sendingTo((_req, res) => {
    res.writeHead(200, { 'content-type': 'text/event-stream' });
    res.write(`data: ${'x'.repeat(5000)}`);
  });
  const reply = await send();
  const frames: McpFrame[] = [];
  if (E.isRight(reply) && reply.right.body.kind === 'events')
    for await (const frame of reply.right.body.frames) frames.push(frame);
  expect(frames).toMatchObject([{ kind: 'failed', error: { code: 'result_too_large' } }]);
});

it.each([['\uFEFF{"jsonrpc":"2.0"}'], ['{"jsonrpc":"2.0"}']])(
  'a byte order mark is not part of an answer, as for clients: %j',
  async (text) => {
    const send = await sendingTo(
      (_req, res) => void res.writeHead(200, { 'content-type': 'application/json' }).end(text),
    );
    expect(await send()).toMatchObject({ right: { body: { kind: 'json', text: '{"jsonrpc":"2.0"}' } } });
  },
);

it.each([
  ['8192 characters', 'x'.repeat(8192), true],
  ['a space', 'two words', false],
])('the session id of a server is used only if clients can send it: %s', async (_what, id, isId) => {
  const send = await sendingTo((_req, res) => void res.writeHead(202, { 'mcp-session-id': id }).end());
  expect(await send()).toMatchObject({ right: { session: isId ? id : undefined } });
});

it('a session with so many servers that its id would be too long for clients is refused', async () => {
  const secret = randomBytes(32);
  const sessions = sealedSessions(
    async () => secret,
    () => undefined,
  );
  const sealed = (servers: number) =>
    sessions.seal('k', {
      place: '*',
      upstream: Object.fromEntries(
        Array.from({ length: servers }, (_, n) => [`s${n}`, { id: 'x'.repeat(1000), revision: undefined }]),
      ),
    });
  expect(E.isRight(await sealed(9))).toBe(true);
  expect(await sealed(10)).toMatchObject({ left: { code: 'upstream_protocol' } });
});

it('an answer that is resumed without end takes no longer than its timeout', async () => {
  const asked: (string | undefined)[] = [];
  const { send, reload } = await poolTo(
    (req, res) => {
      asked.push(req.headers['last-event-id'] as string | undefined);
      res.writeHead(200, { 'content-type': 'text/event-stream' });
      res.end(`id: ${asked.length}\nretry: 0\ndata:\n\n`);
    },
    ['own'],
  );
  reload(['own'], 400);
  const reply = await send('own', anMcpExchange({ session: 's', isComplete: () => false }));
  const errors: string[] = [];
  if (E.isRight(reply) && reply.right.body.kind === 'events')
    for await (const frame of reply.right.body.frames)
      if (frame.kind === 'failed') errors.push(frame.error.code);
  expect(errors).toEqual(['timeout']);
  expect(asked.slice(0, 3)).toEqual([undefined, '1', '2']);
  expect(asked.length).toBeLessThan(25);
});

it('a compressed answer is limited by its decompressed size', async () => {
  const send = await sendingTo((_req, res) => {
    res.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' });
    res.end(gzipSync(`"${'x'.repeat(50_000_000)}"`));
  });
  expect(await send()).toMatchObject({ left: { code: 'result_too_large' } });
});

it.each([
  ['that is not in its coding', Buffer.from('{"jsonrpc":"2.0"}')],
  ['that is truncated', gzipSync('{"jsonrpc":"2.0"}').subarray(0, 12)],
])('a compressed answer %s fails with `upstream_unreachable`', async (_what, body) => {
  const send = await sendingTo((_req, res) => {
    res.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' }).end(body);
  });
  expect(await send()).toMatchObject({ left: { code: 'upstream_unreachable' } });
});

it('an answer without a body is one, whatever coding it names', async () => {
  const send = await sendingTo((_req, res) => void res.writeHead(202, { 'content-encoding': 'gzip' }).end());
  expect(await send()).toMatchObject({ right: { status: 202, body: { kind: 'none' } } });
});
