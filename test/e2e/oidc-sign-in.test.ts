import { generateKeyPairSync } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { withClock } from '../contract/ledger-bench.ts';
import { withDatabase } from '../support/database.ts';
import { queries, startGateway, type TestGateway } from '../support/gateway.ts';
import { makeAdmin } from '../support/admin.ts';
import { startProvider, type TestProvider } from '../support/identity-provider.ts';
import {
  type Answered,
  Browser,
  oidcSection,
  publicUrl,
  redirectUri,
  signInConfig,
  signInCookie,
} from './sign-in-scene.ts';

const { publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const foreignKey = { ...publicKey.export({ format: 'jwk' }), use: 'sig', alg: 'RS256', kid: 'test' };

const database = withDatabase();
const query = queries(database.url);
const clock = withClock(query);
const start = Date.UTC(2026, 0, 1);
const minute = 60_000;

let provider: TestProvider;
let gateway: TestGateway;
let people = 0;

beforeAll(async () => {
  provider = await startProvider(redirectUri);
  gateway = await startGateway(signInConfig(auth()), database.url());
});
afterAll(async () => {
  await gateway.stop();
  await provider.stop();
});
beforeEach(async () => {
  await clock.standAt(new Date(start));
  Object.assign(provider, { signsIn: undefined, clockAheadSecs: 0, codeSecs: 60, insteadOf: () => false });
});

const auth = (over: object = {}) => ({
  oidc: oidcSection(provider.issuer, { create_users: true, ...over }),
});

/** Adds a person at the provider, who signs in next. */
function somebody(over: object = {}): { readonly email: string } {
  people += 1;
  const email = `Person-${people}@Example.com`;
  provider.accounts.set(`sub-${people}`, { email, email_verified: true, name: `Person ${people}`, ...over });
  provider.signsIn = `sub-${people}`;
  return { email: email.toLowerCase() };
}

const clearSignIns = () => query('delete from oidc_sign_ins');

const newBrowser = () => new Browser(gateway.url);

/** The reason that the log gives for the last refused sign-in. */
const lastReason = (): unknown =>
  gateway.log.lines.filter(({ fields }) => fields['reason'] !== undefined).at(-1)?.fields['reason'];

const refusal = ({ status, error, setCookies }: Answered) => [status, error['code'], setCookies.length];

async function under(over: object, work: () => Promise<void>): Promise<void> {
  await gateway.take(signInConfig(auth(over)));
  try {
    await work();
  } finally {
    await gateway.take(signInConfig(auth()));
  }
}

describe('signing in at the provider', () => {
  it('opens a session in the login cookie and redirects the browser to `return_to`', async () => {
    const { email } = somebody();
    const browser = newBrowser();
    const answer = await browser.signIn('/budgets?team=a#top');
    expect([answer.status, answer.location, answer.text]).toEqual([302, '/budgets?team=a#top', '']);
    expect(answer.setCookies).toContainEqual(
      expect.stringMatching(/^gateway_session=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Secure$/),
    );
    expect((await browser.session()).data).toMatchObject({ email, name: `Person ${people}`, role: 'user' });
  });

  it('ends with the cookie of the sign-in removed, and keeps the code from the next page', async () => {
    somebody();
    const answer = await newBrowser().signIn('/budgets');
    expect(answer.setCookies).toContainEqual(
      expect.stringMatching(
        /^gateway_sign_in_[\w-]{8}=; Path=\/; HttpOnly; SameSite=Lax; Secure; Max-Age=0$/,
      ),
    );
    expect(answer.referrerPolicy).toBe('no-referrer');
  });

  it('starts with a code, PKCE (S256), a state, a nonce and a cookie of ten minutes', async () => {
    const begun = await newBrowser().start();
    const asked = new URL(begun.location ?? '').searchParams;
    expect(Object.fromEntries(asked)).toEqual({
      client_id: 'gateway',
      redirect_uri: redirectUri,
      response_type: 'code',
      scope: 'openid email profile groups',
      state: expect.stringMatching(/^[\w-]{43}$/),
      nonce: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge_method: 'S256',
    });
    expect(begun.setCookies).toEqual([
      expect.stringMatching(
        /^gateway_sign_in_[\w-]{8}=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Secure; Max-Age=600$/,
      ),
    ]);
  });

  it('stores no state, nonce or code challenge in plain text', async () => {
    const begun = await newBrowser().start();
    const asked = new URL(begun.location ?? '').searchParams;
    const stored = JSON.stringify(await query('select * from oidc_sign_ins'));
    for (const name of ['state', 'nonce', 'code_challenge'])
      expect(stored).not.toContain(asked.get(name) ?? 'missing');
  });

  it.each(['https://evil.example.com/', '//evil.example.com', '/\\evil.example.com', 'page', '/a\tb'])(
    'redirects to no other site: return_to %j becomes /',
    async (returnTo) => {
      somebody();
      expect((await newBrowser().signIn(returnTo)).location).toBe('/');
    },
  );

  it('finds a person by e-mail, ignoring case, and keeps name and role', async () => {
    await query("insert into users (email, name) values ('known@example.com', 'Known')");
    somebody({ email: 'KNOWN@Example.COM', groups: ['root'] });
    const browser = newBrowser();
    await browser.signIn();
    expect((await browser.session()).data).toMatchObject({
      email: 'known@example.com',
      name: 'Known',
      role: 'user',
    });
  });

  it('reads missing claims from userinfo, and supports client_secret_post', async () => {
    const other = await startProvider(redirectUri, { claimsInIdToken: false, method: 'client_secret_post' });
    other.accounts.set('x', { email: 'thin@example.com', email_verified: true, groups: 'root' });
    other.signsIn = 'x';
    const admins = { issuer: other.issuer, admin_groups: ['root'] };
    await under(admins, async () => {
      const browser = newBrowser();
      await browser.signIn();
      expect((await browser.session()).data).toMatchObject({
        email: 'thin@example.com',
        role: 'platform_admin',
      });
    });
    await other.stop();
  });

  it('reads from userinfo whether an address is verified, as Okta requires', async () => {
    const okta = await startProvider(redirectUri, { onlyInUserInfo: ['email_verified'] });
    okta.accounts.set('x', { email: 'okta@example.com', email_verified: true });
    okta.signsIn = 'x';
    await under({ issuer: okta.issuer }, async () => {
      const browser = newBrowser();
      expect((await browser.signIn()).status).toBe(302);
      expect((await browser.session()).data).toMatchObject({ email: 'okta@example.com' });
    });
    await okta.stop();
  });

  it('with admin_groups limits admin tokens to 7 days, and revokes them with the role', async () => {
    await makeAdmin(database.url());
    somebody({ groups: ['root'] });
    const tokens = '/api/v1/admin/tokens';
    const inDays = (days: number) => new Date(Date.now() + days * 24 * 60 * minute).toISOString();
    await under({ admin_groups: ['root'] }, async () => {
      const browser = newBrowser();
      await browser.signIn();
      expect((await browser.session()).data).toMatchObject({ has_password: false, token_max_secs: 604_800 });
      const wish = { name: 't', scope: 'write' };
      for (const over of [{}, { expires_at: null }, { expires_at: inDays(7.1) }])
        expect(await browser.post(tokens, { ...wish, ...over })).toMatchObject({
          status: 400,
          error: { param: 'expires_at', message: expect.stringMatching(/at most 7 days ahead/) },
        });
      const made = await browser.post(tokens, { ...wish, expires_at: inDays(6.9) });
      expect(made.status).toBe(200);
      const statusOf = async () => {
        const headers = { authorization: `Bearer ${String(made.data['token'])}` };
        return (await fetch(`${gateway.url}/api/v1/admin/teams`, { headers })).status;
      };
      expect(await statusOf()).toBe(200);
      Object.assign(provider.accounts.get(`sub-${people}`)!, { groups: [] });
      await newBrowser().signIn();
      Object.assign(provider.accounts.get(`sub-${people}`)!, { groups: ['root'] });
      await newBrowser().signIn();
      expect(await statusOf()).toBe(401);
    });
  });

  it('of an unknown person creates a person and an event', async () => {
    const { email } = somebody();
    await newBrowser().signIn();
    const [event] = await query(
      `select e.action, e.after_json, e.remote_address, e.actor_user_id = u.user_id as by_oneself
       from admin_events e join users u on u.user_id::text = e.target_id where u.email = $1`,
      [email],
    );
    expect(event).toEqual({
      action: 'user.sign_up',
      after_json: { email, name: `Person ${people}`, role: 'user', active: true },
      remote_address: '203.0.113.1',
      by_oneself: true,
    });
  });

  it('of an unknown person is refused where create_users is false', async () => {
    await under({ create_users: false }, async () => {
      const { email } = somebody();
      expect(refusal(await newBrowser().signIn())).toEqual([401, 'invalid_credentials', 0]);
      expect(lastReason()).toBe('nobody has this e-mail address, and create_users is false');
      expect(await query('select 1 from users where email = $1', [email])).toEqual([]);
    });
  });

  it('of a deactivated person is refused', async () => {
    const { email } = somebody();
    await query('insert into users (email, name, active) values ($1, $1, false)', [email]);
    expect(refusal(await newBrowser().signIn())).toEqual([401, 'invalid_credentials', 0]);
    expect(lastReason()).toBe('the person is deactivated');
  });

  it.each([
    ['an e-mail address that is not verified', { email_verified: false }, 'has not verified'],
    ['no word on whether it is verified', { email_verified: undefined }, 'has not verified'],
    ['no e-mail address', { email: undefined }, 'have no e-mail address'],
  ])('with %s is refused', async (_, over, reason) => {
    somebody(over);
    expect(refusal(await newBrowser().signIn())).toEqual([401, 'invalid_credentials', 0]);
    expect(lastReason()).toContain(reason);
  });

  it('from a domain that is not allowed is refused, also from a subdomain of an allowed one', async () => {
    await under({ allowed_email_domains: ['example.com'] }, async () => {
      somebody();
      expect((await newBrowser().signIn()).status).toBe(302);
      for (const email of ['a@example.org', 'a@sub.example.com', 'a@notexample.com']) {
        somebody({ email });
        expect(refusal(await newBrowser().signIn())).toEqual([401, 'invalid_credentials', 0]);
        expect(lastReason()).toContain('domain');
      }
    });
  });

  it("that the person declines is refused, and the log has the provider's error code", async () => {
    provider.signsIn = undefined;
    expect(refusal(await newBrowser().signIn())).toEqual([401, 'invalid_credentials', 0]);
    expect(lastReason()).toBe('the provider refused: access_denied');
  });
});

it('a refused sign-in redirects a browser to the login page and answers a script with JSON', async () => {
  const refusals = { start: '?return_to=', callback: '?state=<b>x</b>' };
  for (const [name, search] of Object.entries(refusals)) {
    const url = `${gateway.url}/api/v1/auth/oidc/${name}${search}`;
    const asked = (accept: string) => fetch(url, { redirect: 'manual', headers: { accept } });
    const shown = await asked('text/html,application/xhtml+xml,*/*;q=0.8');
    expect([shown.status, shown.headers.get('location')]).toEqual([
      302,
      '/admin?sign_in_error=invalid_request',
    ]);
    const told = await asked('application/json');
    expect([told.status, await told.json()]).toMatchObject([400, { error: { code: 'invalid_request' } }]);
  }
});

describe('a callback', () => {
  const notBegun = [400, 'invalid_request', 0];

  it('with another state, without a state or without the cookie is refused', async () => {
    somebody();
    const browser = newBrowser();
    const back = await browser.throughProvider(await browser.start());
    const other = new URL(back);
    other.searchParams.set('state', 'x'.repeat(43));
    expect(refusal(await browser.go(other.href))).toEqual(notBegun);
    other.searchParams.delete('state');
    expect(refusal(await browser.go(other.href))).toEqual(notBegun);
    expect(refusal(await newBrowser().go(back))).toEqual(notBegun);
    expect((await browser.go(back)).status).toBe(302);
  });

  it('in another browser is refused, so that nobody is signed in as another person', async () => {
    somebody();
    const [attacker, victim] = [newBrowser(), newBrowser()];
    const back = await attacker.throughProvider(await attacker.start());
    await victim.start();
    expect(refusal(await victim.go(back))).toEqual(notBegun);
  });

  it('can be used once', async () => {
    somebody();
    const browser = newBrowser();
    const begun = await browser.start();
    const [name = '', token = ''] = signInCookie(begun);
    const back = await browser.throughProvider(begun);
    expect((await browser.go(back)).status).toBe(302);
    browser.keep(name, token);
    expect(refusal(await browser.go(back))).toEqual(notBegun);
  });

  it('of each of two tabs that began at the same time signs in', async () => {
    somebody();
    const browser = newBrowser();
    const places = ['/first', '/second'];
    const tabs: Answered[] = [];
    for (const place of places) tabs.push(await browser.start(place));
    for (const [at, tab] of tabs.entries())
      expect(await browser.go(await browser.throughProvider(tab))).toMatchObject({
        status: 302,
        location: places[at],
      });
    expect((await browser.session()).status).toBe(200);
  });

  it('signs in once when several arrive at the same time', async () => {
    somebody();
    const browser = newBrowser();
    const back = await browser.throughProvider(await browser.start());
    const answers = await Promise.all([browser.go(back), browser.go(back), browser.go(back)]);
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([302, 400, 400]);
  });

  it('after more than ten minutes is refused', async () => {
    somebody();
    const browser = newBrowser();
    const back = await browser.throughProvider(await browser.start());
    await clock.standAt(new Date(start + 10 * minute));
    expect(refusal(await browser.go(back))).toEqual(notBegun);
  });

  it('whose ID token has another nonce is refused', async () => {
    somebody();
    const browser = newBrowser();
    const begun = await browser.start();
    const url = new URL(begun.location ?? '');
    url.searchParams.set('nonce', 'another');
    const back = await browser.throughProvider({ ...begun, location: url.href });
    expect(refusal(await browser.go(back))).toEqual([401, 'invalid_credentials', 0]);
    expect(lastReason()).toBe('the answer of the provider is not valid: claim nonce');
  });

  it('whose code was issued for another sign-in is refused, by PKCE', async () => {
    somebody();
    const [stolen, own] = [newBrowser(), newBrowser()];
    const code = new URL(await stolen.throughProvider(await stolen.start())).searchParams.get('code') ?? '';
    const back = new URL(await own.throughProvider(await own.start()));
    back.searchParams.set('code', code);
    expect(refusal(await own.go(back.href))).toEqual([401, 'invalid_credentials', 0]);
    expect(lastReason()).toBe('the provider refused the code: invalid_grant');
  });

  it('whose code has expired is refused', async () => {
    somebody();
    provider.codeSecs = 1;
    const browser = newBrowser();
    const back = await browser.throughProvider(await browser.start());
    await sleep(2100);
    expect(refusal(await browser.go(back))).toEqual([401, 'invalid_credentials', 0]);
    expect(lastReason()).toBe('the provider refused the code: invalid_grant');
  });

  it('of another issuer is refused', async () => {
    somebody();
    const browser = newBrowser();
    const back = new URL(await browser.throughProvider(await browser.start()));
    back.searchParams.set('iss', 'https://evil.example.com');
    expect(refusal(await browser.go(back.href))).toEqual([401, 'invalid_credentials', 0]);
  });

  it.each([
    [-80, 20, 302],
    [-105, 45, 401],
    [20, -80, 302],
  ])(
    'from a provider whose clock is off by %i s, so that the ID token ended %i s ago, is %i: 30 s are tolerated',
    async (ahead, _ended, status) => {
      somebody();
      provider.clockAheadSecs = ahead;
      expect((await newBrowser().signIn()).status).toBe(status);
      if (status === 401) expect(lastReason()).toBe('the answer of the provider is not valid: claim exp');
    },
  );

  it('whose ID token is signed by another key is refused', async () => {
    somebody();
    provider.insteadOf = (req, res) => {
      if (req.url !== '/jwks') return false;
      res.setHeader('content-type', 'application/json').end(JSON.stringify({ keys: [foreignKey] }));
      return true;
    };
    await under({ display_name: 'Anew' }, async () => {
      expect(refusal(await newBrowser().signIn())).toEqual([401, 'invalid_credentials', 0]);
    });
  });
});

describe('a callback with random parameters', () => {
  it('signs nobody in and never causes an internal error', async () => {
    const name = fc.constantFrom(
      'code',
      'iss',
      'error',
      'error_description',
      'response',
      'id_token',
      'token',
      'x',
    );
    const value = fc.oneof(
      fc.constantFrom('', provider.issuer, 'access_denied'),
      fc.string({ maxLength: 40 }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(name, value), { maxLength: 4 }), async (parameters) => {
        const browser = newBrowser();
        const begun = await browser.start();
        const state = new URL(begun.location ?? '').searchParams.get('state') ?? '';
        const query = new URLSearchParams([['state', state], ...parameters]).toString();
        const answer = await browser.go(`${publicUrl}/api/v1/auth/oidc/callback?${query}`);
        expect([400, 401, 503]).toContain(answer.status);
        expect(browser.cookie('gateway_session')).toBeUndefined();
        await clearSignIns();
      }),
      { numRuns: 100 },
    );
  });
});

