import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Secret, TOTP, URI } from 'otpauth';
import type { Page } from 'playwright-core';
import { account } from '../support/admin.ts';
import { aKey, basicConfig, type ConfigFile } from '../support/gateway.ts';
import { startProvider, type TestProvider } from '../support/identity-provider.ts';
import { oidcSection } from '../e2e/sign-in-scene.ts';
import { axeViolations, logIn, pageScene } from './page-scene.ts';
import { axeInBothThemes } from './report-pages.ts';
import { scannedText } from './scan-qr.ts';
import { freePort } from '../support/free-port.ts';

const port = await freePort();
const publicUrl = `http://127.0.0.1:${port}`;
const key = aKey();
let provider: TestProvider;
let upstreamUrl = '';

const config = (adminAuth: object): ConfigFile =>
  basicConfig(upstreamUrl, key, {
    more: {
      server: { bind: `127.0.0.1:${port}`, public_base_url: publicUrl },
      admin_auth: adminAuth,
    },
  });
const withProvider = () => ({
  oidc: oidcSection(provider.issuer, { create_users: true, display_name: 'Example staff' }),
});

const scene = pageScene((upstream) => {
  upstreamUrl = upstream;
  return config({});
});

beforeAll(async () => {
  provider = await startProvider(`${publicUrl}/api/v1/auth/oidc/callback`);
  await scene.gateway().take(config(withProvider()));
});
afterAll(() => provider.stop());

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
const pathOf = (page: Page): string => new URL(page.url()).pathname + new URL(page.url()).search;

/** Adds an account to the provider, which signs in with it next. */
function signsIn(email: string): void {
  provider.accounts.set(email, { email, email_verified: true, name: email });
  provider.signsIn = email;
}

async function someone(path: string, work: (page: Page) => Promise<void>): Promise<void> {
  const page = await scene.stranger();
  await page.goto(`${publicUrl}/admin${path}`);
  await work(page);
  await page.context().close();
}

/** Comes back from another tab, and waits until the page has asked for the session again, if it does. */
async function returnToTab(page: Page, asks: 'asks for the session' | 'asks nothing'): Promise<void> {
  const answered = page.waitForResponse((answer) => answer.url().endsWith('/api/v1/auth/session'), {
    timeout: asks === 'asks nothing' ? 500 : 10_000,
  });
  await page.evaluate("window.dispatchEvent(new Event('visibilitychange'))");
  const isAnswered = await answered.then(
    () => true,
    () => false,
  );
  expect(isAnswered).toBe(asks === 'asks for the session');
  await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))');
}

const submit = async (page: Page, code?: string): Promise<void> => {
  if (code !== undefined) await page.getByLabel('Code', { exact: true }).fill(code);
  await button(page, 'Log in').click();
};

describe('by password', () => {
  it('an anonymous visitor gets no data, and after the login gets the requested page', async () => {
    await someone('/people?name=a', async (page) => {
      await page.getByRole('heading', { name: 'Log in to Model Gateway' }).waitFor();
      expect(await axeViolations(page)).toEqual([]);
      expect(await page.content()).not.toContain('a@example.com');
      await logIn(page);
      await page.getByRole('heading', { name: 'People' }).waitFor();
      expect(pathOf(page)).toBe('/admin/people?name=a');
    });
  });

  it('a logout ends the session, so that a saved cookie no longer works', async () => {
    await someone('/', async (page) => {
      await logIn(page);
      const cookies = await page.context().cookies();
      await page.locator('summary', { hasText: account.email }).click();
      await button(page, 'Log out').click();
      await page.getByRole('heading', { name: 'Log in to Model Gateway' }).waitFor();
      await page.context().addCookies(cookies);
      await page.reload();
      await page.getByRole('heading', { name: 'Log in to Model Gateway' }).waitFor();
    });
  });
});

