import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { basicConfig } from '../support/gateway.ts';
import { rawExchange } from './raw-http.ts';
import { scene, streamed, whole } from './scene.ts';
import { chat, messages, wholeStream } from './talk.ts';
import { aWebUrl } from '../support/arbitraries/text.ts';

const app = 'https://app.example.com';
const local = 'http://localhost:5173';

const sceneWith = (origins: readonly string[] | undefined) =>
  scene((url, key) =>
    basicConfig(url, key, {
      more: { server: { bind: '127.0.0.1:0', ...(origins === undefined ? {} : { cors_origins: origins }) } },
    }),
  );

const scenes = { off: sceneWith(undefined), listed: sceneWith([app, local]), any: sceneWith(['*']) };

const exchange = (
  on: keyof typeof scenes,
  method: string,
  path: string,
  headers: Readonly<Record<string, string>>,
) => rawExchange(scenes[on].gateway().url, { method, path, headers: Object.entries(headers) });

const preflightOf = (origin: string, asked = 'authorization') => ({
  origin,
  'access-control-request-method': 'POST',
  'access-control-request-headers': asked,
});

const corsHeaders = (headers: Readonly<Record<string, string>>): readonly string[] =>
  Object.keys(headers).filter((name) => name.startsWith('access-control-'));

const publicPaths = [
  '/v1/chat/completions',
  '/v1/messages?beta=true',
  '/messages',
  '/v1/messages/count_tokens',
  '/v1/responses',
  '/v1/embeddings',
  '/v1/models',
  '/v1/models/openai%2Fgpt-4o',
  '/',
];

/** Headers that the clients of both families send. */
const clientHeaders = [
  'authorization',
  'x-api-key',
  'content-type',
  'anthropic-version',
  'anthropic-beta',
  'anthropic-dangerous-direct-browser-access',
  'x-request-id',
  'x-gateway-tags',
  'x-stainless-os',
];

/** Headers of answers that the clients of both families, MCP clients and apps read. */
const readByClients = [
  'x-request-id',
  'request-id',
  'retry-after',
  'retry-after-ms',
  'x-should-retry',
  'x-gateway-error',
  'x-gateway-budget-resets-at',
  'mcp-session-id',
  '*',
];

describe('a preflight of a configured origin', () => {
  it.each(publicPaths)('is answered with 204 without a key: %s', async (path) => {
    for (const origin of [app, local]) {
      const answer = await exchange('listed', 'OPTIONS', path, preflightOf(origin, 'X-Own, x-stainless-new'));
      expect([answer.status, answer.body]).toEqual([204, '']);
      expect(answer.headers).toMatchObject({
        'access-control-allow-origin': origin,
        'access-control-allow-methods': 'GET, HEAD, POST, DELETE',
        'access-control-max-age': '86400',
        vary: 'Origin, Access-Control-Request-Headers',
      });
      const allowed = answer.headers['access-control-allow-headers']?.split(', ');
      expect(allowed).toEqual(expect.arrayContaining([...clientHeaders, 'x-own', 'x-stainless-new']));
      expect(answer.headers).not.toHaveProperty('access-control-allow-credentials');
    }
  });

  it('does not allow invalid header names', async () => {
    const odd = 'x own, "x", x:y, , x-fine';
    const answer = await exchange('listed', 'OPTIONS', '/v1/models', preflightOf(app, odd));
    const allowed = answer.headers['access-control-allow-headers']?.split(', ') ?? [];
    expect(allowed.filter((name) => /[^a-z-]/.test(name) || name === '')).toEqual([]);
    expect(allowed).toContain('x-fine');
  });
});

