import { type ServiceParts, serviceParts } from './parts.ts';
import { type Database, migrationsFolder } from './database.ts';
import { shutDown, shutdownSteps, within } from './shutdown.ts';
import { collectStartupGarbage } from '../infrastructure/collect-startup-garbage.ts';
import type { DatabaseConfig } from '../infrastructure/config/database-config.ts';
import type { LiveConfig } from '../infrastructure/config/live-config.ts';
import type { ConfigProblem } from '../infrastructure/config/problem.ts';
import { causeOf, failuresOf, type Log } from '../infrastructure/logging.ts';
import type { Journal } from '../infrastructure/journal/journal.ts';
import { partitionsAhead } from '../infrastructure/partitions-ahead.ts';
import type { Foundations } from './container.ts';
import { refuseUnfitRole } from '../infrastructure/postgres/gateway-process.ts';
import { makeLogPartitions } from '../infrastructure/postgres/log-partitions.ts';
import { pendingMigrations } from '../infrastructure/postgres/migrate.ts';
import type { PayloadStore } from '../infrastructure/postgres/payload-store.ts';
import { openPool, refuseOtherSettings } from '../infrastructure/postgres/pool.ts';
import { openReadReplica, type ReadReplica } from '../infrastructure/postgres/read-replica.ts';
import { repeating } from '../infrastructure/repeating.ts';
import { openTelemetry } from '../infrastructure/telemetry/open.ts';
import type { ProcessSources } from '../infrastructure/telemetry/process-metrics.ts';
import { atMostEach, type Listeners, openListeners } from './listeners.ts';
import { purgeOnSchedule } from './purges.ts';
import { readiness } from './readiness.ts';
import { reloading } from './reload.ts';
import { clusterOf, heartbeat, keyDays } from './settling.ts';

/** How long shutdown waits for a connection that does not answer any more. */
const closeMs = 1000;
/** How often shed payloads, and a journal that is not empty, are reported. */
const journalReportMs = 60_000;
/** How often the journal is checked for records to settle. */
const recoverySecs = 2;
export interface ServeOptions {
  readonly config: LiveConfig;
  readonly database: Database;
  readonly log: Log;
  /** This process reconciles the file into the database at each reload. */
  readonly seeds: boolean;
  /** A reload may end most of what is there. */
  readonly allowShrink?: boolean;
  /** No other process shares the port, so connections need not come through a supervisor. */
  readonly alone?: boolean;
}

/** A serving process, from the first connection to the last written row. */
export interface Service {
  readonly url: string;
  /** Where the admin API and its page are: at `url`, or on a listener of their own. */
  readonly adminUrl: string;
  /** Validates the file again, then swaps; a bad one is refused and the old state stays. */
  readonly reload: () => Promise<readonly ConfigProblem[]>;
  /**
   * Fails readiness, accepts no new connections, gives streams in flight their grace (none once `forced` resolves) and
   * writes everything. Resolves with the number of requests that could not be settled.
   */
  readonly stop: (forced?: Promise<void>) => Promise<number>;
}

