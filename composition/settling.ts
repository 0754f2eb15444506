import type { LiveConfig } from '../infrastructure/config/live-config.ts';
import { type Journal, journalFolder, localJournal } from '../infrastructure/journal/journal.ts';
import { causeOf, databaseFaultLog, type Log, logThrottled } from '../infrastructure/logging.ts';
import { mailReady } from './budget-alerting.ts';

/** A request lasts at most as long as its upstream may take; its claim outlives it by this much. */
const claimMarginSecs = 120;

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

/** The options of settlement, both right after a request and from the journal. */
export const settlingOptions = (config: LiveConfig, log: Log) => ({
  closeOnBlock: () => config.loaded().config.accounting.afterBlock === 'close_window',
  mailReady: mailReady(config),
  onFault: databaseFaultLog(log),
});

/** How long a request id stays claimed. */
export const claimSeconds = (config: LiveConfig): number => {
  const totals = config.loaded().config.providers.map(({ timeouts }) => timeouts.totalMs);
  return Math.ceil(Math.max(0, ...totals) / 1000) + claimMarginSecs;
};
