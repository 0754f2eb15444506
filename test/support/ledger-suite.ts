import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import * as E from 'fp-ts/lib/Either.js';
import type { Ledger, SettlementRecord } from '../../application/ports/ledger.ts';
import { charge } from '../../domain/budget/hard-limit.ts';
import type { Caller } from '../../domain/identity/caller.ts';
import type { LimitTerms, RateLimit } from '../../domain/limits/rate-limit.ts';
import {
  admitted,
  anAsk,
  aRecord,
  type BudgetTerms,
  settleTogether,
  unit,
  unpriced,
  wordOf,
} from '../contract/ledger-bench.ts';
import { askTogether, endOf, limitedAsk } from '../contract/limits-bench.ts';

/** One ledger, its owners and its clock, for any implementation. */
export interface LedgerWorld {
  readonly ledger: () => Ledger;
  /** The same with `accounting.after_block: close_window`. */
  readonly closing: () => Ledger;
  /** A ledger that has lost its database and has a journal; the second one's journal accepts nothing. */
  readonly lost: () => Promise<readonly [Ledger, Ledger]>;
  readonly aUser: (budget?: BudgetTerms) => Promise<Caller>;
  /** A team and one of its service accounts. */
  readonly aTeam: (budget?: BudgetTerms) => Promise<readonly [Caller, Caller]>;
  readonly setUserBudget: (user: Caller, budget: BudgetTerms | undefined) => Promise<void>;
  /** A rate limit of a new key. */
  readonly aLimit: (terms: Partial<LimitTerms>) => Promise<RateLimit>;
  /** Stops the database's clock at this time. */
  readonly standAt: (at: string) => Promise<void>;
}

const later = new Date('2028-03-01T00:00:00Z');
const bare = { charge: undefined, logged: undefined, release: undefined, deferrableTo: undefined };