export async function startService(options: ServeOptions): Promise<Service> {
  const { config, database, log, seeds, allowShrink = false, alone = true } = options;
  const { server: settings, database: databaseSettings } = config.loaded().config;
  const connections = await connect(database, databaseSettings, log);
  const { pool } = connections;
  let draining = false;
  const notReady = readiness(
    () => draining,
    () => pendingMigrations(database.url, migrationsFolder, database.distribution),
    () => parts.process.check(),
  );
  const exported = await openTelemetry(settings.otel, log);
  const { telemetry, mcp: mcpTelemetry } = exported;
  const isDraining = (): boolean => draining;
  const given = { config, ...connections, log, telemetry, mcpTelemetry, notReady };
  const parts = serviceParts(given);
  exported.watch(watchedParts(parts, pool, databaseSettings.maxConnections));
  const { follower, gates } = parts;
  const background = inTheBackground(parts, config, log, isDraining);
  const partitions = partitionsAhead(partitionsOf(connections, config), log);
  const purge = purgeOnSchedule(parts.clock, config, database, log, isDraining);
  const release = releasing({ parts, background, purge, partitions, exported, connections });
  const start = async (): Promise<Listeners> => {
    await refuseOtherSettings(pool);
    await refuseUnfitRole(pool);
    await follower.start();
    await partitions.make();
    collectStartupGarbage();
    return openListeners(parts, config, log, alone);
  };
  const listeners = await start().catch(async (error: unknown) => {
    await release(shutdownSteps.releasedMs);
    throw error;
  });

  const reload = reloading({
    config,
    log,
    reconcileInto: seeds ? database.url : undefined,
    allowShrink,
    takenUp: async () => {
      purge.follow();
      await listeners.renew();
      await follower.refresh();
    },
  });

  const stop = async (forced: Promise<void> = new Promise(() => undefined)): Promise<number> => {
    if (draining) return gates.inFlight();
    draining = true;
    log.info({ in_flight: gates.inFlight() }, 'draining');
    return end({ parts, log }, listeners, config.loaded().config.server.shutdownGraceSecs, forced, release);
  };

  return { url: listeners.url, adminUrl: listeners.adminUrl, reload, stop };
}

interface Held {
  readonly parts: ServiceParts;
  readonly background: ReturnType<typeof inTheBackground>;
  readonly purge: ReturnType<typeof purgeOnSchedule>;
  readonly partitions: ReturnType<typeof partitionsAhead>;
  readonly exported: Awaited<ReturnType<typeof openTelemetry>>;
  readonly connections: Connections;
}

/** Releases everything that a process holds, in order. */
const releasing =
  ({ parts, background, purge, partitions, exported, connections }: Held) =>
  async (withinMs: number): Promise<void> => {
    const half = withinMs / 2;
    await Promise.all([
      within(half, Promise.all([background.stop(half), purge.stop(), partitions.stop()])),
      parts.payloads.close(half),
      parts.mcp.close(half),
    ]);
    await parts.largeBodies.close();
    await Promise.all([within(closeMs, parts.follower.stop()), within(half, exported.close())]);
    await parts.catalogue.close();
    const { pool, replica, cluster } = connections;
    await within(closeMs, Promise.all([pool.end(), replica?.pool.end(), cluster?.end()]));
  };

/** The database connections of a process. */
type Connections = Pick<Foundations, 'pool' | 'replica' | 'cluster'>;

async function connect(database: Database, settings: DatabaseConfig, log: Log): Promise<Connections> {
  const pool = await openPool(database.url, settings.maxConnections);
  const replica = await replicaOf(settings);
  if (database.distribution === 'none') return { pool, replica, cluster: undefined };
  const cluster = await clusterOf(pool, database.url, settings.maxConnections, log).catch(
    async (error: unknown) => {
      await pool.end();
      throw error;
    },
  );
  return { pool, replica, cluster };
}

/** On Citus the log is split into one table per shard, and is not partitioned by time as well. */
const partitionsOf =
  ({ pool, cluster }: Connections, config: LiveConfig) =>
  async (): Promise<void> => {
    if (cluster === undefined)
      await makeLogPartitions(pool, config.loaded().config.requestLogging.purge.enabled);
  };

/** Pools connect on first use, so an unreachable replica does not prevent startup. */
const replicaOf = async (settings: DatabaseConfig): Promise<ReadReplica | undefined> =>
  settings.kind === 'embedded' || settings.readUrl === undefined
    ? undefined
    : openReadReplica(settings.readUrl, settings.maxConnections);

async function end(
  { parts, log }: { readonly parts: ServiceParts; readonly log: Log },
  listeners: Listeners,
  graceSecs: number,
  forced: Promise<void>,
  release: (withinMs: number) => Promise<void>,
): Promise<number> {
  const closed = listeners.stop();
  const unsettled = await shutDown({
    inFlight: parts.gates.inFlight,
    graceMs: graceSecs * 1000,
    forced,
    announceShutdown: () => parts.cutOff.now(),
    cut: listeners.cut,
    endUpstreams: parts.upstream.endAll,
    cancelWaits: parts.ledger.cancelWaits,
    release: (withinMs) => closed.then(() => release(withinMs)),
  });
  if (unsettled > 0) log.error({ in_flight: unsettled }, 'requests could not be settled before shutdown');
  log.info({}, 'stopped');
  return unsettled;
}

