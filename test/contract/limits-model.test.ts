import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import type { Caller } from '../../domain/identity/caller.ts';
import { type LimitTerms, minuteOf, type RateLimit, subjectKey } from '../../domain/limits/rate-limit.ts';
import { clockKind, onEachNode } from '../support/citus-database.ts';
import { withDatabase } from '../support/database.ts';
import { runAll } from '../support/test-server.ts';
import { timed } from '../support/undisturbed.ts';
import { openSql } from './budget-audit.ts';
import { admitted, aTeam, aUser, openLedger, type OpenLedger, type Query } from './ledger-bench.ts';
import { aLimit, askTogether, endOf, limitedAsk, noTerms, setLimit } from './limits-bench.ts';

const database = withDatabase();
let sql: ReturnType<typeof openSql>;
beforeAll(() => {
  sql = openSql(database.url());
});
afterAll(() => sql.end());
const query: Query = (text, values) => sql.query(text, values);

/** An admitted request, with its limits and its minute. */
interface Admitted {
  readonly limits: readonly RateLimit[];
  readonly minute: number;
  readonly ask: ReturnType<typeof limitedAsk>;
}

interface World {
  readonly ledgers: readonly OpenLedger[];
  readonly callers: readonly Caller[];
  readonly limits: readonly RateLimit[];
  readonly admissions: Admitted[];
  readonly inFlight: Set<Admitted>;
  /** The largest number known to be in flight at once, by subject. */
  readonly peaks: Map<string, number>;
  /** Tokens whose settlement was acknowledged, by subject and minute. */
  readonly tokens: Map<string, number>;
  readonly counts: { refused: number; admitted: number; full: number };
}

const someTerms: fc.Arbitrary<LimitTerms> = fc.oneof(
  fc.record({ requests: fc.integer({ min: 1, max: 12 }) }).map((terms) => ({ ...noTerms, ...terms })),
  fc.record({ tokens: fc.integer({ min: 1, max: 40 }) }).map((terms) => ({ ...noTerms, ...terms })),
  fc.record({ inFlight: fc.integer({ min: 1, max: 6 }) }).map((terms) => ({ ...noTerms, ...terms })),
  fc.record({
    requests: fc.integer({ min: 1, max: 20 }),
    tokens: fc.integer({ min: 1, max: 80 }),
    inFlight: fc.integer({ min: 1, max: 8 }),
  }),
);

const by = { replica: fc.nat({ max: 3 }), afterMs: fc.oneof(fc.constant(0), fc.nat({ max: 8 })) };
const anAction = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('ask' as const),
      ...by,
      caller: fc.nat(),
      limits: fc.array(fc.integer({ min: 1, max: 15 }), { minLength: 1, maxLength: 8 }),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('end' as const),
      ...by,
      count: fc.integer({ min: 1, max: 5 }),
      tokens: fc.option(fc.nat({ max: 20 }), { nil: undefined }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('jump' as const), ...by, beforeMs: fc.nat({ max: 30 }) }),
  },
);
type Action = typeof anAction extends fc.Arbitrary<infer A> ? A : never;

/** Moves the clock to so many milliseconds before the end of its minute; it keeps running. */
const jump = (beforeMs: number) =>
  query(
    `update test_clock set shift = shift + (date_trunc('minute', gateway_now()) + interval '1 minute' - gateway_now())
       - make_interval(secs => $1 / 1000.0)`,
    [beforeMs],
  );

async function minuteNow(): Promise<number> {
  const [row] = await query<{ at: Date }>('select gateway_now() as at');
  return minuteOf(row?.at ?? new Date(Number.NaN)).from.getTime();
}

async function askSome(world: World, action: Extract<Action, { kind: 'ask' }>): Promise<void> {
  const { ledgers, callers, limits, admissions, inFlight, counts } = world;
  const caller = callers[action.caller % callers.length]!;
  await Promise.all(
    action.limits.map(async (bits) => {
      const ask = limitedAsk(
        caller,
        limits.filter((_, index) => (bits & (1 << index)) !== 0),
      );
      const admission = await admitted(ledgers[action.replica]!, ask);
      if (admission.limits?.kind !== 'admitted') {
        counts.refused += 1;
        return;
      }
      counts.admitted += 1;
      const each = { limits: ask.limits, minute: minuteOf(admission.databaseTime).from.getTime(), ask };
      admissions.push(each);
      inFlight.add(each);
      note(world);
    }),
  );
}

