import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { adminClient } from '../support/admin.ts';
import {
  keys,
  root,
  terms,
  today,
  tomorrow,
  instant,
  budgetIdIn,
  adminBudgetsScene,
} from './admin-budgets-scene.ts';

const { query, replicas, admin, aUser, userIdOf, historyOf, ask } = adminBudgetsScene();

describe('PUT sets the one active budget of an owner', () => {
  it('returns the owner, the budget and the current window', async () => {
    const { userId, path } = await aUser();
    const answer = await admin('PUT', path, terms(12_345, { timezone: 'Europe/Paris' }));
    expect(answer).toMatchObject({ status: 200, meta: { generated_at: instant } });
    expect(answer.data).toEqual({
      owner_kind: 'user',
      owner_id: userId,
      budget: {
        budget_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
        cadence: 'daily',
        amount_10000: 12_345,
        amount_usd: '1.2345',
        hard_limit: true,
        timezone: 'Europe/Paris',
        created_at: instant,
      },
      current_window: {
        start: today(),
        end: tomorrow(),
        spend_usd: '0',
        spend_usd_10000: 0,
        blocked_answers: { count: 0, cost_usd: '0', cost_usd_10000: 0 },
      },
    });
  });

  it('sets and removes the budget of a team, whatever its id', async () => {
    for (const teamId of ['platform', 'a/b:c@d']) {
      const path = `${root}/budgets/teams/${encodeURIComponent(teamId)}`;
      expect(await admin('PUT', path, terms(5))).toMatchObject({
        status: 200,
        data: { owner_kind: 'team', owner_id: teamId, budget: { amount_10000: 5, timezone: 'UTC' } },
      });
      expect(await admin('DELETE', path)).toMatchObject({
        status: 200,
        data: { owner_kind: 'team', owner_id: teamId, deactivated: true },
      });
    }
  });

  it('closes the old row into history and opens a new one when any field changes', async () => {
    const { userId, path } = await aUser();
    const steps = [
      terms(5),
      terms(6),
      terms(6, { cadence: 'weekly' }),
      terms(6, { cadence: 'weekly', hard_limit: false }),
      terms(6, { cadence: 'weekly', hard_limit: false, timezone: 'Asia/Tokyo' }),
    ];
    const ids = new Set<unknown>();
    for (const step of steps) ids.add(budgetIdIn((await admin('PUT', path, step)).data));
    expect(ids.size).toBe(steps.length);
    const history = await historyOf(userId);
    expect(history.map(({ budget_id }) => budget_id)).toEqual([...ids]);
    expect(history.map(({ active }) => active)).toEqual([false, false, false, false, true]);
    expect(history.map(({ deactivated_at }) => deactivated_at !== null)).toEqual([
      true,
      true,
      true,
      true,
      false,
    ]);
  });

  it('changes nothing when the same budget is set again', async () => {
    const { userId, path } = await aUser();
    const first = await admin('PUT', path, terms(5, { timezone: 'UTC' }));
    const before = await historyOf(userId);
    const again = await admin('PUT', path, terms(5));
    expect(again.data).toEqual(first.data);
    expect(await historyOf(userId)).toEqual(before);
  });

  it('returns the largest and the smallest amount exactly', async () => {
    const { path } = await aUser();
    expect((await admin('PUT', path, terms(9_007_199_254_740_991))).data).toMatchObject({
      budget: { amount_10000: 9_007_199_254_740_991, amount_usd: '900719925474.0991' },
    });
    expect((await admin('PUT', path, terms(0))).data).toMatchObject({
      budget: { amount_10000: 0, amount_usd: '0' },
    });
  });

  it('accepts a user id in upper case as the same user', async () => {
    const { userId } = await aUser();
    const path = `${root}/budgets/users/${userId.toUpperCase()}`;
    expect((await admin('PUT', path, terms(5))).data).toMatchObject({ owner_id: userId });
    expect((await admin('DELETE', path)).data).toEqual({
      owner_kind: 'user',
      owner_id: userId,
      deactivated: true,
    });
  });
});

