import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import type { SettlementRecord } from '../../application/ports/ledger.ts';
import type { Caller } from '../../domain/identity/caller.ts';
import { withDatabase } from '../support/database.ts';
import { queries } from '../support/gateway.ts';
import { itOnOneServer } from '../support/one-server.ts';
import {
  aLog,
  aRecord,
  aUser,
  holder,
  openLedger,
  type OpenLedger,
  pricedAt,
  rowsOf,
  scopeOf,
  settleTogether,
  spendOf,
  unit,
  untilWaiting,
  withClock,
  withLedgers,
  wordOf,
} from './ledger-bench.ts';
import { openSettlement } from './settle-alone.ts';

const database = withDatabase();
const query = queries(database.url);
const { ledgers } = withLedgers(database.url, 3);
const clock = withClock(query);
const ledger = () => ledgers[0]!;

describe('two settlements across midnight', () => {
  afterEach(() => clock.run());

  const before = '2028-01-15T23:59:59.999Z';
  const after = '2028-01-16T00:00:00.001Z';

  /**
   * The first is held open before midnight; the second, requested before or after midnight, waits for the
   * first.
   */
  const overMidnight = async (
    user: Caller,
    end: 'commit' | 'rollBack',
    { cost = 6n * unit, asked = 'before' }: { readonly cost?: bigint; readonly asked?: string } = {},
  ): Promise<Awaited<ReturnType<OpenLedger['settle']>>> => {
    await clock.standAt(before);
    const first = await openSettlement(database.url(), aRecord(user, 6n * unit));
    if (asked === 'after') await clock.standAt(after);
    const second = ledger().settle(aRecord(user, cost));
    await untilWaiting(query, 1);
    await clock.standAt(after);
    await first[end]();
    return second;
  };

  it.each(['before', 'after'])(
    'share one monthly window: the second, requested %s midnight, is blocked by the spend of the first',
    async (asked) => {
      const user = await aUser(query, { amount: 10n, cadence: 'monthly' });
      const second = await overMidnight(user, 'commit', { asked });
      expect(E.isRight(second) && second.right).toMatchObject({
        kind: 'blocked',
        databaseTime: new Date(after),
      });
      expect(await spendOf(query, scopeOf(user))).toEqual({ rows: 6n * unit, days: 6n * unit });
    },
  );

  it('are both counted in one weekly window if both fit, each on its own day', async () => {
    // 2028-01-15 is a Saturday; its week ends with Sunday.
    const user = await aUser(query, { amount: 10n, cadence: 'weekly' });
    expect(wordOf(await overMidnight(user, 'commit', { cost: 4n * unit }))).toBe('recorded');
    const days = await query(
      'select day::text, counted_picousd from usage_daily_totals where ownership_scope_key = $1 order by 1',
      [scopeOf(user)],
    );
    expect(days).toEqual([
      { day: '2028-01-15', counted_picousd: String(6n * unit) },
      { day: '2028-01-16', counted_picousd: String(4n * unit) },
    ]);
  });

  it('are in two daily windows: the second counts in the window of its settlement', async () => {
    const user = await aUser(query, { amount: 10n, cadence: 'daily' });
    expect(wordOf(await overMidnight(user, 'commit'))).toBe('recorded');
    expect(await settleTogether(ledger(), [aRecord(user, 5n * unit), aRecord(user, 4n * unit)])).toEqual([
      'blocked',
      'recorded',
    ]);
  });

  it('let the second be recorded if the first is rolled back', async () => {
    const user = await aUser(query, { amount: 10n, cadence: 'monthly' });
    expect(wordOf(await overMidnight(user, 'rollBack'))).toBe('recorded');
    expect(await spendOf(query, scopeOf(user))).toEqual({ rows: 6n * unit, days: 6n * unit });
  });

  it('never exceed the budget, with many settlements on three replicas while days pass', async () => {
    const user = await aUser(query, { amount: 300n, cadence: 'monthly' });
    const costs = Array.from({ length: 600 }, (_, index) => BigInt((index * 7919) % 200) * (unit / 100n));
    // Each day begins when half of the records of the day before are settled, so that the others meet the new
    // day.
    const ofADay = 100;
    const days = Array.from({ length: costs.length / ofADay });
    const mornings = days.map(() => Promise.withResolvers<void>());
    const noons = days.map(() => Promise.withResolvers<void>());
    const settled = days.map(() => 0);
    const verdicts = await Promise.all([
      ...costs.map(async (cost, index) => {
        const day = Math.floor(index / ofADay);
        await mornings[day]!.promise;
        await sleep(index % 20);
        const word = wordOf(await ledgers[index % 3]!.settle(aRecord(user, cost)));
        settled[day]! += 1;
        if (settled[day] === ofADay / 2) noons[day]!.resolve();
        return word;
      }),
      (async () => {
        for (const [day, morning] of mornings.entries()) {
          await clock.standAt(`2028-01-0${day + 1}T00:00:00Z`);
          morning.resolve();
          await noons[day]!.promise;
        }
        return 'clock';
      })(),
    ]);
    const spend = await spendOf(query, scopeOf(user));
    const { rows } = spend;
    expect(rows).toBe(spend.days);
    expect(rows).toBeLessThanOrEqual(300n * unit);
    const wanted = costs.reduce((sum, cost) => sum + cost, 0n);
    expect(wanted).toBeGreaterThan(500n * unit);
    // Only costs that do not fit are blocked: not even the smallest of them would have fitted.
    const blocked = costs.filter((_, index) => verdicts[index] === 'blocked').sort((a, b) => Number(a - b));
    expect(rows + (blocked[0] ?? 0n)).toBeGreaterThan(300n * unit);
    const held = await query(
      `select count(distinct (occurred_at at time zone 'UTC')::date) as days
       from usage_cost_events where ownership_scope_key = $1`,
      [scopeOf(user)],
    );
    expect(Number(held[0]?.['days'])).toBeGreaterThan(2);
  });
});