describe('with a second factor', () => {
  it('enrolment shows a QR code, and recovery codes until they are saved; a login needs a valid code or an unused recovery code', async () => {
    await someone('/account', async (page) => {
      await logIn(page);
      await button(page, 'Turn it on…').click();
      await page.getByRole('dialog').getByLabel('Password').fill(account.password);
      await button(page, 'Continue').click();
      const secret = (await page.getByLabel('Secret').innerText()).trim();
      const totp = new TOTP({ secret: Secret.fromBase32(secret) });
      const code = page.getByRole('img', { name: 'QR code to scan' });
      const uri = await page.getByRole('link', { name: 'Open it in an app' }).getAttribute('href');
      expect(URI.parse(uri ?? '').secret.base32).toBe(secret);
      expect(await scannedText(code)).toBe(uri);
      expect(await axeInBothThemes(page)).toEqual([]);
      await page.evaluate("document.documentElement.dataset.theme = 'dark'");
      expect(await scannedText(code)).toBe(uri);
      const enrolledAt = Date.now();
      await page.getByLabel('Code', { exact: true }).fill(totp.generate({ timestamp: enrolledAt }));
      await button(page, 'Turn the second factor on').click();
      const recovery = (await page.getByLabel('Recovery codes').innerText()).trim().split('\n');
      // They are shown only once, so the dialog stays until they are saved.
      await page.keyboard.press('Escape');
      await page.keyboard.press('Escape');
      await page.mouse.click(5, 5);
      await page.getByRole('dialog').getByLabel('Recovery codes').waitFor({ timeout: 2_000 });
      await button(page, 'I have saved them').click();
      const other = await scene.stranger();
      await other.goto(`${publicUrl}/admin/account`);
      await other.getByLabel('E-mail').fill(account.email);
      await other.getByLabel('Password').fill(account.password);
      await submit(other);
      await other.getByLabel('Code', { exact: true }).waitFor();
      expect(await other.getByRole('alert').count()).toBe(0);
      await submit(other, '000000');
      await other.getByRole('alert').waitFor();
      expect(await other.getByLabel('Code', { exact: true }).inputValue()).toBe('');
      await submit(other, recovery[0]);
      await other.getByRole('heading', { name: 'Your account' }).waitFor();
      await other.context().clearCookies();
      await other.reload();
      await other.getByLabel('E-mail').fill(account.email);
      await other.getByLabel('Password').fill(account.password);
      await submit(other);
      await submit(other, recovery[0]);
      await other.getByRole('alert').waitFor();
      // The code of the next time step is valid, too; a slow machine is there already, or beyond.
      await submit(other, totp.generate({ timestamp: Math.max(enrolledAt + 30_000, Date.now()) }));
      await other.getByRole('heading', { name: 'Your account' }).waitFor();
      await other.context().close();
      await scene.query('delete from user_second_factors');
    });
  });

  it('that is required, a login can only enrol: every page shows the enrolment, and the API refuses with 403', async () => {
    await scene.gateway().take(config({ ...withProvider(), require_second_factor: true }));
    await someone('/keys', async (page) => {
      await page.getByLabel('E-mail').fill(account.email);
      await page.getByLabel('Password').fill(account.password);
      await submit(page);
      const required = page.getByRole('heading', { name: 'A second factor is required' });
      await required.waitFor();
      expect(await axeViolations(page)).toEqual([]);
      const refused = await page.request.get(`${publicUrl}/api/v1/admin/users`);
      expect([refused.status(), await refused.json()]).toMatchObject([
        403,
        { error: { code: 'enrolment_required' } },
      ]);
      await page.goto(`${publicUrl}/admin/people`);
      await required.waitFor();
      expect(await page.content()).not.toContain('a@example.com');
      expect(await page.getByRole('navigation').count()).toBe(0);
      await page.goto(`${publicUrl}/admin/keys`);
      await required.waitFor();
      await page.getByLabel('Password').fill(account.password);
      await button(page, 'Continue').click();
      const secret = (await page.getByLabel('Secret').innerText()).trim();
      await page
        .getByLabel('Code', { exact: true })
        .fill(new TOTP({ secret: Secret.fromBase32(secret) }).generate());
      await button(page, 'Turn the second factor on').click();
      await button(page, 'I have saved them').click();
      await page.getByRole('heading', { name: 'Keys' }).waitFor();
    });
    await scene.query('delete from user_second_factors');
    await scene.gateway().take(config(withProvider()));
  });
});

