import type { Window } from '../../domain/shared/window.ts';
import type { HarnessBucketCount } from '../../domain/reports/harness-usage.ts';
import type { BucketSpend, UserModelUsage, UserToolCounts } from '../../domain/reports/leaderboard.ts';
import type { CohortSpend } from '../../domain/reports/spend-by-day.ts';
import type { LedgerUsage, NamedOwner, OwnerKind } from '../../domain/reports/spend-report.ts';

/** What was committed at one moment: everything that is read from it fits together. */
export interface ReportSnapshot {
  /** The database's time at that moment. */
  readonly now: Date;
  /** The oldest retained request log's time; undefined when there is none. */
  readonly logsSince: Date | undefined;
  readonly ledgerUsage: (window: Window, ownerKind: OwnerKind) => Promise<LedgerUsage>;
  /** Of these owners; keys as `ownerKey` has them. A service account's spend is its team's. */
  readonly ownerSpend: (window: Window, owners: readonly NamedOwner[]) => Promise<readonly CohortSpend[]>;
  /** Of these models, by owners of that kind. */
  readonly modelSpend: (
    window: Window,
    ownerKind: OwnerKind,
    modelKeys: readonly string[],
  ) => Promise<readonly CohortSpend[]>;
  /** Users renamed or deactivated since are in it; the spend of teams is nobody's. */
  readonly userModelUsage: (window: Window) => Promise<readonly UserModelUsage[]>;
  readonly userSpend: (window: Window, userIds: readonly string[]) => Promise<readonly BucketSpend[]>;
  /** From the request logs as retained, as is the next. */
  readonly toolCounts: (window: Window, userIds: readonly string[]) => Promise<readonly UserToolCounts[]>;
  readonly harnessCounts: (window: Window) => Promise<readonly HarnessBucketCount[]>;
}

export interface Reports {
  readonly onSnapshot: <A>(read: (snapshot: ReportSnapshot) => Promise<A>) => Promise<A>;
}
