import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import * as E from 'fp-ts/lib/Either.js';
import { sql } from 'slonik';
import type { Caller } from '../../domain/identity/caller.ts';
import {
  limitVerdict,
  type LimitTerms,
  type RateLimit,
  type LimitStanding,
  standingAt,
  unusedStanding,
  withTokens,
} from '../../domain/limits/rate-limit.ts';
import {
  admitted,
  aRecord,
  aTeam,
  aUser,
  holder,
  openLedger,
  settleTogether,
  untilWaiting,
} from './ledger-bench.ts';
import { ledgerScene } from './ledger-scene.ts';
import { aLimit, askTogether, endOf, limitedAsk, setLimit, takenOf, wordsOf } from './limits-bench.ts';
import { everythingElse } from './purge-rows.ts';

const { query, ledgers, clock, ledger, databaseUrl } = ledgerScene();
const minute = (at: string): Promise<void> => clock.standAt(`2028-06-01T12:${at}Z`);

describe('admission under rate limits', () => {
  it('admits the allowed requests per minute, over all replicas together, and as many in the next minute', async () => {
    await minute('00:59.999');
    const user = await aUser(query);
    const limit = await aLimit(query, { requests: 5 });
    const asks = () => Array.from({ length: 8 }, () => limitedAsk(user, [limit]));
    const words = (
      await Promise.all([askTogether(ledgers[0]!, asks()), askTogether(ledgers[1]!, asks())])
    ).flat();
    expect(words.filter((word) => word === 'admitted')).toHaveLength(5);
    expect(words.filter((word) => word === 'api_key requests')).toHaveLength(11);
    await minute('01:00');
    expect((await askTogether(ledger(), asks())).filter((word) => word === 'admitted')).toHaveLength(5);
    await clock.run();
  });

  it('ignores counts of a clock that ran ahead once it is corrected, but not those of the next minute', async () => {
    const user = await aUser(query);
    const limits = [await aLimit(query, { requests: 1 }), await aLimit(query, { tokens: 10 }, 'model')];
    const ask = () => limitedAsk(user, limits);
    await clock.standAt('2028-06-03T12:00:00Z');
    const first = ask();
    expect(await askTogether(ledger(), [first])).toEqual(['admitted']);
    await settleTogether(ledger(), [endOf(first, 10)]);
    await clock.standAt('2028-06-03T11:59:59Z');
    expect(await askTogether(ledger(), [ask()])).toEqual(['api_key requests, model tokens']);
    await minute('20:00');
    const second = ask();
    expect(await askTogether(ledger(), [second])).toEqual(['admitted']);
    await clock.standAt('2028-05-01T12:00:00Z');
    await settleTogether(ledger(), [endOf(second, 7)]);
    expect(await takenOf(query, limits[1]!)).toMatchObject({ requests: 0, tokens: 7 });
    await clock.run();
  });

  it('counts a request that one limit rejects under no other limit', async () => {
    await minute('02:10');
    const user = await aUser(query);
    const limits = [await aLimit(query, { requests: 10 }), await aLimit(query, { requests: 1 }, 'model')];
    expect(
      await askTogether(
        ledger(),
        [1, 2, 3].map(() => limitedAsk(user, limits)),
      ),
    ).toEqual(['admitted', 'model requests', 'model requests']);
    expect(await takenOf(query, limits[0]!)).toMatchObject({ requests: 1 });
    expect(await askTogether(ledger(), [limitedAsk(user, [limits[0]!])])).toEqual(['admitted']);
    await clock.run();
  });

  it('counts tokens in the minute of settlement, and rejects requests while that minute is full', async () => {
    await minute('03:00');
    const user = await aUser(query);
    const limit = await aLimit(query, { tokens: 100 });
    const asks = [1, 2].map(() => limitedAsk(user, [limit]));
    expect(await askTogether(ledger(), asks)).toEqual(['admitted', 'admitted']);
    await minute('04:00');
    await settleTogether(ledger(), [endOf(asks[0]!, 99)]);
    expect(await askTogether(ledger(), [limitedAsk(user, [limit])])).toEqual(['admitted']);
    await settleTogether(ledger(), [endOf(asks[1]!, 1)]);
    expect(await askTogether(ledgers[1]!, [limitedAsk(user, [limit])])).toEqual(['api_key tokens']);
    await minute('05:00');
    expect(await askTogether(ledgers[1]!, [limitedAsk(user, [limit])])).toEqual(['admitted']);
    await clock.run();
  });

  it('counts tokens once, however often a settlement is retried, and none if usage is unknown', async () => {
    await minute('06:00');
    const user = await aUser(query);
    const limit = await aLimit(query, { tokens: 1000 });
    const [known, unknown] = [limitedAsk(user, [limit]), limitedAsk(user, [limit])];
    await askTogether(ledger(), [known, unknown]);
    for (let time = 0; time < 3; time += 1)
      await settleTogether(ledger(), [endOf(known, 7), endOf(unknown, undefined)]);
    expect(await takenOf(query, limit)).toEqual({ requests: 2, tokens: 7, held: 0 });
    await clock.run();
  });

  it('counts tokens of a settlement without a ledger row and a log row', async () => {
    const user = await aUser(query);
    const limit = await aLimit(query, { tokens: 1000 });
    const ask = limitedAsk(user, [limit]);
    await askTogether(ledger(), [ask]);
    const bare = { ...endOf(ask, 11), charge: undefined, logged: undefined };
    expect(await settleTogether(ledger(), [bare])).toEqual(['recorded']);
    expect(await takenOf(query, limit)).toMatchObject({ tokens: 11, held: 0 });
  });

  it('admits the allowed requests in flight, and another one for each that ends', async () => {
    const user = await aUser(query);
    const limit = await aLimit(query, { inFlight: 2 });
    const asks = [1, 2, 3].map(() => limitedAsk(user, [limit]));
    expect(await askTogether(ledger(), asks)).toEqual(['admitted', 'admitted', 'api_key in_flight']);
    await settleTogether(ledgers[1]!, [endOf(asks[0]!, 5)]);
    expect(await askTogether(ledgers[1]!, [limitedAsk(user, [limit]), limitedAsk(user, [limit])])).toEqual([
      'admitted',
      'api_key in_flight',
    ]);
  });

  it('records no request in flight for a limit on requests only, and ignores a deleted limit', async () => {
    const user = await aUser(query);
    const limit = await aLimit(query, { requests: 1 });
    const admission = await admitted(ledger(), limitedAsk(user, [limit]));
    expect(admission.limits).toEqual({ kind: 'admitted', held: false });
    expect(await takenOf(query, limit)).toMatchObject({ held: 0 });
    const others = [
      await aLimit(query, { requests: 1 }),
      await aLimit(query, { inFlight: 1 }, 'model'),
    ] as const;
    await admitted(ledger(), limitedAsk(user, others));
    expect(await takenOf(query, others[0])).toMatchObject({ requests: 1, held: 0 });
    expect(await takenOf(query, others[1])).toMatchObject({ requests: 1, held: 1 });
    await query('delete from rate_limits where subject_id = $1', [limit.subject.id]);
    expect(await askTogether(ledger(), [limitedAsk(user, [limit])])).toEqual(['admitted']);
  });

  it('uses the limit in force at the statement, not the one that the replica last read', async () => {
    await minute('08:00');
    const user = await aUser(query);
    const limit = await aLimit(query, { requests: 5 });
    await setLimit(query, { ...limit, terms: { ...limit.terms, requests: 2 } });
    const words = await askTogether(
      ledger(),
      [1, 2, 3].map(() => limitedAsk(user, [limit])),
    );
    expect(words).toEqual(['admitted', 'admitted', 'api_key requests']);
    await clock.run();
  });

  it('returns the budget, the claim and `alreadyAccounted` as without limits', async () => {
    await minute('09:00');
    const limit = await aLimit(query, { requests: 9 });
    const requestId = randomUUID();
    const over = { requestId, callerChoseRequestId: true, claim: true };
    const admissionsOf = async (limits: readonly RateLimit[]) => {
      const user = await aUser(query, { amount: 3n });
      const ask = async () => {
        const { limits: verdict, ...rest } = await admitted(ledger(), limitedAsk(user, limits, over));
        expect(verdict?.kind).toBe(limits.length > 0 ? 'admitted' : undefined);
        return rest;
      };
      const [first, second] = [await ask(), await ask()];
      await settleTogether(ledger(), [aRecord(user, 7n, { requestId })]);
      return [first, second, await ask()];
    };
    const without = await admissionsOf([]);
    expect(await admissionsOf([limit])).toEqual(without);
    expect(without).toMatchObject([
      { alreadyAccounted: false, claimed: true, budget: { spent: 0n } },
      { alreadyAccounted: false, claimed: false, budget: { spent: 0n } },
      { alreadyAccounted: true, budget: { spent: 7n } },
    ]);
    await clock.run();
  });

  it('does not delay requests without limits while the lock of a limit is held', async () => {
    const [user, other] = [await aUser(query), await aUser(query)];
    const limit = await aLimit(query, { requests: 9 });
    const held = await holder(databaseUrl());
    await held.query('select from rate_limit_windows where subject = $1 for update', [
      `api_key:${limit.subject.id}`,
    ]);
    const waiting = admitted(ledger(), limitedAsk(user, [limit]));
    const { limits: _, ...unlimited } = limitedAsk(other, []);
    expect(wordsOf(await admitted(ledger(), unlimited))).toBe('unlimited');
    await held.commit();
    expect(wordsOf(await waiting)).toBe('admitted');
  });

  it('uses the counts and the time that are current once it holds the lock', async () => {
    await minute('40:59.999');
    const user = await aUser(query);
    const limit = await aLimit(query, { requests: 2 });
    const key = `api_key:${limit.subject.id}`;
    const behind = async (change: string, meanwhile: () => Promise<void> = async () => undefined) => {
      const held = await holder(databaseUrl());
      await held.query(change);
      const waiting = admitted(ledger(), limitedAsk(user, [limit]));
      await untilWaiting(query, 1, 'transactionid');
      await meanwhile();
      await held.commit();
      return waiting;
    };
    expect(wordsOf(await admitted(ledger(), limitedAsk(user, [limit])))).toBe('admitted');
    const full = await behind(`update rate_limit_windows set requests = 2 where subject = '${key}'`);
    expect(wordsOf(full)).toBe('api_key requests');
    const next = await behind(`select from rate_limit_windows where subject = '${key}' for update`, () =>
      minute('41:00'),
    );
    expect([wordsOf(next), next.databaseTime]).toEqual(['admitted', new Date('2028-06-01T12:41:00Z')]);
    await clock.run();
  });

  it('does not count tokens of an earlier minute in a window that began later', async () => {
    const user = await aUser(query);
    const limit = await aLimit(query, { tokens: 10 });
    const asks = [limitedAsk(user, [limit]), limitedAsk(user, [limit])];
    await minute('51:00');
    expect(await askTogether(ledger(), asks)).toEqual(['admitted', 'admitted']);
    await minute('50:59.999');
    await settleTogether(ledger(), [endOf(asks[0]!, 7)]);
    expect(await takenOf(query, limit)).toEqual({ requests: 2, tokens: 0, held: 1 });
    await minute('51:00');
    await settleTogether(ledger(), [endOf(asks[1]!, 7)]);
    expect(await takenOf(query, limit)).toEqual({ requests: 2, tokens: 7, held: 0 });
    await clock.run();
  });

  it('writes nothing for rejected requests without a claim: no row of the database changes', async () => {
    await minute('55:00');
    const user = await aUser(query, { amount: 3n });
    const limits = [await aLimit(query, { requests: 1 }), await aLimit(query, { requests: 9, inFlight: 9 })];
    const ask = () => askTogether(ledger(), [limitedAsk(user, limits, { callerChoseRequestId: true })]);
    const version = () =>
      query('select subject, xmin::text from rate_limit_windows where subject = any ($1) order by 1', [
        limits.map(({ subject }) => `api_key:${subject.id}`),
      ]);
    expect(await ask()).toEqual(['admitted']);
    const before = [await version(), await everythingElse(query)];
    expect(await ask()).toEqual(['api_key requests']);
    expect([await version(), await everythingElse(query)]).toEqual(before);
    await clock.run();
  });

  it('does not count expired requests in flight, even if their row is locked, and deletes it once the limit is full', async () => {
    const user = await aUser(query);
    const limit = await aLimit(query, { inFlight: 1 });
    const ask = () => askTogether(ledger(), [limitedAsk(user, [limit])]);
    await minute('30:00');
    expect(await ask()).toEqual(['admitted']);
    await minute('30:59.999');
    expect(await ask()).toEqual(['api_key in_flight']);
    await minute('31:00');
    const held = await holder(databaseUrl());
    await held.query('select from rate_limit_holds where subject = $1 for update', [
      `api_key:${limit.subject.id}`,
    ]);
    expect(await ask()).toEqual(['admitted']);
    await held.commit();
    expect(await takenOf(query, limit)).toMatchObject({ held: 2 });
    expect(await ask()).toEqual(['api_key in_flight']);
    expect(await takenOf(query, limit)).toMatchObject({ held: 1 });
    await clock.run();
  });

  it("releases a request in flight without the window's lock if no tokens are limited", async () => {
    const user = await aUser(query);
    const limit = await aLimit(query, { inFlight: 1 });
    const ask = limitedAsk(user, [limit]);
    expect(await askTogether(ledger(), [ask])).toEqual(['admitted']);
    const held = await holder(databaseUrl());
    await held.query('select from rate_limit_windows where subject = $1 for update', [
      `api_key:${limit.subject.id}`,
    ]);
    expect(await settleTogether(ledger(), [endOf(ask, 7)])).toEqual(['recorded']);
    await held.commit();
    expect(await takenOf(query, limit)).toEqual({ requests: 1, tokens: 0, held: 0 });
  });

  it('admits no limited request while the database is read-only', async () => {
    const { pool, ...own } = await openLedger(databaseUrl(), { connections: 1 });
    const user = await aUser(query);
    const limit = await aLimit(query, { requests: 9 });
    await pool.query(sql.unsafe`set default_transaction_read_only = on`);
    expect(await own.admit(limitedAsk(user, [limit]))).toMatchObject({ left: { code: 'store_unavailable' } });
    await pool.query(sql.unsafe`set default_transaction_read_only = off`);
    await pool.end();
    expect(await takenOf(query, limit)).toMatchObject({ requests: 0 });
  });

  it('fails only requests whose lock is stuck, with `store_unavailable`, and admits none that it cannot count', async () => {
    const { pool, ...own } = await openLedger(databaseUrl());
    const [user, [team]] = [await aUser(query), await aTeam(query)];
    const [stuck, free] = [await aLimit(query, { requests: 9 }), await aLimit(query, { requests: 9 })];
    const held = await holder(databaseUrl());
    await held.query('select from rate_limit_windows where subject = $1 for update', [
      `api_key:${stuck.subject.id}`,
    ]);
    const [first, second] = await Promise.all([
      own.admit(limitedAsk(user, [stuck])),
      own.admit(limitedAsk(team, [free])),
    ]);
    await held.rollBack();
    expect([first, second].map((each) => (E.isLeft(each) ? each.left.code : wordsOf(each.right)))).toEqual([
      'store_unavailable',
      'admitted',
    ]);
    await pool.end();
  });
});

