import { databaseUrlProblems } from '../infrastructure/config/database-urls.ts';
import type { LoadedConfig } from '../infrastructure/config/load.ts';
import type { ConfigProblem } from '../infrastructure/config/problem.ts';
import { tlsProblems } from '../infrastructure/config/tls-files.ts';
import { plainHosts } from '../infrastructure/postgres/hosts.ts';

/** Why a file that reads well cannot be served here: what it names is no certificate, or no URL of a database. */
export const unfitProblems = async (loaded: LoadedConfig): Promise<readonly ConfigProblem[]> => [
  ...databaseUrlProblems(loaded, plainHosts),
  ...(await tlsProblems(loaded)),
];
