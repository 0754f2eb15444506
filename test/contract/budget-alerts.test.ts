import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import type { Budgets } from '../../application/ports/budgets.ts';
import type { Seed } from '../../application/ports/seed.ts';
import { remaining } from '../../domain/budget/alert-mail.ts';
import type { BudgetTerms } from '../../domain/budget/budget-terms.ts';
import type { Caller } from '../../domain/identity/caller.ts';
import type { UsageCost } from '../../domain/ledger/usage-cost-event.ts';
import { alertsStore } from '../../infrastructure/postgres/alerts-store.ts';
import { budgetsStore } from '../../infrastructure/postgres/budgets-store.ts';
import { seedStore } from '../../infrastructure/postgres/seed-store.ts';
import { anActor } from '../support/admin-actor.ts';
import { withDatabase } from '../support/database.ts';
import { queries } from '../support/gateway.ts';
import { aMember, alertsOf, deliveriesOf, ownerOfCaller, putBudget, spendsOf } from './alerts-bench.ts';
import {
  aRecord,
  aTeam,
  aUser,
  openLedger,
  type OpenLedger,
  scopeOf,
  setUserBudget,
  settleTogether,
  spendOf,
  unit,
  unpriced,
  untilWaiting,
  userIdOf,
  withClock,
  withLedgers,
} from './ledger-bench.ts';
import { openSettlement, settleAlone } from './settle-alone.ts';

const database = withDatabase();
const query = queries(database.url);
const { ledgers } = withLedgers(database.url, 4);
const clock = withClock(query);
const ledger = () => ledgers[0]!;
const settle = async (...records: Parameters<typeof settleTogether>[1]) => settleTogether(ledger(), records);

let budgets: Budgets;
let budgetsWithMail: Budgets;
let ledgerWithMail: OpenLedger;
beforeAll(async () => {
  ledgerWithMail = await openLedger(database.url(), { mailReady: () => true });
  budgets = budgetsStore(ledgerWithMail.pool, () => false);
  budgetsWithMail = budgetsStore(ledgerWithMail.pool, () => true);
});
afterAll(async () => {
  await ledgerWithMail?.pool.end();
});

const usageMissing: UsageCost = { pricingStatus: 'usage_missing' };

