import { describe, expect, it } from '@jest/globals';
import { adminBudgetsScene, instant, keys, root, terms, today, tomorrow } from './admin-budgets-scene.ts';

const { query, admin, aUser, userIdOf, ask } = adminBudgetsScene();

const noMoney = (name: string) => ({ [`${name}_usd`]: '0', [`${name}_usd_10000`]: 0 });

describe('an owner’s spend by day, and a dry run', () => {
  it('show what was spent and blocked, and what another amount would have blocked', async () => {
    const userId = await userIdOf('a@example.com');
    const path = `${root}/budgets/users/${userId}`;
    await admin('PUT', path, terms(2));
    const statuses: number[] = [];
    for (let count = 0; count < 3; count += 1) statuses.push((await ask(keys.user)).status);
    expect(statuses).toEqual([200, 200, 429]);

    const days = await admin('GET', `${path}/days?days=2`);
    expect(days.status).toBe(200);
    expect(days.data).toEqual({
      owner_kind: 'user',
      owner_id: userId,
      window_days: 2,
      window_start: instant,
      window_end: tomorrow(),
      days: [
        {
          day: expect.stringMatching(/^\d{4}-\d\d-\d\d$/),
          request_count: 0,
          ...noMoney('spend'),
          blocked_answers: { count: 0, ...noMoney('cost') },
        },
        {
          day: today().slice(0, 10),
          request_count: 2,
          spend_usd: '0.0002',
          spend_usd_10000: 2,
          blocked_answers: { count: 0, ...noMoney('cost') },
        },
      ],
    });
    expect((await admin('GET', `${path}/days`)).data).toMatchObject({ window_days: 30 });

    const dry = await admin('POST', `${path}/dry-run`, { cadence: 'daily', amount_10000: 1 });
    expect(dry.status).toBe(200);
    expect(dry.data).toEqual({
      owner_kind: 'user',
      owner_id: userId,
      last_window: {
        window: { start: instant, end: today() },
        ...noMoney('spend'),
        would_block_from: null,
        blocked_requests: 0,
        ...noMoney('blocked_cost'),
      },
      current_window: {
        window: { start: today(), end: tomorrow() },
        spend_usd: '0.0002',
        spend_usd_10000: 2,
        would_block_from: instant,
        blocked_requests: 1,
        blocked_cost_usd: '0.0001',
        blocked_cost_usd_10000: 1,
      },
    });
    expect(await admin('POST', `${path}/dry-run`, { cadence: 'monthly', amount_10000: 2 })).toMatchObject({
      data: { current_window: { would_block_from: null, blocked_requests: 0 } },
    });
  });

  it('are also available for a team, whatever its id, and change nothing', async () => {
    const path = `${root}/budgets/teams/${encodeURIComponent('a/b:c@d')}`;
    const rows = () =>
      query(`select (select count(*) from admin_events) e, (select count(*) from team_budgets) b`);
    const before = await rows();
    const asked = { cadence: 'weekly', amount_10000: 0, timezone: 'Europe/Paris' };
    expect(await admin('POST', `${path}/dry-run`, asked)).toMatchObject({
      status: 200,
      data: { owner_kind: 'team', owner_id: 'a/b:c@d', current_window: { blocked_requests: 0 } },
    });
    expect(await admin('GET', `${path}/days?days=92`)).toMatchObject({ data: { window_days: 92 } });
    expect(await rows()).toEqual(before);
  });

  it.each([
    ['days=0', 'days'],
    ['days=93', 'days'],
    ['days=1.5', 'days'],
    ['day=1', 'day'],
  ])('days?%s is refused with 400 and names the parameter %s', async (asked, param) => {
    expect(await admin('GET', `${root}/budgets/teams/platform/days?${asked}`)).toMatchObject({
      status: 400,
      error: { code: 'invalid_request', param },
    });
  });

  it.each([
    [{ amount_10000: 1 }, 'cadence'],
    [{ cadence: 'hourly', amount_10000: 1 }, 'cadence'],
    [{ cadence: 'daily', amount_10000: -1 }, 'amount_10000'],
    [{ cadence: 'daily', amount_10000: '1' }, 'amount_10000'],
    [{ cadence: 'daily', amount_10000: 1, timezone: 'Mars/Base' }, 'timezone'],
    [{ cadence: 'daily', amount_10000: 1, hard_limit: true }, 'hard_limit'],
  ])('a dry run of %j is refused with 400 and names the field %s', async (asked, param) => {
    expect(await admin('POST', `${root}/budgets/teams/platform/dry-run`, asked)).toMatchObject({
      status: 400,
      error: { code: 'invalid_request', param },
    });
  });

  it('a dry run that takes too long is 503 store_unavailable, and the message says that its windows are too large', async () => {
    const { path } = await aUser();
    const [found] = await query<{ text: string }>(
      `select pg_get_functiondef('budget_dry_run'::regproc) as text`,
    );
    // Fails as a statement does when its timeout cancels it.
    await query(`create or replace function budget_dry_run(
        scope text, amount_10000 bigint, from_time timestamptz, until_time timestamptz,
        out spent numeric, out blocks_from timestamptz, out blocked_count bigint, out blocked_cost numeric)
      language plpgsql stable as $$ begin
        raise 'canceling statement due to statement timeout' using errcode = '57014';
      end $$`);
    const asked = { cadence: 'monthly', amount_10000: 5, timezone: 'UTC' };
    expect(await admin('POST', `${path}/dry-run`, asked)).toMatchObject({
      status: 503,
      error: {
        code: 'store_unavailable',
        message: expect.stringMatching(/given up after 10 seconds.*too many requests.*shorter cadence/),
      },
    });
    await query(found?.text ?? '');
    expect((await admin('POST', `${path}/dry-run`, asked)).status).toBe(200);
  });

  it('are 404 for an unknown owner', async () => {
    for (const owner of ['users/no-uuid', 'users/00000000-0000-4000-8000-00000000abcd', 'teams/nobody']) {
      const path = `${root}/budgets/${owner}`;
      expect(await admin('GET', `${path}/days`)).toMatchObject({ status: 404, error: { code: 'not_found' } });
      const asked = { cadence: 'daily', amount_10000: 1 };
      expect(await admin('POST', `${path}/dry-run`, asked)).toMatchObject({ status: 404 });
    }
  });
});

