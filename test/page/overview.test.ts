import { describe, expect, it } from '@jest/globals';
import { basicConfig } from '../support/gateway.ts';
import { axeViolations, centreDistance, leastCentreDistance, pageScene } from './page-scene.ts';
import { axeInBothThemes, csvOf, filtersOf, sidewaysAt360, whileFailing } from './report-pages.ts';

const usage = { 'x-simulate': 'prompt-tokens=1000&completion-tokens=0&total-tokens=1000' };
const scene = pageScene((upstream, key) =>
  basicConfig(upstream, key, {
    more: {
      models: [
        { id: 'fast', routes: [{ provider: 'up', upstream_model: 'simulated-fast', extra_headers: usage }] },
        { id: 'free', routes: [{ provider: 'up', upstream_model: 'simulated-slow', extra_headers: usage }] },
        { id: 'broken', routes: [{ provider: 'up', upstream_model: 'simulated-fast?status=500' }] },
      ],
    },
  }),
);
const userId = async () =>
  (await scene.query<{ user_id: string }>(`select user_id from users where name = 'A'`))[0]?.user_id ?? '';
const step = (name: string) => scene.page().locator('.steps > li').filter({ hasText: name });

describe('the overview of an empty gateway', () => {
  it('is a list of setup steps with instructions, and a step is marked as done without a reload', async () => {
    const page = await scene.open('/');
    await page.getByRole('heading', { name: 'Setup: 2 of 6 done' }).waitFor();
    await step('A key exists').getByText('done', { exact: true }).waitFor();
    await step('A model answers').getByText('to do').waitFor();
    expect(await step('A model answers').locator('pre').textContent()).toContain(
      `${scene.gateway().url}/v1/chat/completions`,
    );
    expect(await step('Mail can be sent').locator('pre').textContent()).toContain('smtp:');
    expect(await step('A collector').locator('pre').textContent()).toContain('otel_endpoint');
    expect(await axeInBothThemes(page)).toEqual([]);
    expect(await sidewaysAt360(page)).toBe(0);
    await scene.admin('PUT', `/api/v1/admin/spend/budgets/users/${await userId()}`, {
      cadence: 'daily',
      amount_10000: 2,
      hard_limit: true,
      timezone: 'UTC',
    });
    await step('A budget is set').getByText('done', { exact: true }).waitFor({ timeout: 15_000 });
  });
});

