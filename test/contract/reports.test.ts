import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { type DatabasePool, sql } from 'slonik';
import type { Reports } from '../../application/ports/reports.ts';
import { reportHarnessUsage } from '../../application/reports/report-harness-usage.ts';
import { reportLeaderboard } from '../../application/reports/report-leaderboard.ts';
import { reportSpend } from '../../application/reports/report-spend.ts';
import { verifyLedger } from '../../application/verify-ledger.ts';
import type { Caller } from '../../domain/identity/caller.ts';
import {
  countsTowardSpend,
  type PricingStatus,
  type UsageCost,
} from '../../domain/ledger/usage-cost-event.ts';
import type { AgentHarness } from '../../domain/request-log/agent-harness.ts';
import { bucketStarts, bucketsOf, rangeWindow } from '../../domain/reports/report-window.ts';
import type { Tally } from '../../domain/reports/spend-report.ts';
import { isDatabaseTrouble } from '../../infrastructure/postgres/database-fault.ts';
import { ledgerAuditStore } from '../../infrastructure/postgres/ledger-audit-store.ts';
import { openPool } from '../../infrastructure/postgres/pool.ts';
import * as ask from '../../infrastructure/postgres/report-statements.ts';
import { reportStore } from '../../infrastructure/postgres/report-store.ts';
import { withDatabase } from '../support/database.ts';
import { queries } from '../support/gateway.ts';
import {
  aRecord,
  aTeam,
  aUser,
  pricedAt,
  type Query,
  scopeOf,
  settleTogether,
  unit,
  unpriced,
  userIdOf,
  withClock,
  withLedgers,
} from './ledger-bench.ts';
import { tcpProxy } from './tcp-proxy.ts';

/** Reports of the suite's database. */
function withReports(url: () => string): { readonly reports: Reports; readonly pool: () => DatabasePool } {
  let pool: DatabasePool | undefined;
  beforeAll(async () => {
    pool = await openPool(url(), 2);
  });
  afterAll(async () => pool?.end());
  return {
    pool: () => pool!,
    reports: { onSnapshot: (read) => reportStore(pool!).onSnapshot(read) },
  };
}

const harness = (key: string): AgentHarness => ({ key, label: key.toUpperCase() });

interface LogFacts {
  readonly harness?: AgentHarness;
  readonly exposedToolCount?: number | undefined;
  readonly invokedToolCount?: number | undefined;
}

/** What one request leaves behind, with the facts of its log row that reports are about. */
function aRequest(caller: Caller, cost: UsageCost, modelKey: string, facts: LogFacts = {}) {
  const record = aRecord(caller, cost, { modelKey });
  return { ...record, logged: { ...record.logged, log: { ...record.logged.log, ...facts } } };
}

const usageMissing: UsageCost = { pricingStatus: 'usage_missing' };

/** The ledger as it is, row by row: what every report is held against. */
interface RawRow {
  readonly userId: string | undefined;
  readonly teamId: string | undefined;
  readonly modelKey: string;
  readonly status: PricingStatus;
  readonly cost: bigint;
  /** Microseconds since the epoch. */
  readonly at: bigint;
}

async function rawRows(query: Query): Promise<readonly RawRow[]> {
  const rows = await query<Record<'user_id' | 'team_id' | 'model_key' | 'status' | 'cost' | 'at', string>>(
    `select user_id, team_id, model_key, pricing_status as status, coalesce(cost_picousd, 0)::text as cost,
            (extract(epoch from occurred_at) * 1000000)::bigint::text as at from usage_cost_events`,
  );
  return rows.map((row) => ({
    userId: row.user_id ?? undefined,
    teamId: row.team_id ?? undefined,
    modelKey: row.model_key,
    status: row.status as PricingStatus,
    cost: BigInt(row.cost),
    at: BigInt(row.at),
  }));
}

const microsOf = (date: Date): bigint => BigInt(date.getTime()) * 1000n;

const within = (rows: readonly RawRow[], from: Date, hours: number): readonly RawRow[] =>
  rows.filter(({ at }) => at >= microsOf(from) && at < microsOf(from) + BigInt(hours) * 3_600_000_000n);

const spendOf = (rows: readonly RawRow[]): bigint =>
  rows.reduce((sum, { status, cost }) => (countsTowardSpend[status] ? sum + cost : sum), 0n);

