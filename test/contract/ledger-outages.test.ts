import { randomUUID } from 'node:crypto';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import type { SettlementRecord } from '../../application/ports/ledger.ts';
import type { Caller } from '../../domain/identity/caller.ts';
import { startEmbeddedPostgres } from '../../infrastructure/embedded-postgres/start.ts';
import { gatewayProcess } from '../../infrastructure/postgres/gateway-process.ts';
import { type LedgerPlace, oneDatabase } from '../../infrastructure/postgres/ledger-place.ts';
import { ledgerOn, replayJournaled } from '../../infrastructure/postgres/ledger-store.ts';
import { migrate } from '../../infrastructure/postgres/migrate.ts';
import { openPool, type ServicePool } from '../../infrastructure/postgres/pool.ts';
import { BatchTurns } from '../../infrastructure/postgres/batch-turns.ts';
import { createDatabase, withDatabase } from '../support/database.ts';
import { queries } from '../support/gateway.ts';
import { makeTestFolder } from '../support/test-server.ts';
import { timed } from '../support/undisturbed.ts';
import { eventually } from '../e2e/traces.ts';
import {
  aLog,
  anAsk,
  aRecord,
  aUser,
  holder,
  openLedger,
  type OpenLedger,
  rowsOf,
  scopeOf,
  settleTogether,
  spendOf,
  unit,
  untilWaiting,
  withClient,
  wordOf,
} from './ledger-bench.ts';
import { tcpProxy, type TcpProxy } from './tcp-proxy.ts';

const database = withDatabase();
const query = queries(database.url);

const attempt = {
  attemptNumber: 1,
  providerKey: 'up',
  upstreamModel: 'simulated-fast',
  status: 'success',
  statusCode: 200,
  errorCode: undefined,
  errorDetail: undefined,
  stream: false,
  startedAt: 0,
  completedAt: 1,
} as const;

const someUsers = (url: string, count: number): Promise<readonly Caller[]> =>
  withClient(url, async (ask) => {
    const users: Caller[] = [];
    for (let index = 0; index < count; index += 1) users.push(await aUser(ask, { amount: 1_000_000n }));
    return users;
  });

/** Settles for one owner repeatedly for 5 s; returns each verdict and its duration. */
async function settleFor5s(
  ledger: OpenLedger,
  user: Caller,
  pauseMs: number,
): Promise<readonly { readonly value: string; readonly ms: number }[]> {
  const until = performance.now() + 5_000;
  const found: { readonly value: string; readonly ms: number }[] = [];
  while (performance.now() < until) {
    found.push(await timed(() => ledger.settle(aRecord(user, 1n)).then(wordOf)));
    await sleep(pauseMs);
  }
  return found;
}

/** One scope's lock is never released, while that owner and ten others continue. */
async function oneScopeStuck(url: string) {
  const ledger = await openLedger(url);
  const [stuck, ...others] = await someUsers(url, 11);
  const held = await holder(url);
  await held.query('select lock_scopes(array[$1])', [scopeOf(stuck!)]);
  const [ofStuck, ofOthers] = await Promise.all([
    Promise.all(Array.from({ length: 5 }, (_, index) => settleFor5s(ledger, stuck!, 20 + index))),
    Promise.all(others.map((user, index) => settleFor5s(ledger, user, 10 + index))),
  ]);
  await held.rollBack();
  const after = await settleTogether(
    ledger,
    [stuck!, ...others].map((user) => aRecord(user, 1n)),
  );
  await ledger.pool.end();
  return { ofStuck: ofStuck.flat(), ofOthers: ofOthers.flat(), after };
}

/** Everything waits for one table. */
async function oneTableStuck(url: string) {
  const ledger = await openLedger(url);
  const users = await someUsers(url, 30);
  const settleAndAsk = () =>
    Promise.all([
      settleTogether(
        ledger,
        users.map((user) => aRecord(user, 1n)),
      ),
      Promise.all(users.map((user) => ledger.admit(anAsk(user)))),
    ]);
  const held = await holder(url);
  await held.query('lock table usage_daily_totals in access exclusive mode');
  const during = await timed(settleAndAsk);
  await held.rollBack();
  const after = await timed(settleAndAsk);
  await ledger.pool.end();
  return { during, after };
}

