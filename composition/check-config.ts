import * as E from 'fp-ts/lib/Either.js';
import { priceCatalogue } from '../domain/money/price-catalogue.ts';
import { lintConfig } from '../infrastructure/config/lint.ts';
import { loadConfig } from '../infrastructure/config/load.ts';
import { sorted } from '../infrastructure/config/problem.ts';
import { processVariables } from '../infrastructure/config/process-variables.ts';
import { tlsWarnings } from '../infrastructure/config/tls-files.ts';
import { plainHosts } from '../infrastructure/postgres/hosts.ts';
import { bundledCatalogue } from '../infrastructure/pricing/bundled.ts';
import { implementations } from '../infrastructure/providers/registry.ts';
import type { Checked } from '../interfaces/cli/check-config.ts';
import { fitConfig } from './fit-config.ts';

/**
 * Errors of a file, and warnings about what is probably not meant. The database and MCP servers are checked on demand.
 */
export async function checkConfig(file: string): Promise<Checked> {
  const loaded = await fitConfig(await loadConfig(file, processVariables()));
  if (E.isLeft(loaded)) return { problems: loaded.left, warnings: [] };
  const catalogue = priceCatalogue(bundledCatalogue(), []);
  const linted = lintConfig(loaded.right, {
    hasPrice: (provider, model) => catalogue.priceOf(provider, model, Date.now()) !== undefined,
    canServe: (kind, route, capability) => implementations[kind].supports(route)[capability],
    plainHosts,
  });
  const warnings = sorted([...linted, ...(await tlsWarnings(loaded.right, Date.now()))]);
  return {
    problems: [],
    warnings,
    database: async () => {
      const { databaseFit } = await import('./database-commands.ts');
      return databaseFit(loaded.right.config.database);
    },
    mcpServers: async () => {
      const { checkMcpServers } = await import('./mcp-check.ts');
      return checkMcpServers(loaded.right.config);
    },
  };
}
