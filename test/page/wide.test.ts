import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { account, makeAdmin } from '../support/admin.ts';
import { becomesTrue } from '../support/browser.ts';
import { basicConfig } from '../support/gateway.ts';
import { logIn, pageScene } from './page-scene.ts';
import { sidewaysAt360 } from './report-pages.ts';

const usage = { 'x-simulate': 'prompt-tokens=900000000&completion-tokens=0&total-tokens=900000000' };
const scene = pageScene((upstream, key) =>
  basicConfig(upstream, key, {
    more: {
      models: [
        { id: 'fast', routes: [{ provider: 'up', upstream_model: 'simulated-fast', extra_headers: usage }] },
      ],
      pricing: {
        overrides: [
          {
            provider: 'up',
            model: 'simulated-fast',
            input_usd_per_million: '9000',
            output_usd_per_million: '1',
          },
        ],
      },
    },
  }),
);

/** As long as a name may be, without a place for a line break. */
const name = 'Longest'.repeat(18);
let person: string;
beforeAll(async () => {
  const made = await scene.admin('POST', '/api/v1/admin/users', { email: 'long@example.com', name });
  person = (made.data as { readonly user_id: string }).user_id;
});

const sidewaysOf = (page: Page, selector: string) =>
  page.evaluate(
    `(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)(document.querySelector('${selector}'))`,
  );

describe('a name of 126 letters', () => {
  it('is complete in its list, which does not scroll sideways', async () => {
    const page = await scene.open('/people');
    await page.getByRole('row', { name }).waitFor();
    expect(await sidewaysOf(page, '.table-scroll')).toBe(0);
    expect(await page.getByRole('row', { name }).innerText()).toContain(name);
  });

  it('fits into a drawer with its close button and into a confirmation dialog, also at 360 px', async () => {
    const page = await scene.open(`/people?open=${person}`);
    const drawer = page.getByRole('dialog', { name });
    await drawer.getByText('long@example.com').waitFor();
    expect(await sidewaysOf(page, 'dialog')).toBe(0);
    expect(await sidewaysAt360(page)).toBe(0);
    await page.setViewportSize({ width: 360, height: 780 });
    expect(await sidewaysOf(page, 'dialog')).toBe(0);
    await drawer.getByRole('button', { name: 'Deactivate…' }).click();
    const confirm = page.getByRole('dialog', { name: `Deactivate ${name}?` });
    await confirm.waitFor();
    expect(await sidewaysOf(page, 'dialog.dialog')).toBe(0);
    await confirm.getByRole('button', { name: 'Cancel' }).click();
    await confirm.waitFor({ state: 'detached' });
    await drawer.getByRole('button', { name: 'Close' }).click();
    await drawer.waitFor({ state: 'detached' });
    await page.setViewportSize({ width: 1280, height: 800 });
  });

  it('fits into the notice of a change', async () => {
    const page = await scene.open(`/people?open=${person}`);
    await page.getByRole('button', { name: 'Deactivate…' }).click();
    await page.getByRole('button', { name: 'Deactivate', exact: true }).click();
    await page.locator('.notice').getByText('is no longer active').waitFor();
    expect(await sidewaysOf(page, '.notice')).toBe(0);
    await scene.admin('PATCH', `/api/v1/admin/users/${person}`, { active: true });
  });

  it('of a saved view fits into the menu with the button that removes it', async () => {
    const page = await scene.open('/observability/request-logs?model_key=fast');
    await page.getByText('Saved views').click();
    await page.getByLabel('Name for these filters').fill(name);
    await page.getByRole('button', { name: 'Save view' }).click();
    await page.getByRole('button', { name: /^Remove the view / }).waitFor();
    expect(await sidewaysOf(page, '.menu[open] .menu-body')).toBe(0);
    await page.getByRole('button', { name: /^Remove the view / }).click();
  });
});

describe('a spend of millions', () => {
  it('has axis labels that are not cut off in its chart', async () => {
    expect((await scene.chat()).status).toBe(200);
    const page = await scene.open('/spend');
    const axis = page.locator('.recharts-yAxis-tick-labels');
    await axis
      .getByText(/^\d,\d{3},000$/)
      .first()
      .waitFor();
    // The chart measures the width of its labels after it has drawn them.
    const isWhole = `[...document.querySelectorAll('.recharts-yAxis-tick-labels text')].every(
      (each) => each.getBoundingClientRect().left >= each.closest('svg').getBoundingClientRect().left)`;
    expect(await becomesTrue(page, isWhole)).toBe(true);
  });
});

describe('an admin with a long e-mail address', () => {
  it('has the search and the account menu on a narrow screen, which does not scroll sideways', async () => {
    const email = `${'administrator'.repeat(4)}@department.subsidiary.example.com`;
    const { password } = account;
    await makeAdmin(scene.databaseUrl(), { email, password });
    const page = await scene.stranger();
    await page.goto(`${scene.gateway().url}/admin/account`);
    await logIn(page, { email, password });
    expect(await sidewaysAt360(page)).toBe(0);
    await page.setViewportSize({ width: 360, height: 780 });
    const search = await page.getByRole('button', { name: /^Search/ }).boundingBox();
    expect(search?.width).toBeGreaterThan(80);
    await page.locator('summary').getByText(email).click();
    await page.getByRole('button', { name: 'Log out' }).click();
    await page.getByRole('heading', { name: 'Log in to Model Gateway' }).waitFor();
    await page.context().close();
  });
});