describe('DELETE removes the active budget', () => {
  it('keeps the history rows, and returns 200 with deactivated: false without a budget', async () => {
    const { userId, path } = await aUser();
    await admin('PUT', path, terms(5));
    const removed = { owner_kind: 'user', owner_id: userId, deactivated: true };
    expect(await admin('DELETE', path)).toMatchObject({ status: 200, data: removed });
    expect(await admin('DELETE', path)).toMatchObject({
      status: 200,
      data: { ...removed, deactivated: false },
    });
    expect(await historyOf(userId)).toMatchObject([{ active: false, deactivated_at: expect.any(Date) }]);
    const next = await admin('PUT', path, terms(5));
    expect(await historyOf(userId)).toMatchObject([{ active: false }, { budget_id: budgetIdIn(next.data) }]);
  });
});

describe('an unknown owner is 404', () => {
  it.each([
    [`${root}/budgets/users/00000000-0000-4000-8000-000000000000`, 'user_id'],
    [`${root}/budgets/users/nobody`, 'user_id'],
    [`${root}/budgets/users/%7B00000000-0000-4000-8000-000000000000%7D`, 'user_id'],
    [`${root}/budgets/users/%27%3B%20drop%20table%20users`, 'user_id'],
    [`${root}/budgets/teams/nobody`, 'team_id'],
    [`${root}/budgets/teams/PLATFORM`, 'team_id'],
  ])('%s', async (path, param) => {
    for (const [method, body] of [['PUT', terms(5)], ['DELETE']] as const)
      expect(await admin(method, path, body)).toMatchObject({
        status: 404,
        error: { code: 'not_found', param },
      });
  });

  it('ids with U+0000, with bytes that are not UTF-8, and ids that are far too long', async () => {
    const names = ['teams/%00', 'teams/%FF', `teams/${'x'.repeat(4000)}`, 'users/%00'];
    for (const path of names.map((name) => `${root}/budgets/${name}`))
      for (const [method, body] of [['PUT', terms(5)], ['DELETE']] as const)
        expect(await admin(method, path, body)).toMatchObject({ status: 404, error: { code: 'not_found' } });
  });
});

describe('a deactivated owner', () => {
  it('a user: the budget is kept, is listed and can be removed, but not set', async () => {
    const { userId, email, path } = await aUser();
    await admin('PUT', path, terms(5));
    await query('update users set active = false where user_id = $1', [userId]);
    const listed = async () => {
      const { data } = await admin('GET', `${root}/budgets`);
      return (data as { users: Record<string, unknown>[] }).users.find((each) => each['user_id'] === userId);
    };
    expect(await listed()).toMatchObject({
      email,
      active: false,
      budget: { amount_10000: 5 },
      alert_recipients: [],
    });
    expect(await admin('PUT', path, terms(6))).toMatchObject({
      status: 404,
      error: { code: 'not_found', message: 'There is no active owner of this id.' },
    });
    expect(await historyOf(userId)).toMatchObject([{ active: true, amount_10000: '5' }]);
    const removed = { owner_kind: 'user', owner_id: userId, deactivated: true };
    expect(await admin('DELETE', path)).toMatchObject({ status: 200, data: removed });
    expect(await historyOf(userId)).toMatchObject([{ active: false }]);
    expect(await listed()).toBeUndefined();
    expect(await admin('DELETE', path)).toMatchObject({
      status: 200,
      data: { ...removed, deactivated: false },
    });
  });

  it('a team: the budget is kept, is listed and can be removed, but not set', async () => {
    const teamId = randomUUID();
    const path = `${root}/budgets/teams/${teamId}`;
    await query(`insert into teams (team_id, name) values ($1, 'Gone')`, [teamId]);
    await admin('PUT', path, terms(5));
    await query('update teams set active = false where team_id = $1', [teamId]);
    const { data } = await admin('GET', `${root}/budgets`);
    const { teams } = data as { teams: Record<string, unknown>[] };
    expect(teams.find((each) => each['team_id'] === teamId)).toMatchObject({ active: false });
    expect(await admin('PUT', path, terms(6))).toMatchObject({ status: 404 });
    expect(await admin('DELETE', path)).toMatchObject({ status: 200, data: { deactivated: true } });
  });
});

