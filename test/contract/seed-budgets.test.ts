import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import type { DatabasePool } from 'slonik';
import type { Seed } from '../../application/ports/seed.ts';
import { inWords } from '../../infrastructure/postgres/database-fault.ts';
import { openPool } from '../../infrastructure/postgres/pool.ts';
import { seedStore } from '../../infrastructure/postgres/seed-store.ts';
import { withDatabase } from '../support/database.ts';
import { queries } from '../support/gateway.ts';
import { connected } from '../support/test-server.ts';
import { holder, untilWaiting } from './ledger-bench.ts';

const database = withDatabase();
const query = queries(database.url);
let pool: DatabasePool;
beforeAll(async () => {
  pool = await openPool(database.url(), 2);
});
afterAll(() => pool.end());
beforeEach(() => seedStore(pool).reconcile(peopleWith(1, 1n)));

/** `count` users, each with a hard budget and a key. */
function peopleWith(count: number, amount10000: bigint): Seed {
  const people = Array.from({ length: count }, (_, index) => `person-${index}@example.com`);
  return {
    providers: [],
    models: [],
    teams: [],
    serviceAccounts: [],
    users: people.map((email) => ({
      email,
      name: email,
      role: 'user',
      requestLoggingEnabled: true,
      membership: undefined,
      budget: { cadence: 'daily', amount10000, hardLimit: true, timezone: 'UTC' },
    })),
    apiKeys: people.map((email, index) => ({
      publicId: `person${String(index).padStart(8, '0')}`,
      secretSha256: new Uint8Array(32).fill(Number(amount10000 % 250n)),
      name: email,
      owner: { kind: 'user', email },
      allowedModels: [],
    })),
    mailReady: false,
  };
}

it('a reload acquires the locks of budgets last: until then their owners can settle', async () => {
  const [person] = await query<{ user_id: string }>('select user_id from users');
  await connected(database.url(), async (other) => {
    await other.query('begin; select 1 from api_keys for update');
    const reconciled = seedStore(pool).reconcile(peopleWith(1, 2n));
    for (;;) {
      const { rowCount } = await other.query(
        "select 1 from pg_locks where locktype = 'transactionid' and not granted",
      );
      if (rowCount !== 0) break;
      await sleep(10);
    }
    const { rows } = await other.query('select pg_try_advisory_xact_lock(7206752, hashtext($1)) as free', [
      `user:${person?.user_id}`,
    ]);
    expect(rows).toEqual([{ free: true }]);
    await other.query('rollback');
    await reconciled;
  });
  const budgets = await query('select amount_10000::int as amount from user_budgets where active');
  expect(budgets).toEqual([{ amount: 2 }]);
});

it('a reload locks owners in the order of settlements, whatever the order of the file: no deadlock', async () => {
  await seedStore(pool).reconcile(peopleWith(2, 1n));
  const scopes = await query<{ scope: string }>(
    `select 'user:' || user_id as scope from users where email in ('person-0@example.com', 'person-1@example.com')
     order by hashtext('user:' || user_id)`,
  );
  const [first, second] = scopes.map(({ scope }) => scope);
  const backwards = peopleWith(2, 5n);
  for (const seed of [peopleWith(2, 4n), { ...backwards, users: backwards.users.toReversed() }]) {
    const settling = await holder(database.url());
    await settling.query('select lock_scopes(array[$1])', [first]);
    const reconciled = seedStore(pool).reconcile(seed);
    await untilWaiting(query, 1);
    await settling.query('select lock_scopes(array[$1])', [second]);
    await settling.commit();
    await reconciled;
  }
});

it('a reload changes 1,500 budgets in two statements of one transaction', async () => {
  await query(`
    create table told (statement timestamptz, written_by xid8);
    create function tell() returns trigger language plpgsql as $$
    begin
      insert into told values (statement_timestamp(), pg_current_xact_id());
      return new;
    end $$;
    create trigger tell before insert on user_budgets for each row execute function tell();
  `);
  await seedStore(pool).reconcile(peopleWith(1500, 3n));
  const [told] = await query(`
    select count(*)::int as budgets, count(distinct statement)::int as statements,
           count(distinct written_by)::int as transactions
    from told
  `);
  expect(told).toEqual({ budgets: 1500, statements: 2, transactions: 1 });
});

it('the message of the error for too few locks of the database names the setting', () => {
  const error = Object.assign(new Error('out of shared memory'), { code: '53200' });
  expect(inWords(error)).toContain('raise its max_locks_per_transaction');
});
