import type { Picodollars } from '../money/money.ts';
import { chartRows } from './ranking.ts';
import { dayStart } from './report-window.ts';
import { type NamedOwner, ownerKey, type SpendReport, type Tally } from './spend-report.ts';

/**
 * The owners and models of a spend report that a chart shows: the highest spend first, at most five, none without
 * spend.
 */
export interface SpendCohort {
  readonly owners: readonly (Tally & NamedOwner)[];
  readonly models: readonly (Tally & { readonly modelKey: string })[];
}

/** The spend of one cohort member in a bucket; `key` is that of `ownerKey`, or the model key. */
export interface CohortSpend {
  readonly bucketStart: Date;
  readonly key: string;
  readonly spend: Picodollars;
}

/**
 * A day's spend in one breakdown: that of each cohort member, in the cohort's order, and that of all others together.
 */
export interface DayCut {
  readonly values: readonly Picodollars[];
  readonly rest: Picodollars;
}

export interface DaySpend {
  readonly day: Date;
  readonly spend: Picodollars;
  readonly owners: DayCut;
  readonly models: DayCut;
}

export const spendCohort = ({ owners, models }: SpendReport): SpendCohort => ({
  owners: spenders(owners),
  models: spenders(models),
});

const spenders = <A extends Tally>(ranked: readonly A[]): readonly A[] =>
  ranked.slice(0, chartRows).filter(({ spend }) => spend !== 0n);

/** Every day of the report, broken down by owner and by model. In both breakdowns the parts add up to the day. */
export function spendByDay(
  { daily }: SpendReport,
  { owners, models }: SpendCohort,
  spends: { readonly owners: readonly CohortSpend[]; readonly models: readonly CohortSpend[] },
): readonly DaySpend[] {
  const byOwner = cutter(owners.map(ownerKey), spends.owners);
  const byModel = cutter(
    models.map(({ modelKey }) => modelKey),
    spends.models,
  );
  return daily.map(({ day, spend }) => ({
    day,
    spend,
    owners: byOwner(day, spend),
    models: byModel(day, spend),
  }));
}

function cutter(keys: readonly string[], spends: readonly CohortSpend[]) {
  const found = new Map<string, Picodollars>();
  for (const { bucketStart, key, spend } of spends) {
    const place = placeOf(dayStart(bucketStart), key);
    found.set(place, (found.get(place) ?? 0n) + spend);
  }
  return (day: Date, whole: Picodollars): DayCut => {
    const values = keys.map((key) => found.get(placeOf(day, key)) ?? 0n);
    return { values, rest: values.reduce((left, value) => left - value, whole) };
  };
}

const placeOf = (day: Date, key: string): string => `${day.getTime()} ${key}`;
