import type { CommonQueryMethods } from 'slonik';
import type { HourLogs, HourSpend } from '../../domain/reports/overview.ts';
import { hourStarts } from '../../domain/reports/report-window.ts';
import { bucketHours } from '../../domain/reports/report-window.ts';
import type { Window } from '../../domain/shared/window.ts';
import * as statements from './overview-statements.ts';

interface LedgerHour extends HourSpend {
  /** Requests without a price, by model. */
  readonly unpriced: Readonly<Record<string, number>>;
}

interface MarkedLogs extends HourLogs {
  readonly mark: string;
}

/**
 * The hours of the overview. A day of rows is too much to read each time, so a process caches its hours and rereads
 * those that have changed. Ledger hours must add up to the rollups of their buckets: the ledger only grows, so hours
 * that add up are right; the current hour is always reread. Log hours must have the same number of rows and the same
 * sum of statuses, counted using only `request_logs_occurred_at_idx`.
 */
export interface OverviewHours {
  readonly ledger: (connection: CommonQueryMethods, window: Window) => Promise<readonly LedgerHour[]>;
  readonly logs: (connection: CommonQueryMethods, window: Window) => Promise<readonly HourLogs[]>;
}

const bucketMs = bucketHours * 3_600_000;
const bucketOf = (at: Date): number => Math.floor(at.getTime() / bucketMs) * bucketMs;

export function overviewHours(): OverviewHours {
  let ledgerHours: ReadonlyMap<number, LedgerHour> = new Map();
  let logHours: ReadonlyMap<number, MarkedLogs> = new Map();
  return {
    ledger: async (connection, window) => {
      const whole = { from: new Date(bucketOf(window.from)), until: window.until };
      const starts = hourStarts(whole);
      const buckets = await connection.any(statements.ledgerBuckets(whole));
      let hours = starts.flatMap((start) => ledgerHours.get(start.getTime()) ?? []);
      const readAgain = async (from: Date | undefined): Promise<void> => {
        if (from === undefined) return;
        const read = await connection.any(statements.ledgerHours({ from, until: whole.until }));
        hours = [...hours.filter(({ hourStart }) => hourStart < from), ...filled(starts, from, read)];
      };
      await readAgain(starts.find((start) => !ledgerHours.has(start.getTime())));
      await readAgain(wrongFrom(buckets, hours));
      ledgerHours = byStart(hours.slice(0, -1));
      return hours.filter(({ hourStart }) => hourStart >= window.from);
    },
    logs: async (connection, window) => {
      const marks = await connection.any(statements.logMarks(window));
      const remembered = logHours;
      const stale = marks.filter(
        ({ hour_start, mark }) => remembered.get(hour_start.getTime())?.mark !== mark,
      );
      const read =
        stale.length === 0
          ? []
          : await connection.any(statements.logHours(stale.map(({ hour_start }) => hour_start)));
      const fresh = new Map(read.map((found) => [found.hour_start.getTime(), found]));
      logHours = new Map(
        marks.flatMap(({ hour_start, mark }) => {
          const at = hour_start.getTime();
          const found = fresh.get(at);
          const known = found === undefined ? remembered.get(at) : { ...hourLogs(found), mark };
          return known === undefined ? [] : [[at, known] as const];
        }),
      );
      return [...logHours.values()];
    },
  };
}

const byStart = <A extends { readonly hourStart: Date }>(hours: readonly A[]): ReadonlyMap<number, A> =>
  new Map(hours.map((each) => [each.hourStart.getTime(), each]));

/** Every hour from this one on, including those without rows. */
function filled(
  starts: readonly Date[],
  from: Date,
  read: readonly statements.LedgerHourRow[],
): readonly LedgerHour[] {
  const found = byStart(read.map(ledgerHour));
  return starts
    .filter((start) => start >= from)
    .map(
      (hourStart) =>
        found.get(hourStart.getTime()) ?? { hourStart, requestCount: 0, spend: 0n, unpriced: {} },
    );
}

/** The first hour of the first bucket whose hours do not add up to it, because rows arrived late. */
function wrongFrom(buckets: readonly statements.BucketRow[], hours: readonly LedgerHour[]): Date | undefined {
  const totals = new Map(buckets.map((each) => [each.bucket_start.getTime(), each]));
  const wrong = [...Map.groupBy(hours, ({ hourStart }) => bucketOf(hourStart))].find(([bucket, each]) => {
    const total = totals.get(bucket);
    const requests = each.reduce((sum, { requestCount }) => sum + requestCount, 0);
    const spend = each.reduce((sum, hour) => sum + hour.spend, 0n);
    return requests !== Number(total?.request_count ?? 0n) || spend !== (total?.spend ?? 0n);
  });
  return wrong?.[1][0]?.hourStart;
}

const ledgerHour = (found: statements.LedgerHourRow): LedgerHour => ({
  hourStart: found.hour_start,
  requestCount: Number(found.request_count),
  spend: found.spend,
  unpriced: found.unpriced,
});

const hourLogs = (found: statements.LogHourRow): HourLogs => ({
  hourStart: found.hour_start,
  ends: found.ends.map(([statusCode, errorCode, count]) => ({
    statusCode,
    errorCode: errorCode ?? undefined,
    count,
  })),
  latencies: { values: found.latencies, counts: found.latency_counts },
  firstTokens: { values: found.first_tokens, counts: found.first_token_counts },
});
