import { redactedError } from '../domain/payload/redact.ts';
import { boundedMessage } from '../domain/upstream/upstream-fault.ts';
import type { LiveConfig } from '../infrastructure/config/live-config.ts';
import { defectFields, type Log, statementErrorLog } from '../infrastructure/logging.ts';

/** The message of a defect may quote a secret of a caller or of the configuration. */
export const cleaned = (config: LiveConfig) => (message: string) =>
  boundedMessage(redactedError(message, config.policy().redaction));

/** How queues that are written behind the answers report failures, since no request waits for them. */
export const writeBehind = (config: LiveConfig, log: Log) => ({
  onFault: statementErrorLog(log),
  onDefect: (error: unknown) => log.error(defectFields(error, cleaned(config)), 'defect'),
});
