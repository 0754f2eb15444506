import { beforeAll, describe, expect, it } from '@jest/globals';
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

interface Alert {
  readonly budget_alert_id: string;
  readonly owner_id: string;
  readonly window_start: string;
  readonly window_end: string;
}
const newest = async () => {
  const { items } = (await scene.admin('GET', '/api/v1/admin/spend/budget-alerts')).data as {
    items: readonly Alert[];
  };
  return items[0]!;
};
const row = () =>
  scene.page().getByRole('region', { name: 'Alerts', exact: true }).locator('tbody tr').first();

describe('the alerts of an empty gateway', () => {
  it('show that no budget has come near its amount', async () => {
    const page = await scene.open('/alerts');
    await page.getByText('No budget has come near its amount').waitFor();
    expect(await axeInBothThemes(page)).toEqual([]);
  });
});

describe('the alert of a budget', () => {
  beforeAll(async () => {
    const [user] = await scene.query<{ user_id: string }>(`select user_id from users where name = 'A'`);
    await scene.admin('PUT', `/api/v1/admin/spend/budgets/users/${user?.user_id}`, {
      cadence: 'daily',
      amount_10000: 3,
      hard_limit: false,
      timezone: 'UTC',
    });
    for (const _ of [1, 2]) expect((await scene.chat()).status).toBe(200);
  });

  it('is listed with spend, remainder and mails, and links to the requests before it', async () => {
    const page = await scene.open('/alerts');
    const { owner_id: id, window_start: from, window_end: to } = await newest();
    await row().getByText('1 failed').waitFor();
    const [, line] = await csvOf(page, 'Alerts');
    expect(line?.split(',').slice(1)).toEqual([
      'A',
      'daily',
      '0.0003',
      '0',
      to,
      expect.stringMatching(/: failed$/),
    ]);
    const spent = row().getByRole('link', { name: '0.0003 USD' });
    const href = (await spent.getAttribute('href')) ?? '';
    expect(filtersOf(href)).toMatchObject({ user_id: id, from, in_ledger: 'true' });
    // Later requests of the window are not part of the spend of the alert.
    expect((await scene.chat()).status).toBe(200);
    const list = `/api/v1/admin/observability/request-logs${new URL(href, page.url()).search}`;
    expect((await scene.admin('GET', list)).data).toMatchObject({ total: 2 });
  });

  it('opens by keyboard, with the error of a failed mail and how to fix it', async () => {
    const page = await scene.open('/alerts');
    await row().focus();
    await page.keyboard.press('Enter');
    const drawer = page.getByRole('dialog', { name: 'Alert of A' });
    await drawer.getByText('0.00015 USD').waitFor();
    await drawer.getByText('mail_not_configured').waitFor();
    await drawer.getByText('Add a mail section to the configuration').waitFor();
    expect(searchOf(page)).toEqual({ open: (await newest()).budget_alert_id });
    expect(await axeInBothThemes(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await drawer.waitFor({ state: 'detached' });
    expect(searchOf(page)).toEqual({});
  });

  it('shows failed, pending, sending and sent mails separately', async () => {
    for (const [recipient, status] of [
      ['b@example.com', 'pending'],
      ['e@example.com', 'sending'],
      ['c@example.com', 'sent'],
      ['d@example.com', 'sent'],
    ])
      await scene.query(
        `insert into budget_alert_deliveries (budget_alert_id, ownership_scope_key, recipient, delivery_status, created_at,
           attempted_at, sent_at)
         select budget_alert_id, ownership_scope_key, '${recipient}', '${status}', now(),
                case when '${status}' in ('sending', 'sent') then now() end, case when '${status}' = 'sent' then now() end
         from budget_alerts limit 1`,
      );
    const page = await scene.open(`/alerts?open=${(await newest()).budget_alert_id}`);
    const mails = await csvOf(page, 'Mails of the alert');
    const stateIn = (line: string): string => line.split(',')[1] ?? '';
    expect(new Set(mails.slice(1).map(stateIn))).toEqual(new Set(['failed', 'pending', 'sending', 'sent']));
    expect(mails).toHaveLength(6);
    await page.getByRole('button', { name: 'Close' }).click();
    expect(await row().locator('.badge').allTextContents()).toEqual([
      '1 failed',
      '1 sending',
      '1 pending',
      '2 sent',
    ]);
  });

  it('is listed in pages of 50, with the page in the address', async () => {
    await scene.query(
      `insert into budget_alerts (ownership_scope_key, budget_id, user_id, cadence, amount_10000, threshold_bps, window_start,
         window_end, spend_before_picousd, spend_after_picousd, created_at)
       select ownership_scope_key, budget_id, user_id, cadence, amount_10000, threshold_bps,
              window_start - n * interval '1 day', window_end - n * interval '1 day', spend_before_picousd,
              spend_after_picousd, created_at - n * interval '1 day'
       from budget_alerts, generate_series(1, 50) n`,
    );
    const page = await scene.open('/alerts');
    await page.getByText('1–50 of 51').waitFor();
    await page.getByRole('button', { name: 'Next' }).click();
    await page.getByText('51–51 of 51').waitFor();
    expect(searchOf(page)).toEqual({ page: '2' });
    await page.goBack();
    await page.getByText('1–50 of 51').waitFor();
  });

  it('is opened by its link, also if it is on another page of the list', async () => {
    const [oldest] = await scene.query<{ id: string; ends: Date }>(
      'select budget_alert_id as id, window_end as ends from budget_alerts order by created_at limit 1',
    );
    const page = await scene.open(`/alerts?open=${oldest?.id}`);
    const ends = oldest?.ends.toISOString().slice(0, 10) ?? 'never';
    await page.getByRole('dialog', { name: 'Alert of' }).getByText(ends).first().waitFor();
  });

  it('is replaced by an error with request id and retry button if the API fails, and fits into 360 px', async () => {
    const page = scene.page();
    await whileFailing(page, '**/api/v1/admin/spend/budget-alerts*', async () => {
      await scene.open('/alerts');
      await page.getByText('Request id request-of-the-fault').waitFor();
    });
    await page.getByRole('button', { name: 'Try again' }).click();
    await row().waitFor();
    expect(await sidewaysAt360(page)).toBe(0);
  });
});
