import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { reportHarnessUsage } from '../../application/reports/report-harness-usage.ts';
import { reportLeaderboard } from '../../application/reports/report-leaderboard.ts';
import { reportSpend } from '../../application/reports/report-spend.ts';
import type { Caller } from '../../domain/identity/caller.ts';
import { bucketStarts, bucketsOf, rangeWindow } from '../../domain/reports/report-window.ts';
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
import {
  withReports,
  harness,
  aRequest,
  usageMissing,
  type RawRow,
  rawRows,
  within,
  spendOf,
  tallyOf,
  tallyIn,
  grouped,
  logRollupDifferences,
  settleEstimate,
} from './report-rows.ts';

describe('reports over settled requests', () => {
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
  /** Close to each other, so that there are also rows after now: those of earlier runs. */
  const aNow = fc.oneof(
    fc.date({ min: new Date('2028-02-15'), max: new Date('2028-03-15'), noInvalidDate: true }),
    fc.constantFrom('2028-03-01T00:00:00.000Z', '2028-03-01T11:59:59.999Z').map((text) => new Date(text)),
  );
  /** Time before now, often whole buckets to the millisecond, and sometimes beyond the longest report. */
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
            await settleEstimate(database.url(), callers[caller]!, model, 7n);
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

describe('the owner of spend', () => {
  const database = withDatabase();
  const query = queries(database.url);
  const { ledgers } = withLedgers(database.url);
  const clock = withClock(query);
  const { reports } = withReports(database.url);
  const settle = (...records: Parameters<typeof settleTogether>[1]) => settleTogether(ledgers[0]!, records);

  it('is shown under the current name, also if renamed or deactivated', async () => {
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

  it('is the team for its service accounts, and no team is in the leaderboard', async () => {
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

  it('has rows of every status counted as requests, and only counted ones as spend', async () => {
    const user = await aUser(query);
    await clock.standAt('2029-01-01T00:00:00Z');
    await settle(
      aRequest(user, unpriced, 'b'),
      aRequest(user, usageMissing, 'b'),
      aRequest(user, pricedAt(9n), 'a'),
    );
    await settleEstimate(database.url(), user, 'a', 4n);
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

describe('a row that is settled late, from a journal', () => {
  const database = withDatabase();
  const query = queries(database.url);
  const { reports, pool } = withReports(database.url);

  it('is in the bucket of its own time', async () => {
    const user = await aUser(query);
    const at = new Date(Date.now() - 4 * 86_400_000);
    await settleEstimate(database.url(), user, 'fast', 6n, at);
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
