import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { withDatabase } from '../support/database.ts';
import { queries, startGateway, type TestGateway } from '../support/gateway.ts';
import { startProvider, type TestProvider } from '../support/identity-provider.ts';
import { oidcClient } from '../support/oidc-client.ts';
import { timed } from '../support/undisturbed.ts';
import {
  type Answered,
  Browser,
  oidcSection,
  redirectUri,
  signInConfig,
  signInCookie,
} from './sign-in-scene.ts';

const database = withDatabase();
const query = queries(database.url);

let provider: TestProvider;
let gateways: readonly TestGateway[] = [];

const auth = (over: object = {}) => ({
  oidc: oidcSection(provider.issuer, {
    create_users: true,
    admin_groups: ['gateway-admins', 'root'],
    ...over,
  }),
});

beforeAll(async () => {
  provider = await startProvider(redirectUri);
  for (let each = 0; each < 2; each += 1)
    gateways = [...gateways, await startGateway(signInConfig(auth()), database.url())];
});
afterAll(async () => {
  await Promise.all(gateways.map((gateway) => gateway.stop()));
  await provider.stop();
});
beforeEach(async () => {
  provider.insteadOf = () => false;
  await query('delete from admin_sessions');
  await query("update users set role = 'user'");
});

const newBrowser = (at = 0) => new Browser(gateways[at]?.url ?? '');

function asMember(id: string, groups: readonly string[] | string | undefined): void {
  provider.accounts.set(id, {
    email: `${id}@example.com`,
    email_verified: true,
    name: id,
    ...(groups === undefined ? {} : { groups }),
  });
  provider.signsIn = id;
}

async function signedIn(id: string, groups: readonly string[] | string | undefined): Promise<Browser> {
  asMember(id, groups);
  const browser = newBrowser();
  expect((await browser.signIn()).status).toBe(302);
  return browser;
}

/** Other metadata than the provider's own. */
const published =
  (over: object): TestProvider['insteadOf'] =>
  (req, res) => {
    if (req.url !== '/.well-known/openid-configuration') return false;
    const at = (path: string) => `${provider.issuer}${path}`;
    const own = {
      issuer: provider.issuer,
      authorization_endpoint: at('/auth'),
      token_endpoint: at('/token'),
      jwks_uri: at('/jwks'),
    };
    res.setHeader('content-type', 'application/json');
    res.end(JSON.stringify({ ...own, ...over }));
    return true;
  };

const roleOf = async (browser: Browser): Promise<unknown> => (await browser.session()).data['role'];
const refusal = ({ status, error }: Answered) => [status, error['code']];
const reports = '/api/v1/admin/spend/report';

describe('groups of the provider', () => {
  it('grant the role of a platform admin at each sign-in, and revoke it', async () => {
    await signedIn('always', ['root']);
    const admin = await signedIn('grace', ['staff', 'gateway-admins']);
    expect(await roleOf(admin)).toBe('platform_admin');
    expect((await admin.go(reports)).status).toBe(200);

    const demoted = await signedIn('grace', ['staff']);
    expect(await roleOf(demoted)).toBe('user');
    expect(refusal(await demoted.go(reports))).toEqual([403, 'admin_required']);
    expect(refusal(await admin.go(reports))).toEqual([403, 'admin_required']);

    expect(await roleOf(await signedIn('grace', 'root'))).toBe('platform_admin');
    const events = await query(
      `select e.action, e.before_json, e.after_json from admin_events e join users u on u.user_id::text = e.target_id
       where u.email = 'grace@example.com' order by e.occurred_at`,
    );
    expect(events).toMatchObject([
      { action: 'user.sign_up', after_json: { role: 'platform_admin' } },
      { action: 'user.set_role', before_json: { role: 'platform_admin' }, after_json: { role: 'user' } },
      { action: 'user.set_role', before_json: { role: 'user' }, after_json: { role: 'platform_admin' } },
    ]);
  });

  it('that are missing grant no role', async () => {
    await signedIn('always', ['root']);
    expect(await roleOf(await signedIn('ida', undefined))).toBe('user');
    expect(await roleOf(await signedIn('ida', ['Root', 'roots']))).toBe('user');
  });

  it('never revoke the role of the last active platform admin, and the log says so', async () => {
    await signedIn('last', ['root']);
    await query(
      "insert into users (email, name, role, active) values ('off@x.org', 'Off', 'platform_admin', false)",
    );
    expect(await roleOf(await signedIn('last', []))).toBe('platform_admin');
    expect(gateways[0]?.log.lines.at(-1)?.message ?? '').not.toBe('');
    expect(gateways[0]?.log.lines.map(({ message }) => message)).toContain(
      'in none of the groups, and a platform admin still: there is no other active one',
    );
  });

  it('leave one admin when the last two sign in at the same time without the group', async () => {
    for (const id of ['one', 'two']) await signedIn(id, ['root']);
    const backs: [Browser, string][] = [];
    for (const [at, id] of ['one', 'two'].entries()) {
      asMember(id, []);
      const browser = newBrowser(at);
      backs.push([browser, await browser.throughProvider(await browser.start())]);
    }
    const answers = await Promise.all(backs.map(([browser, back]) => browser.go(back)));
    expect(answers.map(({ status }) => status)).toEqual([302, 302]);
    const left = await query("select 1 from users where role = 'platform_admin' and active");
    expect(left).toHaveLength(1);
  });
});