describe('an alert', () => {
  it('is raised when 20 % of the budget remain, and not when one picodollar more remains', async () => {
    const user = await aUser(query);
    const budgetId = await putBudget(budgets, user, 10n);
    await settle(aRecord(user, 8n * unit - 1n));
    expect(await alertsOf(query, user)).toEqual([]);
    await settle(aRecord(user, 1n));
    const today = new Date().setUTCHours(0, 0, 0, 0);
    expect(await alertsOf(query, user)).toEqual([
      expect.objectContaining({
        budget_id: budgetId,
        user_id: userIdOf(user),
        team_id: null,
        cadence: 'daily',
        amount_10000: '10',
        threshold_bps: 2000,
        window_start: new Date(today),
        window_end: new Date(today + 86_400_000),
        spend_before_picousd: String(8n * unit - 1n),
        spend_after_picousd: String(8n * unit),
      }),
    ]);
  });

  it('is raised by the one row that crosses the threshold, also within a batch', async () => {
    const user = await aUser(query);
    await putBudget(budgets, user, 10n);
    await settle(
      aRecord(user, 3n * unit),
      aRecord(user, 4n * unit),
      aRecord(user, unit),
      aRecord(user, unit),
    );
    expect(await spendsOf(query, user)).toEqual([[7n * unit, 8n * unit]]);
  });

  it('is checked to the picodollar, also with the largest possible amount', async () => {
    const amount = 9_007_199_254_740_991n;
    const [user, other] = [await aUser(query), await aUser(query)];
    const threshold = (amount * unit * 8n) / 10n;
    for (const each of [user, other]) await putBudget(budgets, each, amount);
    await settle(aRecord(user, threshold - 1n), aRecord(other, threshold));
    expect(await spendsOf(query, user)).toEqual([]);
    expect(await spendsOf(query, other)).toEqual([[0n, threshold]]);
  });

  it('is never raised by a row that is unpriced, has no usage, is a duplicate or is blocked', async () => {
    const user = await aUser(query);
    await putBudget(budgets, user, 10n, { hardLimit: true });
    const requestId = randomUUID();
    expect(await settle(aRecord(user, unit, { requestId }))).toEqual(['recorded']);
    expect(
      await settle(
        aRecord(user, unpriced),
        aRecord(user, usageMissing),
        aRecord(user, 9n * unit, { requestId }),
        aRecord(user, 10n * unit),
      ),
    ).toEqual(['recorded', 'recorded', 'duplicate', 'blocked']);
    expect(await alertsOf(query, user)).toEqual([]);
    await settle(aRecord(user, 7n * unit));
    expect(await spendsOf(query, user)).toEqual([[unit, 8n * unit]]);
  });

  it('is raised once per budget, threshold and window, also if four replicas settle at the same time', async () => {
    const user = await aUser(query);
    await putBudget(budgets, user, 100n);
    const settling = Array.from({ length: 100 }, async (_, index) =>
      settleTogether(ledgers[index % 4]!, [aRecord(user, unit)]),
    );
    await Promise.all(settling);
    expect(await spendsOf(query, user)).toEqual([[79n * unit, 80n * unit]]);
    await settle(aRecord(user, 500n * unit));
    expect(await alertsOf(query, user)).toHaveLength(1);
  });

  it('is raised again in a new window', async () => {
    const user = await aUser(query);
    await clock.standAt('2028-05-31T23:59:59.999Z');
    await putBudget(budgets, user, 10n);
    await settle(aRecord(user, 9n * unit), aRecord(user, unit));
    await clock.standAt('2028-06-01T00:00:00Z');
    await settle(aRecord(user, 7n * unit));
    expect(await alertsOf(query, user)).toHaveLength(1);
    await settle(aRecord(user, 2n * unit));
    expect(await alertsOf(query, user)).toMatchObject([
      { window_start: new Date('2028-05-31T00:00:00Z'), spend_after_picousd: String(9n * unit) },
      {
        window_start: new Date('2028-06-01T00:00:00Z'),
        window_end: new Date('2028-06-02T00:00:00Z'),
        spend_before_picousd: String(7n * unit),
        spend_after_picousd: String(9n * unit),
      },
    ]);
    await clock.run();
  });

  it('is raised for an overspent soft budget, with a negative remaining amount', async () => {
    const user = await aUser(query);
    await putBudget(budgets, user, 1n);
    await settle(aRecord(user, 5n * unit));
    expect(await spendsOf(query, user)).toEqual([[0n, 5n * unit]]);
    const { items } = await alertsStore(ledgerWithMail.pool).page(undefined, { page: 1, pageSize: 200 });
    const alert = items.find(({ owner }) => owner.kind === 'user' && owner.userId === userIdOf(user));
    expect(alert).toMatchObject({ amount: unit, spentBefore: 0n, spent: 5n * unit });
    expect(remaining(alert!)).toBe(-4n * unit);
  });

  it('belongs to the team, whether its own key or a service account spends', async () => {
    const [team, serviceAccount] = await aTeam(query);
    await putBudget(budgets, team, 10n);
    await settle(aRecord(team, 4n * unit), aRecord(serviceAccount, 4n * unit));
    expect(await alertsOf(query, team)).toMatchObject([
      { user_id: null, spend_before_picousd: String(4n * unit), spend_after_picousd: String(8n * unit) },
    ]);
  });

  it('is written in the transaction of the ledger row: a rollback removes both', async () => {
    const user = await aUser(query);
    await putBudget(budgets, user, 10n);
    const record = aRecord(user, 9n * unit);
    const { query: inTransaction, rollBack } = await openSettlement(database.url(), record, {
      mailReady: true,
    });
    expect(
      await inTransaction('select from budget_alerts where ownership_scope_key = $1', [scopeOf(user)]),
    ).toMatchObject({
      rowCount: 1,
    });
    await rollBack();
    expect(await alertsOf(query, user)).toEqual([]);
    expect(await spendOf(query, scopeOf(user))).toEqual({ rows: 0n, days: 0n });
  });

  it('of a record that is settled late belongs to the window in which the record was spent', async () => {
    const user = await aUser(query);
    await putBudget(budgets, user, 10n);
    await settleAlone(database.url(), aRecord(user, 9n * unit), { at: '2028-07-01T12:00:00Z' });
    expect(await alertsOf(query, user)).toMatchObject([{ window_start: new Date('2028-07-01T00:00:00Z') }]);
  });
});

