import type {
  Attention,
  AttentionKind,
  ConfiguredSetup,
  OverviewFacts,
  OverviewStore,
  StoredSetup,
} from '../ports/overview.ts';
import { type HourUsage, type Usage, usageOf } from '../../domain/reports/overview.ts';

export interface OverviewPorts {
  readonly overview: OverviewStore;
  /** Records in the journal folder of this replica: of all its processes, but of no other machine. */
  readonly journalRecords: () => Promise<Attention>;
  readonly configuredSetup: () => ConfiguredSetup;
}

export interface Overview extends Omit<OverviewFacts, 'usage' | 'attention' | 'setup'> {
  readonly lastDay: Usage;
  readonly hours: readonly HourUsage[];
  readonly attention: Readonly<Record<AttentionKind, Attention>>;
  readonly setup: StoredSetup & ConfiguredSetup;
}

/**
 * What admins see first. Requests and spend come from the ledger; errors, latency and time to first token from the
 * request logs as retained; the records in the journal from the disk of the replica that answers.
 */
export const reportOverview =
  ({ overview, journalRecords, configuredSetup }: OverviewPorts) =>
  async (): Promise<Overview> => {
    const [{ usage, ...facts }, journal] = await Promise.all([overview.read(), journalRecords()]);
    const { hours, whole } = usageOf(facts.window, usage);
    return {
      ...facts,
      lastDay: whole,
      hours,
      attention: { ...facts.attention, journal_records: journal },
      setup: { ...facts.setup, ...configuredSetup() },
    };
  };