describe('the overview of a gateway with requests', () => {
  it('shows spend, requests, errors and latency of the day, and links counts to the list of requests', async () => {
    const statuses = [];
    for (const model of ['fast', 'free', 'broken', 'nobody', 'fast']) {
      const answer = await scene.chat({ model, stream: model === 'free' });
      await answer.arrayBuffer();
      statuses.push(answer.status);
    }
    expect(statuses).toEqual([200, 200, 502, 404, 429]);
    const page = await scene.open('/');
    const figure = (title: string) =>
      page.locator('.figure').filter({ has: page.getByRole('heading', { name: title }) });
    expect(await figure('Spend today').locator('.figure-value').textContent()).toBe('0.00015 USD');
    const requests = figure('Requests').locator('.figure-value').getByRole('link');
    expect(await requests.textContent()).toBe('2');
    // The list also has requests that failed before any usage, so the figure shows the total of the list.
    expect(await figure('Requests').textContent()).toContain('today; 5 logged, with those that failed');
    expect(Object.keys(filtersOf(await requests.getAttribute('href')))).toEqual(['from', 'to', 'in_ledger']);
    await figure('Errors').getByText('2 by callers, 1 upstream, 0 of the gateway').waitFor();
    const errors = figure('Errors').getByRole('link');
    expect(await errors.textContent()).toBe('3');
    await errors.click();
    await page.getByText('3 requests, newest first').waitFor();
    await page.getByRole('button', { name: 'Remove the filter Failed: yes' }).click();
    await page.getByText('5 requests, newest first').waitFor();
    await page.goBack();
    await page.goBack();
    expect(await figure('Latency').locator('.figure-value').textContent()).toMatch(/^[\d,]+ ms$/);
    expect(await figure('First token').locator('.figure-value').textContent()).toMatch(/^[\d,]+ ms$/);
  });

  it('shows unpriced models, blocking budgets and failed routes as needing attention, with links', async () => {
    const page = await scene.open('/');
    const attention = page.getByRole('region', { name: 'Needs attention' });
    await attention.getByText('2 models without a price.').waitFor();
    await attention.getByText('1 budget hit its hard limit.').waitFor();
    await attention.getByText('1 route failed upstream in the last hour.').waitFor();
    const route = attention.getByRole('link', { name: 'broken at up: 1' });
    expect(filtersOf(await route.getAttribute('href'))).toMatchObject({
      model_key: 'broken',
      provider_key: 'up',
      error_code: 'upstream_error',
    });
    expect(await attention.getByRole('link', { name: 'free', exact: true }).getAttribute('href')).toBe(
      '/admin/models?open=free',
    );
    expect(await attention.getByRole('link', { name: 'budget', exact: true }).getAttribute('href')).toBe(
      `/admin/budgets?open=${await userId()}`,
    );
  });

  it('shows the last 24 hours as bars and as a table, with a link to the requests of an hour', async () => {
    const page = await scene.open('/');
    const bars = page.getByRole('img', { name: 'Spend in each of the last 24 hours' });
    await bars.waitFor();
    expect(await bars.locator('title').count()).toBe(24);
    expect((await bars.locator('title').allTextContents()).join(' ')).toContain('0.00015 USD');
    await page.getByText('The 24 hours as a table').click();
    const lines = await csvOf(page, 'The last 24 hours');
    expect(lines).toHaveLength(25);
    const sums = [1, 3, 4, 5].map((at) =>
      lines.slice(1).reduce((sum, line) => sum + Number(line.split(',')[at]), 0),
    );
    expect(sums).toEqual([2, 2, 1, 0]);
    // Only the hour with the streamed request has a time to the first token.
    const firstTokens = lines.slice(1).map((line) => line.split(',').slice(8));
    expect(firstTokens.filter(([median, p95]) => median !== 'n/a' || p95 !== 'n/a')).toEqual([
      [expect.stringMatching(/^\d+$/), expect.stringMatching(/^\d+$/)],
    ]);
    const hour = page
      .getByRole('region', { name: 'The last 24 hours', exact: true })
      .locator('tbody tr a')
      .first();
    const { from, to } = filtersOf(await hour.getAttribute('href'));
    expect(Date.parse(to ?? '') - Date.parse(from ?? '')).toBe(3_600_000);
  });

  it('counts budgets near their amount like the budgets page that the count links to', async () => {
    const terms = { cadence: 'monthly', amount_10000: 0, hard_limit: false };
    const budget = '/api/v1/admin/spend/budgets/teams/platform';
    expect((await scene.admin('PUT', budget, terms)).status).toBe(200);
    const page = await scene.open('/');
    await page.getByRole('link', { name: '1 of 2 budgets', exact: true }).click();
    await page.getByRole('link', { name: '1 at 80 % or above' }).waitFor();
    await page.getByRole('row', { name: 'Platform' }).waitFor();
    expect((await scene.admin('DELETE', budget)).status).toBe(200);
  });

  it('counts budgets that hit their hard limit like the budgets page that it links to', async () => {
    const terms = { cadence: 'monthly', amount_10000: 0, hard_limit: true };
    const budget = '/api/v1/admin/spend/budgets/teams/platform';
    expect((await scene.admin('PUT', budget, terms)).status).toBe(200);
    const page = await scene.open('/');
    await page.getByText('2 budgets hit their hard limit.').waitFor();
    await page.getByRole('link', { name: 'Budgets', exact: true }).last().click();
    await page.getByRole('link', { name: '2 hit the hard limit' }).waitFor();
    await page.getByRole('row', { name: 'Platform' }).waitFor();
    expect(await csvOf(page, 'Budgets')).toHaveLength(3);
    expect((await scene.admin('DELETE', budget)).status).toBe(200);
  });

  it('links a failed route to its requests, even if their client got another status', async () => {
    await scene.query(`update request_logs set status_code = 429 where model_key = 'broken'`);
    const page = await scene.open('/');
    await page.getByRole('link', { name: 'broken at up: 1' }).click();
    await page.getByText('1 request, newest first').waitFor();
    await scene.query(`update request_logs set status_code = 502 where model_key = 'broken'`);
  });

  it('has the links of two failed routes at least 24 px apart at 360 px, and no axe-core violations', async () => {
    const page = scene.page();
    const route = { kind: 'route', id: 'the-fast', title: 'provider-0', count: 9 };
    const items = [route, { ...route, id: 'the-large' }];
    await page.route('**/api/v1/admin/overview', async (call) => {
      const answer = await call.fetch();
      const { data, meta } = (await answer.json()) as { readonly data: object; readonly meta: object };
      const fact = { kind: 'provider_errors', count: 2, count_is_lower_bound: false, items };
      await call.fulfill({ response: answer, json: { data: { ...data, attention: [fact] }, meta } });
    });
    await page.setViewportSize({ width: 360, height: 780 });
    await scene.open('/');
    const failed = (model: string) => page.getByRole('link', { name: `${model} at provider-0: 9` });
    await failed('the-large').waitFor();
    expect(await centreDistance(failed('the-fast'), failed('the-large'))).toBeGreaterThanOrEqual(
      leastCentreDistance,
    );
    expect(await axeViolations(page)).toEqual([]);
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.unroute('**/api/v1/admin/overview');
  });

  it('shows the budgets nearest to their amount, and the top models and owners of the day with links', async () => {
    const page = await scene.open('/');
    const bar = page.getByRole('meter', { name: 'Spent of the budget of A' });
    expect(await bar.getAttribute('aria-valuetext')).toBe('75.0 %, 0.00015 of 0.0002 USD');
    expect((await csvOf(page, 'Nearest budgets'))[1]).toMatch(/^A,0\.00015,0\.0002,/);
    expect(await csvOf(page, 'Top models')).toEqual(['Model,Requests,Spend', 'fast,1,0.00015', 'free,1,0']);
    expect(await csvOf(page, 'Top owners')).toEqual(['Owner,Requests,Spend', 'A,2,0.00015']);
    // They cover the UTC day, and so do the requests that they link to.
    const today = Date.parse(new Date().toISOString().slice(0, 10));
    for (const table of ['Top models', 'Top owners']) {
      const region = page.getByRole('region', { name: table, exact: true });
      await region.getByRole('heading', { name: `${table} today (UTC)` }).waitFor();
      const link = region.locator('tbody tr').first().locator('td').nth(1).getByRole('link');
      const { from, to } = filtersOf(await link.getAttribute('href'));
      expect([from, to].map((at) => Date.parse(at ?? '') - today)).toEqual([0, 86_400_000]);
    }
    await page.getByRole('region', { name: 'Latest alerts', exact: true }).waitFor();
  });

  it('shows an error with its request id, and loads after `Try again`', async () => {
    const page = scene.page();
    await whileFailing(page, '**/api/v1/admin/overview', async () => {
      await scene.open('/');
      await page.getByText('Request id request-of-the-fault').waitFor();
    });
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('region', { name: 'Needs attention' }).waitFor();
  });

  it('has no axe-core violations, and does not scroll sideways at 360 px', async () => {
    const page = await scene.open('/');
    await page.getByText('The 24 hours as a table').click();
    await page.getByText('Setup: 4 of 6 done').click();
    expect(await axeInBothThemes(page)).toEqual([]);
    expect(await sidewaysAt360(page)).toBe(0);
  });
});