describe('the alert check when a budget is set', () => {
  it('raises an alert if spend has already reached the threshold', async () => {
    const user = await aUser(query);
    await settle(aRecord(user, 8n * unit - 1n));
    await putBudget(budgets, user, 10n);
    expect(await alertsOf(query, user)).toEqual([]);
    await settle(aRecord(user, 1n));
    expect(await alertsOf(query, user)).toHaveLength(1);
    const next = await putBudget(budgets, user, 9n, { cadence: 'monthly' });
    expect((await alertsOf(query, user)).at(-1)).toMatchObject({
      budget_id: next,
      cadence: 'monthly',
      spend_before_picousd: String(8n * unit),
      spend_after_picousd: String(8n * unit),
    });
  });

  it('waits for a settlement in progress, and counts its spend', async () => {
    const user = await aUser(query);
    const first = await openSettlement(database.url(), aRecord(user, 8n * unit));
    const set = putBudget(budgets, user, 10n);
    await untilWaiting(query, 1);
    await first.commit();
    await set;
    expect(await spendsOf(query, user)).toEqual([[8n * unit, 8n * unit]]);
  });

  it('raises another alert for a changed budget, and none if the same budget is set again', async () => {
    const user = await aUser(query);
    await settle(aRecord(user, 9n * unit));
    const first = await putBudget(budgets, user, 10n);
    expect(await putBudget(budgets, user, 10n)).toBe(first);
    expect(await alertsOf(query, user)).toHaveLength(1);
    const second = await putBudget(budgets, user, 10n, { hardLimit: true });
    expect((await alertsOf(query, user)).map((row) => row.budget_id).toSorted()).toEqual(
      [first, second].toSorted(),
    );
    const third = await putBudget(budgets, user, 100n);
    expect((await alertsOf(query, user)).map((row) => row.budget_id)).not.toContain(third);
  });

  it('raises an alert if the same budget is set again and was never checked', async () => {
    const user = await aUser(query);
    await settle(aRecord(user, 9n * unit));
    await setUserBudget(query, userIdOf(user), { amount: 10n, cadence: 'daily', hard: false });
    expect(await alertsOf(query, user)).toEqual([]);
    await putBudget(budgets, user, 10n);
    expect(await alertsOf(query, user)).toHaveLength(1);
  });

  it('raises an alert for an amount of 0 at once, and in each new window at its first priced row', async () => {
    const user = await aUser(query);
    await clock.standAt('2028-08-01T12:00:00Z');
    await putBudget(budgets, user, 0n);
    expect(await spendsOf(query, user)).toEqual([[0n, 0n]]);
    await clock.standAt('2028-08-02T12:00:00Z');
    await settle(aRecord(user, unpriced));
    expect(await alertsOf(query, user)).toHaveLength(1);
    await settle(aRecord(user, 0n), aRecord(user, 5n));
    expect(await spendsOf(query, user)).toEqual([
      [0n, 0n],
      [0n, 0n],
    ]);
    await clock.run();
  });

  it('raises no alert for a removed budget', async () => {
    const user = await aUser(query);
    await putBudget(budgets, user, 10n);
    expect(await budgets.remove(ownerOfCaller(user), anActor)).toEqual({ deactivated: true });
    await settle(aRecord(user, 10n * unit));
    expect(await alertsOf(query, user)).toEqual([]);
  });

  it('also runs when the configuration file sets budgets', async () => {
    const email = `${randomUUID()}@example.com`;
    const teamId = `seeded-${randomUUID()}`;
    const terms = (amount10000: bigint): BudgetTerms => ({
      cadence: 'daily',
      amount10000,
      hardLimit: false,
      timezone: 'UTC',
    });
    const seed = (budget: BudgetTerms | undefined, mailReady: boolean): Seed => ({
      providers: [],
      models: [],
      serviceAccounts: [],
      apiKeys: [],
      teams: [{ id: teamId, name: 'Team', budget }],
      users: [
        {
          email,
          name: 'U',
          role: 'user',
          requestLoggingEnabled: true,
          membership: { team: teamId, role: 'owner' },
          budget,
        },
      ],
      mailReady,
    });
    const reconcile = (...args: Parameters<typeof seed>) =>
      seedStore(ledgerWithMail.pool).reconcile(seed(...args));
    await reconcile(terms(100n), true);
    const [person] = await query<{ user_id: string }>('select user_id from users where email = $1', [email]);
    const user = {
      apiKeyId: randomUUID(),
      keyOwner: { kind: 'user', userId: person?.user_id ?? '', requestLoggingEnabled: true },
      allowedModels: [],
    } as const;
    const team = { ...user, keyOwner: { kind: 'team', teamId } } as const;
    await settle(aRecord(user, 8n * unit), aRecord(team, 9n * unit));
    expect([...(await alertsOf(query, user)), ...(await alertsOf(query, team))]).toEqual([]);
    await reconcile(terms(10n), true);
    expect(await spendsOf(query, user)).toEqual([[8n * unit, 8n * unit]]);
    expect(await spendsOf(query, team)).toEqual([[9n * unit, 9n * unit]]);
    for (const owner of [user, team])
      expect(await deliveriesOf(query, owner)).toMatchObject([
        { recipient: email, delivery_status: 'pending' },
      ]);
    await reconcile(terms(10n), true);
    expect(await alertsOf(query, user)).toHaveLength(1);
    await reconcile(terms(5n), false);
    const reasons = (await deliveriesOf(query, user)).map((row) => row.failure_reason);
    expect(new Set(reasons)).toEqual(new Set(['mail_not_configured', null]));
  });
});

