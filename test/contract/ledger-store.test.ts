import { hash, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import * as E from 'fp-ts/lib/Either.js';
import type { Caller } from '../../domain/identity/caller.ts';
import { withDatabase } from '../support/database.ts';
import { queries } from '../support/gateway.ts';
import {
  aCharge,
  admitted,
  aLog,
  anAsk,
  aRecord,
  aTeam,
  aUser,
  openLedger,
  pricedAt,
  scopeOf,
  setUserBudget,
  settleTogether,
  spendOf,
  unit,
  unpriced,
  userIdOf,
  withClock,
  withLedgers,
  wordOf,
} from './ledger-bench.ts';

const database = withDatabase();
const query = queries(database.url);
const { ledgers } = withLedgers(database.url, 2);
const clock = withClock(query);
const ledger = () => ledgers[0]!;
const settle = async (...records: Parameters<typeof settleTogether>[1]) => settleTogether(ledger(), records);

const ledgerRow = async (requestLogId: string) =>
  (await query('select * from usage_cost_events where request_log_id = $1', [requestLogId]))[0];
const logRow = async (requestLogId: string) =>
  (await query('select * from request_logs where request_log_id = $1', [requestLogId]))[0];

describe('admission', () => {
  it('tells that an owner has no budget', async () => {
    expect(await admitted(ledger(), anAsk(await aUser(query)))).toMatchObject({
      alreadyAccounted: false,
      claimed: true,
      budget: undefined,
    });
  });

  it('tells the active budget, its UTC window and its counted spend, not those of history', async () => {
    await clock.standAt('2028-02-29T23:59:59.999Z');
    const user = await aUser(query, { amount: 7n, cadence: 'daily' });
    await setUserBudget(query, userIdOf(user), { amount: 5n, cadence: 'monthly', hard: false });
    expect(await settle(aRecord(user, 3n * unit))).toEqual(['recorded']);
    const { budget, databaseTime } = await admitted(ledger(), anAsk(user));
    expect(databaseTime).toEqual(new Date('2028-02-29T23:59:59.999Z'));
    expect(budget).toEqual({
      terms: { budgetId: expect.any(String), cadence: 'monthly', amount: 5n * unit, hardLimit: false },
      window: { from: new Date('2028-02-01T00:00:00Z'), until: new Date('2028-03-01T00:00:00Z') },
      spent: 3n * unit,
      closed: false,
    });
    await setUserBudget(query, userIdOf(user), undefined);
    expect((await admitted(ledger(), anAsk(user))).budget).toBeUndefined();
    await clock.run();
  });

  it('counts the days of the window alone', async () => {
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
    // 2028-04-06 is a Thursday, its week began on 2028-04-03
    expect([await spentAt('daily'), await spentAt('weekly'), await spentAt('monthly')]).toEqual([
      4000n,
      4300n,
      4320n,
    ]);
    await clock.run();
  });

  it('gives the service accounts of a team the budget and the spend of the team', async () => {
    const [team, serviceAccount] = await aTeam(query, { amount: 9n });
    expect(await settle(aRecord(team, 1n), aRecord(serviceAccount, 2n))).toEqual(['recorded', 'recorded']);
    for (const caller of [team, serviceAccount])
      expect((await admitted(ledger(), anAsk(caller))).budget).toMatchObject({
        terms: { amount: 9n * unit },
        spent: 3n,
      });
    expect(await spendOf(query, scopeOf(team))).toEqual({ rows: 3n, days: 3n });
  });

  it('knows an accounted request id again in the same scope alone', async () => {
    const [user, other] = [await aUser(query), await aUser(query)];
    const requestId = randomUUID();
    expect(await settle(aRecord(user, unpriced, { requestId }))).toEqual(['recorded']);
    expect((await admitted(ledger(), anAsk(user, { requestId }))).alreadyAccounted).toBe(true);
    expect((await admitted(ledger(), anAsk(other, { requestId }))).alreadyAccounted).toBe(false);
    expect((await admitted(ledger(), anAsk(user))).alreadyAccounted).toBe(false);
  });

  it('does not look for an id that the gateway has just generated', async () => {
    const user = await aUser(query, { amount: 3n });
    const ask = anAsk(user, { callerChoseRequestId: false });
    expect(await admitted(ledger(), ask)).toMatchObject({
      alreadyAccounted: false,
      claimed: true,
      budget: { terms: { amount: 3n * unit } },
    });
  });

  it('answers every ask of a batch for itself', async () => {
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

describe('claims of a request id', () => {
  const claim = (caller: Caller, requestId: string) => anAsk(caller, { requestId, claim: true });

  it('are held by exactly one of many that ask at once, on either replica', async () => {
    const user = await aUser(query);
    for (let round = 0; round < 10; round += 1) {
      const requestId = randomUUID();
      const asks = Array.from({ length: 20 }, () => claim(user, requestId));
      const admissions = await Promise.all(asks.map((ask, index) => admitted(ledgers[index % 2]!, ask)));
      expect(admissions.filter(({ claimed }) => claimed)).toHaveLength(1);
    }
  });

  it('bind nobody who does not ask for one, and no other owner', async () => {
    const [user, other] = [await aUser(query), await aUser(query)];
    const requestId = randomUUID();
    expect((await admitted(ledger(), claim(user, requestId))).claimed).toBe(true);
    expect((await admitted(ledger(), anAsk(user, { requestId }))).claimed).toBe(true);
    expect((await admitted(ledger(), claim(other, requestId))).claimed).toBe(true);
    expect((await admitted(ledger(), claim(user, requestId))).claimed).toBe(false);
  });

  it('end with the settlement that releases them, with or without a charge', async () => {
    const user = await aUser(query);
    const first = claim(user, randomUUID());
    expect((await admitted(ledger(), first)).claimed).toBe(true);
    await settle({
      charge: undefined,
      logged: undefined,
      release: first.requestLogId,
      deferrableTo: undefined,
    });
    const second = claim(user, first.requestId);
    expect((await admitted(ledger(), second)).claimed).toBe(true);
    const charge = aCharge(user, 1n, { requestLogId: second.requestLogId, requestId: second.requestId });
    await settle({ charge, logged: undefined, release: second.requestLogId, deferrableTo: undefined });
    expect(await admitted(ledger(), claim(user, first.requestId))).toMatchObject({
      alreadyAccounted: true,
      claimed: true,
    });
  });

  it('leave no gap at their end: who asks while it comes has no claim, or sees that the id was accounted', async () => {
    const user = await aUser(query);
    const ends = new Set<string>();
    for (let round = 0; round < 60; round += 1) {
      const first = claim(user, randomUUID());
      await admitted(ledgers[0]!, first);
      const charge = aCharge(user, 1n, { requestLogId: first.requestLogId, requestId: first.requestId });
      const settling = ledgers[0]!.settle({
        charge,
        logged: undefined,
        release: first.requestLogId,
        deferrableTo: undefined,
      });
      await sleep(round % 4);
      const { claimed, alreadyAccounted } = await admitted(ledgers[1]!, claim(user, first.requestId));
      await settling;
      ends.add(`${claimed ? 'claimed' : 'not claimed'}, ${alreadyAccounted ? 'accounted' : 'new'}`);
    }
    expect(ends).not.toContain('claimed, new');
    expect(ends).toContain('claimed, accounted');
  });

  it('are void after their time, and not a moment before', async () => {
    const user = await aUser(query);
    const requestId = randomUUID();
    await clock.standAt('2028-05-05T12:00:00Z');
    expect((await admitted(ledger(), claim(user, requestId))).claimed).toBe(true);
    await clock.standAt('2028-05-05T12:00:59.999Z');
    expect((await admitted(ledger(), claim(user, requestId))).claimed).toBe(false);
    await clock.standAt('2028-05-05T12:01:00Z');
    expect((await admitted(ledger(), claim(user, requestId))).claimed).toBe(true);
    expect((await admitted(ledger(), claim(user, requestId))).claimed).toBe(false);
    await clock.run();
  });
});

describe('settlement', () => {
  it('records the exact cost, the prices used and the database time, in the row and in the total of its day', async () => {
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

  it('records one row for a request id and scope, and calls the others duplicates', async () => {
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

  it('counts the same request id twice in one batch once, and the first that came is the one', async () => {
    const user = await aUser(query);
    const requestId = randomUUID();
    const records = [7n, 11n, 13n].map((cost) => aRecord(user, cost, { requestId }));
    expect(await settle(...records)).toEqual(['recorded', 'duplicate', 'duplicate']);
    expect(await spendOf(query, scopeOf(user))).toEqual({ rows: 7n, days: 7n });
  });

  it('treats the retry of its own record as recorded, leaves one ledger row and one log row, and counts once', async () => {
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

  it('blocks the one that does not fit alone: a cheaper later one of the batch still does', async () => {
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

  it('judges one scope in arrival order, whatever stands between', async () => {
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
    expect(times).toHaveLength(1);
  });

  it('may fill a hard budget to the picodollar and not one further', async () => {
    const user = await aUser(query, { amount: 1n });
    expect(await settle(aRecord(user, unit + 1n))).toEqual(['blocked']);
    expect(await settle(aRecord(user, unit))).toEqual(['recorded']);
    expect(await settle(aRecord(user, 1n))).toEqual(['blocked']);
    expect(await settle(aRecord(user, 0n))).toEqual(['recorded']);
  });

  it('tells a blocked cost the budget, its window and the database time', async () => {
    const user = await aUser(query, { amount: 3n, cadence: 'weekly' });
    await clock.standAt('2029-01-01T00:00:00Z');
    const settled = await ledger().settle(aRecord(user, 4n * unit));
    await clock.run();
    expect(settled).toEqual(
      E.right({
        kind: 'blocked',
        budget: {
          budgetId: expect.any(String),
          cadence: 'weekly',
          amount: 3n * unit,
          hardLimit: true,
        },
        window: { from: new Date('2029-01-01T00:00:00Z'), until: new Date('2029-01-08T00:00:00Z') },
        databaseTime: new Date('2029-01-01T00:00:00Z'),
      }),
    );
  });

  it('counts toward a soft limit and never blocks it', async () => {
    const user = await aUser(query, { amount: 1n, hard: false });
    expect(await settle(aRecord(user, 5n * unit), aRecord(user, 5n * unit))).toEqual([
      'recorded',
      'recorded',
    ]);
    expect(await spendOf(query, scopeOf(user))).toEqual({ rows: 10n * unit, days: 10n * unit });
  });

  it('neither counts nor blocks what has no price or no usage, even under a full hard budget', async () => {
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

  it('blocks everything that costs under a hard amount of 0', async () => {
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

  it('takes the largest amount and cost that there are', async () => {
    const user = await aUser(query, { amount: 9_007_199_254_740_991n });
    const all = 9_007_199_254_740_991n * unit;
    expect(await settle(aRecord(user, all), aRecord(user, 1n))).toEqual(['recorded', 'blocked']);
    expect((await admitted(ledger(), anAsk(user))).budget?.spent).toBe(all);
  });

  it('counts a team once, through whichever of its keys the spend came', async () => {
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

  it('opens a new window with a new day, and leaves the old one as it was', async () => {
    const user = await aUser(query, { amount: 2n, cadence: 'daily' });
    await clock.standAt('2028-12-31T23:59:59.999999Z');
    expect(await settle(aRecord(user, 2n * unit), aRecord(user, unit))).toEqual(['recorded', 'blocked']);
    await clock.standAt('2029-01-01T00:00:00Z');
    expect(await settle(aRecord(user, 2n * unit), aRecord(user, unit))).toEqual(['recorded', 'blocked']);
    await clock.run();
    expect(await spendOf(query, scopeOf(user))).toEqual({ rows: 4n * unit, days: 4n * unit });
  });

  it('tells every verdict of more records than one batch holds', async () => {
    const user = await aUser(query, { amount: 500n });
    const records = Array.from({ length: 700 }, () => aRecord(user, unit));
    const verdicts = await settle(...records);
    expect(verdicts.filter((verdict) => verdict === 'recorded')).toHaveLength(500);
    expect(verdicts.slice(0, 500).every((verdict) => verdict === 'recorded')).toBe(true);
    expect(await spendOf(query, scopeOf(user))).toEqual({ rows: 500n * unit, days: 500n * unit });
  });
});

describe('accounting.after_block: close_window', () => {
  it('shuts the window of that budget after a blocked cost, until it ends or the budget changes', async () => {
    const closing = await openLedger(database.url(), { closeOnBlock: () => true });
    const user = await aUser(query, { amount: 10n, cadence: 'daily' });
    const closed = async () => (await admitted(closing, anAsk(user))).budget?.closed;
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

  it('is not what happens as specified', async () => {
    const user = await aUser(query, { amount: 1n });
    expect(await settle(aRecord(user, 2n * unit))).toEqual(['blocked']);
    expect((await admitted(ledger(), anAsk(user))).budget?.closed).toBe(false);
  });
});

describe('log rows', () => {
  it('are written in the transaction of the ledger row, and carry its time', async () => {
    const user = await aUser(query);
    const record = aRecord(user, 5n);
    await settle(record);
    const [row, log] = [
      await ledgerRow(record.charge.requestLogId),
      await logRow(record.charge.requestLogId),
    ];
    expect(log).toMatchObject({
      request_id: record.charge.requestId,
      api_key_id: user.apiKeyId,
      user_id: userIdOf(user),
      model_key: 'fast',
      status_code: 200,
      error_code: null,
      latency_ms: 7,
      prompt_tokens: '1',
      has_payload: false,
      occurred_at: row?.['occurred_at'],
    });
  });

  it('say what became of a blocked and of a duplicate request', async () => {
    const user = await aUser(query, { amount: 1n });
    const [first, blocked] = [aRecord(user, unit), aRecord(user, unit)];
    const duplicate = aRecord(user, unit, { requestId: first.charge.requestId });
    expect(await settle(first, blocked, duplicate)).toEqual(['recorded', 'blocked', 'duplicate']);
    expect(await logRow(first.charge.requestLogId)).toMatchObject({
      status_code: 200,
      metadata_json: { operation: 'chat_completions' },
    });
    expect(await logRow(blocked.charge.requestLogId)).toMatchObject({
      status_code: 429,
      error_code: 'budget_exceeded',
      metadata_json: { operation: 'chat_completions', accounting: { blocked_cost_usd: '0.5' } },
    });
    expect(await logRow(duplicate.charge.requestLogId)).toMatchObject({
      status_code: 200,
      error_code: null,
      metadata_json: { operation: 'chat_completions', accounting: { duplicate: true } },
    });
    expect(await ledgerRow(blocked.charge.requestLogId)).toBeUndefined();
  });

  it('of a blocked request stay one row when it is settled again', async () => {
    const user = await aUser(query, { amount: 0n });
    const record = aRecord(user, 1n);
    expect([await settle(record), await settle(record)]).toEqual([['blocked'], ['blocked']]);
    const logs = await query('select from request_logs where request_id = $1', [record.charge.requestId]);
    expect(logs).toHaveLength(1);
  });

  it('come with their tags and attempts, and are written without a charge too', async () => {
    const [team] = await aTeam(query);
    const logged = aLog(team, {
      statusCode: 502,
      errorCode: 'upstream_error',
      usage: undefined,
      tags: {
        service: 'checkout',
        component: 'cart',
        env: 'prod',
        bespoke: [
          { key: 'a', value: '1' },
          { key: 'b', value: 'x/y' },
        ],
      },
      userAgent: 'curl/8',
      attempts: [
        {
          attemptNumber: 1,
          providerKey: 'up',
          upstreamModel: 'simulated-fast',
          status: 'stream_error',
          statusCode: 200,
          errorCode: 'upstream_error',
          errorDetail: 'gone\0',
          stream: true,
          startedAt: 1_800_000_000_000,
          completedAt: 1_800_000_000_250,
        },
      ],
    });
    const record = { charge: undefined, logged, release: undefined, deferrableTo: undefined };
    expect(await settle(record)).toEqual(['recorded']);
    expect(await settle(record)).toEqual(['recorded']);
    const { requestLogId } = logged.log;
    expect(await logRow(requestLogId)).toMatchObject({
      user_id: null,
      team_id: team.keyOwner.kind === 'team' ? team.keyOwner.teamId : '',
      status_code: 502,
      error_code: 'upstream_error',
      prompt_tokens: null,
      caller_service: 'checkout',
      caller_component: 'cart',
      caller_env: 'prod',
      user_agent_raw: 'curl/8',
    });
    expect(
      await query('select tag_key, tag_value from request_log_tags where request_log_id = $1 order by 1', [
        requestLogId,
      ]),
    ).toEqual([
      { tag_key: 'a', tag_value: '1' },
      { tag_key: 'b', tag_value: 'x/y' },
    ]);
    expect(
      await query('select * from request_log_attempts where request_log_id = $1', [requestLogId]),
    ).toEqual([
      {
        request_log_id: requestLogId,
        ownership_scope_key: scopeOf(team),
        attempt_number: 1,
        provider_key: 'up',
        upstream_model: 'simulated-fast',
        status: 'stream_error',
        status_code: 200,
        error_code: 'upstream_error',
        error_detail: 'gone\uFFFD',
        stream: true,
        started_at: new Date(1_800_000_000_000),
        completed_at: new Date(1_800_000_000_250),
        latency_ms: 250,
      },
    ]);
  });

  it.each([
    ['U+0000', 'a\0b', 'a\uFFFDb'],
    ['a lone high surrogate', 'a\uD800b', 'a\uFFFDb'],
    ['a lone low surrogate', '\uDFFF', '\uFFFD'],
    ['a pair', '😀', '😀'],
    ['what only looks like an escape', String.raw`\u0000 \\u0000 \ud800`, String.raw`\u0000 \\u0000 \ud800`],
  ])('hold %s as it can be stored, in keys of metadata too', async (_, given, stored) => {
    const user = await aUser(query);
    const requestId = `${randomUUID()} ${given}`;
    const charge = aCharge(user, 1n, { requestId, modelKey: given });
    const logged = aLog(user, {
      requestLogId: charge.requestLogId,
      requestId,
      modelKey: given,
      userAgent: given,
      metadata: { [given]: [given], plain: true },
    });
    expect(await settle({ charge, logged, release: undefined, deferrableTo: undefined })).toEqual([
      'recorded',
    ]);
    expect(await logRow(charge.requestLogId)).toMatchObject({
      request_id: requestId.replace(given, stored),
      model_key: stored,
      user_agent_raw: stored,
      metadata_json: { [stored]: [stored], plain: true },
    });
    expect(await ledgerRow(charge.requestLogId)).toMatchObject({
      request_id: requestId.replace(given, stored),
    });
    expect((await admitted(ledger(), anAsk(user, { requestId }))).alreadyAccounted).toBe(true);
  });

  it('keep request ids of 30 KB and of Latin-1 unchanged, in both tables, and find them again', async () => {
    const user = await aUser(query);
    const latin1 = Array.from({ length: 255 - 0xa0 }, (_, index) => String.fromCharCode(0xa1 + index)).join(
      '',
    );
    const noise = Array.from({ length: 900 }, () => randomUUID())
      .join('')
      .slice(0, 30_000);
    for (const requestId of [`${latin1}${randomUUID()}`, noise, `${noise}x`]) {
      const record = aRecord(user, 1n, { requestId });
      expect(await settle(record)).toEqual(['recorded']);
      expect(await ledgerRow(record.charge.requestLogId)).toMatchObject({ request_id: requestId });
      expect(await logRow(record.charge.requestLogId)).toMatchObject({ request_id: requestId });
      expect(await settle(aRecord(user, 1n, { requestId }))).toEqual(['duplicate']);
      expect(await admitted(ledger(), anAsk(user, { requestId, claim: true }))).toMatchObject({
        alreadyAccounted: true,
      });
      const found = await query('select from request_logs where request_id = $1', [requestId]);
      expect(found).toHaveLength(2);
    }
  });
});

describe('the digest of a request id', () => {
  it('is SHA-256 of its UTF-8 bytes, whatever the id looks like', async () => {
    const anId = fc.oneof(
      fc.string({ unit: 'binary' }).map((text) => text.replaceAll('\0', '')),
      fc.string({ unit: fc.constantFrom('\\', 'x', '0', '7', "'", '"', 'a', 'é') }),
      fc.constantFrom('\\x', '\\xff', '\\000', '\\\\', "E'\\'"),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(anId, { minLength: 1, maxLength: 50 }), async (ids) => {
        const rows = await query<{ digest: Buffer }>(
          'select request_digest(id) as digest from unnest($1::text[]) with ordinality i(id, ord) order by ord',
          [ids],
        );
        expect(rows.map(({ digest }) => digest.toString('hex'))).toEqual(ids.map((id) => hash('sha256', id)));
      }),
      { numRuns: 40 },
    );
  });
});

describe('what the tables refuse', () => {
  it('is a counted row without a cost or without tokens, whoever writes it', async () => {
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

it('the total of every day is the sum of its counted rows, after all of this', async () => {
  const differing = await query(
    `select from (select ownership_scope_key as scope, (occurred_at at time zone 'UTC')::date as day,
         sum(cost_picousd) as amount from usage_cost_events
       where pricing_status in ('priced', 'legacy_estimated') and ownership_scope_key <> 's' group by 1, 2) s
     full join usage_daily_totals d on d.ownership_scope_key = s.scope and d.day = s.day
     where coalesce(d.counted_picousd, 0) <> coalesce(s.amount, 0)`,
  );
  expect(differing).toEqual([]);
  expect(wordOf(await ledger().settle(aRecord(await aUser(query), pricedAt(1n))))).toBe('recorded');
});
