import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { databaseUrlProblems } from '../infrastructure/config/database-urls.ts';
import type { LoadedConfig } from '../infrastructure/config/load.ts';
import type { ConfigProblem } from '../infrastructure/config/problem.ts';
import { tlsProblems } from '../infrastructure/config/tls-files.ts';
import { plainHosts } from '../infrastructure/postgres/hosts.ts';

/**
 * Checks that a valid file can also be served here. Left: the problems of the file, or of what it names: a file that is
 * no certificate, or a URL that is not a database's.
 */
export async function fitConfig(
  loaded: Either<readonly ConfigProblem[], LoadedConfig>,
): Promise<Either<readonly ConfigProblem[], LoadedConfig>> {
  if (E.isLeft(loaded)) return loaded;
  const problems = [...databaseUrlProblems(loaded.right, plainHosts), ...(await tlsProblems(loaded.right))];
  return problems.length > 0 ? E.left(problems) : loaded;
}
