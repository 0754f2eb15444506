import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import { adminRoute } from '../../interfaces/http/admin/admin-route.ts';
import { textValue } from '../../interfaces/http/answers.ts';
import { stringify } from 'yaml';
import { buildContainer, tokens } from '../../composition/container.ts';
import { maxErrorMessageChars } from '../../domain/shared/limits.ts';
import { liveConfig } from '../../infrastructure/config/live-config.ts';
import { parseConfig } from '../../infrastructure/config/load.ts';
import { bundledCatalogue } from '../../infrastructure/pricing/bundled.ts';
import { mcpTelemetryTo } from '../../infrastructure/telemetry/mcp-telemetry.ts';
import { telemetryTo } from '../../infrastructure/telemetry/request-telemetry.ts';
import { aKey, memoryLog } from '../support/gateway.ts';
import { adminSessionScene, call, type Call, codeOf, config, email, session } from './admin-session-scene.ts';

const { query, databaseUrl, pool, plain, aSession } = adminSessionScene();

/** A server of the whole application, whose admin routes are replaced by the test's own. */
describe('an admin endpoint in the application', () => {
  const servers: Server[] = [];
  const log = memoryLog();
  /** A token from the configuration, a caller's key, and a URL with a secret in its query. */
  const secrets = ['upstream-token-0123456789', aKey(), 'https://host/path?signature=hunter2'];
  let url = '';

  beforeAll(async () => {
    const variables = { DATABASE_URL: databaseUrl() };
    const loaded = parseConfig(
      stringify(config({ public_base_url: 'https://gateway.example.com' })),
      variables,
    );
    if (E.isLeft(loaded)) throw new Error(JSON.stringify(loaded.left));
    const container = buildContainer({
      config: liveConfig(path.join('nowhere', 'gateway.yaml'), variables, loaded.right, bundledCatalogue()),
      pool: pool(),
      replica: undefined,
      cluster: undefined,
      log,
      telemetry: telemetryTo({ log: () => undefined }),
      mcpTelemetry: mcpTelemetryTo({ log: () => undefined }),
      notReady: async () => undefined,
    });
    const declared = { summary: 'A probe.', answer: textValue };
    const answers = { ...declared, path: '/api/v1/admin/probe/:id', handle: async () => E.right('in') };
    const breaks = {
      ...declared,
      path: '/api/v1/admin/breaks',
      handle: async () => {
        throw new TypeError(`secrets: ${secrets.join(' ')} ${'x'.repeat(10_000)}`);
      },
    };
    container
      .rebind(tokens.adminRoutes)
      .toConstantValue([
        adminRoute({ method: 'GET', ...answers }),
        adminRoute({ method: 'PUT', ...answers }),
        adminRoute({ method: 'GET', ...breaks }),
      ]);
    const handle = container.get(tokens.appFor)('all').callback();
    const server = createServer((req, res) => void handle(req, res));
    servers.push(server.listen(0, '127.0.0.1'));
    await once(server, 'listening');
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(() => servers.forEach((server) => server.close()));

  const probe = (options: Call) => call(url, '/api/v1/admin/probe/1', options);

  it('admits platform admins only, and a role change takes effect at the next request', async () => {
    const cookie = await aSession();
    const codes = async () => [
      codeOf(await probe({ cookie })),
      codeOf(await probe({ cookie, method: 'PUT', headers: { 'sec-fetch-site': 'same-origin' } })),
    ];
    expect(codeOf(await probe({}))).toBe('session_required');
    expect(await codes()).toEqual([undefined, undefined]);
    await query("update users set role = 'user' where email = $1", [email.toLowerCase()]);
    expect(await codes()).toEqual(['admin_required', 'admin_required']);
    expect((await probe({ cookie })).status).toBe(403);
    await query("update users set role = 'platform_admin' where email = $1", [email.toLowerCase()]);
    expect(await codes()).toEqual([undefined, undefined]);
  });

  it.each(['POST', 'PUT', 'GET'])(
    'refuses a call from another site with 403 cross_origin, unless it is a GET: %s',
    async (method) => {
      const cookie = await aSession();
      const at = method === 'POST' ? '/api/v1/auth/logout' : '/api/v1/admin/probe/1';
      const own = 'https://gateway.example.com';
      for (const site of [undefined, 'same-origin', 'same-site', 'cross-site', 'none'])
        for (const origin of [undefined, own, 'https://evil.example', 'http://gateway.example.com', 'null'])
          for (const sent of [undefined, cookie, 'other=1']) {
            const admitted =
              method === 'GET' ||
              (site !== undefined
                ? site === 'same-origin'
                : origin !== undefined
                  ? origin === own
                  : sent === undefined);
            const headers = {
              ...(site === undefined ? {} : { 'sec-fetch-site': site }),
              ...(origin === undefined ? {} : { origin }),
            };
            const answer = await call(url, at, { method, cookie: sent, headers });
            const said = { site, origin, sent, refused: codeOf(answer) === 'cross_origin' };
            expect(said).toEqual({ site, origin, sent, refused: !admitted });
            if (!admitted) expect(answer.status).toBe(403);
          }
    },
  );

  it('a logout from another site is refused and leaves the session open', async () => {
    const cookie = await aSession();
    const out = await call(url, '/api/v1/auth/logout', {
      method: 'POST',
      cookie,
      headers: { 'sec-fetch-site': 'cross-site' },
    });
    expect([out.status, out.headers['set-cookie']]).toEqual([403, undefined]);
    expect((await session(plain(), cookie)).status).toBe(200);
  });

  it('returns 500 internal_error without the error message when a handler throws', async () => {
    const cookie = await aSession();
    const answer = await call(url, '/api/v1/admin/breaks', { cookie });
    expect([answer.status, codeOf(answer)]).toEqual([500, 'internal_error']);
    expect(answer.body).not.toContain('secret');
  });

  it('logs the message of a handler’s error, truncated and without known secrets', async () => {
    await call(url, '/api/v1/admin/breaks', { cookie: await aSession() });
    const fields = log.lines.find(({ message }) => message === 'defect')?.fields ?? {};
    expect(fields).toMatchObject({
      error: 'TypeError',
      message: expect.stringMatching(/^secrets: \S+ \S+ https:\/\/host\/path/),
      stack: expect.stringContaining('at '),
    });
    expect(String(fields['message']).length).toBeLessThanOrEqual(maxErrorMessageChars);
    for (const secret of [...secrets, 'hunter2']) expect(JSON.stringify(log.lines)).not.toContain(secret);
  });
});