describe('a session of the provider', () => {
  it('can begin at one replica and finish at another', async () => {
    asMember('moving', []);
    const [here, there] = [newBrowser(0), newBrowser(1)];
    const begun = await here.start();
    const [name = '', token = ''] = signInCookie(begun);
    const back = await here.throughProvider(begun);
    await there.go('/api/v1/auth/methods');
    there.keep(name, token);
    expect((await there.go(back)).status).toBe(302);
    expect((await there.session()).data['email']).toBe('moving@example.com');
  });

  it("ends at log-out, which returns the provider's end-session URL", async () => {
    const browser = await signedIn('leaver', []);
    const out = await browser.post('/api/v1/auth/logout');
    expect(out.data).toEqual({
      logged_out: true,
      end_session_url: `${provider.issuer}/session/end?client_id=gateway`,
    });
    expect(refusal(await browser.session())).toEqual([401, 'session_required']);
    expect((await browser.post('/api/v1/auth/logout')).data).toEqual({ logged_out: false });
  });

  it.each(['nowhere', 5, 'data:,x'])(
    "ends at log-out where the provider's end_session_endpoint is invalid (%j)",
    async (place) => {
      const browser = await signedIn('leaver', []);
      provider.insteadOf = published({ end_session_endpoint: place });
      await gateways[0]?.take(signInConfig(auth({ display_name: String(place) })));
      expect((await browser.post('/api/v1/auth/logout')).data).toEqual({ logged_out: true });
      expect(refusal(await browser.session())).toEqual([401, 'session_required']);
    },
  );

  it('is invalid while the provider is removed from the configuration', async () => {
    const browser = await signedIn('kept', []);
    expect((await browser.session()).status).toBe(200);
    await gateways[0]?.take(signInConfig({}));
    expect(refusal(await browser.session())).toEqual([401, 'session_required']);
    await gateways[0]?.take(signInConfig(auth()));
    expect((await browser.session()).status).toBe(200);
  });
});