const someTerms: fc.Arbitrary<LimitTerms> = fc.record({
  requests: fc.option(fc.integer({ min: 1, max: 6 }), { nil: undefined }),
  tokens: fc.option(fc.integer({ min: 1, max: 60 }), { nil: undefined }),
  inFlight: fc.option(fc.integer({ min: 1, max: 4 }), { nil: undefined }),
});

const aStep = fc.oneof(
  { weight: 4, arbitrary: fc.record({ asks: fc.array(fc.integer({ min: 1, max: 7 }), { maxLength: 6 }) }) },
  { weight: 3, arbitrary: fc.record({ ends: fc.nat({ max: 3 }), tokens: fc.nat({ max: 30 }) }) },
  { weight: 1, arbitrary: fc.record({ afterSecs: fc.integer({ min: 1, max: 130 }) }) },
);

describe('the verdicts of the admission statement', () => {
  it('are those of the domain, for any limits and any sequence of requests, settlements and minutes', async () => {
    // Claims outlast the test, so that requests in flight do not expire.
    const { pool, ...patient } = await openLedger(databaseUrl(), { claimSeconds: () => 100_000 });
    await fc.assert(
      fc.asyncProperty(
        fc.array(someTerms, { minLength: 3, maxLength: 3 }),
        fc.array(aStep, { minLength: 1, maxLength: 14 }),
        async (terms, steps) => {
          const user: Caller = await aUser(query);
          const limits: RateLimit[] = [];
          for (const each of terms) {
            const isNone = Object.values(each).every((most) => most === undefined);
            limits.push(await aLimit(query, isNone ? { requests: 3 } : each));
          }
          let now = Date.parse('2028-07-01T00:00:00Z');
          let standings: readonly LimitStanding[] = limits.map((limit) =>
            unusedStanding(limit, new Date(now)),
          );
          const inFlight: { ask: ReturnType<typeof limitedAsk>; bits: number }[] = [];
          for (const step of steps) {
            if ('afterSecs' in step) now += step.afterSecs * 1000;
            await clock.standAt(new Date(now));
            const at = new Date(now);
            standings = standings.map((standing) => standingAt(standing, at));
            if ('asks' in step) {
              const asks = step.asks.map((bits) => limitedAsk(user, chosen(limits, bits)));
              const expected = step.asks.map((bits, index) => {
                const verdict = limitVerdict(chosen(standings, bits));
                if (E.isLeft(verdict))
                  return verdict.left.map(({ measure }) => `api_key ${measure}`).join(', ');
                standings = standings.map(
                  (standing) => verdict.right.find(({ limit }) => limit === standing.limit) ?? standing,
                );
                inFlight.push({ ask: asks[index]!, bits });
                return 'admitted';
              });
              expect(await askTogether(patient, asks)).toEqual(expected);
            } else if ('ends' in step) {
              for (const { ask, bits } of inFlight.splice(0, step.ends)) {
                await settleTogether(patient, [endOf(ask, step.tokens)]);
                const ended = chosen(standings, bits);
                standings = standings.map((standing) =>
                  ended.includes(standing)
                    ? { ...withTokens(standing, step.tokens, at), inFlight: standing.inFlight - 1 }
                    : standing,
                );
              }
            }
          }
        },
      ),
      { numRuns: 40 },
    );
    await pool.end();
    await clock.run();
  });
});

/** The items of a list of three whose bit is set. */
const chosen = <A>(list: readonly A[], bits: number): readonly A[] =>
  list.filter((_, index) => (bits & (1 << index)) !== 0);