describe('at the identity provider', () => {
  it('a login returns an admin to the requested page', async () => {
    signsIn(account.email);
    await someone('/teams?name=plat', async (page) => {
      await page.getByRole('link', { name: 'Log in with Example staff' }).click();
      await page.getByRole('heading', { name: 'Teams' }).waitFor();
      expect(pathOf(page)).toBe('/admin/teams?name=plat');
    });
  });

  it('a refused login returns to the login page, which shows its own message and no text from the address', async () => {
    provider.signsIn = undefined;
    await someone('/teams?name=plat', async (page) => {
      await page.getByRole('link', { name: 'Log in with Example staff' }).click();
      await page.getByRole('alert').getByText('Your organisation did not sign you in').waitFor();
      expect(await axeViolations(page)).toEqual([]);
    });
    await someone('?sign_in_error=%3Cb%3ECall%20me%3C/b%3E', async (page) => {
      await page.getByRole('alert').getByText('Login through your organisation failed.').waitFor();
      expect(await page.locator('body').innerText()).not.toContain('Call me');
    });
  });

  it('a refused login keeps the requested page for the next one, and its message ends with that', async () => {
    await someone('/teams?name=plat', async (page) => {
      for (const login of ['provider', 'password']) {
        provider.signsIn = undefined;
        await page.getByRole('link', { name: 'Log in with Example staff' }).click();
        await page.getByRole('alert').getByText('Your organisation did not sign you in').waitFor();
        await page.reload();
        signsIn(account.email);
        if (login === 'password') await logIn(page);
        else await page.getByRole('link', { name: 'Log in with Example staff' }).click();
        await page.getByRole('heading', { name: 'Teams' }).waitFor();
        expect(pathOf(page)).toBe('/admin/teams?name=plat');
        await page.getByRole('row', { name: 'Platform' }).waitFor();
        await page.context().clearCookies();
        await returnToTab(page, 'asks for the session');
        await page.getByRole('dialog', { name: 'Your session has ended' }).waitFor();
        expect(await page.getByRole('alert').count()).toBe(0);
        await page.reload();
      }
    });
  });

  it('a person whom it knows as somebody without access can use another account there', async () => {
    provider.accounts.set('outsider', { email: 'outsider@example.com', email_verified: false });
    provider.signsIn = 'outsider';
    await someone('/teams', async (page) => {
      const refused = page.getByRole('alert').getByText('Your organisation did not sign you in');
      await page.getByRole('link', { name: 'Log in with Example staff' }).click();
      await refused.waitFor();
      signsIn(account.email);
      await page.getByRole('link', { name: 'Log in with Example staff' }).click();
      await page.waitForLoadState();
      await refused.waitFor();
      await page.getByRole('link', { name: 'Use another account of Example staff' }).click();
      await page.getByRole('heading', { name: 'Teams' }).waitFor();
    });
  });

  it('a user who is not a platform admin gets no data, and can log out and in as an admin', async () => {
    signsIn('visitor@example.com');
    await someone('/people', async (page) => {
      await page.getByRole('link', { name: 'Log in with Example staff' }).click();
      await page.getByText('visitor@example.com, who is not a platform admin').waitFor();
      expect(await axeViolations(page)).toEqual([]);
      expect(await page.content()).not.toContain('a@example.com');
      expect((await page.request.get(`${publicUrl}/api/v1/admin/users`)).status()).toBe(403);
      await button(page, 'Log out').click();
      await page.waitForURL((url) => url.origin === provider.issuer);
      await page.goto(`${publicUrl}/admin/people`);
      await page.getByRole('heading', { name: 'Log in to Model Gateway' }).waitFor();
      await logIn(page);
      await page.getByRole('cell', { name: 'a@example.com' }).waitFor();
    });
  });
});

