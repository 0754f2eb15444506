interface Usage {
  /** Every form of the call. */
  readonly calls: readonly string[];
  readonly does: string;
}

/** How to call each command. README lists the same calls and says more about each. */
export const usages = {
  quickstart: {
    calls: ['quickstart [--allow-shrink]'],
    does: 'run everything on this machine, as npm start does',
  },
  serve: {
    calls: ['serve [--workers N] [--no-migrate] [--no-seed] [--allow-shrink]'],
    does: 'serve the configuration: GATEWAY_CONFIG, or gateway.yaml here',
  },
  migrate: { calls: ['migrate [--check]'], does: 'apply, or report, pending migrations' },
  'check-config': {
    calls: ['check-config [FILE] [--mcp] [--database]'],
    does: 'validate a configuration, and warn about settings that are probably not intended',
  },
  seed: { calls: ['seed [--allow-shrink]'], does: 'make the database match the configuration' },
  keys: {
    calls: [
      'keys create --owner user:EMAIL|team:ID|service_account:ID --name NAME [--model ID]…',
      'keys list',
      'keys revoke ID',
    ],
    does: 'create, list and revoke API keys; a new key is printed only once',
  },
  admin: {
    calls: ['admin create --email E'],
    does: 'create a platform admin, with the password from GATEWAY_ADMIN_PASSWORD or a prompt',
  },
  'purge-request-logs': {
    calls: ['purge-request-logs --retention 1d|3d|7d [--dry-run]'],
    does: 'delete old request logs',
  },
  ledger: { calls: ['ledger verify'], does: 'recompute the ledger, and list the differences' },
  export: {
    calls: [
      'export --what ledger|request-logs --from DAY [--to DAY] --to-url s3://BUCKET[/PREFIX] [--format parquet|csv]',
    ],
    does: 'write whole UTC days to an S3-compatible storage',
  },
  pricing: { calls: ['pricing import FILE'], does: 'convert a public price list to pricing.overrides' },
  'simulate-upstream': {
    calls: ['simulate-upstream --port P [--host H] [--latency-ms N] [--chunk-delay-ms N]'],
    does: 'run the simulated provider on its own',
  },
  '--version': { calls: ['--version'], does: 'print the version of this release' },
} as const satisfies Readonly<Record<string, Usage>>;

export type CommandName = keyof typeof usages;

export const isCommand = (name: string): name is CommandName => Object.hasOwn(usages, name);

/** The calls of a command and what it does, one per line. */
export const commandUsage = (name: CommandName): string => {
  const { calls, does }: Usage = usages[name];
  return [...calls.map((call) => `  gateway ${call}`), `      ${does}`].join('\n');
};

/** The calls of all commands. */
export const allUsages = (): string => Object.keys(usages).filter(isCommand).map(commandUsage).join('\n');