describe('an invalid budget is refused with 400 and names the field', () => {
  const good = { cadence: 'daily', amount_10000: 5, hard_limit: true, timezone: 'UTC' };
  it.each<[string, unknown, string]>([
    ['a negative amount', { ...good, amount_10000: -1 }, 'amount_10000'],
    ['a fraction', { ...good, amount_10000: 1.5 }, 'amount_10000'],
    ['too large an amount', { ...good, amount_10000: 9_007_199_254_740_992 }, 'amount_10000'],
    ['far too large an amount', '{"cadence":"daily","amount_10000":1e400,"hard_limit":true}', 'amount_10000'],
    ['an amount as text', { ...good, amount_10000: '5' }, 'amount_10000'],
    ['a null amount', { ...good, amount_10000: null }, 'amount_10000'],
    ['no amount', { cadence: 'daily', hard_limit: true }, 'amount_10000'],
    ['an unknown cadence', { ...good, cadence: 'hourly' }, 'cadence'],
    ['no cadence', { amount_10000: 5, hard_limit: true }, 'cadence'],
    ['no hard limit', { cadence: 'daily', amount_10000: 5 }, 'hard_limit'],
    ['a hard limit as text', { ...good, hard_limit: 'yes' }, 'hard_limit'],
    ['an unknown time zone', { ...good, timezone: 'Mars/Olympus' }, 'timezone'],
    ['an offset instead of a time zone', { ...good, timezone: '+01:00' }, 'timezone'],
    ['an empty time zone', { ...good, timezone: '' }, 'timezone'],
    ['a time zone with U+0000', { ...good, timezone: 'UTC\0' }, 'timezone'],
    ['an unknown field', { ...good, currency: 'USD' }, 'currency'],
    ['a field in another case', { ...good, Cadence: 'daily' }, 'Cadence'],
    ['no JSON', 'cadence=daily', 'body'],
    ['JSON that is cut short', '{"cadence":', 'body'],
    ['an array', '[]', 'body'],
    ['null', 'null', 'body'],
    ['nothing', undefined, 'body'],
    [
      'more values than are read in the event loop',
      `{${Array.from({ length: 20_001 }, (_, index) => `"k${index}":1`).join(',')}}`,
      'body',
    ],
    [
      'a repeated field',
      '{"cadence":"daily","cadence":"weekly","amount_10000":5,"hard_limit":true}',
      'cadence',
    ],
  ])('%s', async (_, body, param) => {
    const { userId, path } = await aUser();
    const answer = await admin('PUT', path, body);
    expect(answer).toMatchObject({ status: 400, error: { code: 'invalid_request', param } });
    expect(answer.error?.message).toEqual(expect.any(String));
    expect(await historyOf(userId)).toEqual([]);
  });

  it('another content type, and unknown query parameters', async () => {
    const { path } = await aUser();
    const form = { 'content-type': 'application/x-www-form-urlencoded' };
    expect(await admin('PUT', path, 'cadence=daily', form)).toMatchObject({
      status: 400,
      error: { param: 'content-type' },
    });
    for (const [method, body] of [['PUT', good], ['DELETE']] as const)
      expect(await admin(method, `${path}?dry_run=1`, body)).toMatchObject({
        status: 400,
        error: { code: 'invalid_request', param: 'dry_run' },
      });
    expect(await admin('GET', `${root}/budgets?user=1`)).toMatchObject({
      status: 400,
      error: { param: 'user' },
    });
  });

  it('any JSON object is answered with 200 and exactly that budget, or with 400', async () => {
    const { path } = await aUser();
    const odd = fc.oneof(
      fc.jsonValue({ maxDepth: 1 }),
      fc.double(),
      fc.constantFrom('daily', 'weekly', true, false, 0, -0, 1, 'UTC', 1e300, 9_007_199_254_740_991),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.record(
          { cadence: odd, amount_10000: odd, hard_limit: odd, timezone: odd, more: odd },
          { requiredKeys: [] },
        ),
        async (body) => {
          const { status, data } = await admin('PUT', path, { ...terms(3), ...body });
          expect([200, 400]).toContain(status);
          if (status === 200)
            expect(data).toMatchObject({
              budget: JSON.parse(
                JSON.stringify({
                  ...terms(3),
                  ...body,
                  amount_10000: ((body.amount_10000 as number) ?? 3) + 0,
                }),
              ),
            });
        },
      ),
      { numRuns: 100 },
    );
  });
});

