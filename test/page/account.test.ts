import { describe, expect, it } from '@jest/globals';
import { Secret, TOTP } from 'otpauth';
import type { Page } from 'playwright-core';
import { account } from '../support/admin.ts';
import { inBothThemes } from './owner-scene.ts';
import { axeViolations, pageScene } from './page-scene.ts';

const scene = pageScene();
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
const clean = (page: Page) => inBothThemes(page, async () => expect(await axeViolations(page)).toEqual([]));

const callWith = (token: string, method = 'GET', body?: object, path = '/api/v1/admin/teams') =>
  fetch(`${scene.gateway().url}${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });

describe('the account page', () => {
  it('shows who is logged in, until when, and that there are no API tokens', async () => {
    const page = await scene.open('/account');
    await page.getByRole('main').getByRole('link', { name: account.email }).waitFor();
    expect(await page.getByRole('main').locator('time').first().innerText()).toMatch(/^\d{4}-\d\d-\d\d/);
    await page.getByText('There are no API tokens yet').waitFor();
    await clean(page);
  });

  it('creates a read token that is shown once, can read but not write, and works until it is revoked', async () => {
    const page = await scene.open('/account');
    await button(page, 'New token').click();
    await page.getByRole('textbox', { name: 'Name' }).fill('   ');
    await button(page, 'Create token').click();
    await page.getByText('must be text of 1 to 128 characters').first().waitFor();
    expect(await page.getByRole('textbox', { name: 'Name' }).getAttribute('aria-invalid')).toBe('true');
    await page.getByRole('textbox', { name: 'Name' }).fill('reader');
    await button(page, 'In 90 days').click();
    await clean(page);
    await button(page, 'Create token').click();
    const token = await page.getByLabel('API token', { exact: true }).inputValue();
    expect(token).toMatch(/^gwa_/);
    await clean(page);
    expect((await callWith(token)).status).toBe(200);
    const team = { team_id: 'written', name: 'Written' };
    const written = await callWith(token, 'POST', team);
    expect([written.status, await written.json()]).toMatchObject([
      403,
      { error: { code: 'admin_required' } },
    ]);
    expect(await scene.query(`select 1 from teams where team_id = 'written'`)).toEqual([]);
    const [made] = await scene.query('select scope, expires_at from admin_tokens where name = $1', [
      'reader',
    ]);
    expect(made).toMatchObject({ scope: 'read', expires_at: expect.any(Date) });
    await button(page, 'Done').click();
    await clean(page);
    await button(page, 'Leave without it').click();
    await page.getByRole('row', { name: 'reader' }).waitFor();
    expect(await page.content()).not.toContain(token);
    await clean(page);
    await button(page, 'Revoke the token reader').click();
    await page.getByText('It stops working at once, for good.').waitFor();
    await clean(page);
    await button(page, 'Revoke token').click();
    await page.getByRole('row', { name: 'reader revoked' }).waitFor();
    expect((await callWith(token)).status).toBe(401);
  });

  it('creates a write token that can write, but not manage tokens', async () => {
    const page = await scene.open('/account');
    await button(page, 'New token').click();
    await page.getByRole('textbox', { name: 'Name' }).fill('writer');
    await page.getByRole('dialog').getByLabel('Scope').selectOption('write');
    await button(page, 'Create token').click();
    const token = await page.getByLabel('API token', { exact: true }).inputValue();
    expect((await callWith(token, 'POST', { team_id: 'by-token' })).status).toBe(200);
    expect(await scene.query(`select 1 from teams where team_id = 'by-token'`)).toHaveLength(1);
    const other = { name: 'other', scope: 'write', expires_at: null };
    expect((await callWith(token, 'POST', other, '/api/v1/admin/tokens')).status).toBe(403);
    expect(await scene.query(`select 1 from admin_tokens where name = 'other'`)).toEqual([]);
    await button(page, 'Done').click();
    await button(page, 'Leave without it').click();
    await page.getByRole('row', { name: 'writer' }).waitFor();
  });

  it('changes the password, and shows errors for a mismatch, and at the field for a wrong or common password', async () => {
    const page = await scene.open('/account');
    const fill = async (present: string, next: string, again = next) => {
      await page.getByLabel('Current password').fill(present);
      await page.getByLabel('New password', { exact: true }).fill(next);
      await page.getByLabel('New password again').fill(again);
      await button(page, 'Change password').click();
    };
    await fill(account.password, 'another horse battery', 'something else');
    await page.getByText('It does not match the one above.').waitFor();
    await fill('wrong horse battery', 'another horse battery');
    await page.locator('[aria-invalid="true"]').waitFor();
    expect(await page.getByLabel('Current password').getAttribute('aria-invalid')).toBe('true');
    await fill(account.password, 'password1234');
    await page
      .getByLabel('New password', { exact: true })
      .and(page.locator('[aria-invalid="true"]'))
      .waitFor();
    await fill(account.password, 'another horse battery');
    await page.getByText('Your password was changed.').waitFor();
    await fill('another horse battery', account.password);
    await page.getByText('Your password was changed.').nth(1).waitFor();
  });

  it('turns a second factor on and off again, and rejects a wrong code', async () => {
    const page = await scene.open('/account');
    await button(page, 'Turn it on…').click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Password').fill(account.password);
    await clean(page);
    await button(page, 'Continue').click();
    const secret = (await dialog.getByLabel('Secret').innerText()).trim();
    await dialog.getByLabel('Code', { exact: true }).fill('000000');
    await button(page, 'Turn the second factor on').click();
    await dialog.getByRole('alert').waitFor();
    await dialog
      .getByLabel('Code', { exact: true })
      .fill(new TOTP({ secret: Secret.fromBase32(secret) }).generate());
    await button(page, 'Turn the second factor on').click();
    const codes = (await dialog.getByLabel('Recovery codes').innerText()).trim().split('\n');
    expect(codes).toHaveLength(10);
    await clean(page);
    await button(page, 'I have saved them').click();
    await page.getByText('Password logins ask for a code from your authenticator app.').waitFor();
    await button(page, 'Remove it…').click();
    await dialog.getByLabel('Password').fill(account.password);
    await dialog.getByLabel('Code', { exact: true }).fill(codes[0] ?? '');
    await clean(page);
    await button(page, 'Remove second factor').click();
    await page.getByText('Anyone who knows your password can log in.').waitFor();
  });
});
