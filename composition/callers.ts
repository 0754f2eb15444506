import type { Accounts } from '../application/ports/accounts.ts';
import type { LiveConfig } from '../infrastructure/config/live-config.ts';
import { keyRefusedLog, type Log } from '../infrastructure/logging.ts';
import { authenticate } from '../interfaces/http/authenticate.ts';
import { addressOf } from '../interfaces/http/request-context.ts';
import { cleaned } from './fault-reports.ts';

/** Callers by their keys; the log says which invalid keys are in use, and from where. */
export function callerAuthentication(accounts: Accounts, config: LiveConfig, log: Log) {
  const logRefused = keyRefusedLog(log, cleaned(config));
  return authenticate(accounts, ({ publicId }, req) =>
    logRefused(publicId, addressOf(req, config.loaded().config.server.trustedProxies)),
  );
}
