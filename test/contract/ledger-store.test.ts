import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { onCitus } from '../support/citus-database.ts';
import * as E from 'fp-ts/lib/Either.js';
import {
  aCharge,
  admitted,
  anAsk,
  aRecord,
  aTeam,
  aUser,
  openLedger,
  pricedAt,
  rowsOf,
  scopeOf,
  setUserBudget,
  settleTogether,
  spendOf,
  unit,
  unpriced,
  userIdOf,
  wordOf,
} from './ledger-bench.ts';
import { ledgerScene } from './ledger-scene.ts';

const { databaseUrl, query, clock, ledger, settle, ledgerRow, wrongTotals } = ledgerScene();

describe('admission', () => {
  it('returns no budget for an owner without one', async () => {
    expect(await admitted(ledger(), anAsk(await aUser(query)))).toMatchObject({
      alreadyAccounted: false,
      claimed: true,
      budget: undefined,
    });
  });

  it('returns the active budget, its UTC window and its counted spend, not those of earlier budgets', async () => {
    await clock.standAt('2028-02-29T23:59:59.999Z');
    const user = await aUser(query, { amount: 7n, cadence: 'daily' });
    await setUserBudget(query, userIdOf(user), { amount: 5n, cadence: 'monthly', hard: false });
    expect(await settle(aRecord(user, 3n * unit))).toEqual(['recorded']);
    const { budget, databaseTime } = await admitted(ledger(), anAsk(user));
    expect(databaseTime).toEqual(new Date('2028-02-29T23:59:59.999Z'));
    expect(budget).toEqual({
      terms: { cadence: 'monthly', amount: 5n * unit, hardLimit: false },
      window: { from: new Date('2028-02-01T00:00:00Z'), until: new Date('2028-03-01T00:00:00Z') },
      spent: 3n * unit,
      closed: false,
    });
    await setUserBudget(query, userIdOf(user), undefined);
    expect((await admitted(ledger(), anAsk(user))).budget).toBeUndefined();
    await clock.run();
  });

  it('counts only the days of the window', async () => {
    const user = await aUser(query);
    const days = [
      ['2028-03-31T23:59:59.999Z', 1n],
      ['2028-04-01T00:00:00Z', 20n],
      ['2028-04-05T23:59:59.999999Z', 300n],
      ['2028-04-06T00:00:00Z', 4000n],
    ] as const;
    for (const [at, cost] of days) {
      await clock.standAt(at);
      await settle(aRecord(user, cost));
    }
    const spentAt = async (cadence: 'daily' | 'weekly' | 'monthly') => {
      await setUserBudget(query, userIdOf(user), { amount: 9n, cadence });
      return (await admitted(ledger(), anAsk(user))).budget?.spent;
    };
    // 2028-04-06 is a Thursday; its week began on 2028-04-03.
    expect([await spentAt('daily'), await spentAt('weekly'), await spentAt('monthly')]).toEqual([
      4000n,
      4300n,
      4320n,
    ]);
    await clock.run();
  });

  it('uses the budget and the spend of the team for its service accounts', async () => {
    const [team, serviceAccount] = await aTeam(query, { amount: 9n });
    expect(await settle(aRecord(team, 1n), aRecord(serviceAccount, 2n))).toEqual(['recorded', 'recorded']);
    for (const caller of [team, serviceAccount])
      expect((await admitted(ledger(), anAsk(caller))).budget).toMatchObject({
        terms: { amount: 9n * unit },
        spent: 3n,
      });
    expect(await spendOf(query, scopeOf(team))).toEqual({ rows: 3n, days: 3n });
  });

  it('recognises an accounted request id, and only in the same scope', async () => {
    const [user, other] = [await aUser(query), await aUser(query)];
    const requestId = randomUUID();
    expect(await settle(aRecord(user, unpriced, { requestId }))).toEqual(['recorded']);
    expect((await admitted(ledger(), anAsk(user, { requestId }))).alreadyAccounted).toBe(true);
    expect((await admitted(ledger(), anAsk(other, { requestId }))).alreadyAccounted).toBe(false);
    expect((await admitted(ledger(), anAsk(user))).alreadyAccounted).toBe(false);
  });

  it('admits a request with an id that the gateway has just generated', async () => {
    const user = await aUser(query, { amount: 3n });
    const ask = anAsk(user, { callerChoseRequestId: false });
    expect(await admitted(ledger(), ask)).toMatchObject({
      alreadyAccounted: false,
      claimed: true,
      budget: { terms: { amount: 3n * unit } },
    });
  });

  it("answers each request of a batch with its owner's budget", async () => {
    const owners = [
      await aUser(query, { amount: 3n }),
      await aUser(query, { amount: 5n }),
      await aUser(query),
    ];
    const asks = Array.from({ length: 90 }, (_, index) => anAsk(owners[index % 3]!));
    const admissions = await Promise.all(asks.map((ask) => admitted(ledger(), ask)));
    const amounts = admissions.map(({ budget }) => budget?.terms.amount);
    expect(amounts).toEqual(asks.map((_, index) => [3n * unit, 5n * unit, undefined][index % 3]));
  });
});

