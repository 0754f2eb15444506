import type { Attention, ConfiguredSetup } from '../application/ports/overview.ts';
import type { LiveConfig } from '../infrastructure/config/live-config.ts';
import { journalFolder } from '../infrastructure/journal/journal.ts';
import { waitingRecords } from '../infrastructure/journal/waiting-records.ts';
import { mailReady } from './budget-alerting.ts';

/** The most files that are listed. */
const mostFiles = 10;

/** The records that wait in the journal of this replica, file by file. */
export async function journalAttention(config: LiveConfig): Promise<Attention> {
  const { files, isLowerBound } = await waitingRecords(journalFolder(config.loaded().config.dataDir));
  return {
    count: files.reduce((sum, { records }) => sum + records, 0),
    isLowerBound,
    items: files.slice(0, mostFiles).map(({ name, refused, records }) => ({
      kind: 'journal_file',
      id: name,
      title: refused ? 'Records that the database refused' : 'Records that wait for the database',
      count: records,
    })),
  };
}

export function configuredSetup(config: LiveConfig): ConfiguredSetup {
  const { server, database } = config.loaded().config;
  return {
    mailConfigured: mailReady(config)(),
    telemetryConfigured:
      server.otel.tracesEndpoint !== undefined || server.otel.metricsEndpoint !== undefined,
    ownDatabase: database.kind === 'external',
  };
}