describe('alerts', () => {
  const moment = fc.record({
    costs: fc.array(fc.bigInt(0n, 400_000_000n), { minLength: 1, maxLength: 5 }),
    setBudget: fc.option(fc.record({ amount: fc.bigInt(0n, 12n), hardLimit: fc.boolean() }), {
      nil: undefined,
      freq: 2,
    }),
    daysLater: fc.nat({ max: 1 }),
  });

  it('follow the rule exactly, for any budgets, costs, batches and days', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(moment, { minLength: 1, maxLength: 8 }), async (moments) => {
        const user = await aUser(query);
        let day = Date.parse('2029-01-01T10:00:00Z');
        let spent = 0n;
        let budget: { readonly amount: bigint; readonly hardLimit: boolean } | undefined;
        let alerted = false;
        const wanted: (readonly [bigint, bigint])[] = [];
        const check = (before: bigint): void => {
          if (alerted || budget === undefined || (budget.amount * unit - spent) * 5n > budget.amount * unit)
            return;
          alerted = true;
          wanted.push([before, spent]);
        };
        for (const { costs, setBudget, daysLater } of moments) {
          if (daysLater > 0) {
            day += daysLater * 86_400_000;
            spent = 0n;
            alerted = false;
          }
          await clock.standAt(new Date(day));
          if (setBudget !== undefined) {
            const { amount, hardLimit } = setBudget;
            await putBudget(budgets, user, amount, { hardLimit });
            if (budget?.amount !== amount || budget.hardLimit !== hardLimit) alerted = false;
            budget = setBudget;
            check(spent);
          }
          const verdicts = await settle(...costs.map((cost) => aRecord(user, cost)));
          for (const [index, cost] of costs.entries()) {
            const blocked = budget?.hardLimit === true && spent + cost > budget.amount * unit;
            expect(verdicts[index]).toBe(blocked ? 'blocked' : 'recorded');
            if (blocked) continue;
            spent += cost;
            check(spent - cost);
          }
          day += 1;
        }
        expect(await spendsOf(query, user)).toEqual(wanted);
      }),
      { numRuns: 40, endOnFailure: true },
    );
    await clock.run();
  });
});