describe('the default isolation of the database', () => {
  const strict = withDatabase();
  const strictQuery = queries(strict.url);
  const strictClock = withClock(strictQuery);

  it.each(['repeatable read', 'serializable'])('changes no verdict when it is %s', async (isolation) => {
    const name = new URL(strict.url()).pathname.slice(1);
    await strictQuery(`alter database ${name} set default_transaction_isolation = '${isolation}'`);
    const [one, two] = [await openLedger(strict.url()), await openLedger(strict.url())];
    const user = await aUser(strictQuery, { amount: 10n });
    await strictClock.standAt('2028-01-15T23:59:59Z');
    const first = await holder(strict.url());
    await first.query('select lock_scopes(array[$1])', [scopeOf(user)]);
    const both = [one, two].map((each) => each.settle(aRecord(user, 6n * unit)));
    await sleep(100);
    await strictClock.standAt('2028-01-16T00:00:01Z');
    await first.commit();
    expect((await Promise.all(both)).map(wordOf).sort()).toEqual(['blocked', 'recorded']);
    expect(await spendOf(strictQuery, scopeOf(user))).toEqual({ rows: 6n * unit, days: 6n * unit });
    expect([...one.faults, ...two.faults]).toEqual([]);
    await Promise.all([one.pool.end(), two.pool.end()]);
  });
});

describe('the lock of a scope', () => {
  it('is the same whether it is acquired alone or together with those of other scopes', async () => {
    const taken = async (scopes: readonly string[]): Promise<readonly unknown[]> => {
      const [found] = await query<{ locks: unknown[] }>(
        `with locked as materialized (select lock_scopes($1))
         select (select json_agg(row_to_json(l) order by l.objid)
                 from (select classid, objid, objsubid, mode from pg_locks
                       where locktype = 'advisory' and pid = pg_backend_pid()) l) as locks
         from locked`,
        [scopes],
      );
      return found?.locks ?? [];
    };
    const [one, two] = [await taken(['user:a']), await taken(['user:b'])];
    expect([one, two].map(({ length }) => length)).toEqual([1, 1]);
    for (const scopes of [
      ['user:b', 'user:a'],
      ['user:b', 'user:a', 'user:b'],
    ]) {
      const both = await taken(scopes);
      expect(both).toHaveLength(2);
      expect(both).toEqual(expect.arrayContaining([...one, ...two]));
    }
  });

  it('is acquired in sorted order, whatever the order of the scopes', async () => {
    const sorted = await query<{ scope: string }>(
      `select 'user:' || n as scope from generate_series(1, 8) n order by hashtext('user:' || n)`,
    );
    const [first = '', ...others] = sorted.map(({ scope }) => scope);
    const held = await holder(database.url());
    await held.query('select lock_scopes(array[$1])', [first]);
    const waiting = [others.slice(-1), others.toReversed()].map(async (scopes) => {
      const both = await holder(database.url());
      await both.query('select lock_scopes($1)', [[...scopes, first]]);
      await both.rollBack();
    });
    await untilWaiting(query, 2);
    // They wait for the first one without holding another.
    const taken = `select scope from unnest($1::text[]) scope where not pg_try_advisory_xact_lock(7206752, hashtext(scope))`;
    expect(await query(taken, [others])).toEqual([]);
    await held.rollBack();
    await Promise.all(waiting);
  });
});

