import { describe, expect, it } from '@jest/globals';
import { root, terms, today, tomorrow, instant, adminBudgetsScene } from './admin-budgets-scene.ts';

const { query, admin, aUser } = adminBudgetsScene();

describe('budget alerts', () => {
  it('are listed in pages, newest first, with their deliveries', async () => {
    await query('truncate budget_alerts, budget_alert_deliveries');
    const made: string[] = [];
    for (let count = 0; count < 7; count += 1) {
      const { userId, path } = await aUser();
      await query(
        `insert into usage_daily_totals values ('user:' || $1, (now() at time zone 'UTC')::date, 250000001)`,
        [userId],
      );
      await admin('PUT', path, terms(2, { hard_limit: false }));
      made.unshift(userId);
    }
    const { status, data } = await admin('GET', `${root}/budget-alerts`);
    expect(status).toBe(200);
    const all = data as { items: Record<string, unknown>[] };
    expect(data).toMatchObject({ page: 1, page_size: 50, total: 7, total_is_lower_bound: false });
    expect(all.items.map((item) => item['owner_id'])).toEqual(made);
    const [email] = await query<{ email: string }>('select email from users where user_id = $1', [made[0]]);
    const alone = await admin(
      'GET',
      `${root}/budget-alerts?budget_alert_id=${String(all.items[6]?.['budget_alert_id'])}`,
    );
    expect(alone.data).toMatchObject({ items: all.items.slice(6), total: 1 });
    expect(all.items[0]).toEqual({
      budget_alert_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      owner_kind: 'user',
      owner_id: made[0],
      owner_name: 'U',
      cadence: 'daily',
      threshold_bps: 2000,
      window_start: today(),
      window_end: tomorrow(),
      spend_before_usd: '0.000250000001',
      spend_before_usd_10000: 3,
      spend_after_usd: '0.000250000001',
      spend_after_usd_10000: 3,
      remaining_usd: '-0.000050000001',
      remaining_usd_10000: -1,
      created_at: instant,
      deliveries: [
        {
          channel: 'email',
          recipient: email?.email,
          delivery_status: 'failed',
          attempted_at: null,
          sent_at: null,
          failure_reason: 'mail_not_configured',
        },
      ],
    });

    const pages = [];
    for (let page = 1; page <= 4; page += 1) {
      const answer = await admin('GET', `${root}/budget-alerts?page=${page}&page_size=3`);
      expect(answer.data).toMatchObject({ page, page_size: 3, total: 7, total_is_lower_bound: false });
      pages.push((answer.data as { items: Record<string, unknown>[] }).items.map((item) => item['owner_id']));
    }
    expect(pages).toEqual([made.slice(0, 3), made.slice(3, 6), made.slice(6), []]);
  });

  it('show the spend before and after the charge that raised them, and what remained after it', async () => {
    await query('update budget_alerts set spend_before_picousd = 100000000, spend_after_picousd = 190000000');
    expect((await admin('GET', `${root}/budget-alerts?page_size=1`)).data).toMatchObject({
      items: [
        {
          spend_before_usd: '0.0001',
          spend_before_usd_10000: 1,
          spend_after_usd: '0.00019',
          spend_after_usd_10000: 2,
          remaining_usd: '0.00001',
        },
      ],
    });
  });

  it('show when each delivery was attempted and when it was sent', async () => {
    await query(
      `update budget_alert_deliveries set delivery_status = 'sent', failure_reason = null,
         attempted_at = '2030-01-02T03:04:05.678Z', sent_at = '2030-01-02T03:04:06Z'`,
    );
    const { data } = await admin('GET', `${root}/budget-alerts?page_size=1`);
    expect(data).toMatchObject({
      items: [
        {
          deliveries: [
            {
              delivery_status: 'sent',
              attempted_at: '2030-01-02T03:04:05.678Z',
              sent_at: '2030-01-02T03:04:06.000Z',
              failure_reason: null,
            },
          ],
        },
      ],
    });
  });

  it('have an exact total up to 10,000; with more rows it is 10,000 with the flag set', async () => {
    const fill = (count: number) =>
      query(
        `insert into budget_alerts (ownership_scope_key, budget_id, team_id, cadence, amount_10000, threshold_bps, window_start, window_end,
           spend_before_picousd, spend_after_picousd, created_at)
         select 'team:platform:actor:none', gen_random_uuid(), 'platform', 'daily', 1, 2000, now(), now(), 0, 1, now() - interval '1 day'
         from generate_series(1, $1)`,
        [count],
      );
    await fill(9_993);
    const totals = async () => (await admin('GET', `${root}/budget-alerts?page=500&page_size=200`)).data;
    expect(await totals()).toMatchObject({ items: [], total: 10_000, total_is_lower_bound: false });
    await fill(1);
    expect(await totals()).toMatchObject({ items: [], total: 10_000, total_is_lower_bound: true });
  });

  it.each([
    ['budget_alert_id=1', 'budget_alert_id'],
    ['page=0', 'page'],
    ['page=-1', 'page'],
    ['page=1.5', 'page'],
    ['page=one', 'page'],
    ['page=', 'page'],
    ['page=1&page=2', 'page'],
    ['page_size=0', 'page_size'],
    ['page_size=201', 'page_size'],
    ['page=501&page_size=200', 'page'],
    ['pagesize=5', 'pagesize'],
    ['Page=1', 'Page'],
  ])('?%s is refused with 400 and names the parameter', async (search, param) => {
    expect(await admin('GET', `${root}/budget-alerts?${search}`)).toMatchObject({
      status: 400,
      error: { code: 'invalid_request', param },
    });
  });

  it('return 200 for the largest page that is allowed', async () => {
    expect(await admin('GET', `${root}/budget-alerts?page_size=200&page=500`)).toMatchObject({ status: 200 });
  });
});
