import { beforeAll, describe, expect, it } from '@jest/globals';
import { fill, grow } from '../../bench/data-rows.ts';
import { basicConfig } from '../support/gateway.ts';
import { pageScene } from './page-scene.ts';
import { axeInBothThemes, csvOf, filtersOf, searchOf, sidewaysAt360, whileFailing } from './report-pages.ts';

const usage = { 'x-simulate': 'prompt-tokens=1000&completion-tokens=0&total-tokens=1000' };
const scene = pageScene((upstream, key) =>
  basicConfig(upstream, key, {
    more: {
      models: [
        { id: 'fast', routes: [{ provider: 'up', upstream_model: 'simulated-fast', extra_headers: usage }] },
      ],
    },
  }),
);

interface Money {
  readonly spend_usd: string;
}
interface Report {
  readonly window_start: string;
  readonly window_end: string;
  readonly totals: Money;
  readonly owners: readonly (Money & { owner_id: string; owner_kind: string; owner_name: string })[];
  readonly models: readonly (Money & { model_key: string })[];
}
interface Cut {
  readonly values: readonly Money[];
  readonly rest: Money;
}
interface Days {
  readonly chart_owners: readonly { owner_name: string }[];
  readonly chart_models: readonly { model_key: string }[];
  readonly days: readonly (Money & { day: string; owners: Cut; models: Cut })[];
}
const report = async (query = '') =>
  (await scene.admin('GET', `/api/v1/admin/spend/report${query}`)).data as Report;
const days = async (query = '') =>
  (await scene.admin('GET', `/api/v1/admin/spend/days${query}`)).data as Days;

/** The filters of the second link of each shown row, which is the number of requests. */
async function linksOf(caption: string) {
  const rows = scene.page().getByRole('region', { name: caption, exact: true }).locator('tbody tr');
  const links = await rows.all();
  return Promise.all(
    links.map(async (row) => filtersOf(await row.getByRole('link').nth(1).getAttribute('href'))),
  );
}
const texts = (cut: Cut) => [...cut.values, cut.rest].map(({ spend_usd: usd }) => usd);

describe('the spend of an empty gateway', () => {
  it('shows that nothing was spent and that no budget is set', async () => {
    const page = await scene.open('/spend');
    await page.getByText('Nothing was spent in this period').waitFor();
    await page.getByText('No budget is set').waitFor();
    expect(await axeInBothThemes(page)).toEqual([]);
  });
});

