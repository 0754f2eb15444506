import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import * as E from 'fp-ts/lib/Either.js';
import { sql } from 'slonik';
import { purgeRequestLogs } from './application/retention/purge-request-logs.ts';
import { buildContainer, tokens } from './container.ts';
import type { Database } from './database.ts';
import type { LiveConfig } from './infrastructure/config/live-config.ts';
import type { ConfigProblem } from './infrastructure/config/problem.ts';
import { seedOf } from './infrastructure/config/seed.ts';
import { type Log, nameOf } from './infrastructure/logging.ts';
import type { Journal } from './infrastructure/journal/journal.ts';
import { pendingMigrations } from './infrastructure/postgres/migrate.ts';
import type { PayloadStore } from './infrastructure/postgres/payload-store.ts';
import { openPool } from './infrastructure/postgres/pool.ts';
import { purgeAlone } from './infrastructure/postgres/purge-store.ts';
import { inUtc, purgeWorker } from './infrastructure/purge-worker.ts';
import { repeating } from './infrastructure/repeating.ts';
import { sharedAnswer } from './infrastructure/shared-answer.ts';
import { openTelemetry } from './infrastructure/telemetry/open.ts';
import type { ProcessParts } from './infrastructure/telemetry/process-metrics.ts';
import { listen, stopListening, urlOf } from './interfaces/http/listener.ts';
import { malformedRequests } from './interfaces/http/malformed-request.ts';

/** Request headers up to 32 KiB (CONTRACT §3). */
const maxHeaderBytes = 32 * 1024;
/** A caller may take this long to send its headers, and as long to send its body. */
const headersTimeoutMs = 60_000;
const bodyTimeoutMs = 300_000;
/** Longer than the idle time-outs of common load balancers (60 s), so that they close first. */
const keepAliveMs = 75_000;
/** After the grace: time for what was cut off to be settled and written. */
const settleGraceMs = 15_000;
/** How often a journal that is not empty is told of. */
const journalToldMs = 60_000;
/** How soon the journal is looked at again. */
const recoverySecs = 2;
/** The database must answer a readiness check in this time. */
const readyTimeoutMs = 2_000;
/** A readiness check is answered from one that is not older: whoever asks more often asks nobody else. */
const readyMaxAgeMs = 250;

export interface ServeOptions {
  readonly config: LiveConfig;
  readonly database: Database;
  readonly log: Log;
  /** This process reconciles the file into the database, at start and at each reload. */
  readonly seeds: boolean;
}

/** A serving process: from the first connection to the last written row. */
export interface Service {
  readonly url: string;
  /** Validates the file again, then swaps; a bad one is refused and the old state stays. */
  readonly reload: () => Promise<readonly ConfigProblem[]>;
  /** Readiness fails, no new connections, streams in flight get their grace, everything written. */
  readonly stop: () => Promise<void>;
}

export async function startService({ config, database, log, seeds }: ServeOptions): Promise<Service> {
  const { server: settings, database: databaseSettings } = config.loaded().config;
  const pool = await openPool(database.url, databaseSettings.maxConnections);
  let draining = false;
  const notReady = readiness(
    () => draining,
    () => pendingMigrations(database.url, database.migrations),
    () => pool.query(sql.unsafe`select 1`),
  );
  const exported = await openTelemetry(settings.otel, log);
  const { telemetry } = exported;
  const container = buildContainer({ config, pool, log, telemetry, notReady, draining: () => draining });
  exported.watch(watchedParts(container, pool, databaseSettings.maxConnections));
  const follower = container.get(tokens.follower);
  const gates = container.get(tokens.gates);
  const server = httpServer(container);
  const background = inTheBackground(container, config, log, () => draining);
  const purge = purgeOnSchedule(container, config, database.url, log, () => draining);
  const release = async (): Promise<void> => {
    await Promise.all([background.stop(), purge.stop()]);
    await container.get(tokens.payloads).close(settleGraceMs);
    await follower.stop();
    await container.get(tokens.catalogue).close();
    await exported.close();
    await pool.end();
  };
  try {
    await follower.start();
    await listen(server, settings.bind.host, settings.bind.port);
  } catch (error) {
    await release();
    throw error;
  }

  const reload = async (): Promise<readonly ConfigProblem[]> => {
    const read = await config.reload();
    if (E.isLeft(read)) return read.left;
    purge.follow();
    if (seeds) await reportSeed(log, await container.get(tokens.seed).reconcile(seedOf(read.right)));
    await follower.refresh();
    return [];
  };

  const stop = async (): Promise<void> => {
    if (draining) return;
    draining = true;
    log.info({ in_flight: gates.inFlight() }, 'draining');
    const closed = stopListening(server);
    await until(() => gates.inFlight() === 0, config.loaded().config.server.shutdownGraceSecs * 1000);
    server.closeAllConnections();
    await until(() => gates.inFlight() === 0, settleGraceMs);
    await closed;
    await release();
    log.info({}, 'stopped');
    await log.flush();
  };

  return { url: urlOf(server, settings.bind.host), reload, stop };
}

/** What is told of this process beside its requests. */
const watchedParts = (
  container: ReturnType<typeof buildContainer>,
  pool: Awaited<ReturnType<typeof openPool>>,
  max: number,
): ProcessParts => ({
  inFlight: container.get(tokens.gates).models.inFlight,
  queues: container.get(tokens.ledger).waiting,
  journal: container.get(tokens.journal),
  payloads: container.get(tokens.payloads).counts,
  connections: () => {
    const { acquiredConnections, idleConnections, waitingClients } = pool.state();
    return { used: acquiredConnections, idle: idleConnections, waiting: waitingClients, max };
  },
});

