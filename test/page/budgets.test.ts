import { describe, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { basicConfig, pricedAt } from '../support/gateway.ts';
import { axeViolations, pageScene } from './page-scene.ts';
import { csvOf, searchOf } from './report-pages.ts';

/** At 0.10 USD per million tokens, 1000 prompt tokens cost 0.0001 USD. */
const scene = pageScene((upstream, key) =>
  basicConfig(upstream, key, {
    route: { extra_headers: { 'x-simulate': 'usage=last&prompt-tokens=1000&completion-tokens=0' } },
    more: {
      pricing: pricedAt('0.10', '0'),
      teams: [
        {
          id: 'platform',
          name: 'Platform',
          budget: { cadence: 'weekly', amount_10000: 5000000, hard_limit: false },
        },
        { id: 'search', name: 'Search' },
      ],
    },
  }),
);

const table = (page: Page) => page.getByRole('table', { name: 'Budgets', exact: true });
const rowOf = (page: Page, name: string) =>
  table(page)
    .getByRole('row')
    .filter({ has: page.getByRole('cell', { name, exact: true }) });
const openOwner = async (name: string): Promise<Page> => {
  const page = await scene.open('/budgets');
  await rowOf(page, name).first().focus();
  await page.keyboard.press('Enter');
  await page.getByRole('dialog', { name: /^Budget of/ }).waitFor();
  return page;
};
const inForce = (kind: 'user' | 'team') =>
  scene.query<{ cadence: string; amount_10000: string; hard_limit: boolean }>(
    `select cadence, amount_10000::text, hard_limit from ${kind}_budgets where active order by created_at desc limit 1`,
  );

describe('a budget on the page', () => {
  it('is explained and previewed, is saved with its exact amount, and then blocks requests with 429', async () => {
    for (let count = 0; count < 3; count += 1) expect((await scene.chat()).status).toBe(200);
    const page = await openOwner('A');
    await page.getByRole('button', { name: 'Set a budget' }).click();
    const dialog = page.getByRole('dialog', { name: 'Set the budget of A' });
    await dialog.getByLabel('Amount in USD').fill('0.0002');
    await dialog.getByText(/everything is refused at once/).waitFor();
    await dialog.getByRole('button', { name: 'What would it have blocked?' }).click();
    const dryRun = dialog.getByRole('row').filter({ hasText: 'This one' });
    await dryRun.waitFor();
    expect(await dryRun.getByRole('cell').allTextContents()).toEqual([
      '1',
      '0.0001 USD',
      expect.stringMatching(/^\d{4}-/),
      '0.0003 USD',
    ]);
    expect(await axeViolations(page)).toEqual([]);
    await dialog.getByLabel('Amount in USD').fill('0.00010');
    await dialog.getByRole('button', { name: 'Save budget' }).click();
    await page.getByText('A has 0.0001 USD per month.').waitFor();
    expect(await inForce('user')).toEqual([{ cadence: 'monthly', amount_10000: '1', hard_limit: true }]);
    expect((await scene.chat()).status).toBe(429);
  });

  it('with an invalid amount shows the error at its field and is not saved; the largest amount is saved', async () => {
    const page = await openOwner('Search');
    await page.getByRole('button', { name: 'Set a budget' }).click();
    const dialog = page.getByRole('dialog', { name: 'Set the budget of Search' });
    const field = dialog.getByLabel('Amount in USD');
    for (const [typed, fault] of [
      ['', 'Type an amount'],
      ['1e3', 'Type an amount'],
      ['-1', 'Type an amount'],
      ['0.00001', 'at most four digits'],
      ['900719925474.0992', 'The largest amount is 900719925474.0991 USD'],
    ] as const) {
      await field.fill(typed);
      await dialog.getByRole('button', { name: 'Save budget' }).click();
      await dialog.getByRole('alert').filter({ hasText: fault }).waitFor();
      expect(await field.getAttribute('aria-invalid')).toBe('true');
    }
    expect(await scene.query(`select 1 from team_budgets where team_id = 'search'`)).toEqual([]);
    await field.fill('900719925474.0991');
    await dialog.getByRole('button', { name: 'Save budget' }).click();
    await page.getByText('Search has 900,719,925,474.0991 USD per month.').waitFor();
    expect(await inForce('team')).toMatchObject([{ amount_10000: '9007199254740991' }]);
  });

  it('that another admin changed meanwhile shows both versions, and that change is kept or overwritten', async () => {
    const path = '/api/v1/admin/spend/budgets/teams/contested';
    await scene.query(`insert into teams (team_id, name) values ('contested', 'Contested')`);
    const set = (amount: number) =>
      scene.admin('PUT', path, { cadence: 'daily', amount_10000: amount, hard_limit: true });
    const page = await openOwner('Contested');
    const save = page.getByRole('button', { name: 'Save budget' });
    const row = page.getByRole('dialog').getByRole('row', { name: /^Amount/ });
    await page.getByRole('button', { name: 'Set a budget' }).click();
    await page.getByLabel('Amount in USD').fill('5');
    await set(10_000);
    await save.click();
    await row.waitFor();
    expect(await row.innerText()).toMatch(/differs\s+1 USD\s+5 USD/);
    expect(await axeViolations(page)).toEqual([]);
    await page.getByRole('button', { name: 'Take theirs' }).click();
    expect(await page.getByLabel('Amount in USD').inputValue()).toBe('1');
    await page.getByLabel('Amount in USD').fill('6');
    await set(20_000);
    await save.click();
    await row.waitFor();
    await page.getByRole('button', { name: 'Apply mine on top' }).click();
    await page.getByText('Contested has 6 USD per day.').waitFor();
    await page.getByRole('button', { name: 'Deactivate budget' }).click();
    await set(30_000);
    await page
      .getByRole('dialog', { name: /^Deactivate/ })
      .getByRole('button', { name: 'Deactivate budget' })
      .click();
    await row.waitFor();
    expect(await row.innerText()).toMatch(/differs\s+3 USD\s+no budget/);
    await page.getByRole('button', { name: 'Take theirs' }).click();
    await page.getByRole('dialog', { name: /^Deactivate/ }).waitFor({ state: 'detached' });
    expect(
      await scene.query(`select amount_10000 from team_budgets where team_id = 'contested' and active`),
    ).toEqual([{ amount_10000: '30000' }]);
  });

  it('is changed and deactivated by keyboard, and the history names who changed it', async () => {
    const page = await openOwner('Platform');
    const tabTo = async (name: string): Promise<void> => {
      await page.getByRole('button', { name, exact: true }).focus();
      await page.keyboard.press('Enter');
    };
    await tabTo('Change budget');
    await page.keyboard.press('ControlOrMeta+a');
    await page.keyboard.type('12.5');
    await page.keyboard.press('Enter');
    await page.getByText('Platform has 12.5 USD per week.').waitFor();
    const history = page.getByRole('table', { name: 'Budgets of Platform' });
    await history.getByText('12.5 USD').waitFor();
    expect(await history.getByRole('row').allTextContents()).toMatchObject([
      'Set (UTC)Set byAmountWindowLimitEnded (UTC)Ended by',
      expect.stringMatching(/root@example\.com12\.5 USD.*in force/),
      expect.stringMatching(/the configuration file500 USD.*root@example\.com/),
    ]);
    await tabTo('Deactivate budget');
    await page.getByText('nothing limits what Platform spends').waitFor();
    expect(await axeViolations(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await page.getByText('nothing limits what Platform spends').waitFor({ state: 'detached' });
    await tabTo('Deactivate budget');
    await page
      .getByRole('dialog', { name: /^Deactivate/ })
      .getByRole('button', { name: 'Deactivate budget' })
      .focus();
    await page.keyboard.press('Enter');
    await page.getByText('Platform no longer has a budget.').waitFor();
    expect(await scene.query(`select 1 from team_budgets where team_id = 'platform' and active`)).toEqual([]);
    await page.getByRole('button', { name: 'Set a budget' }).waitFor();
  });
});

describe('the list of budgets', () => {
  it('shows every owner with spend against the amount, and has its filters by kind, name and spend in the address', async () => {
    const page = await scene.open('/budgets');
    await rowOf(page, 'Platform').waitFor();
    const owners = await scene.query<{ owner: string }>(
      `select name as owner from users union all select name from teams`,
    );
    const rows = (await csvOf(page, 'Budgets')).slice(1).map((line) => line.split(','));
    expect(rows).toHaveLength(owners.length);
    expect(new Set(rows.map(([owner]) => owner))).toEqual(new Set(owners.map(({ owner }) => owner)));
    // After the e-mail address: kind, share, spend and amount.
    expect(rows.map(([owner, , ...more]) => [owner, ...more.slice(0, 4)])).toEqual(
      expect.arrayContaining([
        ['A', 'user', '300.0 %', '0.0003', '0.0001'],
        ['Contested', 'team', '0.0 %', '0', '3'],
        ['Platform', 'team', '', '0', ''],
        ['Search', 'team', '0.0 %', '0', '900719925474.0991'],
      ]),
    );
    const choices = page.locator('.filters').getByRole('combobox');
    const meter = rowOf(page, 'A').getByRole('meter');
    expect(await meter.getAttribute('aria-valuetext')).toBe('300.0 %, 0.0003 of 0.0001 USD');
    await choices.nth(0).selectOption('People');
    await rowOf(page, 'Platform').waitFor({ state: 'detached' });
    expect(page.url()).toContain('kind=user');
    await page.getByLabel('Name, e-mail or id').fill('A@EXAMPLE');
    await rowOf(page, 'root@example.com').waitFor({ state: 'detached' });
    expect(await rowOf(page, 'A').count()).toBe(1);
    expect(page.url()).toContain('q=A%40EXAMPLE');
    await page.getByRole('button', { name: 'Remove the filter Owner: user' }).click();
    await page.getByLabel('Name, e-mail or id').fill('');
    await rowOf(page, 'Platform').waitFor();
    await choices.nth(1).selectOption('80 % spent or more');
    await rowOf(page, 'Platform').waitFor({ state: 'detached' });
    expect(await rowOf(page, 'A').count()).toBe(1);
    expect(searchOf(page)).toEqual({ state: 'near' });
    await page.reload();
    await rowOf(page, 'A').waitFor();
    expect(await rowOf(page, 'Platform').count()).toBe(0);
    await page.getByLabel('Name, e-mail or id').fill('nobody at all');
    await page.getByText('No owner matches').waitFor();
  });

  it('opens the owner in the address, with spend per day and a link from the spend to its requests', async () => {
    const [row] = await scene.query<{ user_id: string }>(
      `select user_id from users where email = 'a@example.com'`,
    );
    const id = row?.user_id ?? '';
    const page = await scene.open(`/budgets?open=${id}`);
    const drawer = page.getByRole('dialog', { name: 'Budget of A' });
    const link = await drawer.getByRole('link', { name: '0.0003 USD' }).getAttribute('href');
    expect(link).toContain(`/observability/request-logs?user_id=${id}&from=`);
    await drawer.getByText('Show as a table').click();
    const days = drawer.getByRole('table', { name: 'Spend of A by day' }).getByRole('row');
    expect(await days.nth(1).getByRole('cell').allTextContents()).toMatchObject([
      new Date().toISOString().slice(0, 10),
      '3',
      '0.0003 USD',
      '–',
      '–',
    ]);
    expect(await days.count()).toBe(31);
    await drawer.getByRole('combobox').selectOption('7');
    await days.nth(8).waitFor({ state: 'detached' });
    await page.keyboard.press('Escape');
    await drawer.waitFor({ state: 'detached' });
    expect(page.url()).not.toContain('open=');
  });

  it('shows a message if no owner has the id in the address', async () => {
    const page = await scene.open('/budgets?open=user:nobody');
    await page.getByRole('dialog').getByText('There is no owner with this id.').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    expect(page.url()).not.toContain('open=');
  });

  it.each(['light', 'dark'])('has no axe-core violations in the %s theme', async (theme) => {
    const page = await scene.open('/budgets');
    await page.evaluate(`localStorage.setItem('gateway.theme', '${theme}')`);
    await page.reload();
    await rowOf(page, 'Platform').waitFor();
    expect(await axeViolations(page)).toEqual([]);
    await rowOf(page, 'A').click({ position: { x: 5, y: 5 } });
    await page.getByRole('table', { name: 'Budgets of A' }).waitFor();
    expect(await axeViolations(page)).toEqual([]);
    await page.evaluate(`localStorage.removeItem('gateway.theme')`);
  });

  it('shows an error with its request id, and loads after `Try again`', async () => {
    const page = await scene.open('/budgets');
    const failing = '**/api/v1/admin/spend/budgets';
    await page.route(failing, (route) =>
      route.fulfill({
        status: 503,
        contentType: 'application/json',
        headers: { 'x-request-id': 'the-id' },
        body: JSON.stringify({
          error: { message: 'No database.', type: 'x', param: null, code: 'store_unavailable' },
        }),
      }),
    );
    await page.reload();
    await page.getByText('Request id the-id').waitFor();
    await page.unroute(failing);
    await page.getByRole('button', { name: 'Try again' }).click();
    await rowOf(page, 'Platform').waitFor();
  });
});

describe('a budget of 0', () => {
  it.each([
    { hard_limit: true, says: 'refuses all' },
    { hard_limit: false, says: 'refuses nothing' },
  ])('that is hard ($hard_limit) $says', async ({ hard_limit, says }) => {
    await scene.admin('PUT', '/api/v1/admin/spend/budgets/teams/search', {
      cadence: 'daily',
      amount_10000: 0,
      hard_limit,
    });
    const page = await scene.open('/budgets');
    await rowOf(page, 'Search').getByText(says, { exact: true }).waitFor();
    await scene.admin('DELETE', '/api/v1/admin/spend/budgets/teams/search');
  });
});