const tallyOf = (rows: readonly RawRow[]): Tally => {
  const countOf = (status: PricingStatus): number => rows.filter((row) => row.status === status).length;
  return {
    requestCount: rows.length,
    spend: spendOf(rows),
    counts: {
      priced: countOf('priced'),
      legacy_estimated: countOf('legacy_estimated'),
      unpriced: countOf('unpriced'),
      usage_missing: countOf('usage_missing'),
    },
  };
};

const tallyIn = ({ requestCount, spend, counts }: Tally): Tally => ({ requestCount, spend, counts });

const grouped = (
  rows: readonly RawRow[],
  keyOf: (row: RawRow) => string | undefined,
): Record<string, Tally> => {
  const keys = new Set(rows.flatMap((row) => keyOf(row) ?? []));
  return Object.fromEntries([...keys].map((key) => [key, tallyOf(rows.filter((row) => keyOf(row) === key))]));
};

/** Both kinds of rollup of the request logs against the rows themselves; empty when they are equal. */
const logRollupDifferences = (query: Query) =>
  query(`
    select * from (
      select bucket_start, agent_harness_key as key, sum(request_count) as n, 0 as a, 0 as b, 0 as c, 0 as d
      from harness_rollups group by 1, 2 having sum(request_count) <> 0
      union all
      select bucket_start, user_id::text, -1, sum(exposed_tool_sum), sum(exposed_tool_rows), sum(invoked_tool_sum),
             sum(invoked_tool_rows)
      from tool_cardinality_rollups group by 1, 2
    ) rollups
    full join (
      select rollup_bucket(occurred_at) as bucket_start, agent_harness_key as key, count(*) as n, 0 as a, 0 as b,
             0 as c, 0 as d
      from request_logs where agent_harness_key is not null group by 1, 2
      union all
      select rollup_bucket(occurred_at), user_id::text, -1, coalesce(sum(exposed_tool_count), 0),
             count(exposed_tool_count), coalesce(sum(invoked_tool_count), 0), count(invoked_tool_count)
      from request_logs where user_id is not null group by 1, 2
    ) logs
    using (bucket_start, key, n, a, b, c, d)
    where rollups is null or logs is null`);

/** A row that this release does not write: an estimate of another time. */
const settleEstimate = async (query: Query, caller: Caller, modelKey: string, cost: bigint, at?: Date) =>
  query(`select * from gateway_settle($1::json, '{}', false, false, $2)`, [
    JSON.stringify([
      {
        ord: 1,
        charged: true,
        request_log_id: randomUUID(),
        request_id: randomUUID(),
        scope: scopeOf(caller),
        api_key_id: caller.apiKeyId,
        user_id: userIdOf(caller) === '' ? undefined : userIdOf(caller),
        team_id: caller.keyOwner.kind === 'user' ? undefined : caller.keyOwner.teamId,
        model_key: modelKey,
        provider_key: 'up',
        upstream_model: 'simulated-fast',
        prompt_tokens: 1,
        completion_tokens: 1,
        total_tokens: 2,
        pricing_status: 'legacy_estimated',
        cost_picousd: cost.toString(),
      },
    ]),
    at,
  ]);