describe('an admin who signs in at the provider only', () => {
  const daysAhead = (field: string): number => (Date.parse(`${field}Z`) - Date.now()) / 86_400_000;

  it('is offered no password and no second factor, and where groups decide, only tokens that the API allows', async () => {
    const { oidc } = withProvider();
    await scene.gateway().take(config({ oidc: { ...oidc, admin_groups: ['gateway-admins'] } }));
    signsIn('staff@example.com');
    Object.assign(provider.accounts.get('staff@example.com') ?? {}, { groups: ['gateway-admins'] });
    await someone('/account', async (page) => {
      await page.getByRole('link', { name: 'Log in with Example staff' }).click();
      await page.getByText('You have no password here').waitFor();
      expect(await page.getByRole('heading', { level: 2 }).allInnerTexts()).toEqual([
        'Observe',
        'Manage',
        'API tokens of all admins',
      ]);
      await button(page, 'New token').click();
      const field = page.getByLabel('Expires (UTC)');
      expect(daysAhead(await field.inputValue())).toBeGreaterThan(6.9);
      const offered = page.getByRole('group', { name: 'Expires' }).getByRole('button');
      expect(await offered.allInnerTexts()).toEqual(['In 7 days']);
      expect(daysAhead((await field.getAttribute('max')) ?? '')).toBeLessThanOrEqual(7);
      await field.fill('');
      await page.getByRole('textbox', { name: 'Name' }).fill('of a week');
      await button(page, 'Create token').click();
      await field.and(page.locator(':invalid')).waitFor();
      await offered.click();
      expect(await axeViolations(page)).toEqual([]);
      await button(page, 'Create token').click();
      await page.getByText('Not copied yet.').waitFor();
    });
    await scene.gateway().take(config(withProvider()));
  });
});

describe('a session that ends while a form is open', () => {
  it('keeps the typed text, and the form can be sent after a new login', async () => {
    await someone('/teams', async (page) => {
      await logIn(page);
      await button(page, 'New team').click();
      await page.getByRole('textbox', { name: 'Id' }).fill('typed');
      await scene.query('delete from admin_sessions');
      await button(page, 'Create team').click();
      await page.getByRole('heading', { name: 'Your session has ended' }).waitFor();
      expect(await axeViolations(page)).toEqual([]);
      const login = page.getByRole('dialog', { name: 'Your session has ended' });
      expect(await login.getByRole('button', { name: 'Close' }).count()).toBe(0);
      await page.keyboard.press('Escape');
      await page.keyboard.press('Escape');
      await login.locator('input:focus').waitFor();
      await page.getByLabel('Password').fill(account.password);
      await button(page, 'Log in').click();
      await page.getByRole('heading', { name: 'Your session has ended' }).waitFor({ state: 'detached' });
      expect(await page.getByRole('textbox', { name: 'Id' }).inputValue()).toBe('typed');
      // The message of the API is for scripts (it names the call that logs in), so the page has its own.
      await page.getByRole('alert').getByText('Your session had ended, and nothing was changed.').waitFor();
      await button(page, 'Create team').click();
      await page.getByRole('heading', { name: 'Team typed' }).waitFor();
    });
  });

  it('continues after a login at the provider in another tab', async () => {
    signsIn(account.email);
    await someone('/teams', async (page) => {
      await logIn(page);
      await button(page, 'New team').click();
      await page.getByRole('textbox', { name: 'Id' }).fill('kept');
      await scene.query('delete from admin_sessions');
      await button(page, 'Create team').click();
      const opened = page.context().waitForEvent('page');
      await page.getByRole('link', { name: 'Log in with Example staff (new tab)' }).click();
      const tab = await opened;
      await tab.getByRole('heading', { name: 'Your account' }).waitFor();
      await tab.close();
      await page.evaluate("window.dispatchEvent(new Event('focus'))");
      await page.getByRole('heading', { name: 'Your session has ended' }).waitFor({ state: 'detached' });
      await button(page, 'Create team').click();
      await page.getByRole('heading', { name: 'Team kept' }).waitFor();
    });
  });
});