describe('settlement', () => {
  it('records the exact cost, the prices used and the database time in the row, and the cost in the total of that day', async () => {
    const user = await aUser(query);
    const charge = aCharge(user, {
      pricingStatus: 'priced',
      usage: { promptTokens: 9_007_199_254_740_991, completionTokens: 3, totalTokens: 9_007_199_254_740_994 },
      price: { input: 999_999_999_999_999_999n, output: 7n, source: 'somewhere' },
      cost: 9_007_199_254_740_991n * 999_999_999_999_999_999n + 21n,
    });
    await clock.standAt('2028-06-30T23:59:59.999999Z');
    expect(await settle({ charge, logged: undefined, release: undefined, deferrableTo: undefined })).toEqual([
      'recorded',
    ]);
    await clock.run();
    expect(await ledgerRow(charge.requestLogId)).toMatchObject({
      request_id: charge.requestId,
      ownership_scope_key: scopeOf(user),
      api_key_id: user.apiKeyId,
      user_id: userIdOf(user),
      team_id: null,
      service_account_id: null,
      model_key: 'fast',
      provider_key: 'up',
      upstream_model: 'simulated-fast',
      prompt_tokens: '9007199254740991',
      completion_tokens: '3',
      total_tokens: '9007199254740994',
      pricing_status: 'priced',
      unpriced_reason: null,
      input_picousd_per_token: '999999999999999999',
      output_picousd_per_token: '7',
      pricing_source: 'somewhere',
      cost_picousd: (9_007_199_254_740_991n * 999_999_999_999_999_999n + 21n).toString(),
      occurred_at: new Date('2028-06-30T23:59:59.999Z'),
    });
    const days = await query(
      `select day::text, counted_picousd from usage_daily_totals where ownership_scope_key = $1`,
      [scopeOf(user)],
    );
    expect(days).toEqual([
      {
        day: '2028-06-30',
        counted_picousd: String(charge.cost.pricingStatus === 'priced' ? charge.cost.cost : 0n),
      },
    ]);
  });

  it('records one row per request id and scope, and reports the others as duplicates', async () => {
    const [user, other] = [await aUser(query), await aUser(query)];
    const requestId = randomUUID();
    const same = () => aRecord(user, 5n, { requestId });
    expect(await settle(same())).toEqual(['recorded']);
    expect(await settle(same(), aRecord(other, 5n, { requestId }), same())).toEqual([
      'duplicate',
      'recorded',
      'duplicate',
    ]);
    expect(await spendOf(query, scopeOf(user))).toEqual({ rows: 5n, days: 5n });
  });

  it('counts a request id that is repeated within a batch once: the first one', async () => {
    const user = await aUser(query);
    const requestId = randomUUID();
    const records = [7n, 11n, 13n].map((cost) => aRecord(user, cost, { requestId }));
    expect(await settle(...records)).toEqual(['recorded', 'duplicate', 'duplicate']);
    expect(await spendOf(query, scopeOf(user))).toEqual({ rows: 7n, days: 7n });
  });

  it('counts a request id for each of two owners that settle it separately', async () => {
    const requestId = randomUUID();
    for (const owner of [await aUser(query), await aUser(query)]) {
      expect(await settle(aRecord(owner, 5n, { requestId }))).toEqual(['recorded']);
      expect(await spendOf(query, scopeOf(owner))).toEqual({ rows: 5n, days: 5n });
    }
  });

  it('counts a request id for each of two owners, also if one of them repeats it in the batch', async () => {
    const owners = [await aUser(query), await aUser(query)] as const;
    const ids = [randomUUID(), randomUUID()] as const;
    const record = (owner: 0 | 1, id: 0 | 1) => aRecord(owners[owner], 5n, { requestId: ids[id] });
    const records = [record(0, 0), record(0, 0), record(1, 0), record(0, 1), record(1, 1), record(1, 1)];
    expect(await settle(...records)).toEqual([
      'recorded',
      'duplicate',
      'recorded',
      'recorded',
      'recorded',
      'duplicate',
    ]);
    for (const owner of owners)
      expect(await spendOf(query, scopeOf(owner))).toEqual({ rows: 10n, days: 10n });
  });

  it('reports a retried record as recorded, and counts it once, with one log row', async () => {
    const user = await aUser(query, { amount: 1n });
    const record = aRecord(user, unit);
    expect(await settle(record)).toEqual(['recorded']);
    expect(await settle(record, record)).toEqual(['recorded', 'recorded']);
    expect(await spendOf(query, scopeOf(user))).toEqual({ rows: unit, days: unit });
    const logs = await query('select status_code, metadata_json from request_logs where request_id = $1', [
      record.charge.requestId,
    ]);
    expect(logs).toEqual([{ status_code: 200, metadata_json: { operation: 'chat_completions' } }]);
  });

  it('finds the row of an earlier try, also if the gateway chose the id: it counts once, without a fault', async () => {
    const user = await aUser(query, { amount: 2n });
    const id = randomUUID();
    const record = aRecord(user, unit, { requestLogId: id, requestId: id });
    const other = aRecord(user, unit);
    const faults = ledger().faults.length;
    expect(await settle(record)).toEqual(['recorded']);
    expect(await settle(record)).toEqual(['recorded']);
    expect(await settle(record, other)).toEqual(['recorded', 'recorded']);
    expect([await rowsOf(query, record), await rowsOf(query, other)]).toEqual([
      [1, 1],
      [1, 1],
    ]);
    expect(await spendOf(query, scopeOf(user))).toEqual({ rows: 2n * unit, days: 2n * unit });
    expect(ledger().faults.slice(faults)).toEqual([]);
  });

  it('reports a duplicate if a caller chooses an id that the gateway had generated', async () => {
    const user = await aUser(query);
    const id = randomUUID();
    expect(await settle(aRecord(user, 5n, { requestLogId: id, requestId: id }))).toEqual(['recorded']);
    expect(await settle(aRecord(user, 5n, { requestId: id }))).toEqual(['duplicate']);
    expect(await spendOf(query, scopeOf(user))).toEqual({ rows: 5n, days: 5n });
  });

  it('blocks only the request that does not fit: a cheaper later one of the batch is recorded', async () => {
    const user = await aUser(query, { amount: 10n });
    const costs = [4n, 5n, 2n, 1n, 1n, 0n];
    expect(await settle(...costs.map((cost) => aRecord(user, cost * unit)))).toEqual([
      'recorded',
      'recorded',
      'blocked',
      'recorded',
      'blocked',
      'recorded',
    ]);
    expect(await spendOf(query, scopeOf(user))).toEqual({ rows: 10n * unit, days: 10n * unit });
  });

  it('checks the requests of each scope in arrival order, also when scopes are interleaved', async () => {
    const [user, other] = [await aUser(query, { amount: 10n }), await aUser(query, { amount: 10n })];
    const records = [
      aRecord(other, 6n * unit),
      aRecord(user, 9n * unit),
      aRecord(other, 6n * unit),
      aRecord(user, 2n * unit),
      aRecord(other, 4n * unit),
      aRecord(user, unit),
    ];
    expect(await settle(...records)).toEqual([
      'recorded',
      'recorded',
      'blocked',
      'blocked',
      'recorded',
      'recorded',
    ]);
    const times = await query(
      'select distinct occurred_at from usage_cost_events where ownership_scope_key = any ($1)',
      [[scopeOf(user), scopeOf(other)]],
    );
    // One batch is one transaction; on a cluster it covers one shard, and these owners may be on two.
    expect(times.length).toBeLessThanOrEqual(onCitus() ? 2 : 1);
  });

  it('checks a batch of 200 in arrival order', async () => {
    const owners = [await aUser(query, { amount: 30n }), await aUser(query, { amount: 30n })];
    const ofWhom = Array.from({ length: 200 }, (_, index) => ((index * 7919) % 13) % 2);
    const counts = [0, 0];
    const expected = ofWhom.map((owner) => ((counts[owner]! += 1) <= 30 ? 'recorded' : 'blocked'));
    expect(await settle(...ofWhom.map((owner) => aRecord(owners[owner]!, unit)))).toEqual(expected);
  });

  it('fills a hard budget to the picodollar, and not beyond', async () => {
    const user = await aUser(query, { amount: 1n });
    expect(await settle(aRecord(user, unit + 1n))).toEqual(['blocked']);
    expect(await settle(aRecord(user, unit))).toEqual(['recorded']);
    expect(await settle(aRecord(user, 1n))).toEqual(['blocked']);
    expect(await settle(aRecord(user, 0n))).toEqual(['recorded']);
  });

  it('returns the budget, its window and the database time with a blocked cost', async () => {
    const user = await aUser(query, { amount: 3n, cadence: 'weekly' });
    await clock.standAt('2029-01-01T00:00:00Z');
    const settled = await ledger().settle(aRecord(user, 4n * unit));
    await clock.run();
    expect(settled).toEqual(
      E.right({
        kind: 'blocked',
        budget: {
          cadence: 'weekly',
          amount: 3n * unit,
          hardLimit: true,
        },
        window: { from: new Date('2029-01-01T00:00:00Z'), until: new Date('2029-01-08T00:00:00Z') },
        databaseTime: new Date('2029-01-01T00:00:00Z'),
      }),
    );
  });

  it('counts spend under a soft limit, and never blocks', async () => {
    const user = await aUser(query, { amount: 1n, hard: false });
    expect(await settle(aRecord(user, 5n * unit), aRecord(user, 5n * unit))).toEqual([
      'recorded',
      'recorded',
    ]);
    expect(await spendOf(query, scopeOf(user))).toEqual({ rows: 10n * unit, days: 10n * unit });
  });

  it('neither counts nor blocks unpriced rows and rows without usage, even under a full hard budget', async () => {
    const user = await aUser(query, { amount: 1n });
    const missing = { pricingStatus: 'usage_missing' } as const;
    expect(await settle(aRecord(user, unpriced), aRecord(user, missing))).toEqual(['recorded', 'recorded']);
    expect(await settle(aRecord(user, unit))).toEqual(['recorded']);
    const last = aRecord(user, unpriced);
    expect(await settle(last, aRecord(user, missing), aRecord(user, 1n))).toEqual([
      'recorded',
      'recorded',
      'blocked',
    ]);
    expect(await spendOf(query, scopeOf(user))).toEqual({ rows: unit, days: unit });
    expect(await ledgerRow(last.charge.requestLogId)).toMatchObject({
      pricing_status: 'unpriced',
      unpriced_reason: 'no_catalogue_price',
      prompt_tokens: '1000000',
      cost_picousd: null,
      input_picousd_per_token: null,
      pricing_source: null,
    });
  });

  it('blocks every positive cost under a hard amount of 0', async () => {
    const user = await aUser(query, { amount: 0n });
    expect(await settle(aRecord(user, 1n), aRecord(user, 0n), aRecord(user, unpriced))).toEqual([
      'blocked',
      'recorded',
      'recorded',
    ]);
    expect((await admitted(ledger(), anAsk(user))).budget).toMatchObject({
      spent: 0n,
      terms: { amount: 0n },
    });
  });

  it('accepts the largest amount, and a cost that fills it', async () => {
    const user = await aUser(query, { amount: 9_007_199_254_740_991n });
    const all = 9_007_199_254_740_991n * unit;
    expect(await settle(aRecord(user, all), aRecord(user, 1n))).toEqual(['recorded', 'blocked']);
    expect((await admitted(ledger(), anAsk(user))).budget?.spent).toBe(all);
  });

  it('counts all keys of a team against one budget, and a request id of the team once', async () => {
    const [team, serviceAccount] = await aTeam(query, { amount: 3n });
    const requestId = randomUUID();
    const records = [
      aRecord(serviceAccount, 2n * unit, { requestId }),
      aRecord(team, 2n * unit, { requestId }),
      aRecord(team, 2n * unit),
      aRecord(serviceAccount, unit),
    ];
    expect(await settle(...records)).toEqual(['recorded', 'duplicate', 'blocked', 'recorded']);
    expect(await ledgerRow(records[0]!.charge.requestLogId)).toMatchObject({
      ownership_scope_key: scopeOf(team),
      user_id: null,
      service_account_id: expect.stringMatching(/^sa-/),
    });
  });

  it('opens a new window with a new day, and leaves the spend of the old one unchanged', async () => {
    const user = await aUser(query, { amount: 3n, cadence: 'daily' });
    const budget = async () => (await admitted(ledger(), anAsk(user))).budget;
    await clock.standAt('2028-12-31T23:59:59.999999Z');
    expect(await settle(aRecord(user, 3n * unit), aRecord(user, unit))).toEqual(['recorded', 'blocked']);
    const old = await budget();
    expect(old).toMatchObject({ window: { until: new Date('2029-01-01T00:00:00Z') }, spent: 3n * unit });
    await clock.standAt('2029-01-01T00:00:00Z');
    expect(await settle(aRecord(user, 2n * unit), aRecord(user, 2n * unit))).toEqual(['recorded', 'blocked']);
    expect(await budget()).toMatchObject({
      window: { from: new Date('2029-01-01T00:00:00Z'), until: new Date('2029-01-02T00:00:00Z') },
      spent: 2n * unit,
    });
    await clock.standAt('2028-12-31T23:59:59.999999Z');
    expect(await budget()).toEqual(old);
    await clock.run();
    expect(await spendOf(query, scopeOf(user))).toEqual({ rows: 5n * unit, days: 5n * unit });
  });

  it('returns every verdict of more records than one batch holds', async () => {
    const user = await aUser(query, { amount: 500n });
    const records = Array.from({ length: 700 }, () => aRecord(user, unit));
    const verdicts = await settle(...records);
    expect(verdicts.filter((verdict) => verdict === 'recorded')).toHaveLength(500);
    expect(verdicts.slice(0, 500).every((verdict) => verdict === 'recorded')).toBe(true);
    expect(await spendOf(query, scopeOf(user))).toEqual({ rows: 500n * unit, days: 500n * unit });
  });
});