describe('the history of a budget', () => {
  it('says for every change who set what, and who removed it', async () => {
    const { userId, path } = await aUser();
    const adminId = await userIdOf('root@example.com');
    await query('select gateway_set_budget($1, null, $2, 7, true, $3, true, false)', [
      userId,
      'daily',
      'UTC',
    ]);
    await admin('PUT', path, terms(5));
    await admin('PUT', path, terms(6, { cadence: 'weekly' }));
    await admin('DELETE', path);
    const events = await admin('GET', `/api/v1/admin/events?target_id=${userId}`);
    expect(events.data).toMatchObject({
      items: [
        { action: 'budget.delete', before_json: { from_config: false } },
        { action: 'budget.set', before_json: { from_config: false } },
        { action: 'budget.set', before_json: { from_config: true }, after_json: { from_config: false } },
      ],
    });
    const byAdmin = (name: string) => ({
      [name]: 'admin',
      [`${name}_user_id`]: adminId,
      [`${name}_user_name`]: expect.any(String),
    });
    expect(await admin('GET', `${path}/history`)).toMatchObject({
      data: {
        items: [
          { cadence: 'weekly', amount_10000: 6, ...byAdmin('set_by'), ...byAdmin('deactivated_by') },
          { cadence: 'daily', amount_10000: 5, ...byAdmin('set_by'), ...byAdmin('deactivated_by') },
          { amount_10000: 7, set_by: 'config', set_by_user_id: null, ...byAdmin('deactivated_by') },
        ],
      },
    });
  });
});