describe('a session that ends, in several tabs', () => {
  it('is found again by each tab after one login by password, and keeps what was typed', async () => {
    await scene.gateway().take(config({}));
    await someone('/teams', async (page) => {
      await logIn(page);
      await button(page, 'New team').click();
      await page.getByRole('textbox', { name: 'Id' }).fill('returned');
      await scene.query('delete from admin_sessions');
      await returnToTab(page, 'asks for the session');
      const dialog = page.getByRole('dialog', { name: 'Your session has ended' });
      await dialog.waitFor();
      const other = await page.context().newPage();
      await other.goto(`${publicUrl}/admin`);
      await logIn(other);
      await returnToTab(page, 'asks for the session');
      await dialog.waitFor({ state: 'detached', timeout: 5_000 });
      await button(page, 'Create team').click();
      await page.getByRole('heading', { name: 'Team returned' }).waitFor();
    });
    await scene.gateway().take(config(withProvider()));
  });
});

/** Confirms the enrolment with a code of the secret; a return from another tab leaves the recovery codes shown. */
async function confirmAndKeepCodes(page: Page, secret: string): Promise<void> {
  await page
    .getByLabel('Code', { exact: true })
    .fill(new TOTP({ secret: Secret.fromBase32(secret) }).generate());
  await button(page, 'Turn the second factor on').click();
  const codes = await page.getByLabel('Recovery codes').innerText();
  await returnToTab(page, 'asks nothing');
  expect(await page.getByLabel('Recovery codes').innerText({ timeout: 1_000 })).toBe(codes);
  await button(page, 'I have saved them').click();
}

describe('a return from another tab, such as that of a password manager', () => {
  it('keeps what was typed into the login, and ends the login if the other tab has logged in', async () => {
    await someone('/teams', async (page) => {
      await page.getByLabel('E-mail').fill(account.email);
      await page.getByLabel('Password').fill('half a passw');
      await returnToTab(page, 'asks for the session');
      expect(await page.getByLabel('E-mail').inputValue()).toBe(account.email);
      expect(await page.getByLabel('Password').inputValue()).toBe('half a passw');
      const other = await page.context().newPage();
      await other.goto(`${publicUrl}/admin`);
      await logIn(other);
      await returnToTab(page, 'asks for the session');
      await page.getByRole('heading', { name: 'Teams' }).waitFor();
    });
  });

  it('keeps the secret of a required enrolment, and its recovery codes until they are saved', async () => {
    await scene.gateway().take(config({ ...withProvider(), require_second_factor: true }));
    await someone('/keys', async (page) => {
      await page.getByLabel('E-mail').fill(account.email);
      await page.getByLabel('Password').fill(account.password);
      await submit(page);
      await page.getByRole('heading', { name: 'A second factor is required' }).waitFor();
      await page.getByLabel('Password').fill(account.password);
      await button(page, 'Continue').click();
      const secret = (await page.getByLabel('Secret').innerText()).trim();
      await returnToTab(page, 'asks for the session');
      expect((await page.getByLabel('Secret').innerText({ timeout: 1_000 })).trim()).toBe(secret);
      await confirmAndKeepCodes(page, secret);
      await page.getByRole('heading', { name: 'Keys' }).waitFor();
    });
    await scene.query('delete from user_second_factors');
    await scene.gateway().take(config(withProvider()));
  });

  it('keeps the recovery codes of an enrolment that a session began to require', async () => {
    await someone('/teams', async (page) => {
      await logIn(page);
      await scene.gateway().take(config({ ...withProvider(), require_second_factor: true }));
      await button(page, 'New team').click();
      await page.getByRole('textbox', { name: 'Id' }).fill('enrolled');
      await returnToTab(page, 'asks for the session');
      const dialog = page.getByRole('dialog', { name: 'Your session has ended' });
      await dialog.getByLabel('Password').fill(account.password);
      await button(page, 'Continue').click();
      const secret = (await page.getByLabel('Secret').innerText()).trim();
      await confirmAndKeepCodes(page, secret);
      await dialog.waitFor({ state: 'detached' });
      await button(page, 'Create team').click();
      await page.getByRole('heading', { name: 'Team enrolled' }).waitFor();
    });
    await scene.query('delete from user_second_factors');
    await scene.gateway().take(config(withProvider()));
  });
});