/**
 * A request is in flight from its known admission until its settlement is requested: a lower bound of the
 * real number.
 */
function note({ inFlight, limits, peaks }: World): void {
  for (const limit of limits) {
    const key = subjectKey(limit.subject);
    const count = [...inFlight].filter((each) => each.limits.includes(limit)).length;
    peaks.set(key, Math.max(count, peaks.get(key) ?? 0));
  }
}

async function endSome(world: World, { replica, count, tokens }: Extract<Action, { kind: 'end' }>) {
  const ended = [...world.inFlight].slice(0, count);
  for (const each of ended) world.inFlight.delete(each);
  const before = await minuteNow();
  await Promise.all(ended.map(({ ask }) => world.ledgers[replica]!.settle(endOf(ask, tokens))));
  const after = await minuteNow();
  if (before !== after) return;
  for (const { limits } of ended)
    for (const { subject } of limits) {
      const key = `${subjectKey(subject)} ${after}`;
      world.tokens.set(key, (world.tokens.get(key) ?? 0) + (tokens ?? 0));
    }
}

async function perform(world: World, action: Action): Promise<void> {
  if (action.afterMs > 0) await sleep(action.afterMs);
  if (action.kind === 'ask') await askSome(world, action);
  else if (action.kind === 'end') await endSome(world, action);
  else await jump(action.beforeMs);
}

/**
 * Checks each limit: requests per minute, requests in flight, and no admission after tokens filled a minute.
 */
async function audit(world: World): Promise<void> {
  const { limits, admissions, peaks, tokens, ledgers, callers, counts } = world;
  for (const limit of limits) {
    const { requests, inFlight, tokens: most } = limit.terms;
    const key = subjectKey(limit.subject);
    const minutes = Map.groupBy(
      admissions.filter((each) => each.limits.includes(limit)),
      ({ minute }) => minute,
    );
    for (const all of minutes.values()) {
      expect(all.length).toBeLessThanOrEqual(requests ?? Infinity);
      if (all.length === requests) counts.full += 1;
    }
    expect(peaks.get(key) ?? 0).toBeLessThanOrEqual(inFlight ?? Infinity);
    const now = await minuteNow();
    if (most === undefined || (tokens.get(`${key} ${now}`) ?? 0) < most) continue;
    const admission = await admitted(ledgers[0]!, limitedAsk(callers[0]!, [limit]));
    if (minuteOf(admission.databaseTime).from.getTime() !== now) continue;
    expect(admission.limits?.kind).toBe('refused');
  }
}