describe('the spend of a gateway with requests', () => {
  beforeAll(async () => {
    await fill(scene.databaseUrl());
    await grow(scene.databaseUrl(), 3000);
    const [user] = await scene.query<{ user_id: string }>(`select user_id from users where name = 'A'`);
    await scene.admin('PUT', `/api/v1/admin/spend/budgets/users/${user?.user_id}`, {
      cadence: 'daily',
      amount_10000: 4,
      hard_limit: false,
      timezone: 'UTC',
    });
    for (const _ of [1, 2]) expect((await scene.chat()).status).toBe(200);
  });

  it.each([
    ['days=90', '`days` must be one of 7, 30.'],
    ['owner_kind=robot', '`owner_kind` must be one of all, user, team.'],
  ])('shows an error and no report for %s in the address until it is reset', async (query, says) => {
    const page = await scene.open(`/spend?${query}`);
    await page.getByText(says).first().waitFor();
    const owners = page.getByRole('region', { name: 'Spend by owner', exact: true });
    expect(await owners.count()).toBe(0);
    const [name, value] = query.split('=');
    const filter = page.locator('.filters').getByLabel(name === 'days' ? 'Days' : 'Owners');
    expect(await filter.inputValue()).toBe(value);
    await filter.selectOption('');
    await owners.waitFor();
  });

  it('shows exact amounts of owners and models, and links each to its requests', async () => {
    const page = await scene.open('/spend');
    const { totals, owners, models, window_start: from, window_end: to } = await report();
    await page.getByText(`${totals.spend_usd} USD in`).waitFor();
    const inWindow = { from, to, in_ledger: 'true' };
    const ofOwners = owners.map(({ owner_kind: kind, owner_id: id }) => ({
      [kind === 'user' ? 'user_id' : 'team_id']: id,
      ...inWindow,
    }));
    const ownerLinks = await linksOf('Spend by owner');
    expect(ownerLinks.length).toBeGreaterThan(1);
    expect(ownerLinks).toEqual(ofOwners.slice(0, ownerLinks.length));
    const ofModels = models.map(({ model_key: key }) => ({ model_key: key, ...inWindow }));
    const modelLinks = await linksOf('Spend by model');
    expect(modelLinks.length).toBeGreaterThan(1);
    expect(modelLinks).toEqual(ofModels.slice(0, modelLinks.length));
    expect(await csvOf(page, 'Spend by owner')).toEqual([
      'Owner,Kind,Spend,Requests,Priced,No price,No usage,Estimated,Owner id',
      ...owners.map(({ owner_name: name, owner_kind: kind, owner_id: id, spend_usd: usd }) =>
        expect.stringMatching(`^${name},${kind},${usd},.*,${id}$`),
      ),
    ]);
    expect(await csvOf(page, 'Spend by model')).toEqual([
      'Model,Spend,Requests,Priced,No price,No usage,Estimated',
      ...models.map(({ model_key: key, spend_usd: usd }) => expect.stringMatching(`^${key},${usd},`)),
    ]);
  });

  it('shows the exact amounts of each bar selected by arrow keys, and all bars as a table', async () => {
    const page = await scene.open('/spend');
    const { chart_owners: owners, days: found } = await days();
    await page.locator('.recharts-bar-rectangle').first().waitFor();
    await page.locator('.chart svg[tabindex="0"]').focus();
    const told = page.locator('.chart-told');
    for (const [at, day] of found.entries()) {
      if (at > 0) await page.keyboard.press('ArrowRight');
      await told.getByText(day.day).waitFor();
      expect(await told.locator('dd').allTextContents()).toEqual([...texts(day.owners), day.spend_usd]);
    }
    expect(found.length).toBe(7);
    await page.getByText('Show as a table').click();
    const lines = await csvOf(page, 'Spend per day by owner, as a table');
    expect(lines).toEqual([
      `Day (UTC),${owners.map(({ owner_name: name }) => name).join(',')},All other owners,Together`,
      ...found.map((day) => [day.day, ...texts(day.owners), day.spend_usd].join(',')),
    ]);
  });

  it('has each filter in the address, set by keyboard, and Back undoes the last one', async () => {
    const page = await scene.open('/spend');
    await page.getByLabel('Days').focus();
    await page.keyboard.press('ArrowDown');
    await page.getByRole('combobox', { name: 'Owners' }).focus();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowDown');
    await page.getByLabel('Chart').focus();
    await page.keyboard.press('ArrowDown');
    await page.locator('figcaption').getByText('Spend per day by model').waitFor();
    expect(searchOf(page)).toEqual({ days: '30', owner_kind: 'team', by: 'model' });
    const { totals } = await report('?days=30&owner_kind=team');
    await page.getByText(`${totals.spend_usd} USD in`).waitFor();
    const { chart_models: models, days: found } = await days('?days=30&owner_kind=team');
    await page.getByText('Show as a table').click();
    expect(await csvOf(page, 'Spend per day by model, as a table')).toEqual([
      `Day (UTC),${models.map(({ model_key: key }) => key).join(',')},All other models,Together`,
      ...found.map((day) => [day.day, ...texts(day.models), day.spend_usd].join(',')),
    ]);
    await page.goBack();
    await page.locator('figcaption').getByText('Spend per day by owner').waitFor();
  });

  it('shows spend against a budget with its mark, its amount and its window', async () => {
    const page = await scene.open('/spend');
    const bar = page.getByRole('meter', { name: 'Spent of the budget of A' });
    await bar.waitFor();
    expect(await bar.getAttribute('aria-valuetext')).toBe('75.0 %, 0.0003 of 0.0004 USD');
    await bar.locator('.meter-mark').waitFor();
    const lines = await csvOf(page, 'Spend against budgets');
    expect(lines[1]).toMatch(/^A,0\.0003,0\.0004,daily soft,\d{4}-\d\d-\d\dT00:00:00\.000Z,0$/);
  });

  it('shows an error with its request id, and loads after `Try again`', async () => {
    const page = scene.page();
    await whileFailing(page, '**/api/v1/admin/spend/report*', async () => {
      await scene.open('/spend?days=30');
      await page.getByText('Request id request-of-the-fault').waitFor();
    });
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('region', { name: 'Spend by owner', exact: true }).waitFor();
  });

  it('has no axe-core violations, and does not scroll sideways at 360 px', async () => {
    const page = await scene.open('/spend?owner_kind=team');
    await page.locator('.recharts-bar-rectangle').first().waitFor();
    await page.getByText('Show as a table').click();
    expect(await axeInBothThemes(page)).toEqual([]);
    expect(await sidewaysAt360(page)).toBe(0);
  });
});