describe('reports over what was settled', () => {
  const database = withDatabase();
  const query = queries(database.url);
  const { ledgers } = withLedgers(database.url);
  const clock = withClock(query);
  const { reports, pool } = withReports(database.url);
  const settle = (...records: Parameters<typeof settleTogether>[1]) => settleTogether(ledgers[0]!, records);

  const callers: Caller[] = [];
  beforeAll(async () => {
    for (let user = 0; user < 8; user += 1) callers.push(await aUser(query));
    callers.push(await aUser(query, { amount: 40n, cadence: 'daily' }));
    callers.push(...(await aTeam(query)), ...(await aTeam(query, { amount: 40n })));
  });

  const hourMs = 3_600_000;
  /** Close to each other, so that there are rows after now, too: those of the runs before. */
  const aNow = fc.oneof(
    fc.date({ min: new Date('2028-02-15'), max: new Date('2028-03-15'), noInvalidDate: true }),
    fc.constantFrom('2028-03-01T00:00:00.000Z', '2028-03-01T11:59:59.999Z').map((text) => new Date(text)),
  );
  /** Before now, often by whole buckets to the millisecond, and beyond the longest report. */
  const anAge = fc
    .tuple(
      fc.nat({ max: 70 }),
      fc.oneof(fc.constantFrom(0, 1, 12 * hourMs - 1), fc.nat({ max: 12 * hourMs })),
    )
    .map(([buckets, ms]) => buckets * 12 * hourMs + ms);
  const aRequestOf = fc.record({
    caller: fc.nat({ max: 12 }),
    model: fc.constantFrom('fast', 'large', 'small'),
    cost: fc.oneof(
      { weight: 3, arbitrary: fc.bigInt({ min: 0n, max: 10n * unit }).map(pricedAt) },
      { weight: 1, arbitrary: fc.bigInt({ min: 0n, max: 10n ** 24n }).map(pricedAt) },
      { weight: 2, arbitrary: fc.constantFrom(unpriced, usageMissing) },
    ),
    estimate: fc.nat({ max: 9 }).map((draw) => draw === 0),
    twice: fc.nat({ max: 9 }).map((draw) => draw === 0),
  });
  const someTraffic = fc.record({
    now: aNow,
    batches: fc.array(
      fc.record({ age: anAge, requests: fc.array(aRequestOf, { minLength: 1, maxLength: 6 }) }),
      {
        maxLength: 8,
      },
    ),
  });

  it('a report equals the sums over usage_cost_events, to the last picodollar', async () => {
    await fc.assert(
      fc.asyncProperty(someTraffic, async ({ now, batches }) => {
        for (const { age, requests } of batches) {
          await clock.standAt(new Date(now.getTime() - age));
          const records = requests
            .filter(({ estimate }) => !estimate)
            .flatMap(({ caller, model, cost, twice }) => {
              const record = aRequest(callers[caller]!, cost, model);
              const again = { ...record.charge, requestLogId: randomUUID() };
              return twice ? [record, { ...record, charge: again, logged: undefined }] : [record];
            });
          await settle(...records);
          for (const { caller, model } of requests.filter(({ estimate }) => estimate))
            await settleEstimate(query, callers[caller]!, model, 7n);
        }
        await clock.standAt(now);
        const rows = await rawRows(query);
        for (const days of [7, 30] as const) await expectSpendReports(rows, days, now);
        for (const range of ['7d', '31d'] as const) await expectLeaderboard(rows, range, now);
      }),
      { numRuns: 60 },
    );
    expect(await ledgerAuditStore(pool()).rollupDifferences(10)).toEqual([]);
    expect(await logRollupDifferences(query)).toEqual([]);
  });

  async function expectSpendReports(all: readonly RawRow[], days: 7 | 30, now: Date): Promise<void> {
    const today = new Date(`${now.toISOString().slice(0, 10)}T00:00:00Z`);
    const from = new Date(today.getTime() - (days - 1) * 24 * hourMs);
    for (const ownerKind of ['all', 'user', 'team'] as const) {
      const rows = within(all, from, days * 24).filter(
        ({ userId }) => ownerKind === 'all' || (ownerKind === 'user') === (userId !== undefined),
      );
      const report = await reportSpend(reports)({ days, ownerKind });
      expect(report.window).toEqual({ from, until: new Date(today.getTime() + 24 * hourMs) });
      expect(report.totals).toEqual(tallyOf(rows));
      expect(report.daily.map(({ day, ...tally }) => [day, tally])).toEqual(
        Array.from({ length: days }, (_, index) => {
          const day = new Date(from.getTime() + index * 24 * hourMs);
          return [day, tallyOf(within(rows, day, 24))];
        }),
      );
      expect(
        Object.fromEntries(
          report.owners.map((owner) => [`${owner.ownerKind} ${owner.ownerId}`, tallyIn(owner)]),
        ),
      ).toEqual(
        grouped(rows, ({ userId, teamId }) => (userId === undefined ? `team ${teamId}` : `user ${userId}`)),
      );
      expect(Object.fromEntries(report.models.map((model) => [model.modelKey, tallyIn(model)]))).toEqual(
        grouped(rows, ({ modelKey }) => modelKey),
      );
    }
  }

  async function expectLeaderboard(all: readonly RawRow[], range: '7d' | '31d', now: Date): Promise<void> {
    const report = await reportLeaderboard(reports)(range);
    const { window, leaders, chartUsers, series } = report;
    expect(window.until.getTime() - now.getTime()).toBeGreaterThan(0);
    expect(window.until.getTime() - now.getTime()).toBeLessThanOrEqual(12 * hourMs);
    const rows = within(all, window.from, bucketsOf[range] * 12).filter(({ userId }) => userId !== undefined);
    expect(
      Object.fromEntries(leaders.map(({ userId, spend, requestCount }) => [userId, [spend, requestCount]])),
    ).toEqual(
      Object.fromEntries(
        Object.entries(grouped(rows, ({ userId }) => userId)).map(([id, tally]) => [
          id,
          [tally.spend, tally.requestCount],
        ]),
      ),
    );
    for (const { userId, dominantModel } of leaders) {
      const models = Object.entries(
        grouped(
          rows.filter((row) => row.userId === userId),
          ({ modelKey }) => modelKey,
        ),
      ).toSorted(
        ([oneKey, one], [otherKey, other]) =>
          other.requestCount - one.requestCount ||
          (one.spend === other.spend ? 0 : other.spend > one.spend ? 1 : -1) ||
          (oneKey < otherKey ? -1 : 1),
      );
      expect(dominantModel).toBe(models[0]![0]);
    }
    expect(series).toHaveLength(bucketsOf[range]);
    for (const { bucketStart, values } of series)
      for (const { userId, spend } of values)
        expect(spend).toBe(
          spendOf(
            within(
              rows.filter((row) => row.userId === userId),
              bucketStart,
              12,
            ),
          ),
        );
    for (const [place, user] of chartUsers.entries())
      expect(series.reduce((sum, { values }) => sum + values[place]!.spend, 0n)).toBe(user.spend);
  }
});

