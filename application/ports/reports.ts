import type { Window } from '../../domain/shared/window.ts';
import type { HarnessBucketCount } from '../../domain/reports/harness-usage.ts';
import type { BucketSpend, UserModelUsage, UserToolCounts } from '../../domain/reports/leaderboard.ts';
import type { CohortSpend } from '../../domain/reports/spend-by-day.ts';
import type { LedgerUsage, NamedOwner, OwnerKind } from '../../domain/reports/spend-report.ts';

/** One consistent snapshot of the database: everything read from it fits together. */
export interface ReportSnapshot {
  /** The database's time of the snapshot. */
  readonly now: Date;
  /** The time of the oldest retained request log; `undefined` when there is none. */
  readonly logsSince: Date | undefined;
  readonly ledgerUsage: (window: Window, ownerKind: OwnerKind) => Promise<LedgerUsage>;
  /** The spend of these owners; keys as `ownerKey` has them. A service account's spend is its team's. */
  readonly ownerSpend: (window: Window, owners: readonly NamedOwner[]) => Promise<readonly CohortSpend[]>;
  /** The spend on these models, by owners of that kind. */
  readonly modelSpend: (
    window: Window,
    ownerKind: OwnerKind,
    modelKeys: readonly string[],
  ) => Promise<readonly CohortSpend[]>;
  /** Includes users that were renamed or deactivated since; the spend of teams belongs to no user. */
  readonly userModelUsage: (window: Window) => Promise<readonly UserModelUsage[]>;
  readonly userSpend: (window: Window, userIds: readonly string[]) => Promise<readonly BucketSpend[]>;
  /** From the request logs as retained, like the next one. */
  readonly toolCounts: (window: Window, userIds: readonly string[]) => Promise<readonly UserToolCounts[]>;
  readonly harnessCounts: (window: Window) => Promise<readonly HarnessBucketCount[]>;
}

export interface Reports {
  readonly onSnapshot: <A>(read: (snapshot: ReportSnapshot) => Promise<A>) => Promise<A>;
}
