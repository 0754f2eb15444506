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

const credentials = (tokenUrl = service.url, scope?: string) =>
  serverCredentials(
    { mode: 'oauth_client_credentials', tokenUrl, clientId: 'gate:way', clientSecret, scope },
    context,
  );

const refused = E.left({
  code: 'upstream_unauthorized',
  message: 'The gateway could not obtain credentials for the server.',
});

describe('the credentials of a file', () => {
  it.each([
    [{ mode: 'none' } as const, {}],
    [{ mode: 'bearer', token: 't0ken' } as const, { authorization: 'Bearer t0ken' }],
    [{ mode: 'header', name: 'X-Api-Key', value: 'k3y' } as const, { 'x-api-key': 'k3y' }],
  ])('%o go as they stand there, and stay when they are refused', async (auth, headers) => {
    const made = serverCredentials(auth, context);
    expect(await made.headers()).toEqual(E.right(headers));
    made.refused(headers);
    expect(await made.headers()).toEqual(E.right(headers));
  });
});

describe('client credentials', () => {
  it('go to the token service form-encoded, and what it gives is concealed', async () => {
    answer = answering(200, { access_token: 't0ken', expires_in: 60 });
    expect(await credentials().headers()).toEqual(E.right({ authorization: 'Bearer t0ken' }));
    const basic = `gate%3Away:${encodeURIComponent(clientSecret)}`;
    expect(asked).toEqual([{ basic, form: 'grant_type=client_credentials' }]);
    expect(concealed).toEqual(['t0ken']);
  });

  it.each([
    ['as long as the service says', { expires_in: 3600 }, 3600],
    ['five minutes, where the service does not say it', {}, 300],
  ])('bring a token that is good for %s', async (_, more, lifeSecs) => {
    answer = answering(200, { access_token: 't0ken', ...more });
    const began = Date.now();
    const now = jest.spyOn(Date, 'now').mockReturnValue(began);
    const made = credentials();
    await made.headers();
    // It is renewed ahead of its end: 225 s, or a quarter of a short life.
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
    ['what no header holds', 200, { access_token: 't0ken\r\nx: y' }, 'answered without a token'],
    ['more than a token', 200, { access_token: 't'.repeat(16_385) }, 'answered without a token'],
    ['too much', 200, { access_token: 't0ken', more: 'm'.repeat(65_536) }, 'answered with too much'],
  ])('that are answered with %s bring none, and the log says why', async (_, status, body, reason) => {
    answer = answering(status, body);
    expect(await credentials().headers()).toEqual(refused);
    expect(warnings).toEqual([`${name}: the token service ${reason}`]);
    expect(concealed).toEqual([]);
  });

  it('that nobody takes bring none, and the log quotes nothing of them', async () => {
    expect(await credentials('http://127.0.0.1:9/token').headers()).toEqual(refused);
    expect(warnings).toEqual([`${name}: the token service could not be asked (ECONNREFUSED)`]);
  });
});
