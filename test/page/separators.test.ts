import { beforeAll, describe, expect, it } from '@jest/globals';
import { basicConfig, pricedAt } from '../support/gateway.ts';
import { pageScene } from './page-scene.ts';
import { csvOf } from './report-pages.ts';

const usage = { 'x-simulate': 'prompt-tokens=12345678&completion-tokens=0&total-tokens=12345678' };
const scene = pageScene((upstream, key) =>
  basicConfig(upstream, key, {
    route: { extra_headers: usage },
    more: { pricing: pricedAt('1500.25', '1500.25') },
  }),
);

/** A request costs this much. */
const cost = '18521.6034195';

beforeAll(async () => {
  const [user] = await scene.query<{ user_id: string }>(`select user_id from users where name = 'A'`);
  await scene.admin('PUT', `/api/v1/admin/spend/budgets/users/${user?.user_id}`, {
    cadence: 'monthly',
    amount_10000: 200_000_000,
    hard_limit: false,
  });
  expect((await scene.chat()).status).toBe(200);
  await scene.query('update request_logs set latency_ms = 4321');
});

/** Numbers that are no part of a date, of an id (whole, or shortened by `…`: both ends of one can be digits) or of a fraction. */
const bareNumber = /(?<![\w.,:/…-])\d{4,}(?![\w:/…-])/g;

describe('numbers', () => {
  it.each([
    ['/', ['18,521.6034195 USD', '4,321 ms', '20,000 USD']],
    ['/spend', ['18,521.6034195 USD', '20,000 USD']],
    ['/observability/leaderboard', ['18,521.6034195 USD']],
    ['/observability/request-logs', ['12,345,678', '18,521.6034195 USD', '4,321 ms']],
    ['/budgets', ['18,521.6034195 USD', '20,000 USD']],
    ['/alerts', ['18,521.6034195 USD', '1,478.3965805 USD']],
    ['/models', ['1,500.25 in, 1,500.25 out']],
  ])('have separators in each thousand at %s', async (path, shown) => {
    const page = await scene.open(path);
    const main = page.locator('main');
    for (const text of shown) await main.getByText(text).first().waitFor();
    for (const table of await main.getByText('Show as a table').all()) await table.click();
    const row = main.locator('tr.opens');
    expect((await main.innerText()).match(bareNumber) ?? []).toEqual([]);
    const titles = await main
      .locator('[title]:not(time)')
      .evaluateAll((all: readonly { readonly title: string }[]) => all.map(({ title }) => title));
    expect(titles.join('\n').match(bareNumber) ?? []).toEqual([]);
    if ((await row.count()) === 0) return;
    await row.first().locator('td').first().click();
    const drawer = page.getByRole('dialog');
    await drawer
      .getByText(/\d,\d{3}/)
      .first()
      .waitFor();
    expect((await drawer.innerText()).match(bareNumber) ?? []).toEqual([]);
  });

  it('are exact and without separators in a CSV', async () => {
    const page = await scene.open('/observability/request-logs');
    const [head, row] = (await csvOf(page, 'Requests')).map((line) => line.split(','));
    expect(row?.[head?.indexOf('Tokens') ?? -1]).toBe('12345678');
    expect(row?.[head?.indexOf('Cost') ?? -1]).toBe(cost);
  });
});
