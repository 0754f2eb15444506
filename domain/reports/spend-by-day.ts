import type { Picodollars } from '../money/money.ts';
import { chartRows } from './ranking.ts';
import { dayStart } from './report-window.ts';
import { type NamedOwner, ownerKey, type SpendReport, type Tally } from './spend-report.ts';

/** Those of a spend report that a chart shows: the highest spend first, at most five, and nobody who spent nothing. */
export interface SpendCohort {
  readonly owners: readonly (Tally & NamedOwner)[];
  readonly models: readonly (Tally & { readonly modelKey: string })[];
}

/** What was spent in a bucket by one of the cohort; the key is that of `ownerKey`, or the model's. */
export interface CohortSpend {
  readonly bucketStart: Date;
  readonly key: string;
  readonly spend: Picodollars;
}

/** A day cut in one way: the cohort in its order, and all others together. */
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

/** Every day of the report, cut by owner and by model: either way the parts add up to the day. */
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