describe('whose spend it is', () => {
  const database = withDatabase();
  const query = queries(database.url);
  const { ledgers } = withLedgers(database.url);
  const clock = withClock(query);
  const { reports } = withReports(database.url);
  const settle = (...records: Parameters<typeof settleTogether>[1]) => settleTogether(ledgers[0]!, records);

  it('users that were renamed or deactivated still appear, under the name of today', async () => {
    const [renamed, inactive] = [await aUser(query), await aUser(query)];
    await settle(aRequest(renamed, pricedAt(5n), 'fast'), aRequest(inactive, pricedAt(3n), 'fast'));
    await query(`update users set name = 'New name' where user_id = $1`, [userIdOf(renamed)]);
    await query(`update users set active = false, name = 'Gone' where user_id = $1`, [userIdOf(inactive)]);
    const { leaders } = await reportLeaderboard(reports)('7d');
    expect(leaders.map(({ userName, spend }) => [userName, spend])).toEqual([
      ['New name', 5n],
      ['Gone', 3n],
    ]);
    const { owners } = await reportSpend(reports)({ days: 7, ownerKind: 'user' });
    expect(owners.map(({ ownerName, spend }) => [ownerName, spend])).toEqual([
      ['New name', 5n],
      ['Gone', 3n],
    ]);
  });

  it('the spend of service accounts belongs to the team, and no team is in the leaderboard', async () => {
    const [teamKey, serviceAccount] = await aTeam(query);
    await settle(
      aRequest(teamKey, pricedAt(100n), 'fast', { harness: harness('of-a-team') }),
      aRequest(serviceAccount, pricedAt(20n), 'fast', { harness: harness('of-a-team') }),
    );
    const teamId = teamKey.keyOwner.kind === 'team' ? teamKey.keyOwner.teamId : '';
    await query('update teams set active = false where team_id = $1', [teamId]);
    const { owners, totals } = await reportSpend(reports)({ days: 7, ownerKind: 'team' });
    expect(owners).toEqual([
      {
        ownerKind: 'team',
        ownerId: teamId,
        ownerName: 'T',
        requestCount: 2,
        spend: 120n,
        counts: { priced: 2, legacy_estimated: 0, unpriced: 0, usage_missing: 0 },
      },
    ]);
    expect(totals.spend).toBe(120n);
    const { leaders } = await reportLeaderboard(reports)('7d');
    expect(leaders.map(({ spend }) => spend)).toEqual([5n, 3n]);
    const usage = await reportHarnessUsage(reports)('7d');
    expect(usage.leaders.find(({ harnessKey }) => harnessKey === 'of-a-team')?.requestCount).toBe(2);
  });

  it('all statuses count as requests, and only those that count toward spend as spend', async () => {
    const user = await aUser(query);
    await clock.standAt('2029-01-01T00:00:00Z');
    await settle(
      aRequest(user, unpriced, 'b'),
      aRequest(user, usageMissing, 'b'),
      aRequest(user, pricedAt(9n), 'a'),
    );
    await settleEstimate(query, user, 'a', 4n);
    const { leaders } = await reportLeaderboard(reports)('7d');
    expect(leaders).toMatchObject([
      { userId: userIdOf(user), requestCount: 4, spend: 13n, dominantModel: 'a' },
    ]);
    const { models } = await reportSpend(reports)({ days: 7, ownerKind: 'all' });
    expect(models.map(({ modelKey, spend, counts }) => [modelKey, spend, counts])).toEqual([
      ['a', 13n, { priced: 1, legacy_estimated: 1, unpriced: 0, usage_missing: 0 }],
      ['b', 0n, { priced: 0, legacy_estimated: 0, unpriced: 1, usage_missing: 1 }],
    ]);
    await clock.run();
  });
});