/** The network drops everything that is sent on existing connections, without an error. */
async function swallowed(url: string) {
  const proxy = await tcpProxy();
  const ledger = await openLedger(proxy.to(url), { connections: 2 });
  const [user] = await someUsers(url, 1);
  const both = () => Promise.all([ledger.settle(aRecord(user!, unit)), ledger.admit(anAsk(user!))]);
  await both();
  proxy.freeze();
  const during = await timed(both);
  const after = await timed(both);
  await ledger.pool.end();
  await proxy.close();
  return { during, after };
}

/**
 * These scenarios mostly wait, so they run in parallel, each on a database of its own; tests check their
 * results.
 */
function sideBySide<const S extends Record<string, (url: string) => Promise<unknown>>>(scenarios: S) {
  const running = new Map<string, Promise<unknown>>();
  beforeAll(async () => {
    for (const [name, scenario] of Object.entries(scenarios)) {
      const { url } = await createDatabase();
      const pipeline = scenario(url);
      pipeline.catch(() => 'told by the test that asks for it');
      running.set(name, pipeline);
    }
  });
  return <K extends keyof S & string>(name: K) => running.get(name) as ReturnType<S[K]>;
}

const codes = (answers: readonly E.Either<{ readonly code: string }, unknown>[]): readonly string[] =>
  answers.map((answer) => (E.isLeft(answer) ? answer.left.code : 'right'));

describe('waits that never end', () => {
  const pipeline = sideBySide({ oneScopeStuck, oneTableStuck, swallowed });

  it('a scope lock that is never released fails its settlements within seconds; others stay prompt', async () => {
    const { ofStuck, ofOthers, after } = await pipeline('oneScopeStuck');
    expect(new Set(ofStuck.map(({ value }) => value))).toEqual(new Set(['store_unavailable']));
    expect(Math.max(...ofStuck.map(({ ms }) => ms))).toBeLessThan(6_500);
    expect(new Set(ofOthers.map(({ value }) => value))).toEqual(new Set(['recorded']));
    const times = ofOthers.map(({ ms }) => ms).sort((a, b) => a - b);
    // Records that shared the first batch with it wait once for the lock timeout, and never again.
    expect(times.filter((ms) => ms > 1_000).length).toBeLessThanOrEqual(20);
    expect(times.at(-1)).toBeLessThan(5_000);
    expect(times[Math.floor(times.length / 2)]).toBeLessThan(250);
    expect(new Set(after)).toEqual(new Set(['recorded']));
  });

  it('a table lock that is held fails every request in bounded time; later ones succeed', async () => {
    const { during, after } = await pipeline('oneTableStuck');
    const [settled, asked] = during.value;
    expect(new Set([...settled, ...codes(asked)])).toEqual(new Set(['store_unavailable']));
    expect(during.ms).toBeLessThan(15_000);
    expect(new Set(after.value[0])).toEqual(new Set(['recorded']));
    expect(new Set(codes(after.value[1]))).toEqual(new Set(['right']));
    expect(after.ms).toBeLessThan(5_000);
  });

  it('statements dropped by a dead network fail in time; later ones succeed', async () => {
    const { during, after } = await pipeline('swallowed');
    expect(codes(during.value)).toEqual(['store_unavailable', 'store_unavailable']);
    expect(during.ms).toBeLessThan(16_000);
    expect(codes(after.value)).toEqual(['right', 'right']);
    expect(after.ms).toBeLessThan(5_000);
  });
});