/** The behaviour of every `Ledger`, as its port describes it. */
export function describeLedger(
  name: string,
  { ledger, closing, lost, aUser, aTeam, setUserBudget, aLimit, standAt }: LedgerWorld,
): void {
  const settle = (...records: readonly SettlementRecord[]) => settleTogether(ledger(), records);
  const spentBy = async (caller: Caller) => (await admitted(ledger(), anAsk(caller))).budget?.spent;

  beforeAll(() => standAt('2028-03-15T12:00:00Z'));

  describe(`admission by ${name}`, () => {
    it('returns no budget for an owner without one', async () => {
      expect(await admitted(ledger(), anAsk(await aUser()))).toEqual({
        alreadyAccounted: false,
        claimed: true,
        budget: undefined,
        databaseTime: new Date('2028-03-15T12:00:00Z'),
      });
    });

    it.each([
      ['daily', '2028-03-15T00:00:00Z', '2028-03-16T00:00:00Z'],
      ['weekly', '2028-03-13T00:00:00Z', '2028-03-20T00:00:00Z'],
      ['monthly', '2028-03-01T00:00:00Z', '2028-04-01T00:00:00Z'],
    ] as const)(
      'returns the active %s budget, its UTC window and its counted spend',
      async (cadence, from, until) => {
        const user = await aUser({ amount: 5n, cadence, hard: false });
        expect(await settle(aRecord(user, 3n * unit), aRecord(user, unpriced))).toEqual([
          'recorded',
          'recorded',
        ]);
        expect((await admitted(ledger(), anAsk(user))).budget).toEqual({
          terms: { cadence, amount: 5n * unit, hardLimit: false },
          window: { from: new Date(from), until: new Date(until) },
          spent: 3n * unit,
          closed: false,
        });
        await setUserBudget(user, undefined);
        expect((await admitted(ledger(), anAsk(user))).budget).toBeUndefined();
      },
    );

    it('returns the budget and the spend of the team for its service accounts', async () => {
      const [team, serviceAccount] = await aTeam({ amount: 9n, cadence: 'weekly' });
      await settle(aRecord(team, 1n), aRecord(serviceAccount, 2n));
      for (const caller of [team, serviceAccount])
        expect((await admitted(ledger(), anAsk(caller))).budget).toMatchObject({
          terms: { cadence: 'weekly', amount: 9n * unit, hardLimit: true },
          spent: 3n,
        });
    });

    it('recognises an accounted request id only in the same scope, and only if the caller chose it', async () => {
      const [user, other] = [await aUser(), await aUser()];
      const requestId = randomUUID();
      await settle(aRecord(user, unpriced, { requestId }));
      const isKnown = async (caller: Caller, callerChoseRequestId: boolean) =>
        (await admitted(ledger(), anAsk(caller, { requestId, callerChoseRequestId }))).alreadyAccounted;
      expect([await isKnown(user, true), await isKnown(user, false), await isKnown(other, true)]).toEqual([
        true,
        false,
        false,
      ]);
    });
  });

  describe(`rate limits by ${name}`, () => {
    it('admit a request if all of them have room, and count a refused request under none of them', async () => {
      const user = await aUser();
      const [wide, narrow] = [await aLimit({ requests: 3 }), await aLimit({ requests: 1 })];
      const asks = [[wide, narrow], [wide, narrow], [wide], [wide], [wide]];
      expect(
        await askTogether(
          ledger(),
          asks.map((limits) => limitedAsk(user, limits)),
        ),
      ).toEqual(['admitted', 'api_key requests', 'admitted', 'admitted', 'api_key requests']);
      await standAt('2028-03-15T12:01:00Z');
      expect(await askTogether(ledger(), [limitedAsk(user, [wide, narrow])])).toEqual(['admitted']);
      await standAt('2028-03-15T12:00:00Z');
    });

    it('count tokens when a request ends, and the request as in flight until then', async () => {
      const user = await aUser();
      const limits = [await aLimit({ tokens: 10 }), await aLimit({ inFlight: 1 })];
      const [first, second, third] = [
        limitedAsk(user, limits),
        limitedAsk(user, limits),
        limitedAsk(user, limits),
      ];
      expect(await askTogether(ledger(), [first, second])).toEqual(['admitted', 'api_key in_flight']);
      await settle(endOf(first, 9));
      expect(await askTogether(ledger(), [third])).toEqual(['admitted']);
      await settle(endOf(third, 1), endOf(third, 1));
      expect(await askTogether(ledger(), [limitedAsk(user, limits)])).toEqual(['api_key tokens']);
    });
  });

  describe(`claims of a request id by ${name}`, () => {
    const claimed = async (caller: Caller, requestId: string, over: object = {}) =>
      (await admitted(ledger(), anAsk(caller, { requestId, claim: true, ...over }))).claimed;

    it('are held by exactly one of 20 concurrent requests', async () => {
      const user = await aUser();
      const requestId = randomUUID();
      const all = await Promise.all(Array.from({ length: 20 }, () => claimed(user, requestId)));
      expect(all.filter(Boolean)).toHaveLength(1);
    });

    it('affect neither requests without a claim nor other owners', async () => {
      const [user, other] = [await aUser(), await aUser()];
      const requestId = randomUUID();
      expect(await claimed(user, requestId)).toBe(true);
      expect(await claimed(user, requestId, { claim: false })).toBe(true);
      expect(await claimed(other, requestId)).toBe(true);
      expect(await claimed(user, requestId)).toBe(false);
    });

    it('end with the settlement that releases them, with a charge or without', async () => {
      const user = await aUser();
      const requestId = randomUUID();
      const [first, second] = [randomUUID(), randomUUID()];
      expect(await claimed(user, requestId, { requestLogId: first })).toBe(true);
      await settle({ ...bare, release: first });
      expect(await claimed(user, requestId, { requestLogId: second })).toBe(true);
      await settle({ ...aRecord(user, 1n, { requestId, requestLogId: second }), release: second });
      expect(await claimed(user, requestId)).toBe(true);
    });
  });

  describe(`settlement by ${name}`, () => {
    it('records one row for a request id and scope, and returns `duplicate` for others', async () => {
      const [user, other] = [await aUser({ amount: 99n }), await aUser()];
      const requestId = randomUUID();
      const records = [
        aRecord(user, 7n, { requestId }),
        aRecord(other, 11n, { requestId }),
        aRecord(user, 13n, { requestId }),
      ];
      expect(await settle(...records)).toEqual(['recorded', 'recorded', 'duplicate']);
      expect(await spentBy(user)).toBe(7n);
    });

    it('treats the retry of its own record as recorded, and counts it once', async () => {
      const user = await aUser({ amount: 1n });
      const record = aRecord(user, unit);
      expect([await settle(record), await settle(record, record)]).toEqual([
        ['recorded'],
        ['recorded', 'recorded'],
      ]);
      expect(await spentBy(user)).toBe(unit);
    });

    it('always checks the records of one scope in arrival order, each by the rule of the hard limit', async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.array(fc.nat(9), { minLength: 1, maxLength: 12 }),
          fc.nat(20),
          fc.boolean(),
          async (costs, amount, hard) => {
            const user = await aUser({ amount: BigInt(amount), hard });
            const budget = { cadence: 'monthly', amount: BigInt(amount) * unit } as const;
            let spent = 0n;
            const expected = costs.map((cost) => {
              const after = charge({ ...budget, hardLimit: hard }, spent, BigInt(cost) * unit);
              if (E.isRight(after)) spent = after.right;
              return E.isRight(after) ? 'recorded' : 'blocked';
            });
            expect(await settle(...costs.map((cost) => aRecord(user, BigInt(cost) * unit)))).toEqual(
              expected,
            );
            expect(await spentBy(user)).toBe(spent);
            if (hard) expect(spent <= budget.amount).toBe(true);
          },
        ),
        { numRuns: 25, seed: 16 },
      );
    });

    it('may use a hard budget to the picodollar, and not one more', async () => {
      const user = await aUser({ amount: 1n });
      expect(await settle(aRecord(user, unit + 1n), aRecord(user, unit), aRecord(user, 1n))).toEqual([
        'blocked',
        'recorded',
        'blocked',
      ]);
    });

    it('neither counts nor blocks a record without a price or usage, even under a full hard budget', async () => {
      const user = await aUser({ amount: 1n });
      const missing = { pricingStatus: 'usage_missing' } as const;
      const free = () => [aRecord(user, unpriced), aRecord(user, missing)];
      expect(await settle(...free(), aRecord(user, unit), ...free(), aRecord(user, 1n))).toEqual([
        'recorded',
        'recorded',
        'recorded',
        'recorded',
        'recorded',
        'blocked',
      ]);
      expect(await spentBy(user)).toBe(unit);
    });

    it('returns the budget, its window and the database time with a blocked cost', async () => {
      const user = await aUser({ amount: 3n, cadence: 'weekly' });
      expect(await ledger().settle(aRecord(user, 4n * unit))).toEqual(
        E.right({
          kind: 'blocked',
          budget: { cadence: 'weekly', amount: 3n * unit, hardLimit: true },
          window: { from: new Date('2028-03-13T00:00:00Z'), until: new Date('2028-03-20T00:00:00Z') },
          databaseTime: new Date('2028-03-15T12:00:00Z'),
        }),
      );
    });

    it('checks the window of the database time: a new day has the full daily budget', async () => {
      const user = await aUser({ amount: 2n, cadence: 'daily' });
      expect(await settle(aRecord(user, 2n * unit), aRecord(user, unit))).toEqual(['recorded', 'blocked']);
      await standAt('2028-03-16T00:00:00Z');
      expect(await settle(aRecord(user, 2n * unit), aRecord(user, unit))).toEqual(['recorded', 'blocked']);
      await standAt('2028-03-15T12:00:00Z');
    });

    it('closes the window after a blocked cost with `close_window`, until the budget changes', async () => {
      const user = await aUser({ amount: 1n });
      const closed = async () => (await admitted(closing(), anAsk(user))).budget?.closed;
      expect(await settle(aRecord(user, 2n * unit))).toEqual(['blocked']);
      expect(await closed()).toBe(false);
      expect(await settleTogether(closing(), [aRecord(user, 2n * unit)])).toEqual(['blocked']);
      expect(await closed()).toBe(true);
      await setUserBudget(user, { amount: 2n });
      expect(await closed()).toBe(false);
    });

    it('returns `internal_error` for a record that cannot be written, and only for that one', async () => {
      const user = await aUser();
      const bad = aRecord(user, 1n, { requestLogId: 'no id' });
      expect(await settle(aRecord(user, 1n), bad, aRecord(user, 1n))).toEqual([
        'recorded',
        'internal_error',
        'recorded',
      ]);
    });
  });

  describe(`a lost database behind ${name}`, () => {
    it('fails each admission with `store_unavailable`', async () => {
      for (const each of await lost())
        expect(await each.admit(anAsk(await aUser()))).toMatchObject({ left: { code: 'store_unavailable' } });
    });

    it('journals a record that may be deferred, and is `store_unavailable` for others or if the journal refuses it', async () => {
      const [journaling, full] = await lost();
      const mayWait = { ...aRecord(await aUser(), 1n), deferrableTo: later };
      const mustBeJudged = aRecord(await aUser({ amount: 1n }), 1n);
      expect(wordOf(await journaling.settle(mayWait))).toBe('journaled');
      expect(wordOf(await journaling.settle(mustBeJudged))).toBe('store_unavailable');
      expect(wordOf(await full.settle(mayWait))).toBe('store_unavailable');
    });
  });
}
