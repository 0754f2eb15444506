import { setTimeout as sleep } from 'node:timers/promises';
import { purgeRows } from '../application/retention/purge-rows.ts';
import type { Clock } from '../application/ports/clock.ts';
import type { AgedRows } from '../application/ports/aged-rows.ts';
import type { Retention } from '../domain/request-log/retention.ts';
import type { LiveConfig } from '../infrastructure/config/live-config.ts';
import type { Log } from '../infrastructure/logging.ts';
import { purgeShardsUnderLock } from '../infrastructure/postgres/citus/aged-shards.ts';
import { invocationRecords, purgeUnderLock } from '../infrastructure/postgres/purge-store.ts';
import type { Database } from './database.ts';
import { inUtc, type PurgeWorker, purgeWorker } from '../infrastructure/purge-worker.ts';

/** Once a day, half an hour after the default schedule of the request logs. */
const invocationSchedule = '30 0 * * *';

/** Purges rows by age: request logs and records of MCP tool calls, each with its own settings. */
export function purgeOnSchedule(
  clock: Clock,
  config: LiveConfig,
  { url, distribution }: Pick<Database, 'url' | 'distribution'>,
  log: Log,
  draining: () => boolean,
): PurgeWorker {
  const batches = (retention: Retention, shouldContinue: () => boolean) => (rows: AgedRows) =>
    purgeRows({ rows, clock, pause: async (ms) => sleep(ms) })({
      retention,
      dryRun: false,
      shouldContinue: () => shouldContinue() && !draining(),
    });
  const usual = { schedule: inUtc, now: () => new Date(), log };
  const ofLogs = purgeWorker({
    ...usual,
    what: 'request logs',
    settings: () => config.loaded().config.requestLogging.purge,
    purge: (retention, shouldContinue) =>
      distribution === 'citus'
        ? purgeShardsUnderLock(url, batches(retention, shouldContinue))
        : purgeUnderLock(url, batches(retention, shouldContinue)),
  });
  const ofInvocations = purgeWorker({
    ...usual,
    what: 'records of MCP tool calls',
    settings: () => {
      const { retention } = config.loaded().config.mcpLogging;
      return {
        enabled: retention !== undefined,
        retention: retention ?? '90d',
        schedule: invocationSchedule,
      };
    },
    purge: (retention, shouldContinue) =>
      purgeUnderLock(url, batches(retention, shouldContinue), invocationRecords),
  });
  return {
    follow: () => {
      ofLogs.follow();
      ofInvocations.follow();
    },
    stop: async () => {
      await Promise.all([ofLogs.stop(), ofInvocations.stop()]);
    },
  };
}