describe('an identity provider', () => {
  /** Makes the gateway discard the provider's metadata. */
  const anew = (over: object = {}) =>
    gateways[0]?.take(signInConfig(auth({ display_name: String(Math.random()), ...over })));
  const unavailable = [503, 'sign_in_unavailable'];
  const lastReason = () => gateways[0]?.log.lines.at(-1)?.fields['reason'];

  it('that is unreachable is answered with 503, with the reason in the log', async () => {
    const gone = await startProvider(redirectUri);
    await gone.stop();
    await anew({ issuer: gone.issuer });
    const answer = await newBrowser().start();
    expect(refusal(answer)).toEqual(unavailable);
    expect(answer.error['message']).toBe(
      'The identity provider cannot be asked. Try again; if that does not help, the log of the gateway says why.',
    );
    expect(gateways[0]?.log.lines.at(-1)?.fields['reason']).toBe(
      'the provider cannot be asked: ECONNREFUSED',
    );
  });

  it('that does not answer is answered with 503 within 9 seconds', async () => {
    await anew();
    provider.insteadOf = () => true;
    const { value, ms } = await timed(() => newBrowser().start());
    expect(refusal(value)).toEqual(unavailable);
    expect(ms).toBeLessThan(9000);
  });

  it.each([
    [
      'sends without an end',
      (res: { write: (text: string) => void }) => res.write(`{"x":"${'x'.repeat(2 ** 21)}`),
    ],
    ['sends no JSON', (res: { end: (text: string) => void }) => res.end('<html>')],
    [
      'is another issuer',
      (res: { end: (text: string) => void }) => res.end('{"issuer":"https://else.example.com"}'),
    ],
  ])('that %s is answered with 503', async (_, answer) => {
    await anew();
    provider.insteadOf = (_req, res) => {
      res.setHeader('content-type', 'application/json');
      answer(res);
      return true;
    };
    expect(refusal(await newBrowser().start())).toEqual(unavailable);
  });

  it.each([undefined, 'nowhere', 5, 'file:///etc/passwd'])(
    'with the authorization_endpoint %j is answered with 503, and works once its metadata is valid',
    async (place) => {
      await anew();
      provider.insteadOf = published({ authorization_endpoint: place });
      expect(refusal(await newBrowser().start())).toEqual(unavailable);
      provider.insteadOf = () => false;
      expect((await newBrowser().start()).status).toBe(302);
    },
  );

  it('whose token_endpoint moved is asked for its metadata again at the next sign-in', async () => {
    await anew();
    asMember('early', []);
    provider.insteadOf = published({ token_endpoint: `${provider.issuer}/gone` });
    expect(refusal(await newBrowser().signIn())).toEqual(unavailable);
    provider.insteadOf = () => false;
    expect((await newBrowser().signIn()).status).toBe(302);
  });

  it.each([
    [undefined, 'select_account'],
    [5, 'select_account'],
    [['none', 'login', 'select_account'], 'select_account'],
    [['none', 'login', 'consent'], 'login'],
  ])('with prompt_values_supported %j is asked for another account by %s', async (listed, prompt) => {
    await anew();
    provider.insteadOf = published({ prompt_values_supported: listed });
    const begun = async (query: string) => {
      const { location } = await newBrowser().go(`/api/v1/auth/oidc/start${query}`);
      return new URL(location ?? '').searchParams.get('prompt');
    };
    expect([await begun(''), await begun('?prompt=select_account')]).toEqual([null, prompt]);
    provider.insteadOf = () => false;
  });

  it.each([null, 5, {}])(
    'with token_endpoint_auth_methods_supported %j gets the client secret, and the sign-in succeeds',
    async (methods) => {
      await anew();
      asMember('plain', []);
      provider.insteadOf = published({ token_endpoint_auth_methods_supported: methods });
      expect((await newBrowser().signIn()).status).toBe(302);
    },
  );

  it.each([{ n: '' }, { oth: 5 }, { key_ops: 5 }])(
    'that publishes an invalid key (%j) is answered with 503, and works as soon as it publishes a valid one',
    async (over) => {
      await anew();
      asMember('keyless', []);
      provider.insteadOf = (req, res) => {
        if (req.url !== '/jwks') return false;
        const key = { kty: 'RSA', kid: 'test', alg: 'RS256', n: 'AQAB', e: 'AQAB', ...over };
        res.setHeader('content-type', 'application/json').end(JSON.stringify({ keys: [key] }));
        return true;
      };
      expect(refusal(await newBrowser().signIn())).toEqual(unavailable);
      provider.insteadOf = () => false;
      expect((await newBrowser().signIn()).status).toBe(302);
    },
  );

  it('that replaces its keys at once is asked for the new ones at the next sign-in', async () => {
    await anew();
    asMember('rotated', []);
    provider.insteadOf = (req, res) => {
      if (req.url !== '/jwks') return false;
      const old = { kty: 'RSA', kid: 'old', alg: 'RS256', n: 'AQAB', e: 'AQAB' };
      res.setHeader('content-type', 'application/json').end(JSON.stringify({ keys: [old] }));
      return true;
    };
    expect(refusal(await newBrowser().signIn())).toEqual([401, 'invalid_credentials']);
    provider.insteadOf = () => false;
    expect((await newBrowser().signIn()).status).toBe(302);
  });

  it('with non-ASCII letters in its status line is answered with 503', async () => {
    await anew();
    provider.insteadOf = (req) => {
      req.socket.end(Buffer.from('HTTP/1.1 500 St\xf6rung\r\ncontent-length: 0\r\n\r\n', 'latin1'));
      return true;
    };
    expect(refusal(await newBrowser().start())).toEqual(unavailable);
  });

  it.each([
    ['its metadata', '/.well-known/openid-configuration', '[1,'.repeat(2000)],
    [
      'an ID token',
      '/token',
      JSON.stringify({ id_token: `${Buffer.from('[1,'.repeat(2000)).toString('base64url')}.e30.x` }),
    ],
  ])('that nests %s too deeply is answered with 503, without parsing it', async (_, path, text) => {
    await anew();
    asMember('deep', []);
    provider.insteadOf = (req, res) => {
      if (req.url !== path) return false;
      res.setHeader('content-type', 'application/json');
      res.end(text);
      return true;
    };
    const browser = newBrowser();
    const begun = await browser.start();
    const answer = begun.status === 302 ? await browser.go(await browser.throughProvider(begun)) : begun;
    expect(refusal(answer)).toEqual(unavailable);
    expect(gateways[0]?.log.lines.at(-1)?.fields['reason']).toBe(
      'the provider cannot be asked: AnswerTooDeep',
    );
  });

  it('whose metadata has another issuer is answered with 503, and the log says what differs', async () => {
    await anew({ issuer: `${provider.issuer}/realms/staff/` });
    provider.insteadOf = (_req, res) => {
      res.setHeader('content-type', 'application/json');
      res.end(JSON.stringify({ issuer: `${provider.issuer}/realms/staff` }));
      return true;
    };
    expect(refusal(await newBrowser().start())).toEqual(unavailable);
    expect(lastReason()).toBe(
      'the answer of the provider is not valid: OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED, discovered metadata issuer does not match the expected issuer',
    );
  });

  it('that signs ID tokens with the client secret is answered with 503, and the log says what is wrong', async () => {
    await anew();
    asMember('symmetric', []);
    const browser = newBrowser();
    provider.insteadOf = published({ id_token_signing_alg_values_supported: ['HS256'] });
    const begun = await browser.start();
    provider.insteadOf = () => false;
    const back = await browser.throughProvider(begun);
    const nonce = new URL(begun.location ?? '').searchParams.get('nonce');
    const iat = Math.floor(Date.now() / 1000);
    const idToken = { iss: provider.issuer, aud: oidcClient.id, sub: 'x', iat, exp: iat + 60, nonce };
    provider.insteadOf = (_req, res) => {
      const [header, claims] = [{ alg: 'HS256' }, idToken].map((part) =>
        Buffer.from(JSON.stringify(part)).toString('base64url'),
      );
      res.setHeader('content-type', 'application/json');
      const signed = `${header}.${claims}.AA`;
      res.end(JSON.stringify({ access_token: 'a', token_type: 'Bearer', id_token: signed }));
      return true;
    };
    expect(refusal(await browser.go(back))).toEqual(unavailable);
    expect(lastReason()).toBe(
      'the provider cannot be asked: OAUTH_UNSUPPORTED_OPERATION, unsupported JWS algorithm',
    );
  });

  it('that fails when the code is exchanged is answered with 503, and no session is opened', async () => {
    await anew();
    asMember('unlucky', []);
    const browser = newBrowser();
    const back = await browser.throughProvider(await browser.start());
    provider.insteadOf = (req, res) => {
      if (req.url !== '/token') return false;
      res.writeHead(500).end();
      return true;
    };
    expect(refusal(await browser.go(back))).toEqual(unavailable);
    expect(await query('select 1 from admin_sessions')).toEqual([]);
  });

  it('that rejects the client secret is answered with 503, and the log says so without the secret', async () => {
    const wrong = 'this-is-not-the-secret-0123456789';
    await anew({ client_secret: wrong });
    asMember('unlucky', []);
    expect(refusal(await newBrowser().signIn())).toEqual(unavailable);
    expect(gateways[0]?.log.lines.at(-1)?.fields['reason']).toBe(
      'the provider refused the gateway with status 401',
    );
    expect(JSON.stringify(gateways[0]?.log.lines)).not.toContain(wrong);
  });

  it('is asked for its metadata once by many sign-ins', async () => {
    await anew();
    provider.asked.length = 0;
    await Promise.all(Array.from({ length: 5 }, () => newBrowser().start()));
    await newBrowser().start();
    expect(provider.asked).toEqual(['/.well-known/openid-configuration']);
  });

  it('is not asked for its metadata again because a person declined', async () => {
    await anew();
    provider.asked.length = 0;
    provider.signsIn = undefined;
    expect(refusal(await newBrowser().signIn())).toEqual([401, 'invalid_credentials']);
    await newBrowser().start();
    expect(provider.asked.filter((at) => at.startsWith('/.well-known/'))).toHaveLength(1);
  });
});
