import type { Window } from '../shared/window.ts';
import type { Owner } from '../identity/caller.ts';
import { countsTowardSpend, type PricingStatus } from '../ledger/usage-cost-event.ts';
import type { Picodollars } from '../money/money.ts';
import { ascending, descending, inOrder, type RankOrder } from './ranking.ts';
import { dayStart, dayStarts } from './report-window.ts';

/** The kinds of owner whose spend a report covers. */
export type OwnerKind = 'all' | Owner['kind'];

/** Ledger rows of one pricing status, counted and summed. */
export interface StatusUsage {
  readonly pricingStatus: PricingStatus;
  readonly requestCount: number;
  readonly cost: Picodollars;
}

/** The same ledger rows in three breakdowns. */
export interface LedgerUsage {
  readonly buckets: readonly (StatusUsage & { readonly bucketStart: Date })[];
  readonly owners: readonly (StatusUsage & NamedOwner)[];
  readonly models: readonly (StatusUsage & { readonly modelKey: string })[];
}

export interface NamedOwner {
  readonly ownerKind: Owner['kind'];
  readonly ownerId: string;
  readonly ownerName: string;
}

/** Identifies an owner, since a user and a team may have the same id. */
export const ownerKey = ({ ownerKind, ownerId }: Pick<NamedOwner, 'ownerKind' | 'ownerId'>): string =>
  `${ownerKind} ${ownerId}`;

/** Requests of every status, and the spend of those that count toward spend. */
export interface Tally {
  readonly requestCount: number;
  readonly spend: Picodollars;
  readonly counts: Readonly<Record<PricingStatus, number>>;
}

export interface SpendReport {
  readonly totals: Tally;
  /** Full UTC days, zero-filled, the earliest first. */
  readonly daily: readonly (Tally & { readonly day: Date })[];
  readonly owners: readonly (Tally & NamedOwner)[];
  readonly models: readonly (Tally & { readonly modelKey: string })[];
}

/** The largest spend first, then the most requests. */
const spendOrder: RankOrder<Tally> = inOrder(
  descending(({ spend }) => spend),
  descending(({ requestCount }) => requestCount),
);

const ownerOrder = inOrder<Tally & NamedOwner>(
  spendOrder,
  ascending(({ ownerName }) => ownerName),
  ascending(({ ownerKind }) => ownerKind),
  ascending(({ ownerId }) => ownerId),
);

const modelOrder = inOrder<Tally & { readonly modelKey: string }>(
  spendOrder,
  ascending(({ modelKey }) => modelKey),
);

/** Totals, daily points, owner and model breakdowns of a window. */
export function spendReport(window: Window, { buckets, owners, models }: LedgerUsage): SpendReport {
  const byDay = Map.groupBy(buckets, ({ bucketStart }) => dayStart(bucketStart).getTime());
  const byOwner = Map.groupBy(owners, ownerKey);
  const byModel = Map.groupBy(models, ({ modelKey }) => modelKey);
  return {
    totals: tally(buckets),
    daily: dayStarts(window).map((day) => ({ day, ...tally(byDay.get(day.getTime()) ?? []) })),
    owners: [...byOwner.values()]
      .flatMap((rows) =>
        named(rows, ({ ownerKind, ownerId, ownerName }) => ({ ownerKind, ownerId, ownerName })),
      )
      .toSorted(ownerOrder),
    models: [...byModel.values()]
      .flatMap((rows) => named(rows, ({ modelKey }) => ({ modelKey })))
      .toSorted(modelOrder),
  };
}

const named = <A extends StatusUsage, B>(rows: readonly A[], nameOf: (row: A) => B): readonly (Tally & B)[] =>
  rows.slice(0, 1).map((first) => ({ ...tally(rows), ...nameOf(first) }));

/** Unpriced and usage-missing rows are counted as requests, and never as spend. */
function tally(rows: readonly StatusUsage[]): Tally {
  const countOf = (status: PricingStatus): number =>
    rows.reduce((sum, row) => (row.pricingStatus === status ? sum + row.requestCount : sum), 0);
  return {
    requestCount: rows.reduce((sum, row) => sum + row.requestCount, 0),
    spend: rows.reduce((sum, row) => (countsTowardSpend[row.pricingStatus] ? sum + row.cost : sum), 0n),
    counts: {
      priced: countOf('priced'),
      legacy_estimated: countOf('legacy_estimated'),
      unpriced: countOf('unpriced'),
      usage_missing: countOf('usage_missing'),
    },
  };
}
