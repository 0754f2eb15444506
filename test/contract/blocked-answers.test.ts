import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import type { Caller } from '../../domain/identity/caller.ts';
import { budgetsStore } from '../../infrastructure/postgres/budgets-store.ts';
import { withDatabase } from '../support/database.ts';
import { queries } from '../support/gateway.ts';
import {
  aCharge,
  aRecord,
  aTeam,
  aUser,
  scopeOf,
  setUserBudget,
  settleTogether,
  spendOf,
  unit,
  unpriced,
  userIdOf,
  withClock,
  withLedgers,
} from './ledger-bench.ts';
import { settleAlone } from './settle-alone.ts';

const database = withDatabase();
const query = queries(database.url);
const { ledgers } = withLedgers(database.url);
const clock = withClock(query);
const settle = async (...records: Parameters<typeof settleTogether>[1]) =>
  settleTogether(ledgers[0]!, records);

/** Blocked answers of the owner's current window, as in the budget report. */
async function blockedOf({ keyOwner }: Caller) {
  const owners = await budgetsStore(ledgers[0]!.pool, () => false).list();
  const found = owners.find(({ owner }) =>
    keyOwner.kind === 'user'
      ? owner.kind === 'user' && owner.userId === keyOwner.userId
      : owner.kind === 'team' && owner.teamId === keyOwner.teamId,
  );
  return found?.currentWindow.blockedAnswers;
}

/** Settles a record again, as if the answer of the database had been lost before. */
const settleAgain = async (record: ReturnType<typeof aRecord>) =>
  settleAlone(database.url(), record, { again: true });

describe('the blocked answers of an owner’s window', () => {
  it('are those whose cost a hard budget blocked, with the sum of their costs, and no others', async () => {
    const user = await aUser(query, { amount: 1n });
    expect(await blockedOf(user)).toEqual({ count: 0, cost: 0n });
    const first = aRecord(user, unit);
    const twin = aRecord(user, unit, { requestId: first.charge.requestId });
    const verdicts = await settle(first, aRecord(user, 7n), twin, aRecord(user, unpriced), aRecord(user, 5n));
    expect(verdicts).toEqual(['recorded', 'blocked', 'duplicate', 'recorded', 'blocked']);
    expect(await blockedOf(user)).toEqual({ count: 2, cost: 12n });
    expect(await blockedOf(await aUser(query, { amount: 1n }))).toEqual({ count: 0, cost: 0n });
  });

  it('are counted for the team that pays, also without a log row', async () => {
    const [team, account] = await aTeam(query, { amount: 0n });
    const unlogged = { charge: aCharge(account, 3n), logged: undefined, release: undefined };
    expect(await settle({ ...unlogged, deferrableTo: undefined }, aRecord(team, 4n))).toEqual([
      'blocked',
      'blocked',
    ]);
    expect(await blockedOf(team)).toEqual({ count: 2, cost: 7n });
  });

  it('are counted for the overview as for the report: those of the owner from the start of the window to before its end', async () => {
    const [scope, other] = ['user:counted', 'user:other'];
    const [from, until] = ['2029-03-01T00:00:00Z', '2029-03-02T00:00:00Z'];
    for (const [owner, at] of [
      [scope, '2029-02-28T23:59:59.999Z'],
      [scope, from],
      [scope, '2029-03-01T12:00:00Z'],
      [scope, '2029-03-01T23:59:59.999Z'],
      [scope, until],
      [other, '2029-03-01T12:00:00Z'],
    ])
      await query('insert into blocked_answers values (gen_random_uuid(), $1, 5, $2)', [owner, at]);
    const [counted] = await query(
      `select (select answers from blocked_in($1, $2, $3)) as for_overview, answers as for_report, cost_picousd
       from blocked_spend($1, $2, $3)`,
      [scope, from, until],
    );
    expect(counted).toEqual({ for_overview: '3', for_report: '3', cost_picousd: '15' });
  });

  it('are those of the current window, also after its budget was changed', async () => {
    const user = await aUser(query, { amount: 0n, cadence: 'daily' });
    for (const at of ['2028-05-30T23:59:59.999Z', '2028-05-31T00:00:00Z', '2028-05-31T23:59:59.999Z']) {
      await clock.standAt(at);
      expect(await settle(aRecord(user, 1n))).toEqual(['blocked']);
    }
    expect(await blockedOf(user)).toEqual({ count: 2, cost: 2n });
    await setUserBudget(query, userIdOf(user), { amount: 5n, cadence: 'weekly', hard: false });
    expect(await blockedOf(user)).toEqual({ count: 3, cost: 3n });
    await clock.standAt('2028-06-05T00:00:00Z');
    expect(await blockedOf(user)).toEqual({ count: 0, cost: 0n });
    await clock.run();
  });

  it('count an answer that is settled twice once, and remove it if the second settlement does not block it', async () => {
    const user = await aUser(query, { amount: 0n });
    const [stays, goes] = [aRecord(user, 2n), aRecord(user, 3n)];
    expect(await settle(stays, goes)).toEqual(['blocked', 'blocked']);
    await settleAgain(stays);
    expect(await blockedOf(user)).toEqual({ count: 2, cost: 5n });
    await setUserBudget(query, userIdOf(user), { amount: 1n });
    await settleAgain(goes);
    expect(await blockedOf(user)).toEqual({ count: 1, cost: 2n });
  });

  it('add up with the spend of the owner to the cost of all answers, for any costs and batches', async () => {
    const costs = fc.array(fc.bigInt({ min: 0n, max: 3n * unit }), { minLength: 1, maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(fc.array(costs, { minLength: 1, maxLength: 4 }), async (batches) => {
        const user = await aUser(query, { amount: 4n });
        const verdicts: string[] = [];
        for (const batch of batches)
          verdicts.push(...(await settle(...batch.map((cost) => aRecord(user, cost)))));
        const total = batches.flat().reduce((sum, cost) => sum + cost, 0n);
        const { rows } = await spendOf(query, scopeOf(user));
        expect(await blockedOf(user)).toEqual({
          count: verdicts.filter((each) => each === 'blocked').length,
          cost: total - rows,
        });
      }),
      { numRuns: 15 },
    );
  });
});
