import type { LiveConfig } from './infrastructure/config/live-config.ts';
import { type Journal, journalFolder, localJournal } from './infrastructure/journal/journal.ts';
import { databaseFaultLog, type Log, nameOf } from './infrastructure/logging.ts';

/** A request lasts as long as its upstream may; a claim outlives it by this much. */
const claimMarginSecs = 120;

/** Where settlements wait that the database could not take. */
export const journalOf = ({ config, log }: { readonly config: LiveConfig; readonly log: Log }): Journal =>
  localJournal({
    directory: journalFolder(config.loaded().config.dataDir),
    onFault: (error) => log.error({ error: nameOf(error) }, 'the journal could not be written'),
    onRecovered: ({ kept, ...counts }) =>
      kept === undefined
        ? log.warn(counts, 'journal settled')
        : log.error({ ...counts, file: kept }, 'records of the journal could not be settled, and are kept'),
  });

/** What settlement needs to know, at once or out of the journal. */
export const settlingOptions = (config: LiveConfig, log: Log) => ({
  closeOnBlock: () => config.loaded().config.accounting.afterBlock === 'close_window',
  mailReady: mailReady(config),
  onFault: databaseFaultLog(log),
});

export const mailReady = (config: LiveConfig) => (): boolean => config.loaded().config.mail !== undefined;

/** How long a request id stays claimed. */
export const claimSeconds = (config: LiveConfig): number => {
  const totals = config.loaded().config.providers.map(({ timeouts }) => timeouts.totalMs);
  return Math.ceil(Math.max(0, ...totals) / 1000) + claimMarginSecs;
};