describe('an answer to a configured origin', () => {
  it.each([
    ['a whole one', false, whole(chat.upstream.whole), {}, 200],
    ['a stream', true, streamed(wholeStream(chat)), {}, 200],
    ['an upstream error', true, whole({ error: { message: 'No.' } }, { status: 429 }), {}, 429],
    ['a bad key', true, whole({}), { key: 'gwk_no.no' }, 401],
    ['an unknown path', true, whole({}), { path: '/v1/nothing' }, 404],
  ] as const)(
    'can be read, with the headers that clients use: %s',
    async (_, stream, replay, asked, status) => {
      const { ask } = scenes.listed;
      const answer = await ask(chat, replay, { stream, headers: { origin: app }, ...asked });
      expect(answer.status).toBe(status);
      expect(answer.headers.get('access-control-allow-origin')).toBe(app);
      expect(answer.headers.get('vary')).toBe('Origin');
      expect(answer.headers.get('access-control-expose-headers')?.split(', ')).toEqual(
        expect.arrayContaining(readByClients),
      );
      expect(answer.headers.get('access-control-allow-credentials')).toBeNull();
    },
  );

  it('is that of the request also if a GET has the headers of a preflight', async () => {
    expect((await exchange('listed', 'GET', '/v1/models', preflightOf(app))).status).toBe(401);
  });

  it('echoes a request id of any bytes unchanged', async () => {
    const answer = await exchange('listed', 'GET', '/v1/models', { origin: app, 'x-request-id': 'ü\u00ff' });
    expect(answer.headers['x-request-id']).toBe('ü\u00ff');
  });

  it('allows every origin if `*` is configured', async () => {
    for (const origin of [app, 'null', 'https://else.example']) {
      const answer = await scenes.any.ask(messages, whole(chat.upstream.whole), {
        stream: false,
        headers: { origin },
      });
      expect([answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([200, '*']);
    }
  });
});

describe('no CORS header is sent', () => {
  it('if no origin is configured', async () => {
    const preflight = await exchange('off', 'OPTIONS', '/v1/models', preflightOf(app));
    expect([preflight.status, corsHeaders(preflight.headers)]).toEqual([405, []]);
    const get = await exchange('off', 'GET', '/v1/models', { origin: app });
    expect([corsHeaders(get.headers), get.headers['vary']]).toEqual([[], undefined]);
  });

  it.each(['listed', 'any'] as const)('to a request without an origin: %s', async (on) => {
    const answer = await exchange(on, 'GET', '/v1/models', {});
    expect([answer.status, corsHeaders(answer.headers)]).toEqual([401, []]);
  });

  it('to an origin that is not exactly one of the configured ones', async () => {
    const near = fc.constantFrom(
      'http://app.example.com',
      'https://APP.example.com',
      'https://example.com',
      `${app}.evil.example`,
      `${app}:8443`,
      `${app}/`,
      `${app},${local}`,
      'http://localhost',
      `${local}0`,
      'null',
      '',
    );
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(near, aWebUrl),
        fc.constantFrom('OPTIONS', 'GET', 'POST'),
        fc.constantFrom(...publicPaths),
        async (origin, method, path) => {
          fc.pre(origin !== app && origin !== local);
          const answer = await exchange('listed', method, path, preflightOf(origin));
          expect(answer.status).not.toBe(204);
          // Its request is answered as any other without a key.
          expect(answer.status).toBeLessThan(500);
          expect(corsHeaders(answer.headers)).toEqual([]);
          expect(answer.headers['vary']).toBe('Origin');
        },
      ),
      { numRuns: 60, seed: 20_261_122 },
    );
  });

  it('on the admin API, whatever is configured', async () => {
    const paths = ['/api', '/api/v1/auth/login', '/api/v1/admin/users', '/api/v1/nothing'];
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom<keyof typeof scenes>('listed', 'any'),
        fc.constantFrom('OPTIONS', 'GET', 'POST', 'PUT', 'DELETE'),
        fc.constantFrom(...paths),
        async (on, method, path) => {
          const answer = await exchange(on, method, path, preflightOf(app));
          expect(answer.status).toBeGreaterThanOrEqual(400);
          expect(corsHeaders(answer.headers)).toEqual([]);
        },
      ),
      { numRuns: 40, seed: 20_261_122 },
    );
  });
});
