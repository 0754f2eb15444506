import { beforeAll, describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import type { OverviewStore } from '../../application/ports/overview.ts';
import type { Caller } from '../../domain/identity/caller.ts';
import { usageOf } from '../../domain/reports/overview.ts';
import { lastHours } from '../../domain/reports/report-window.ts';
import { overviewStore } from '../../infrastructure/postgres/overview-store.ts';
import { testDistribution } from '../support/citus-database.ts';
import { withDatabase } from '../support/database.ts';
import { queries } from '../support/gateway.ts';
import {
  aTeam,
  aUser,
  pricedAt,
  settleTogether,
  unit,
  unpriced,
  userIdOf,
  withClock,
  withLedgers,
} from './ledger-bench.ts';
import { aRequest, rawRows, spendOf, within } from './report-rows.ts';

const database = withDatabase();
const query = queries(database.url);
const { ledgers } = withLedgers(database.url);
const clock = withClock(query);
const noRoutes = () => {
  throw new TypeError('there are no routes');
};
let store: OverviewStore;
let callers: readonly Caller[] = [];
const hourMs = 3_600_000;

beforeAll(async () => {
  store = overviewStore(ledgers[0]!.pool, { ofRoute: noRoutes, ofProvider: noRoutes }, testDistribution());
  callers = [await aUser(query), await aUser(query), ...(await aTeam(query))];
});

/** The log rows, read one by one. */
const rawLogs = () =>
  query<{
    at: Date;
    status_code: number;
    error_code: string | null;
    latency_ms: number;
    first_token_ms: number | null;
  }>('select occurred_at as at, status_code, error_code, latency_ms, first_token_ms from request_logs');

function quantiles(times: readonly (number | null)[]) {
  const sorted = times.filter((time) => time !== null).toSorted((one, other) => one - other);
  const at = (part: number): number | undefined => sorted[Math.ceil((sorted.length * part) / 100) - 1];
  return sorted.length === 0 ? undefined : { median: at(50), p95: at(95) };
}

/** The expected hours, computed from every row. */
async function expectedHours(now: Date) {
  const { from } = lastHours(now);
  const [rows, logs] = [await rawRows(query), await rawLogs()];
  return Array.from({ length: 24 }, (_, index) => {
    const hourStart = new Date(from.getTime() + index * hourMs);
    const spent = within(rows, hourStart, 1);
    const logged = logs.filter(({ at }) => at >= hourStart && at.getTime() < hourStart.getTime() + hourMs);
    const of = (isOf: (row: (typeof logged)[number]) => boolean): number => logged.filter(isOf).length;
    const well = logged.filter(({ status_code }) => status_code < 400);
    return {
      hourStart,
      requestCount: spent.length,
      spend: spendOf(spent),
      loggedCount: logged.length,
      errors: {
        caller: of((row) => row.error_code === 'budget_exceeded' || row.error_code === 'invalid_request'),
        upstream: of((row) => row.error_code === 'upstream_error'),
        gateway: of((row) => row.error_code === 'overloaded'),
      },
      latency: quantiles(well.map(({ latency_ms }) => latency_ms)),
      firstToken: quantiles(well.map(({ first_token_ms }) => first_token_ms)),
    };
  });
}

const endings = [
  { statusCode: 200, errorCode: undefined },
  { statusCode: 200, errorCode: undefined },
  { statusCode: 400, errorCode: 'invalid_request' },
  { statusCode: 429, errorCode: 'upstream_error' },
  { statusCode: 503, errorCode: 'overloaded' },
  { statusCode: 499, errorCode: 'client_closed' },
] as const;

describe('the hours of the overview', () => {
  const aStep = fc.record({
    /** The clock moves forward by this before the overview is read. */
    onMs: fc.oneof(fc.nat({ max: 600_000 }), fc.nat({ max: 20 * hourMs })),
    requests: fc.array(
      fc.record({
        caller: fc.nat({ max: 3 }),
        agoMs: fc.oneof(
          { weight: 3, arbitrary: fc.constant(0) },
          { weight: 2, arbitrary: fc.nat({ max: 30 * hourMs }) },
        ),
        cost: fc.oneof(fc.bigInt({ min: 0n, max: 10n * unit }).map(pricedAt), fc.constant(unpriced)),
        latencyMs: fc.nat({ max: 3 }),
        firstTokenMs: fc.option(fc.nat({ max: 20 }), { nil: undefined }),
        ending: fc.constantFrom(...endings),
      }),
      { maxLength: 6 },
    ),
    purged: fc.nat({ max: 3 }),
  });

  it('match the existing rows, also if rows of past hours came late, changed or were deleted', async () => {
    let now = Date.parse('2028-02-15T00:00:00Z');
    await fc.assert(
      fc.asyncProperty(fc.array(aStep, { minLength: 1, maxLength: 4 }), async (steps) => {
        for (const { onMs, requests, purged } of steps) {
          now += onMs;
          for (const each of requests) {
            await clock.standAt(new Date(now - each.agoMs));
            const { latencyMs, firstTokenMs } = each;
            const facts = { latencyMs, firstTokenMs, ...each.ending };
            await settleTogether(ledgers[0]!, [aRequest(callers[each.caller]!, each.cost, 'fast', facts)]);
          }
          if (purged === 0) {
            // One added row and one deleted row leave the count the same: only their statuses differ.
            await clock.standAt(new Date(now));
            await store.read();
            await query(
              'delete from request_logs where request_log_id in (select request_log_id from request_logs order by random() limit 2)',
            );
          }
          if (purged === 1) {
            // As when a settlement checks a blocked answer again.
            await clock.standAt(new Date(now));
            await store.read();
            await query(
              'update request_logs set status_code = 200, error_code = null where status_code = 429',
            );
          }
          await clock.standAt(new Date(now));
          const { window, usage } = await store.read();
          const { hours, whole } = usageOf(window, usage);
          const expected = await expectedHours(new Date(now));
          expect(hours).toEqual(expected);
          expect(whole.requestCount).toBe(expected.reduce((sum, hour) => sum + hour.requestCount, 0));
          expect(whole.spend).toBe(expected.reduce((sum, hour) => sum + hour.spend, 0n));
        }
      }),
      { numRuns: 20 },
    );
  });
});

describe('what needs attention', () => {
  it('names models without a price, budget blocks, failed mails, and replicas without a recent heartbeat', async () => {
    await clock.standAt('2028-06-01T12:30:00Z');
    const caller = await aUser(query, { amount: 10n, cadence: 'daily' });
    const owner = userIdOf(caller);
    await settleTogether(ledgers[0]!, [
      aRequest(caller, unpriced, 'odd'),
      aRequest(caller, unpriced, 'odd'),
      aRequest(caller, pricedAt(9n * unit), 'fast'),
      aRequest(caller, pricedAt(5n * unit), 'fast'),
    ]);
    await query(`update budget_alert_deliveries set delivery_status = 'failed', failure_reason = 'refused', attempted_at = now()
                 where delivery_status <> 'failed'`);
    const insertedAt = performance.now();
    await query(
      `insert into gateway_processes values (gen_random_uuid(), clock_timestamp() - interval '9 seconds', clock_timestamp()),
                                            (gen_random_uuid(), clock_timestamp(), clock_timestamp())`,
    );
    const { attention, budgets, topOwners, today } = await store.read();
    const agoSecs = attention.replicas_behind.items[0]?.count ?? 0;
    expect(agoSecs).toBeGreaterThanOrEqual(9);
    expect(agoSecs).toBeLessThanOrEqual(9 + Math.ceil((performance.now() - insertedAt) / 1000));
    const item = { kind: 'user', id: owner, count: 1 };
    expect(attention).toMatchObject({
      unpriced_models: { count: 1, isLowerBound: false, items: [{ kind: 'model', id: 'odd', count: 2 }] },
      budget_blocks: { count: 1, items: [item] },
      failed_mails: { count: 1, items: [item] },
      replicas_behind: { count: 1, items: [{ kind: 'gateway_process', count: agoSecs }] },
    });
    expect(budgets).toMatchObject({
      total: 1,
      above80Percent: 1,
      blocked: 1,
      nearest: [{ owner: { userId: owner }, spent: 9n * unit, blockedAnswers: 1, hardLimit: true }],
    });
    expect(today).toEqual({ requestCount: 3, spend: 9n * unit });
    expect(topOwners).toMatchObject([{ owner: { userId: owner }, requestCount: 3, spend: 9n * unit }]);
    expect((await store.read()).attention.failed_mails.items).toHaveLength(1);
  });

  it('counts all, and names at most ten', async () => {
    const many = await Promise.all(
      Array.from({ length: 12 }, () => aUser(query, { amount: 1n, cadence: 'daily' })),
    );
    await settleTogether(
      ledgers[0]!,
      many.map((caller, index) => aRequest(caller, pricedAt(BigInt(2 + index) * unit), `model-${index}`)),
    );
    const { attention, budgets, topModels } = await store.read();
    expect(attention.budget_blocks).toMatchObject({ count: 13 });
    expect(attention.budget_blocks.items).toHaveLength(10);
    expect(budgets).toMatchObject({ total: 13, blocked: 13 });
    expect(budgets.nearest).toHaveLength(10);
    expect(topModels.length).toBeLessThanOrEqual(5);
  });

  it('counts a budget as above 80 % if exactly 80 % is spent, or if its amount is 0', async () => {
    const before = (await store.read()).budgets.above80Percent;
    const [caller] = await Promise.all(
      [10n, 10n, 0n].map((amount) => aUser(query, { amount, cadence: 'daily' })),
    );
    await settleTogether(ledgers[0]!, [aRequest(caller!, pricedAt(8n * unit), 'fast')]);
    expect((await store.read()).budgets.above80Percent).toBe(before + 2);
  });
});