describe('concurrent changes of one owner’s budget', () => {
  it.each([2, 20])(
    '%d concurrent PUTs: all return 200, one row is active, and every change is in the history',
    async (count) => {
      const { userId, path } = await aUser();
      const others = await adminClient(replicas()[1].url);
      const answers = await Promise.all(
        Array.from({ length: count }, async (_, index) =>
          (index % 2 === 0 ? admin : others)('PUT', path, terms(index + 1)),
        ),
      );
      expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
      for (const [index, { data }] of answers.entries())
        expect(data).toMatchObject({ owner_id: userId, budget: { amount_10000: index + 1 } });
      const history = await historyOf(userId);
      expect(history.map(({ amount_10000 }) => Number(amount_10000)).toSorted((a, b) => a - b)).toEqual(
        answers.map((_, index) => index + 1),
      );
      expect(history.filter(({ active }) => active)).toHaveLength(1);
    },
  );

  it('PUTs, identical PUTs and DELETEs: at most one row is active; the history has exactly the budgets returned', async () => {
    const { userId, path } = await aUser();
    const answers = await Promise.all(
      Array.from({ length: 30 }, async (_, index) =>
        index % 3 === 0 ? admin('DELETE', path) : admin('PUT', path, terms(index % 2)),
      ),
    );
    expect(answers.every(({ status }) => status === 200)).toBe(true);
    const removed = answers.filter(({ data }) => (data as { deactivated?: boolean }).deactivated === true);
    const history = await historyOf(userId);
    expect(history.filter(({ active }) => active).length).toBeLessThanOrEqual(1);
    const given = new Set(
      answers.flatMap(({ data }) =>
        (data as { budget?: unknown }).budget === undefined ? [] : [budgetIdIn(data)],
      ),
    );
    expect(new Set(history.map(({ budget_id }) => budget_id))).toEqual(given);
    expect(removed.length).toBeLessThanOrEqual(history.length);
  });
});

