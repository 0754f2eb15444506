import { describe, expect, it } from '@jest/globals';
import type { Locator, Page } from 'playwright-core';
import { axeViolations, pageScene } from './page-scene.ts';

const scene = pageScene();
const root = '/api/v1/admin/rate-limits';

const row = (page: Page, name: string) =>
  page.getByRole('table', { name: 'Rate limits' }).getByRole('row').filter({ hasText: name });

/** The error that describes an invalid field. */
async function faultOf(field: Locator): Promise<string | null> {
  expect(await field.getAttribute('aria-invalid')).toBe('true');
  const about = await field.getAttribute('aria-describedby');
  return field.page().locator(`id=${about}`).getByRole('alert').textContent();
}
const limits = async () =>
  scene.query<{
    requests_per_minute: string | null;
    tokens_per_minute: string | null;
    requests_in_flight: string | null;
  }>(
    `select requests_per_minute::text, tokens_per_minute::text, requests_in_flight::text from rate_limits
     order by subject_kind, subject_id`,
  );

describe('rate limits on the page', () => {
  it('show a message if there are none', async () => {
    const page = await scene.open('/rate-limits');
    await page.getByText('Nothing has a rate limit').waitFor();
    expect(await axeViolations(page)).toEqual([]);
  });

  it('are set by keyboard for a subject found by search, and show each validation error at its field', async () => {
    const page = await scene.open('/rate-limits');
    await page.getByRole('button', { name: 'Set a rate limit' }).focus();
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog', { name: 'Set a rate limit' });
    await dialog.waitFor();
    await dialog.getByRole('button', { name: 'Save rate limit' }).press('Enter');
    const perMinute = dialog.getByLabel('Requests per minute');
    await dialog.getByRole('alert').first().waitFor();
    expect(await faultOf(dialog.getByRole('combobox'))).toBe('Choose what to limit.');
    expect(await faultOf(perMinute)).toBe('Set at least one of the three.');
    await dialog.getByRole('combobox').focus();
    await page.keyboard.type('platf');
    await dialog.getByRole('option', { name: 'Platform' }).waitFor();
    expect(await axeViolations(page)).toEqual([]);
    await page.keyboard.press('Enter');
    await dialog.getByRole('button', { name: 'Choose another' }).waitFor();
    await perMinute.fill('1.5');
    await dialog.getByRole('button', { name: 'Save rate limit' }).press('Enter');
    await dialog.getByText('Type a whole number of at least 1, or leave it empty.').waitFor();
    expect(await faultOf(perMinute)).toBe('Type a whole number of at least 1, or leave it empty.');
    for (const other of ['Tokens per minute', 'Requests in flight'])
      expect(await dialog.getByLabel(other).getAttribute('aria-invalid')).toBe('false');
    await perMinute.fill('60');
    await dialog.getByLabel('Requests in flight').fill('5');
    await page.keyboard.press('Enter');
    await page.getByText('Platform has a rate limit.').waitFor();
    expect(await limits()).toEqual([
      { requests_per_minute: '60', tokens_per_minute: null, requests_in_flight: '5' },
    ]);
    await row(page, 'Platform').getByText('0 of 60').waitFor();
  });

  it('show the current usage, and are filtered by kind, which is in the address', async () => {
    const [found] = await scene.query<{ user_id: string }>(
      `select user_id from users where email = 'a@example.com'`,
    );
    await scene.admin('PUT', `${root}/users/${found?.user_id}`, { requests_per_minute: 1000 });
    await scene.admin('PUT', `${root}/models/fast`, { tokens_per_minute: 7 });
    await scene.chat();
    const page = await scene.open('/rate-limits');
    await row(page, 'fast').getByText(/of 7/).waitFor();
    expect(await row(page, 'fast').getByRole('meter').getAttribute('aria-valuemax')).toBe('7');
    await page.locator('.filters').getByRole('combobox').selectOption('Models');
    await row(page, 'Platform').waitFor({ state: 'detached' });
    expect(page.url()).toContain('kind=model');
    expect(await row(page, 'fast').count()).toBe(1);
  });

  it('show both versions if another admin changed one meanwhile, and apply the change on top', async () => {
    const page = await scene.open('/rate-limits?kind=team');
    await page.getByRole('button', { name: 'Change the rate limit of Platform' }).click();
    const dialog = page.getByRole('dialog', { name: 'Change the rate limit of Platform' });
    await dialog.getByLabel('Requests per minute').fill('70');
    await scene.admin('PUT', `${root}/teams/platform`, { requests_per_minute: 80 });
    await dialog.getByRole('button', { name: 'Save rate limit' }).click();
    const differs = dialog.getByRole('row').filter({ hasText: 'Requests per minute' });
    await differs.waitFor();
    expect(await differs.getByRole('cell').allTextContents()).toEqual(['80', '70']);
    expect(await axeViolations(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'Apply mine on top' }).click();
    await page.getByText('The rate limit of Platform was changed.').waitFor();
    expect(await limits()).toContainEqual({
      requests_per_minute: '70',
      tokens_per_minute: null,
      requests_in_flight: '5',
    });
  });

  it('are removed, also if another admin removed one meanwhile', async () => {
    const page = await scene.open('/rate-limits?kind=team');
    await page.getByRole('button', { name: 'Remove the rate limit of Platform' }).click();
    const dialog = page.getByRole('dialog', { name: 'Remove the rate limit of Platform' });
    expect(await axeViolations(page)).toEqual([]);
    await scene.admin('DELETE', `${root}/teams/platform`);
    await dialog.getByRole('button', { name: 'Remove rate limit' }).click();
    await dialog.getByRole('button', { name: 'Take theirs' }).click();
    await dialog.waitFor({ state: 'detached' });
    await page.getByText('Nothing of this kind has a rate limit').waitFor();
    await page.locator('.filters').getByRole('combobox').selectOption('Models');
    await page.getByRole('button', { name: 'Remove the rate limit of fast' }).click();
    await page.getByRole('button', { name: 'Remove rate limit' }).click();
    await page.getByText('fast no longer has a rate limit.').waitFor();
    expect(await scene.query(`select 1 from rate_limits where subject_kind = 'model'`)).toEqual([]);
  });

  it('have no axe-core violations in the dark theme, and show an error if the gateway is unreachable', async () => {
    const page = await scene.open('/rate-limits');
    await page.evaluate("localStorage.setItem('gateway.theme', 'dark')");
    await page.reload();
    await row(page, 'A').first().waitFor();
    expect(await axeViolations(page)).toEqual([]);
    await page.getByRole('button', { name: 'Set a rate limit' }).click();
    expect(await axeViolations(page)).toEqual([]);
    await page.route('**/api/v1/admin/rate-limits?**', (route) => route.abort());
    await page.reload();
    await page.getByText('The gateway cannot be reached.').waitFor();
  });
});