describe('what comes late, out of a journal', () => {
  const database = withDatabase();
  const query = queries(database.url);
  const { reports, pool } = withReports(database.url);

  it('is in the bucket of the time that it carries', async () => {
    const user = await aUser(query);
    const at = new Date(Date.now() - 4 * 86_400_000);
    await settleEstimate(query, user, 'fast', 6n, at);
    const { series } = await reportLeaderboard(reports)('7d');
    expect(series.filter(({ values }) => values.some(({ spend }) => spend > 0n))).toEqual([
      {
        bucketStart: bucketStarts(rangeWindow('7d', at)).at(-1),
        values: [{ userId: userIdOf(user), spend: 6n }],
      },
    ]);
    expect(await ledgerAuditStore(pool()).rollupDifferences(10)).toEqual([]);
  });
});

describe('what comes from the request logs', () => {
  const database = withDatabase();
  const query = queries(database.url);
  const { ledgers } = withLedgers(database.url, 2);
  const clock = withClock(query);
  const { reports } = withReports(database.url);
  const settle = (...records: Parameters<typeof settleTogether>[1]) => settleTogether(ledgers[0]!, records);

  it('is empty at first, and there is no oldest log', async () => {
    await clock.standAt('2028-03-01T11:59:59.999999Z');
    for (const report of [await reportHarnessUsage(reports)('31d'), await reportLeaderboard(reports)('31d')])
      expect(report).toMatchObject({
        logsSince: undefined,
        leaders: [],
        window: { from: new Date('2028-01-30T12:00:00Z'), until: new Date('2028-03-01T12:00:00Z') },
      });
    const usage = await reportHarnessUsage(reports)('31d');
    expect(usage.series.map(({ bucketStart }) => bucketStart)).toEqual(
      bucketStarts(rangeWindow('31d', new Date('2028-03-01T11:59:59.999Z'))),
    );
  });

  it('averages only rows where the dimension was recorded; a user without any has none', async () => {
    const [some, none, zero] = [await aUser(query), await aUser(query), await aUser(query)];
    const recorded = (exposedToolCount?: number, invokedToolCount?: number) => ({
      exposedToolCount,
      invokedToolCount,
    });
    await settle(
      aRequest(some, pricedAt(3n), 'fast', recorded(4, 1)),
      aRequest(some, pricedAt(3n), 'fast', recorded(3, 0)),
      aRequest(some, pricedAt(3n), 'fast', recorded(undefined, 4)),
      aRequest(none, pricedAt(2n), 'fast', recorded()),
      aRequest(zero, pricedAt(1n), 'fast', recorded(0, 0)),
    );
    const { leaders } = await reportLeaderboard(reports)('7d');
    const unknown = { referencedMcpServer: undefined, filteredTool: undefined };
    expect(leaders.map(({ toolAverages }) => toolAverages)).toEqual([
      { exposedTool: 3.5, invokedTool: 5 / 3, ...unknown },
      { exposedTool: undefined, invokedTool: undefined, ...unknown },
      { exposedTool: 0, invokedTool: 0, ...unknown },
    ]);
  });

  it('counts harnesses over all writers, in their buckets, and tells since when there are logs', async () => {
    const user = await aUser(query);
    const logged = (key: string) => aRequest(user, pricedAt(1n), 'fast', { harness: harness(key) });
    await clock.standAt('2028-02-29T23:59:59.999Z');
    await settleTogether(ledgers[1]!, [logged('codex'), logged('codex')]);
    await clock.standAt('2028-03-01T00:00:00Z');
    for (const ledger of ledgers) await settleTogether(ledger, [logged('codex'), logged('opencode')]);
    await clock.standAt('2028-03-01T11:59:59.999Z');
    const usage = await reportHarnessUsage(reports)('7d');
    expect(usage.logsSince).toEqual(new Date('2028-02-29T23:59:59.999Z'));
    expect(usage.leaders).toEqual([
      { rank: 1, harnessKey: 'unknown', harnessLabel: 'Unknown', requestCount: 5 },
      { rank: 2, harnessKey: 'codex', harnessLabel: 'CODEX', requestCount: 4 },
      { rank: 3, harnessKey: 'opencode', harnessLabel: 'OPENCODE', requestCount: 2 },
    ]);
    expect(usage.chartHarnesses).toEqual(usage.leaders);
    const counted = usage.series
      .filter(({ values }) => values.some(({ requestCount }) => requestCount > 0))
      .map(({ bucketStart, values }) => [bucketStart, values.map(({ requestCount }) => requestCount)]);
    expect(counted).toEqual([
      [new Date('2028-02-29T12:00:00Z'), [0, 2, 0]],
      [new Date('2028-03-01T00:00:00Z'), [5, 2, 2]],
    ]);
  });

  it('leaves out a harness whose logs are all purged again', async () => {
    const before = await reportHarnessUsage(reports)('7d');
    await query(
      `insert into harness_rollups values ('2028-03-01T00:00:00Z', 'opencode', 0, 's', 'OPENCODE', -2)`,
    );
    const after = await reportHarnessUsage(reports)('7d');
    expect(after.leaders).toEqual(before.leaders.slice(0, 2));
  });
});