describe('recipients of an alert', () => {
  const teamIdOf = ({ keyOwner }: Caller): string => (keyOwner.kind === 'team' ? keyOwner.teamId : '');
  const settleWithMail = async (...records: Parameters<typeof settleTogether>[1]) =>
    settleTogether(ledgerWithMail, records);
  const emailOf = async (userId: string): Promise<string> =>
    (await query<{ email: string }>('select email from users where user_id = $1', [userId]))[0]?.email ?? '';
  const deactivate = async (email: string) =>
    query('update users set active = false where email = $1', [email]);

  it("of a user's budget are only the user, and no other member of the teams", async () => {
    const user = await aUser(query);
    const [team] = await aTeam(query);
    await aMember(query, team, 'owner');
    await query(`insert into team_memberships (team_id, user_id, role) values ($1, $2, 'admin')`, [
      teamIdOf(team),
      userIdOf(user),
    ]);
    await putBudget(budgetsWithMail, user, 1n);
    await settleWithMail(aRecord(user, unit));
    expect(await deliveriesOf(query, user)).toMatchObject([
      {
        recipient: await emailOf(userIdOf(user)),
        channel: 'email',
        delivery_status: 'pending',
        failure_reason: null,
        attempted_at: null,
        sent_at: null,
      },
    ]);
  });

  it("of a team's budget are its active owners and admins, each address once", async () => {
    const [team, serviceAccount] = await aTeam(query);
    const [elsewhere] = await aTeam(query);
    const told = [
      await aMember(query, team, 'owner'),
      await aMember(query, team, 'owner'),
      await aMember(query, team, 'admin'),
    ];
    await aMember(query, team, 'member');
    await aMember(query, team, 'owner', false);
    await aMember(query, team, 'admin', false);
    await aMember(query, elsewhere, 'owner');
    // The same user is an owner of another team, too.
    await query(
      `insert into team_memberships (team_id, user_id, role)
       select $1, user_id, 'owner' from users where email = $2`,
      [teamIdOf(elsewhere), told[0]],
    );
    await putBudget(budgetsWithMail, team, 1n);
    await settleWithMail(aRecord(serviceAccount, unit));
    const deliveries = await deliveriesOf(query, team);
    expect(deliveries.map((row) => row.recipient)).toEqual(told.toSorted());
    expect(deliveries.every((row) => row.delivery_status === 'pending')).toBe(true);
    const owner = (await budgets.list()).find(
      (each) => each.owner.kind === 'team' && each.owner.teamId === teamIdOf(team),
    );
    expect(owner?.alertRecipients).toEqual(told.toSorted());
  });
  it('do not include a deactivated user: the delivery is created as failed with `no_recipient`', async () => {
    const user = await aUser(query);
    await putBudget(budgetsWithMail, user, 1n);
    await deactivate(await emailOf(userIdOf(user)));
    await settleWithMail(aRecord(user, unit));
    expect(await deliveriesOf(query, user)).toMatchObject([
      { recipient: null, delivery_status: 'failed', failure_reason: 'no_recipient' },
    ]);
  });

  it('of a team without owners and admins are none: a delivery is created as failed with `no_recipient`', async () => {
    for (const store of [budgets, budgetsWithMail]) {
      const [team] = await aTeam(query);
      await aMember(query, team, 'member');
      await putBudget(store, team, 0n);
      expect(await deliveriesOf(query, team)).toMatchObject([
        { recipient: null, delivery_status: 'failed', failure_reason: 'no_recipient' },
      ]);
    }
  });

  it('get no mail without a configuration: the delivery is created as failed with `mail_not_configured`', async () => {
    const user = await aUser(query);
    await putBudget(budgets, user, 1n);
    await settle(aRecord(user, unit));
    expect(await deliveriesOf(query, user)).toMatchObject([
      {
        recipient: await emailOf(userIdOf(user)),
        delivery_status: 'failed',
        failure_reason: 'mail_not_configured',
        attempted_at: null,
      },
    ]);
  });
});