describe('a budget change takes effect at the next request of the owner, on another replica', () => {
  it.each([
    ['a user', 'user'],
    ['a team', 'team'],
    ['a service account, whose team pays', 'account'],
  ] as const)('of %s', async (_, caller) => {
    const key = keys[caller];
    const path =
      caller === 'user'
        ? `${root}/budgets/users/${await userIdOf('a@example.com')}`
        : `${root}/budgets/teams/platform`;
    for (let count = 0; count < 3; count += 1) expect((await ask(key)).status).toBe(200);
    const { data } = await admin('PUT', path, terms(1_000_000, { hard_limit: false }));
    const spent = (data as { current_window: { spend_usd_10000: number } }).current_window.spend_usd_10000;
    expect(spent).toBeGreaterThanOrEqual(3);

    expect((await admin('PUT', path, terms(2))).status).toBe(200);
    const refused = await ask(key);
    expect(refused.status).toBe(429);
    expect(JSON.parse(refused.text)).toMatchObject({ error: { code: 'budget_exceeded' } });
    expect(refused.headers.get('x-should-retry')).toBe('false');
    expect(refused.headers.get('x-gateway-budget-resets-at')).toMatch(/T00:00:00\.000Z$/);

    await admin('PUT', path, terms(spent + 1));
    expect((await ask(key)).status).toBe(200);
    expect((await ask(key)).status).toBe(429);
    await admin('PUT', path, terms(2, { hard_limit: false }));
    expect((await ask(key)).status).toBe(200);
    await admin('PUT', path, terms(0));
    expect((await ask(key)).status).toBe(429);
    await admin('DELETE', path);
    expect((await ask(key)).status).toBe(200);
  });
});

describe('GET lists every active user and team, and deactivated ones that have a budget', () => {
  it('with their budget or null, the spend of the current window, and the alert recipients', async () => {
    const { userId, email, path } = await aUser();
    const gone = await aUser();
    await query('update users set active = false where user_id = $1', [gone.userId]);
    await query(
      `insert into usage_daily_totals values ('user:' || $1, (now() at time zone 'UTC')::date, 1234567890123)`,
      [userId],
    );
    await query(`insert into blocked_answers values ($1, 'user:' || $2, 1234560000000, now())`, [
      randomUUID(),
      userId,
    ]);
    const listed = async () => {
      const { status, data } = await admin('GET', `${root}/budgets`);
      expect(status).toBe(200);
      return data as { users: Record<string, unknown>[]; teams: Record<string, unknown>[] };
    };
    const { users, teams } = await listed();
    const month = new Date();
    expect(users.find((each) => each['user_id'] === userId)).toEqual({
      user_id: userId,
      name: 'U',
      email,
      active: true,
      budget: null,
      current_window: {
        start: new Date(Date.UTC(month.getUTCFullYear(), month.getUTCMonth(), 1)).toISOString(),
        end: new Date(Date.UTC(month.getUTCFullYear(), month.getUTCMonth() + 1, 1)).toISOString(),
        spend_usd: '1.234567890123',
        spend_usd_10000: 12_346,
        blocked_answers: { count: 1, cost_usd: '1.23456', cost_usd_10000: 12_346 },
      },
      alert_recipients: [email],
    });
    expect(users.map((each) => each['user_id'])).not.toContain(gone.userId);
    expect(teams.find((each) => each['team_id'] === 'platform')).toMatchObject({
      name: 'Platform',
      active: true,
      budget: null,
      alert_recipients: ['owner@example.com'],
    });
    expect(teams.find((each) => each['team_id'] === 'a/b:c@d')).toMatchObject({ alert_recipients: [] });

    const set = await admin('PUT', path, terms(7));
    expect((await listed()).users.find((each) => each['user_id'] === userId)).toMatchObject({
      budget: (set.data as { budget: object }).budget,
      current_window: { start: today(), end: tomorrow(), spend_usd: '1.234567890123' },
    });
  });
});

describe('a call without a session is refused with 401, with an API key too', () => {
  it.each([
    ['GET', `${root}/budgets`],
    ['GET', `${root}/budget-alerts`],
    ['PUT', `${root}/budgets/users/nobody`],
    ['DELETE', `${root}/budgets/users/nobody`],
    ['PUT', `${root}/budgets/teams/platform`],
    ['DELETE', `${root}/budgets/teams/platform`],
  ])('%s %s', async (method, path) => {
    for (const headers of [{}, { authorization: `Bearer ${keys.user}` }]) {
      const answer = await fetch(`${replicas()[0].url}${path}`, { method, headers });
      expect(answer.status).toBe(401);
      expect(await answer.json()).toMatchObject({ error: { code: 'session_required' } });
    }
  });
});