describe('usage rollups', () => {
  const database = withDatabase();
  const query = queries(database.url);
  const { ledgers } = withLedgers(database.url, 3);
  const clock = withClock(query);
  const { reports, pool } = withReports(database.url);
  const verify = () => verifyLedger(ledgerAuditStore(pool()))();

  it('have 12-hour UTC buckets, whatever time zone a session is in', async () => {
    const instants = fc.array(
      fc.date({ min: new Date('1901-01-01'), max: new Date('2299-12-31'), noInvalidDate: true }),
      { minLength: 100, maxLength: 100 },
    );
    await query(`set timezone = 'America/New_York'`);
    await fc.assert(
      fc.asyncProperty(instants, async (dates) => {
        const rows = await query<{ bucket: Date }>(
          `select rollup_bucket(at) as bucket from unnest($1::timestamptz[]) with ordinality i(at, ord) order by ord`,
          [dates.map((date) => date.toISOString())],
        );
        expect(rows.map(({ bucket }) => bucket)).toEqual(
          dates.map((date) => bucketStarts(rangeWindow('7d', date)).at(-1)),
        );
      }),
      { numRuns: 10 },
    );
    await query('reset timezone');
  });

  it('equal their rows after several gateways have settled at once, and so do those of the logs', async () => {
    const callers = [
      await aUser(query),
      await aUser(query),
      await aUser(query, { amount: 1n, cadence: 'daily' }),
      ...(await aTeam(query)),
      ...(await aTeam(query, { amount: 1n, cadence: 'daily' })),
    ];
    const costs = [pricedAt(unit / 7n), pricedAt(1n), unpriced, usageMissing];
    const verdicts: Record<string, number> = {};
    const settled = new AbortController();
    const ticking = (async () => {
      for (let turn = 0; !settled.signal.aborted; turn += 1)
        await clock.standAt(new Date(Date.UTC(2028, 1, 28) + (turn % 5) * 43_200_000 - (turn % 2)));
    })();
    const load = Array.from({ length: 900 }, async (_, index) => {
      const record = aRequest(
        callers[(index * 31) % callers.length]!,
        costs[index % costs.length]!,
        ['fast', 'large'][index % 2]!,
        { harness: harness(`h-${index % 3}`), exposedToolCount: index % 4 === 0 ? undefined : index % 5 },
      );
      await new Promise((resolve) => void setTimeout(resolve, index % 200));
      const tries = index % 9 === 0 ? [0, 1] : [0];
      // the same record over two connections at once: one of them is told that the other was first
      const answers = await Promise.all(
        tries.map((each) => settleTogether(ledgers[(index + each) % ledgers.length]!, [record])),
      );
      for (const [verdict] of answers) verdicts[verdict!] = (verdicts[verdict!] ?? 0) + 1;
    });
    await Promise.all(load);
    settled.abort();
    await ticking;

    expect(verdicts).toEqual({ recorded: expect.any(Number), blocked: expect.any(Number) });
    expect(verdicts['blocked']).toBeGreaterThan(10);
    expect((await query('select distinct bucket_start from usage_rollups')).length).toBeGreaterThan(2);
    expect((await query('select distinct ownership_scope_key from harness_rollups')).length).toBeGreaterThan(
      2,
    );
    expect(await ledgerAuditStore(pool()).rollupDifferences(10)).toEqual([]);
    expect(await logRollupDifferences(query)).toEqual([]);
    expect(await verify()).toMatchObject({ differences: [] });
  });

  it('are verified: a rollup that is wrong, missing, without rows or another owner’s is told', async () => {
    const [one] = await query<{ at: Date; scope: string; model: string; status: string }>(
      `select bucket_start as at, ownership_scope_key as scope, model_key as model, pricing_status as status
       from usage_rollups where pricing_status = 'priced' and user_id is not null order by 1, 2, 3 limit 1`,
    );
    const place = [one!.at, one!.scope, one!.model, one!.status];
    const whichIs = `bucket_start = $1 and ownership_scope_key = $2 and model_key = $3 and pricing_status = $4`;
    const named = `rollup ${one!.at.toISOString()} (${one!.scope}, ${one!.model}, ${one!.status}): `;
    const differencesWith = async (change: string, values: unknown[] = place): Promise<readonly string[]> => {
      await query('begin');
      await query(`create table kept as select * from usage_rollups`);
      await query('commit');
      await query(change, values);
      const { differences } = await verify();
      await query('truncate usage_rollups');
      await query('insert into usage_rollups select * from kept');
      await query('drop table kept');
      return differences;
    };
    for (const [change, told] of [
      [`update usage_rollups set counted_picousd = counted_picousd + 1 where ${whichIs}`, 1],
      [`update usage_rollups set request_count = request_count - 1 where ${whichIs}`, 1],
      [`delete from usage_rollups where ${whichIs}`, 1],
      [`update usage_rollups set user_id = gen_random_uuid() where ${whichIs}`, 2],
      [`update usage_rollups set team_id = 'other' where ${whichIs}`, 2],
    ] as const) {
      const differences = await differencesWith(change);
      expect(differences).toHaveLength(told);
      for (const difference of differences)
        expect(difference).toMatch(/^rollup .* is stored, its rows sum up to /);
      expect(differences[0]).toContain(named);
    }
    expect(
      await differencesWith(
        `insert into usage_rollups values ('2028-01-01T12:00:00Z', 'user:x', 'm', 'priced', null, null, 2, 1500000000000)`,
        [],
      ),
    ).toEqual([
      'rollup 2028-01-01T12:00:00.000Z (user:x, m, priced): 2 requests, 1.5 USD is stored, its rows sum up to ' +
        '0 requests, 0 USD',
    ]);
    expect(await verify()).toMatchObject({ differences: [] });
  });

  it('are read on one snapshot: what is settled meanwhile is in none of a report’s parts', async () => {
    await clock.standAt('2031-05-05T05:00:00Z');
    const user = await aUser(query);
    await settleTogether(ledgers[0]!, [aRequest(user, pricedAt(3n), 'fast')]);
    // a report is its own asynchronous context, in which the driver allows no other connection
    const begun = Promise.withResolvers<void>();
    const meanwhile = begun.promise.then(() =>
      settleTogether(ledgers[0]!, [aRequest(user, pricedAt(4n), 'fast')]),
    );
    const sums = await reports.onSnapshot(async (snapshot) => {
      const window = rangeWindow('7d', snapshot.now);
      const usage = await snapshot.userModelUsage(window);
      begun.resolve();
      expect(await meanwhile).toEqual(['recorded']);
      const spends = await snapshot.userSpend(window, [userIdOf(user)]);
      return [usage, spends].map((rows) => rows.map(({ spend }) => spend));
    });
    expect(sums).toEqual([[3n], [3n]]);
    const { leaders } = await reportLeaderboard(reports)('7d');
    expect(leaders.map(({ spend }) => spend)).toEqual([7n]);
    await clock.run();
  });
});

