import type { RequestListener, ServerResponse } from 'node:http';
import { afterEach, expect, it } from '@jest/globals';
import { type McpServerPool, mcpUpstreams } from '../../infrastructure/mcp/upstreams.ts';
import { anMcpExchange } from '../support/mcp-exchange.ts';
import { listening, type RunningServer } from '../support/mcp-servers.ts';

const running: { readonly servers: readonly RunningServer[]; readonly pool: McpServerPool }[] = [];
afterEach(async () => {
  for (const { servers, pool } of running.splice(0)) {
    await pool.close();
    for (const server of servers) await server.stop();
  }
});

/** A server whose token service answers only when told to. */
async function serverWithSlowTokens() {
  const waiting = Promise.withResolvers<ServerResponse>();
  const heard: (string | undefined)[] = [];
  const answer: RequestListener = (req, res) => {
    heard.push(req.headers.authorization);
    res.writeHead(202).end();
  };
  const server = await listening(answer);
  const tokens = await listening((_req, res) => waiting.resolve(res));
  const config = {
    id: 'own',
    displayName: 'own',
    url: server.url,
    auth: {
      mode: 'oauth_client_credentials' as const,
      tokenUrl: tokens.url,
      clientId: 'gateway',
      clientSecret: 'a secret',
      scope: undefined,
    },
    policy: { allowedOwners: [], allowedTools: undefined, deniedTools: [] },
    timeoutMs: 20_000,
    maxResultBytes: 4096,
  };
  let configs = [config];
  const pool = mcpUpstreams(() => configs, { conceal: () => undefined, warn: () => undefined });
  running.push({ servers: [server, tokens], pool });
  return {
    config,
    pool,
    heard,
    reload: (left: readonly (typeof config)[]) => {
      configs = [...left];
    },
    asked: waiting.promise,
    grant: async () =>
      void (await waiting.promise).end(JSON.stringify({ access_token: 't0ken', expires_in: 60 })),
  };
}

it.each(['changes', 'removes'])(
  'a call that waits for a token while a reload %s its server is still sent to that server',
  async (what) => {
    const { config, pool, heard, reload, asked, grant } = await serverWithSlowTokens();
    const reply = pool.send(config, anMcpExchange());
    await asked;
    const changed = { ...config, auth: { mode: 'bearer' as const, token: 'another' }, timeoutMs: 10_000 };
    reload(what === 'changes' ? [changed as unknown as typeof config] : []);
    await pool.send(config, anMcpExchange());
    await grant();
    expect(await reply).toMatchObject({ right: { status: 202 } });
    expect(heard).toEqual([...(what === 'changes' ? ['Bearer another'] : []), 'Bearer t0ken']);
  },
);

it('a call waits for a token no longer than its timeout', async () => {
  const { config, pool, heard } = await serverWithSlowTokens();
  const began = performance.now();
  expect(await pool.send(config, anMcpExchange({ withinMs: 200 }))).toMatchObject({
    left: { code: 'timeout' },
  });
  expect(performance.now() - began).toBeLessThan(5000);
  expect(heard).toEqual([]);
});

it('a call that its caller cancels no longer waits for a token', async () => {
  const { config, pool, asked, heard } = await serverWithSlowTokens();
  const caller = new AbortController();
  const began = performance.now();
  const reply = pool.send(config, anMcpExchange({ signal: caller.signal }));
  await asked;
  caller.abort();
  expect(await reply).toMatchObject({ left: { code: 'upstream_unreachable' } });
  expect(performance.now() - began).toBeLessThan(5000);
  expect(heard).toEqual([]);
});
