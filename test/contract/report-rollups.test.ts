import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { reportHarnessUsage } from '../../application/reports/report-harness-usage.ts';
import { reportLeaderboard } from '../../application/reports/report-leaderboard.ts';
import { verifyLedger } from '../../application/verify-ledger.ts';
import { bucketStarts, rangeWindow } from '../../domain/reports/report-window.ts';
import { ledgerAuditStore } from '../../infrastructure/postgres/ledger-audit-store.ts';
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
import { withReports, harness, aRequest, usageMissing, logRollupDifferences } from './report-rows.ts';

describe('reports from the request logs', () => {
  const database = withDatabase();
  const query = queries(database.url);
  const { ledgers } = withLedgers(database.url, 2);
  const clock = withClock(query);
  const { reports } = withReports(database.url);
  const settle = (...records: Parameters<typeof settleTogether>[1]) => settleTogether(ledgers[0]!, records);

  it('are empty without logs, and have no `logsSince`', async () => {
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

  it('average only rows with a recorded count; a user without any has no average', async () => {
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

  it('count harnesses over all writers, in their buckets, with the time of the oldest log', async () => {
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

  it('omit a harness whose logs are all purged', async () => {
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

  it('have 12-hour UTC buckets in any session time zone', async () => {
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

  it('equal their rows after several gateways have settled concurrently, also those of the logs', async () => {
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
      // The same record over two connections at once: one of them is answered that the row was already there.
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

  it('are verified: a wrong, missing or additional rollup, or one with another owner, is reported', async () => {
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
      [`update usage_rollups set user_id = '${randomUUID()}' where ${whichIs}`, 2],
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

  it('are read on one snapshot: rows settled meanwhile are in no part of a report', async () => {
    await clock.standAt('2031-05-05T05:00:00Z');
    const user = await aUser(query);
    await settleTogether(ledgers[0]!, [aRequest(user, pricedAt(3n), 'fast')]);
    // A report runs in its own asynchronous context, in which the driver allows no other connection.
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
