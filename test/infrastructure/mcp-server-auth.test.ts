import type { RequestListener } from 'node:http';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import { serverCredentials } from '../../infrastructure/mcp/server-auth.ts';
import { recordedContext } from '../support/credential-context.ts';
import { listening, type RunningServer } from '../support/mcp-servers.ts';

const clientSecret = 'a secret:100%/+';
let service: RunningServer;
let answer: RequestListener;
let asked: { readonly basic: string; readonly form: string }[];

const { context, warnings, concealed, forget } = recordedContext();

beforeAll(async () => {
  service = await listening((req, res) => {
    let form = '';
    req.on('data', (piece) => (form += String(piece)));
    req.on('end', () => {
      const [, basic = ''] = String(req.headers.authorization).split('Basic ');
      asked.push({ basic: Buffer.from(basic, 'base64').toString(), form });
      answer(req, res);
    });
  });
});
beforeEach(() => {
  asked = [];
  forget();
});
afterEach(() => {
  jest.restoreAllMocks();
});
afterAll(() => service.stop());

const answering =
  (status: number, body: object | string): RequestListener =>
  (_, res) =>
    void res.writeHead(status).end(typeof body === 'string' ? body : JSON.stringify(body));

const credentials = (tokenUrl = service.url) =>
  serverCredentials(
    { mode: 'oauth_client_credentials', tokenUrl, clientId: 'gate:way', clientSecret, scope: undefined },
    context,
  );

const refused = E.left({
  code: 'upstream_unauthorized',
  message: 'The gateway could not obtain credentials for the server.',
});

describe('credentials from the configuration', () => {
  it.each([
    [{ mode: 'none' } as const, {}],
    [{ mode: 'bearer', token: 't0ken' } as const, { authorization: 'Bearer t0ken' }],
    [{ mode: 'header', name: 'X-Api-Key', value: 'k3y' } as const, { 'x-api-key': 'k3y' }],
  ])('%o are sent unchanged, also after the server refused them', async (auth, headers) => {
    const made = serverCredentials(auth, context);
    expect(await made.headers()).toEqual(E.right(headers));
    made.refused(headers);
    expect(await made.headers()).toEqual(E.right(headers));
  });
});

describe('client credentials', () => {
  it('are sent form-encoded to the token service, and its token is concealed', async () => {
    answer = answering(200, { access_token: 't0ken', expires_in: 60 });
    expect(await credentials().headers()).toEqual(E.right({ authorization: 'Bearer t0ken' }));
    const basic = `gate%3Away:${encodeURIComponent(clientSecret)}`;
    expect(asked).toEqual([{ basic, form: 'grant_type=client_credentials' }]);
    expect(concealed).toEqual(['t0ken']);
  });

  it.each([
    ['the time that the service reports', { expires_in: 3600 }, 3600],
    ['five minutes if the service reports no time', {}, 300],
  ])('get a token that is valid for %s', async (_, more, lifeSecs) => {
    answer = answering(200, { access_token: 't0ken', ...more });
    const began = Date.now();
    const now = jest.spyOn(Date, 'now').mockReturnValue(began);
    const made = credentials();
    await made.headers();
    // It is renewed before its end: by 225 s, or by a quarter of a short lifetime.
    const aheadSecs = Math.min(225, lifeSecs / 4);
    now.mockReturnValue(began + (lifeSecs - aheadSecs - 1) * 1000);
    await made.headers();
    expect(asked).toHaveLength(1);
    now.mockReturnValue(began + (lifeSecs + 60) * 1000);
    await made.headers();
    expect(asked).toHaveLength(2);
  });

  const name = 'the access token of an MCP server could not be renewed';
  it.each([
    [
      'a refusal',
      401,
      { error: 'invalid_client', access_token: 't' },
      'answered with status 401 (invalid_client)',
    ],
    ['another status', 202, { access_token: 't0ken' }, 'answered with status 202'],
    ['a redirect', 302, '', 'answered with status 302'],
    ['no token', 200, { token_type: 'Bearer' }, 'answered without a token'],
    ['no object', 200, '["t0ken"]', 'answered without a token'],
    ['a token with a line end', 200, { access_token: 't0ken\r\nx: y' }, 'answered without a token'],
    ['a token that is too long', 200, { access_token: 't'.repeat(16_385) }, 'answered without a token'],
    ['a large body', 200, { access_token: 't0ken', more: 'm'.repeat(65_536) }, 'answered with too much'],
  ])('that are answered with %s get no token, and the reason is logged', async (_, status, body, reason) => {
    answer = answering(status, body);
    expect(await credentials().headers()).toEqual(refused);
    expect(warnings).toEqual([`${name}: the token service ${reason}`]);
    expect(concealed).toEqual([]);
  });

  it('get no token if the token service is unreachable, and the log contains only the reason', async () => {
    expect(await credentials('http://127.0.0.1:9/token').headers()).toEqual(refused);
    expect(warnings).toEqual([`${name}: the token service could not be asked (ECONNREFUSED)`]);
  });
});
