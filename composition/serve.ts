import { inTheBackground } from './background.ts';
import { type DatabasePools, openPools } from './database-pools.ts';
import { type Database, migrationsFolder } from './database.ts';
import { type ServiceParts, serviceParts } from './parts.ts';
import { shutDown, shutdownSteps, within } from './shutdown.ts';
import { collectStartupGarbage } from '../infrastructure/collect-startup-garbage.ts';
import type { LiveConfig } from '../infrastructure/config/live-config.ts';
import type { ConfigProblem } from '../infrastructure/config/problem.ts';
import type { Log } from '../infrastructure/logging.ts';
import { partitionsAhead } from '../infrastructure/partitions-ahead.ts';
import { refuseUnfitRole } from '../infrastructure/postgres/gateway-process.ts';
import { makeLogPartitions } from '../infrastructure/postgres/log-partitions.ts';
import { pendingMigrations } from '../infrastructure/postgres/migrate.ts';
import { refuseOtherSettings, type ServicePool } from '../infrastructure/postgres/pool.ts';
import { openTelemetry } from '../infrastructure/telemetry/open.ts';
import type { ProcessSources } from '../infrastructure/telemetry/process-metrics.ts';
import { type Listeners, openListeners } from './listeners.ts';
import { purgeOnSchedule } from './purges.ts';
import { readiness } from './readiness.ts';
import { reloading } from './reload.ts';

/** How long shutdown waits for a connection that does not answer any more. */
const closeMs = 1000;

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
  const pools = await openPools(database, databaseSettings, log);
  const { pool } = pools;
  let draining = false;
  const notReady = readiness(
    () => draining,
    () => pendingMigrations(database.url, migrationsFolder, database.distribution),
    () => parts.process.check(),
  );
  const exported = await openTelemetry(settings.otel, log);
  const { telemetry, mcp: mcpTelemetry } = exported;
  const isDraining = (): boolean => draining;
  const given = { config, ...pools, log, telemetry, mcpTelemetry, notReady };
  const parts = serviceParts(given);
  exported.watch(watchedParts(parts, pool, databaseSettings.maxConnections));
  const { follower, gates } = parts;
  const background = inTheBackground(parts, config, log, isDraining);
  const partitions = partitionsAhead(partitionsOf(pools, config), log);
  const purge = purgeOnSchedule(parts.clock, config, database, log, isDraining);
  const release = releasing({ parts, background, purge, partitions, exported, pools });
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
  readonly pools: DatabasePools;
}

/** Releases everything that a process holds, in order. */
const releasing =
  ({ parts, background, purge, partitions, exported, pools }: Held) =>
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
    const { pool, replica, cluster } = pools;
    await within(closeMs, Promise.all([pool.end(), replica?.pool.end(), cluster?.end()]));
  };

/** On Citus the log is split into one table per shard, and is not partitioned by time as well. */
const partitionsOf =
  ({ pool, cluster }: DatabasePools, config: LiveConfig) =>
  async (): Promise<void> => {
    if (cluster === undefined)
      await makeLogPartitions(pool, config.loaded().config.requestLogging.purge.enabled);
  };

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
const watchedParts = (parts: ServiceParts, pool: ServicePool, max: number): ProcessSources => ({
  inFlight: parts.gates.models.inFlight,
  queues: parts.ledger.waiting,
  journal: parts.journal,
  payloads: parts.payloads.counts,
  invocations: parts.mcp.counts,
  alertMails: parts.alerting.counts,
  connections: () => ({ ...pool.connections.counts(), max }),
});
