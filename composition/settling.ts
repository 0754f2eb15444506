import type { DatabasePool } from 'slonik';
import { redactedError } from '../domain/payload/redact.ts';
import { boundedMessage } from '../domain/upstream/upstream-fault.ts';
import type { LiveConfig } from '../infrastructure/config/live-config.ts';
import { type Journal, journalFolder, localJournal } from '../infrastructure/journal/journal.ts';
import {
  causeOf,
  databaseFaultLog,
  defectFields,
  failuresOf,
  type Log,
  logThrottled,
  statementErrorLog,
} from '../infrastructure/logging.ts';
import { type Cluster, clusterProcess, openCluster } from '../infrastructure/postgres/citus/cluster.ts';
import {
  beatSecs,
  type GatewayProcess,
  gatewayProcess,
  type WriteTrouble,
} from '../infrastructure/postgres/gateway-process.ts';
import { placeOfScope } from '../infrastructure/postgres/citus/sharded-ledger.ts';
import { type LedgerPlaces, oneDatabase } from '../infrastructure/postgres/ledger-place.ts';
import type { KeyUse } from '../infrastructure/postgres/key-use.ts';
import type { ServicePool } from '../infrastructure/postgres/pool.ts';
import { type Repeating, repeating } from '../infrastructure/repeating.ts';

/** A request lasts at most as long as its upstream may take; its claim outlives it by this much. */
const claimMarginSecs = 120;

/**
 * How often the days on which keys were used are written: seconds behind the requests, in one statement for all keys.
 */
const keyUseSecs = 5;

/** The message of a defect may quote a secret of a caller or of the configuration. */
export const cleaned = (config: LiveConfig) => (message: string) =>
  boundedMessage(redactedError(message, config.policy().redaction));

/** The journal for settlements that the database could not take. */
export function journalOf(config: LiveConfig, log: Log): Journal {
  const report = logThrottled(log, 'the journal could not be written');
  return localJournal({
    directory: journalFolder(config.loaded().config.dataDir),
    onFault: (error) => report({ error: causeOf(error) }),
    onRecovered: ({ kept, ...counts }) =>
      kept === undefined
        ? log.warn(counts, 'journal settled')
        : log.error({ ...counts, file: kept }, 'records of the journal could not be settled, and are kept'),
  });
}

/** This process as the database knows it. The log says when rows cannot be written, and when they can be again. */
export const processOf = (pool: DatabasePool, cluster: Cluster | undefined, log: Log): GatewayProcess =>
  cluster === undefined
    ? gatewayProcess(pool, { onWriting: (trouble) => tellWriting(log, trouble) })
    : clusterProcess(cluster, (node, error) =>
        log.error(
          { node, error: causeOf(error) },
          'the heartbeat of this process could not be written to a node of the database',
        ),
      );

/** The nodes of a Citus cluster, each with connections of its own. */
export const clusterOf = (
  pool: ServicePool,
  url: string,
  maxConnections: number,
  log: Log,
): Promise<Cluster> =>
  openCluster(pool, url, {
    maxConnections,
    onWriting: (node, trouble) => tellWriting(log, trouble, { node }),
  });

/** Where the rows of each owner are. */
export const placesOf = (pool: ServicePool, cluster: Cluster | undefined): LedgerPlaces =>
  cluster === undefined ? oneDatabase(pool) : placeOfScope(cluster);

const tellWriting = (log: Log, trouble: WriteTrouble | undefined, where: object = {}): void =>
  trouble === undefined
    ? log.info(where, 'the database accepts writes again')
    : log.error(
        { ...where, cause: trouble },
        'the database accepts no writes: owners with a hard limit are refused',
      );

/** The options of settlement, both right after a request and from the journal. */
export const settlingOptions = (config: LiveConfig, log: Log) => ({
  closeOnBlock: () => config.loaded().config.accounting.afterBlock === 'close_window',
  mailReady: mailReady(config),
  onFault: databaseFaultLog(log),
});

/** How queues that are written behind the answers report failures, since no request waits for them. */
export const writeBehind = (config: LiveConfig, log: Log) => ({
  onFault: statementErrorLog(log),
  onDefect: (error: unknown) => log.error(defectFields(error, cleaned(config)), 'defect'),
});

export const mailReady = (config: LiveConfig) => (): boolean => config.loaded().config.mail !== undefined;

/** How long a request id stays claimed. */
export const claimSeconds = (config: LiveConfig): number => {
  const totals = config.loaded().config.providers.map(({ timeouts }) => timeouts.totalMs);
  return Math.ceil(Math.max(0, ...totals) / 1000) + claimMarginSecs;
};

/** Reports once a second that this process is alive. */
export function heartbeat({ beat }: Pick<GatewayProcess, 'beat'>, log: Log): Repeating {
  const { failed, worked } = failuresOf(
    log,
    'the heartbeat of this process could not be written to the database',
  );
  return repeating(
    () => beatSecs,
    () => beat().then(worked),
    failed,
  );
}

/** Writes the days on which keys were used; at shutdown, those that are left too. */
export function keyDays({ write }: Pick<KeyUse, 'write'>, log: Log): Repeating {
  const { failed, worked } = failuresOf(log, 'the days on which keys were used could not be written');
  const days = repeating(
    () => keyUseSecs,
    () => write().then(worked),
    failed,
  );
  return { stop: () => days.stop().then(write).catch(failed) };
}