describe('rate limits over four replicas', () => {
  const ledgers: OpenLedger[] = [];
  beforeAll(async () => {
    // Each node has its own clock, and limits are counted by one of them: a shift that all nodes shared would
    // be seen by one before the other, and time would go back.
    for (const url of onEachNode(database.url()))
      await runAll(url, ['create table test_clock (shift interval)', `insert into test_clock values ('0')`]);
    await query(`create or replace function gateway_now() returns timestamptz language sql ${clockKind()}
      as 'select clock_timestamp() + (select shift from test_clock)'`);
    for (let index = 0; index < 4; index += 1)
      ledgers.push(await openLedger(database.url(), { connections: 4, claimSeconds: () => 100_000 }));
  });
  afterAll(async () => {
    for (const { pool } of ledgers) await pool.end();
  });

  it('never admit more requests per minute or in flight than a limit allows, under concurrent requests', async () => {
    const seen = { refused: 0, admitted: 0, full: 0 };
    await fc.assert(
      fc.asyncProperty(
        fc.array(someTerms, { minLength: 4, maxLength: 4 }),
        fc.array(fc.array(anAction, { minLength: 1, maxLength: 10 }), { minLength: 1, maxLength: 6 }),
        async (terms, rounds) => {
          const [team, account] = await aTeam(query);
          const limits: RateLimit[] = [];
          for (const each of terms) limits.push(await aLimit(query, each));
          const world: World = {
            ledgers,
            callers: [await aUser(query), team, account],
            limits,
            admissions: [],
            inFlight: new Set(),
            peaks: new Map(),
            tokens: new Map(),
            counts: seen,
          };
          for (const actions of rounds) {
            await Promise.all(actions.map((action) => perform(world, action)));
            await audit(world);
          }
        },
      ),
      { numRuns: 25, endOnFailure: true },
    );
    for (const count of Object.values(seen)) expect(count).toBeGreaterThan(20);
    expect(ledgers.flatMap(({ faults }) => faults)).toEqual([]);
  });

  it('never deadlock, for any order in which requests name them', async () => {
    const limits: RateLimit[] = [];
    for (let index = 0; index < 6; index += 1) limits.push(await aLimit(query, { tokens: 1e9 }));
    const users = [await aUser(query), await aUser(query), await aUser(query)];
    await Promise.all(
      ledgers.flatMap((ledger, replica) =>
        Array.from({ length: 60 }, async (_, turn) => {
          const user = users[(turn + replica) % users.length]!;
          const own = limits.toSorted(() => (replica % 2 === 0 ? 1 : -1)).slice(turn % 4);
          const ask = limitedAsk(user, own);
          await admitted(ledger, ask);
          await ledger.settle(endOf(ask, 1));
        }),
      ),
    );
    expect(ledgers.flatMap(({ faults }) => faults)).toEqual([]);
    expect(
      await query('select from rate_limit_holds where subject = any ($1)', [
        limits.map(({ subject }) => subjectKey(subject)),
      ]),
    ).toEqual([]);
  });
});

describe('the requests in flight of a replica that dies', () => {
  /** A replica that sends a heartbeat each second until it dies. */
  async function aReplica() {
    const { pool, process, ...ledger } = await openLedger(database.url(), { connections: 4 });
    await process.beat();
    const beats = setInterval(() => void process.beat(), 1000);
    return {
      ledger,
      process,
      die: async () => {
        clearInterval(beats);
        await pool.end();
      },
    };
  }

  it('are released within 10 seconds, and those of other replicas stay', async () => {
    const user = await aUser(query);
    const limit = await aLimit(query, { inFlight: 3 });
    const [dying, there] = [await aReplica(), await aReplica()];
    expect(await askTogether(dying.ledger, [limitedAsk(user, [limit]), limitedAsk(user, [limit])])).toEqual([
      'admitted',
      'admitted',
    ]);
    expect(await askTogether(there.ledger, [limitedAsk(user, [limit])])).toEqual(['admitted']);
    await dying.die();
    const { value: freed, ms } = await timed(async (soFarMs) => {
      const words: string[] = [];
      while (words.length < 2 && soFarMs() < 15_000) {
        const [word] = await askTogether(there.ledger, [limitedAsk(user, [limit])]);
        if (word === 'admitted') words.push(word);
        else await sleep(100);
      }
      return words;
    });
    expect(freed).toHaveLength(2);
    expect(ms).toBeLessThan(10_000);
    expect(await askTogether(there.ledger, [limitedAsk(user, [limit])])).toEqual(['api_key in_flight']);
    await there.die();
  });

  it('are released by the next heartbeat if their settlement could not release them', async () => {
    const user = await aUser(query);
    const limit = await aLimit(query, { inFlight: 1 });
    await setLimit(query, limit);
    const { ledger, process, die } = await aReplica();
    const ask = limitedAsk(user, [limit]);
    expect(await askTogether(ledger, [ask])).toEqual(['admitted']);
    process.release(ask.requestLogId);
    process.release(randomUUID());
    await process.beat();
    expect(await askTogether(ledger, [limitedAsk(user, [limit])])).toEqual(['admitted']);
    await die();
  });
});