/** What every replica does beside serving: mails that wait, records that wait. */
function inTheBackground(
  container: ReturnType<typeof buildContainer>,
  config: LiveConfig,
  log: Log,
  draining: () => boolean,
) {
  const dispatch = container.get(tokens.alertDispatch);
  const alerts = repeating(
    () => config.loaded().config.budgetAlerts.pollIntervalSecs,
    async (goOn) => {
      const { mail, budgetAlerts } = config.loaded().config;
      // Without mail the others' mails are left to them, but one whose dispatcher died is noticed all the same.
      await dispatch(mail === undefined ? 0 : budgetAlerts.batchSize, () => goOn() && !draining());
    },
    (error) => log.error({ error: nameOf(error) }, 'budget alerts could not be dispatched'),
  );
  const recover = container.get(tokens.recovery);
  const journalWatch = watchJournal(container.get(tokens.journal), log);
  const payloadWatch = watchPayloads(container.get(tokens.payloads), log);
  const watched = (): void => {
    journalWatch();
    payloadWatch();
  };
  const recovery = repeating(
    () => recoverySecs,
    (goOn) => recover(goOn).finally(watched),
    (error) => log.error({ error: nameOf(error) }, 'the journal could not be settled'),
  );
  return {
    stop: async (): Promise<void> => {
      await Promise.all([alerts.stop(), recovery.stop()]);
      await lastRecovery(container, log);
    },
  };
}

const purgeOnSchedule = (
  container: ReturnType<typeof buildContainer>,
  config: LiveConfig,
  url: string,
  log: Log,
  draining: () => boolean,
) =>
  purgeWorker({
    settings: () => config.loaded().config.requestLogging.purge,
    purge: (retention, goOn) =>
      purgeAlone(url, (logs) =>
        purgeRequestLogs({ logs, clock: container.get(tokens.clock), pause: async (ms) => sleep(ms) })({
          retention,
          dryRun: false,
          goOn: () => goOn() && !draining(),
        }),
      ),
    schedule: inUtc,
    now: () => new Date(),
    log,
  });

/** Says that records wait, and how much of the journal they fill, now and then for as long as they do. */
function watchJournal(journal: Pick<Journal, 'size' | 'maxBytes'>, log: Log): () => void {
  let toldAt = 0;
  return () => {
    const bytes = journal.size();
    if (bytes === 0 || Date.now() - toldAt < journalToldMs) return;
    toldAt = Date.now();
    log.warn({ bytes, max_bytes: journal.maxBytes }, 'records wait in the journal');
  };
}

/** Says that payload bodies were shed, now and then for as long as more are. */
function watchPayloads({ counts }: Pick<PayloadStore, 'counts'>, log: Log): () => void {
  let told = 0;
  let toldAt = 0;
  return () => {
    const { shed, queuedBytes } = counts();
    if (shed === told || Date.now() - toldAt < journalToldMs) return;
    log.warn({ shed: shed - told, queued_bytes: queuedBytes }, 'payload bodies were not kept');
    told = shed;
    toldAt = Date.now();
  };
}

/** What came into the journal at the very end need not wait for the next start, if the database is there. */
async function lastRecovery(container: ReturnType<typeof buildContainer>, log: Log): Promise<void> {
  const journal = container.get(tokens.journal);
  const deadline = Date.now() + settleGraceMs;
  try {
    if (journal.size() > 0) await container.get(tokens.recovery)(() => Date.now() < deadline);
    await journal.close();
  } catch (error) {
    log.error({ error: nameOf(error) }, 'the journal could not be settled');
  }
  if (journal.size() > 0) log.warn({ bytes: journal.size() }, 'the journal is settled at the next start');
}

function httpServer(container: ReturnType<typeof buildContainer>): Server {
  const handle = container.get(tokens.app).callback();
  const malformed = malformedRequests(container.get(tokens.clock).newId);
  const answer = (req: IncomingMessage, res: ServerResponse): void => {
    malformed.answering(req, res);
    void handle(req, res);
  };
  const server = createServer(
    {
      maxHeaderSize: maxHeaderBytes,
      headersTimeout: headersTimeoutMs,
      requestTimeout: bodyTimeoutMs,
      keepAliveTimeout: keepAliveMs,
      // Told in the gateway's own words.
      requireHostHeader: false,
    },
    answer,
  );
  // An expectation that nobody knows is none (RFC 9110, 10.1.1 leaves it open).
  return server.on('checkExpectation', answer).on('clientError', malformed.refuse);
}

export async function reportSeed(log: Log, { keptRevoked }: { readonly keptRevoked: readonly string[] }) {
  for (const name of keptRevoked)
    log.warn({ key: name }, 'a key of the file stays revoked, because an admin revoked it');
}

function readiness(
  draining: () => boolean,
  pending: () => Promise<readonly string[]>,
  ask: () => Promise<unknown>,
): () => Promise<string | undefined> {
  let migrated = false;
  const check = async (): Promise<string | undefined> => {
    try {
      await ask();
      migrated ||= (await pending()).length === 0;
      return migrated ? undefined : 'migrations are pending';
    } catch (error) {
      return `the database cannot be asked (${nameOf(error)})`;
    }
  };
  const checked = sharedAnswer(readyMaxAgeMs, () =>
    Promise.race([check(), sleep(readyTimeoutMs, 'the database does not answer', { ref: false })]),
  );
  return async () => (draining() ? 'draining' : checked());
}

async function until(done: () => boolean, withinMs: number): Promise<void> {
  const deadline = Date.now() + withinMs;
  while (!done() && Date.now() < deadline) await sleep(20);
}