describe('a report whose connection is lost while it is read', () => {
  const database = withDatabase();

  it('is trouble of the database, not a defect', async () => {
    const proxy = await tcpProxy();
    const pool = await openPool(proxy.to(database.url()), 1);
    const lost = reportStore(pool).onSnapshot(async (snapshot) => {
      proxy.cut();
      return snapshot.harnessCounts(rangeWindow('7d', snapshot.now));
    });
    const fault: unknown = await lost.then(
      () => 'nothing',
      (error: unknown) => error,
    );
    expect(isDatabaseTrouble(fault)).toBe(true);
    await pool.end();
    await proxy.close();
  });
});

describe('the plans of reports', () => {
  const database = withDatabase();
  const query = queries(database.url);
  const { pool } = withReports(database.url);

  /** Two years of rollups and a few logs: small, and yet more than any report is about. */
  beforeAll(async () => {
    await query(
      `insert into users (email, name) select n || '@example.com', 'U ' || n from generate_series(1, 30) n`,
    );
    await query(
      `insert into usage_rollups
       select rollup_bucket(now() - n * interval '12 hours'), 'user:' || user_id, model, 'priced', user_id, null, 3, 5
       from generate_series(0, 1459) n, users, unnest(array['fast', 'large']) model`,
    );
    await query(
      `insert into harness_rollups
       select rollup_bucket(now() - n * interval '12 hours'), 'h-' || h, writer, 's', 'H', 3
       from generate_series(0, 1459) n, generate_series(1, 5) h, generate_series(1, 3) writer`,
    );
    await query(
      `insert into tool_cardinality_rollups
       select user_id, rollup_bucket(now() - n * interval '12 hours'), 1, 'user:' || user_id, 0, 0, 3, 3, 3, 3, 0, 0
       from generate_series(0, 1459) n, users`,
    );
    await query(
      `insert into request_logs (request_log_id, ownership_scope_key, request_id, status_code, latency_ms, metadata_json,
         occurred_at)
       select gen_random_uuid(), 's', n::text, 200, 1, '{}', now() - n * interval '1 minute' from generate_series(1, 5000) n`,
    );
    await query('vacuum analyze');
  });

  interface Plan {
    readonly 'Node Type': string;
    readonly 'Relation Name'?: string;
    readonly 'Index Cond'?: string;
    readonly Plans?: readonly Plan[];
  }

  const nodesOf = (plan: Plan): readonly Plan[] => [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];

  const big = [
    'request_logs',
    'usage_cost_events',
    'usage_rollups',
    'harness_rollups',
    'tool_cardinality_rollups',
  ];
  /** What a partition's name has more than its table's. */
  const partition = /_(?:default|\d{4}_\d{2})$/;
  const window = rangeWindow('31d', new Date());
  const users = async () =>
    (await query<{ id: string }>('select user_id as id from users')).map(({ id }) => id);

  it.each([
    ['since when there are logs', async () => ask.moment(), []],
    ['the spend report', async () => ask.ledgerUsage(window, 'all'), ['bucket_start >=', 'bucket_start <']],
    [
      'the spend report of teams',
      async () => ask.ledgerUsage(window, 'team'),
      ['bucket_start >=', 'bucket_start <'],
    ],
    ['the leaderboard', async () => ask.userModelUsage(window), ['bucket_start >=', 'bucket_start <']],
    [
      'its chart',
      async () => ask.userSpend(window, (await users()).slice(0, 5)),
      ['bucket_start >=', 'bucket_start <', 'ownership_scope_key = ANY'],
    ],
    [
      'its averages',
      async () => ask.toolCounts(window, await users()),
      ['user_id = ANY', 'bucket_start >=', 'bucket_start <'],
    ],
    ['harness usage', async () => ask.harnessCounts(window), ['bucket_start >=', 'bucket_start <']],
  ])(
    '%s reads no table from end to end, and finds its rows by an index over time',
    async (_, statement, conditions) => {
      const explained = await pool().oneFirst(sql.unsafe`explain (format json) ${await statement()}`);
      const nodes = nodesOf((explained as readonly { readonly Plan: Plan }[])[0]!.Plan);
      const scans = nodes.filter((node) => big.includes(node['Relation Name']?.replace(partition, '') ?? ''));
      expect(scans.length).toBeGreaterThan(0);
      for (const scan of scans) expect(scan['Node Type']).not.toBe('Seq Scan');
      const indexConditions = nodes.map((node) => node['Index Cond'] ?? '').join('\n');
      for (const condition of conditions) expect(indexConditions).toContain(condition);
    },
  );
});