describe('accounting.after_block: close_window', () => {
  it('closes the window of that budget after a blocked cost, until it ends or the budget changes', async () => {
    const closing = await openLedger(databaseUrl(), { closeOnBlock: () => true });
    const [user, other] = [await aUser(query, { amount: 10n, cadence: 'daily' }), await aUser(query)];
    const closed = async () => {
      const { budget } = await admitted(closing, anAsk(user));
      const [beside] = await Promise.all([user, other].map((each) => admitted(closing, anAsk(each))));
      expect(beside?.budget).toEqual(budget);
      return budget?.closed;
    };
    await clock.standAt('2028-08-01T10:00:00Z');
    expect(await settleTogether(closing, [aRecord(user, 9n * unit)])).toEqual(['recorded']);
    expect(await closed()).toBe(false);
    expect(await settleTogether(closing, [aRecord(user, 2n * unit), aRecord(user, 3n * unit)])).toEqual([
      'blocked',
      'blocked',
    ]);
    expect(await closed()).toBe(true);
    await clock.standAt('2028-08-02T00:00:00Z');
    expect(await closed()).toBe(false);
    await clock.standAt('2028-08-01T23:59:59Z');
    expect(await closed()).toBe(true);
    await setUserBudget(query, userIdOf(user), { amount: 11n, cadence: 'daily' });
    expect(await closed()).toBe(false);
    await clock.run();
    await closing.pool.end();
  });

  it('does not apply by default: the window stays open', async () => {
    const user = await aUser(query, { amount: 1n });
    expect(await settle(aRecord(user, 2n * unit))).toEqual(['blocked']);
    expect((await admitted(ledger(), anAsk(user))).budget?.closed).toBe(false);
  });
});

