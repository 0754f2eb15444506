import { describe, expect, it } from '@jest/globals';
import { budgetsScene, hard } from './budgets-scene.ts';

const { query, gateway, config, ask, spentBy, refusedBefore } = budgetsScene();

describe('a team', () => {
  it('shares its budget with its service accounts', async () => {
    expect(await ask('team')).toMatchObject({ status: 200 });
    expect(await ask('account')).toMatchObject({ status: 200 });
    await refusedBefore(await ask('team'));
    await refusedBefore(await ask('account'));
    expect(await spentBy('team:shared:actor:none')).toBe(2);
  });

  it('is not charged for its members’ own keys', async () => {
    expect(await ask('member')).toMatchObject({ status: 200 });
    expect(await spentBy('team:empty%')).toBe(0);
  });
});

describe('a budget from the file', () => {
  const rows = () =>
    query(
      `select b.cadence, b.amount_10000, b.hard_limit, b.timezone, b.active, b.deactivated_at is null as open
       from user_budgets b join users u using (user_id)
       where u.email = 'changing@example.com' order by b.created_at, b.active`,
    );
  const first = { cadence: 'daily', amount_10000: '1', hard_limit: true, timezone: 'UTC' };

  it('is closed into history when it changes and when its block is removed', async () => {
    expect(await rows()).toEqual([{ ...first, active: true, open: true }]);
    await ask('changing');
    await refusedBefore(await ask('changing'));

    await gateway().take(config());
    expect(await rows()).toEqual([{ ...first, active: true, open: true }]);

    await gateway().take(
      config({ changing: { budget: hard(5, { cadence: 'weekly', timezone: 'Europe/Paris' }) } }),
    );
    const second = { cadence: 'weekly', amount_10000: '5', hard_limit: true, timezone: 'Europe/Paris' };
    expect(await rows()).toEqual([
      { ...first, active: false, open: false },
      { ...second, active: true, open: true },
    ]);
    expect(await ask('changing')).toMatchObject({ status: 200 });

    await gateway().take(config({ changing: { budget: undefined } }));
    expect(await rows()).toEqual([
      { ...first, active: false, open: false },
      { ...second, active: false, open: false },
    ]);
    for (let round = 0; round < 5; round += 1)
      expect(await ask('changing', { model: 'three' })).toMatchObject({ status: 200 });

    await gateway().take(config());
    expect(await rows()).toHaveLength(3);
    await refusedBefore(await ask('changing'));
  });

  it('leaves the budgets of all other owners active when it changes', async () => {
    const [row] = await query<{ all: number; active: number }>(
      `select count(*)::int as all, count(*) filter (where b.active)::int as active
       from user_budgets b join users u using (user_id)
       where u.email not in ('changing@example.com', 'close@example.com')`,
    );
    expect(row?.active).toBe(row?.all);
    expect(row?.all).toBeGreaterThan(10);
  });
});
