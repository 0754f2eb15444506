import { environment } from '../infrastructure/config/environment.ts';
import { processVariables } from '../infrastructure/config/process-variables.ts';
import { importPrices } from '../infrastructure/pricing/import.ts';
import { formatOverrides } from '../infrastructure/pricing/overrides.ts';
import { releaseVersion } from '../infrastructure/release-version.ts';
import { untilStopped } from '../infrastructure/stop-requests.ts';
import { adminCommand } from '../interfaces/cli/admin.ts';
import { checkConfigCommand } from '../interfaces/cli/check-config.ts';
import { flags, terminal } from '../interfaces/cli/command.ts';
import { exportCommand } from '../interfaces/cli/export.ts';
import { keysCommand } from '../interfaces/cli/keys.ts';
import { ledgerCommand } from '../interfaces/cli/ledger.ts';
import { pricingCommand } from '../interfaces/cli/pricing.ts';
import { purgeCommand } from '../interfaces/cli/purge.ts';
import type { CommandName } from '../interfaces/cli/usage.ts';
import { processControl } from './process-control.ts';

/** Runs with the arguments that follow its name, and resolves with the exit code. */
export type Command = (args: readonly string[]) => Promise<number>;

const ownEnvironment = () => environment(processVariables());

/** Loads the database operations. */
const onDatabase = () => import('./database-commands.ts');

/**
 * What each name after `gateway` does. The modules that serve, open the database or know the providers are loaded on
 * demand: the other commands start in less than half the time, and wrong usage is rejected at once.
 */
export const commands: Readonly<Record<CommandName, Command>> = {
  quickstart: async (args) => {
    const { quickstartCommand } = await import('./quickstart.ts');
    return quickstartCommand(processControl(), args, terminal);
  },
  serve: async (args) => {
    const { configPath } = await import('./own-config.ts');
    const { serveCommand } = await import('./serve-command.ts');
    return serveCommand(processControl(), configPath, processVariables(), args, terminal);
  },
  migrate: async (args) => (await onDatabase()).migrateCommand(args),
  'check-config': (args) => {
    const defaultFile = ownEnvironment().configPath ?? 'gateway.yaml';
    return checkConfigCommand(
      async (file) => (await import('./check-config.ts')).checkConfig(file),
      defaultFile,
      terminal,
    )(args);
  },
  seed: async (args) => (await onDatabase()).seedCommand(args),
  keys: (args) => keysCommand(async (run) => (await onDatabase()).withKeys(run), terminal)(args),
  admin: (args) =>
    adminCommand(
      {
        createAdmin: async (credentials) => (await onDatabase()).makeAdmin(credentials),
        password: ownEnvironment().adminPassword,
        keyboard: process.stdin.isTTY ? process.stdin : undefined,
      },
      terminal,
    )(args),
  'purge-request-logs': (args) =>
    purgeCommand(async (wanted) => (await onDatabase()).purgeNow(wanted), terminal)(args),
  ledger: (args) => ledgerCommand(async () => (await onDatabase()).verifyOwnLedger(), terminal)(args),
  export: (args) =>
    exportCommand(async (call, report) => (await onDatabase()).exportOwnDays(call, report), terminal)(args),
  pricing: (args) => pricingCommand({ importPrices, formatOverrides, now: Date.now }, terminal)(args),
  'simulate-upstream': async (args) => {
    const { simulateUpstreamCommand } = await import('../interfaces/cli/simulate-upstream.ts');
    return simulateUpstreamCommand(terminal, untilStopped)(args);
  },
  '--version': async (args) => {
    flags(args, {});
    terminal.out(releaseVersion());
    return 0;
  },
};