describe('the ledger table', () => {
  it('rejects a counted row without cost or tokens, negative values and unknown statuses, by constraints', async () => {
    const user = await aUser(query);
    await settle(aRecord(user, 1n));
    const copy = (columns: string) =>
      query(
        `insert into usage_cost_events (request_log_id, request_id, ownership_scope_key, api_key_id, model_key,
           provider_key, upstream_model, occurred_at, pricing_status, prompt_tokens, completion_tokens,
           total_tokens, cost_picousd)
         select gen_random_uuid(), gen_random_uuid()::text, 's', gen_random_uuid(), 'm', 'p', 'u', now(), ${columns}`,
      );
    await copy(`'legacy_estimated', 1, 1, 2, 5`);
    await copy(`'usage_missing', null, null, null, null`);
    for (const columns of [
      `'priced', 1, 1, 2, null`,
      `'priced', null, 1, 2, 5`,
      `'legacy_estimated', 1, null, 2, 5`,
      `'priced', 1, 1, 2, -5`,
      `'priced', 1, 1, -2, 5`,
      `'gratis', 1, 1, 2, 5`,
    ])
      await expect(copy(columns)).rejects.toThrow(/violates check constraint/);
  });
});

it('after all of these tests, the total of every day is the sum of its counted rows', async () => {
  expect(await wrongTotals()).toEqual([]);
  expect(wordOf(await ledger().settle(aRecord(await aUser(query), pricedAt(1n))))).toBe('recorded');
});