describe('a database connection that is lost', () => {
  let proxy: TcpProxy;
  let far: OpenLedger;
  beforeAll(async () => {
    proxy = await tcpProxy();
    far = await openLedger(proxy.to(database.url()), { connections: 4 });
  });
  afterAll(async () => {
    await far?.pool.end();
    await proxy?.close();
  });
  afterEach(() => proxy.open());

  it('fails admission and settlement with `store_unavailable` at once, and recovers without a restart', async () => {
    const user = await aUser(query, { amount: 10n });
    const record = aRecord(user, unit);
    expect(wordOf(await far.settle(aRecord(user, unit)))).toBe('recorded');
    await proxy.refuse();
    const refused = await timed(() =>
      Promise.all([far.settle(record), far.admit(anAsk(user)), far.settle(record)]),
    );
    expect(refused.value.map((each) => E.isLeft(each) && each.left)).toEqual(
      Array(3).fill(expect.objectContaining({ code: 'store_unavailable', retryAfterSecs: 5 })),
    );
    expect(refused.ms).toBeLessThan(3_000);
    await proxy.open();
    expect(E.isRight(await far.admit(anAsk(user)))).toBe(true);
    expect(wordOf(await far.settle(record))).toBe('recorded');
    expect(await rowsOf(query, record)).toEqual([1, 1]);
    expect(await spendOf(query, scopeOf(user))).toEqual({ rows: 2n * unit, days: 2n * unit });
  });

  it('during a settlement does not change its verdict: the settlement is retried', async () => {
    const user = await aUser(query, { amount: 10n });
    const records = [aRecord(user, unit), aRecord(user, unit), aRecord(user, 9n * unit)];
    const held = await holder(database.url());
    await held.query('select lock_scopes(array[$1])', [scopeOf(user)]);
    const settled = settleTogether(far, records);
    await untilWaiting(query, 1);
    proxy.cut();
    // The server continues the statement after its client has disconnected, and the second attempt waits
    // behind it.
    await untilWaiting(query, 2);
    await held.rollBack();
    expect(await settled).toEqual(['recorded', 'recorded', 'blocked']);
    for (const record of records.slice(0, 2)) expect(await rowsOf(query, record)).toEqual([1, 1]);
    expect(await rowsOf(query, records[2]!)).toEqual([0, 1]);
    expect(await spendOf(query, scopeOf(user))).toEqual({ rows: 2n * unit, days: 2n * unit });
  });

  it('during the settlement of a request without a charge is retried: the log row of the first attempt is found', async () => {
    const user = await aUser(query);
    const record = { ...aRecord(user, unit), charge: undefined, logged: aLog(user, { attempts: [attempt] }) };
    const held = await holder(database.url());
    await held.query('lock table request_log_attempts in access exclusive mode');
    const settled = far.settle(record);
    await untilWaiting(query, 1, 'relation');
    proxy.cut();
    // No scope is locked, so the second attempt only meets the first one at the key of the row.
    await untilWaiting(query, 1, 'transactionid');
    await held.rollBack();
    expect(wordOf(await settled)).toBe('recorded');
    expect(await rowsOf(query, record)).toEqual([0, 1]);
  });

  it('during a settlement that is then journaled does not refuse its record, even if it is still in progress', async () => {
    const kept: string[] = [];
    const ledger = await openLedger(proxy.to(database.url()), {
      journal: async (text) => kept.push(text) > 0,
    });
    const user = await aUser(query);
    const logged = aLog(user, { attempts: [attempt] });
    const record = { charge: undefined, logged, release: undefined, deferrableTo: new Date() };
    const held = await holder(database.url());
    await held.query('lock table request_log_attempts in access exclusive mode');
    const settled = ledger.settle(record);
    await untilWaiting(query, 1, 'relation');
    await proxy.refuse();
    expect(wordOf(await settled)).toBe('journaled');
    await proxy.open();
    const options = { closeOnBlock: () => false, mailReady: () => false, onFault: () => undefined };
    const replayed = replayJournaled(oneDatabase(ledger.pool), options)(kept[0] ?? '');
    await untilWaiting(query, 1, 'transactionid');
    await held.rollBack();
    expect(await replayed).toBe('settled');
    expect(await rowsOf(query, record)).toEqual([0, 1]);
    await ledger.pool.end();
  });

  /** A ledger whose database takes effect, after which each statement's answer is replaced by a failure, if any. */
  function lossyLedger(pool: ServicePool, failureOf: () => Error | undefined) {
    const whole = oneDatabase(pool)('');
    const lossy: LedgerPlace = {
      ...whole,
      query: async (statement) => {
        const answer = await whole.query(statement);
        const failure = failureOf();
        if (failure !== undefined) throw failure;
        return answer;
      },
    };
    const options = {
      closeOnBlock: () => false,
      mailReady: () => false,
      journal: async () => false,
      claimSeconds: () => 60,
      onFault: () => undefined,
      process: gatewayProcess(pool, { onWriting: () => undefined }),
    };
    const turns = { admissions: new BatchTurns(), settlements: new BatchTurns() };
    return ledgerOn(() => lossy, options, turns);
  }

  it('during a settlement whose next attempt waits for a lock too long does not change its verdict', async () => {
    const pool = await openPool(database.url(), 2);
    const failures = [
      new Error('Connection terminated unexpectedly'),
      Object.assign(new Error('canceling statement due to lock timeout'), { code: '55P03' }),
    ];
    const ledger = lossyLedger(pool, () => failures.shift());
    const users = [await aUser(query, { amount: 10n }), await aUser(query, { amount: 10n })];
    // The gateway made the ids, so they are not looked up, and no log row shows that there was an attempt.
    const records = users.map((user) => {
      const id = randomUUID();
      return { ...aRecord(user, 6n * unit, { requestLogId: id, requestId: id }), logged: undefined };
    });
    expect(await settleTogether(ledger, records)).toEqual(['recorded', 'recorded']);
    for (const user of users) {
      expect(await spendOf(query, scopeOf(user))).toEqual({ rows: 6n * unit, days: 6n * unit });
      expect(
        await query('select from blocked_answers where ownership_scope_key = $1', [scopeOf(user)]),
      ).toEqual([]);
    }
    await pool.end();
  });

  it('causes at most three attempts of a settlement, which counts once', async () => {
    const pool = await openPool(database.url(), 2);
    let toLose = 0;
    let asked = 0;
    const ledger = lossyLedger(pool, () => {
      asked += 1;
      return asked <= toLose ? new Error('Connection terminated unexpectedly') : undefined;
    });
    const user = await aUser(query, { amount: 10n });
    const settleLosing = async (answers: number) => {
      [toLose, asked] = [answers, 0];
      return [wordOf(await ledger.settle(aRecord(user, unit))), asked];
    };
    expect(await settleLosing(2)).toEqual(['recorded', 3]);
    expect(await settleLosing(3)).toEqual(['store_unavailable', 3]);
    expect(await spendOf(query, scopeOf(user))).toEqual({ rows: 2n * unit, days: 2n * unit });
    await pool.end();
  });

  it('by a server restart is replaced, and no recorded row is missing', async () => {
    const dataDir = path.join(await makeTestFolder('restarted'), 'server');
    let server = await startEmbeddedPostgres({ dataDir, testing: true });
    await migrate(server.url, path.join(import.meta.dirname, '..', '..', 'migrations'), 'none');
    const way = await tcpProxy();
    const store = await openLedger(way.to(server.url));
    const user = await withClient(server.url, (ask) => aUser(ask, { amount: 1_000_000n }));
    const settled: { readonly record: SettlementRecord; readonly verdict: string }[] = [];
    const enough = new AbortController();
    const load = Array.from({ length: 8 }, async () => {
      while (!enough.signal.aborted) {
        const record = aRecord(user, unit);
        settled.push({ record, verdict: wordOf(await store.settle(record)) });
        await sleep(1);
      }
    });
    const isThere = (wanted: string): true | undefined =>
      settled.some(({ verdict }) => verdict === wanted) || undefined;
    await eventually(() => isThere('recorded'));
    await sleep(150);
    await server.stop();
    await eventually(() => isThere('store_unavailable'));
    await sleep(100);
    server = await startEmbeddedPostgres({ dataDir, testing: true });
    way.to(server.url);
    await eventually(() => settled.slice(-20).every(({ verdict }) => verdict === 'recorded') || undefined);
    enough.abort();
    await Promise.all(load);
    expect(new Set(settled.map(({ verdict }) => verdict))).toEqual(
      new Set(['recorded', 'store_unavailable']),
    );
    expect(settled.at(-1)?.verdict).toBe('recorded');
    const rows = await withClient(server.url, (ask) =>
      ask<{ id: string }>('select request_log_id as id from usage_cost_events'),
    );
    const found = new Set(rows.map(({ id }) => id));
    const recorded = settled.filter(({ verdict }) => verdict === 'recorded');
    expect(recorded.filter(({ record }) => !found.has(record.charge?.requestLogId ?? ''))).toEqual([]);
    await store.pool.end();
    await way.close();
    await server.stop();
  });
});