/** What is exported of this process in addition to its requests. */
const watchedParts = (
  parts: ServiceParts,
  pool: Awaited<ReturnType<typeof openPool>>,
  max: number,
): ProcessSources => ({
  inFlight: parts.gates.models.inFlight,
  queues: parts.ledger.waiting,
  journal: parts.journal,
  payloads: parts.payloads.counts,
  invocations: parts.mcp.counts,
  alertMails: parts.alerting.counts,
  connections: () => ({ ...pool.connections.counts(), max }),
});

/** Background work of every replica: alert mails, the journal, its heartbeat and the days on which keys were used. */
function inTheBackground(parts: ServiceParts, config: LiveConfig, log: Log, draining: () => boolean) {
  const { dispatch } = parts.alerting;
  const dispatching = failuresOf(log, 'budget alerts could not be dispatched');
  const alerts = repeating(
    () => config.loaded().config.budgetAlerts.pollIntervalSecs,
    async (shouldContinue) => {
      const { mail, budgetAlerts } = config.loaded().config;
      // Without mail, pending mails are left to other replicas, but one whose dispatcher died is still noticed.
      await dispatch(mail === undefined ? 0 : budgetAlerts.batchSize, () => shouldContinue() && !draining());
      dispatching.worked();
    },
    dispatching.failed,
  );
  const journalWatch = watchJournal(parts.journal, log);
  const payloadWatch = watchPayloads(parts.payloads, log);
  const watched = (): void => {
    journalWatch();
    payloadWatch();
  };
  const { failed, worked } = failuresOf(log, 'the journal could not be settled');
  const recovery = repeating(
    () => recoverySecs,
    (shouldContinue) => parts.recovery(shouldContinue).then(worked).finally(watched),
    failed,
  );
  const beats = heartbeat(parts.process, log);
  const days = keyDays(parts.keyUse, log);
  return {
    stop: async (withinMs: number): Promise<void> => {
      const deadline = performance.now() + withinMs;
      await Promise.all([alerts.stop(), recovery.stop(), beats.stop(), days.stop()]);
      await lastRecovery(parts, log, () => performance.now() < deadline);
    },
  };
}

/** Warns that records wait, and how much of the journal they fill, at intervals for as long as they do. */
function watchJournal(journal: Pick<Journal, 'size' | 'maxBytes'>, log: Log): () => void {
  const report = atMostEach(journalReportMs, () =>
    log.warn({ bytes: journal.size(), max_bytes: journal.maxBytes }, 'records wait in the journal'),
  );
  return () => {
    if (journal.size() > 0) report();
  };
}

/** Warns that payload bodies were shed, at intervals for as long as more are. */
function watchPayloads({ counts }: Pick<PayloadStore, 'counts'>, log: Log): () => void {
  let reported = 0;
  const report = atMostEach(journalReportMs, () => {
    const { shed, queuedBytes } = counts();
    log.warn({ shed: shed - reported, queued_bytes: queuedBytes }, 'payload bodies were not kept');
    reported = shed;
  });
  return () => {
    if (counts().shed !== reported) report();
  };
}

/** Records that reached the journal during shutdown need not wait for the next start, if the database is there. */
async function lastRecovery(parts: ServiceParts, log: Log, shouldContinue: () => boolean): Promise<void> {
  const { journal } = parts;
  try {
    if (journal.size() > 0) await parts.recovery(shouldContinue);
    await journal.close();
  } catch (error) {
    log.error({ error: causeOf(error) }, 'the journal could not be settled');
  }
  if (journal.size() > 0)
    log.warn({ bytes: journal.size() }, 'the journal will be settled at the next start');
}
