import type { LiveConfig } from '../infrastructure/config/live-config.ts';
import type { Journal } from '../infrastructure/journal/journal.ts';
import { causeOf, failuresOf, type Log } from '../infrastructure/logging.ts';
import { beatSecs, type GatewayProcess } from '../infrastructure/postgres/gateway-process.ts';
import type { KeyUse } from '../infrastructure/postgres/key-use.ts';
import type { PayloadStore } from '../infrastructure/postgres/payload-store.ts';
import { type Repeating, repeating } from '../infrastructure/repeating.ts';
import type { BudgetAlerting } from './budget-alerting.ts';
import { atMostEach } from './listeners.ts';
import type { ServiceParts } from './parts.ts';

/** How often shed payloads, and a journal that is not empty, are reported. */
const journalReportMs = 60_000;

/** How often the journal is checked for records to settle. */
const recoverySecs = 2;

/**
 * How often the days on which keys were used are written: seconds behind the requests, in one statement for all keys.
 */
const keyUseSecs = 5;

/** Background work of every replica: alert mails, the journal, its heartbeat and the days on which keys were used. */
export function inTheBackground(parts: ServiceParts, config: LiveConfig, log: Log, draining: () => boolean) {
  const recovering = recoveries(parts, log);
  const others = [
    alertRounds(parts.alerting, config, log, draining),
    heartbeat(parts.process, log),
    keyDays(parts.keyUse, log),
  ];
  return {
    stop: async (withinMs: number): Promise<void> => {
      const deadline = performance.now() + withinMs;
      // The journal waits for none of the others: a mail to a silent server takes longer than a shutdown (rule 38.17).
      const settled = recovering
        .stop()
        .then(() => lastRecovery(parts, log, () => performance.now() < deadline));
      await Promise.all([settled, ...others.map((each) => each.stop())]);
    },
  };
}

function alertRounds(
  { dispatch }: BudgetAlerting,
  config: LiveConfig,
  log: Log,
  draining: () => boolean,
): Repeating {
  const { failed, worked } = failuresOf(log, 'budget alerts could not be dispatched');
  return repeating(
    () => config.loaded().config.budgetAlerts.pollIntervalSecs,
    async (shouldContinue) => {
      const { mail, budgetAlerts } = config.loaded().config;
      // Without mail, pending mails are left to other replicas, but one whose dispatcher died is still noticed.
      await dispatch(mail === undefined ? 0 : budgetAlerts.batchSize, () => shouldContinue() && !draining());
      worked();
    },
    failed,
  );
}

/** Settles what waits in the journal, and reports what waits or was shed. */
function recoveries({ journal, payloads, recovery }: ServiceParts, log: Log): Repeating {
  const { failed, worked } = failuresOf(log, 'the journal could not be settled');
  const watches = [watchJournal(journal, log), watchPayloads(payloads, log)];
  const watched = (): void => watches.forEach((watch) => watch());
  return repeating(
    () => recoverySecs,
    (shouldContinue) => recovery(shouldContinue).then(worked).finally(watched),
    failed,
  );
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

/** Reports once a second that this process is alive. */
function heartbeat({ beat }: Pick<GatewayProcess, 'beat'>, log: Log): Repeating {
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
function keyDays({ write }: Pick<KeyUse, 'write'>, log: Log): Repeating {
  const { failed, worked } = failuresOf(log, 'the days on which keys were used could not be written');
  const days = repeating(
    () => keyUseSecs,
    () => write().then(worked),
    failed,
  );
  return { stop: () => days.stop().then(write).catch(failed) };
}