describe('the number of pending sign-ins', () => {
  it('is limited per address, and expired ones free their place', async () => {
    const [crowd, other] = [
      new Browser(gateway.url, '198.51.100.7'),
      new Browser(gateway.url, '198.51.100.8'),
    ];
    for (let each = 0; each < 20; each += 1) expect((await crowd.start()).status).toBe(302);
    expect(refusal(await crowd.start())).toEqual([503, 'overloaded', 0]);
    expect((await other.start()).status).toBe(302);
    await clock.standAt(new Date(start + 10 * minute));
    expect((await crowd.start()).status).toBe(302);
    const rows = await query<{ n: string }>('select count(*) as n from oidc_sign_ins');
    expect(Number(rows[0]?.n)).toBe(1);
  });

  it('is limited in total: the oldest is removed', async () => {
    await query(`insert into oidc_sign_ins (state_sha256, browser_sha256, return_to, address, begun_at)
                 select sha256(n::text::bytea), sha256(n::text::bytea), '/', n::text,
                        gateway_now() - n * interval '1 millisecond'
                 from generate_series(1, 10000) n`);
    expect((await newBrowser().start()).status).toBe(302);
    const rows = await query<{ n: string; first: boolean }>(
      `select count(*) as n, bool_or(address = '10000') as first from oidc_sign_ins`,
    );
    expect(rows).toEqual([{ n: '10000', first: false }]);
    await clearSignIns();
  });
});

describe('without an identity provider', () => {
  it('the sign-in methods list the password alone, and OIDC paths answer 404 not_supported', async () => {
    const methods = async () => (await newBrowser().go('/api/v1/auth/methods')).data;
    expect(await methods()).toEqual({
      password: true,
      oidc: { display_name: 'Single sign-on', start_url: '/api/v1/auth/oidc/start' },
    });
    await gateway.take(signInConfig({}));
    expect(await methods()).toEqual({ password: true, oidc: null });
    expect(refusal(await newBrowser().start())).toEqual([404, 'not_supported', 0]);
    expect(refusal(await newBrowser().go(`${publicUrl}/api/v1/auth/oidc/callback?state=x`))).toEqual([
      404,
      'not_supported',
      0,
    ]);
    await gateway.take(signInConfig(auth()));
  });
});