describe('the locks of many scopes, requested in different orders', () => {
  it('never cause a deadlock', async () => {
    const users: Caller[] = [];
    for (let index = 0; index < 12; index += 1) users.push(await aUser(query, { amount: 1_000_000n }));
    const rounds = ledgers.flatMap((each, replica) =>
      Array.from({ length: 40 }, async (_, round) => {
        await sleep(round * 3);
        const order = users.map((_, index) => users[(index * 5 + round * (replica + 1)) % users.length]!);
        return settleTogether(
          each,
          order.slice(0, 1 + ((round * 7) % 12)).map((user) => aRecord(user, 1n)),
        );
      }),
    );
    const verdicts = (await Promise.all(rounds)).flat();
    expect(new Set(verdicts)).toEqual(new Set(['recorded']));
    expect(ledgers.flatMap(({ faults }) => faults)).toEqual([]);
  });
});

describe('an invalid row in a batch', () => {
  type Poison = (user: Caller) => SettlementRecord;
  const attempt = {
    attemptNumber: 1,
    providerKey: 'up',
    upstreamModel: 'm',
    status: 'success',
    statusCode: 200,
    errorCode: undefined,
    errorDetail: undefined,
    stream: false,
    startedAt: 0,
    completedAt: 1,
  } as const;
  const logPoison: Poison = (user) => ({
    charge: undefined,
    logged: aLog(user, { attempts: [attempt, attempt] }),
    release: undefined,
    deferrableTo: undefined,
  });

  it.each<readonly [string, Poison]>([
    ['a charge that violates a check constraint', (user) => aRecord(user, pricedAt(-1n))],
    ['a charge beyond the range of a column', (user) => aRecord(user, pricedAt(10n ** 38n))],
    ['a charge with an invalid UUID', (user) => aRecord({ ...user, apiKeyId: 'no uuid' }, 1n)],
    ['a log row whose attempts collide', logPoison],
  ])('%s fails one request; the other 49 are recorded', async (_, poison) => {
    const users = [
      await aUser(query, { amount: 30n }),
      await aUser(query, { amount: 30n }),
      await aUser(query),
    ];
    const records: SettlementRecord[] = Array.from({ length: 49 }, (_, index) =>
      aRecord(users[index % 3]!, unit),
    );
    records.splice(20, 0, poison(users[2]!));
    const faultsBefore = ledger().faults.length;
    const verdicts = await settleTogether(ledger(), records);
    expect(verdicts[20]).toBe('internal_error');
    expect(verdicts.toSpliced(20, 1)).toEqual(Array(49).fill('recorded'));
    expect(await rowsOf(query, records[20]!)).toEqual([0, 0]);
    for (const record of records.toSpliced(20, 1)) expect(await rowsOf(query, record)).toEqual([1, 1]);
    expect(ledger().faults.slice(faultsBefore)).toEqual(['refused', 'refused']);
    const spends = [];
    for (const user of users) spends.push(await spendOf(query, scopeOf(user)));
    expect(spends.map(({ rows }) => rows / unit)).toEqual([17n, 16n, 16n]);
    expect(spends.map(({ days }) => days / unit)).toEqual([17n, 16n, 16n]);
  });

  itOnOneServer()('that meets an unreadable page fails one request only', async () => {
    await query(`
      create function unreadable() returns trigger language plpgsql as $$ begin
        if new.model_key <> 'unreadable' then return new; end if;
        raise exception 'invalid page in block 1' using errcode = 'data_corrupted';
      end $$;
      create trigger unreadable before insert on usage_cost_events for each row execute function unreadable()`);
    const user = await aUser(query);
    const records = ['fast', 'unreadable', 'fast'].map((modelKey) => aRecord(user, unit, { modelKey }));
    expect(await settleTogether(ledger(), records)).toEqual(['recorded', 'store_unavailable', 'recorded']);
    await query('drop function unreadable() cascade');
  });

  it('does not change the verdicts of the others in arrival order', async () => {
    const user = await aUser(query, { amount: 10n });
    const costs = [6n, 6n, -1n, 4n, 1n];
    const records = costs.map((cost) => aRecord(user, pricedAt(cost * unit)));
    expect(await settleTogether(ledger(), records)).toEqual([
      'recorded',
      'blocked',
      'internal_error',
      'recorded',
      'blocked',
    ]);
  });
});
