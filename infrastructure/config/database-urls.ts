import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import type { DatabaseConfig } from './database-config.ts';
import type { LoadedConfig } from './load.ts';
import { type ConfigProblem, finding } from './problem.ts';

/** The hosts to which connections to the database at this URL are unencrypted, or why the URL cannot be used at all. */
export type PlainDatabaseHosts = (url: string) => Either<string, readonly string[]>;

/** The URLs of a file, with their keys. */
export const databaseUrls = (database: DatabaseConfig): readonly (readonly [key: string, url: string])[] =>
  database.kind === 'embedded'
    ? []
    : [
        ['url', database.url],
        ...(database.readUrl === undefined ? [] : [['read_url', database.readUrl] as const]),
      ];

/** Why the URLs of a file cannot be used, whatever answers there. */
export const databaseUrlProblems = (
  { config, place }: LoadedConfig,
  plainHosts: PlainDatabaseHosts,
): readonly ConfigProblem[] =>
  databaseUrls(config.database).flatMap(([key, url]) => {
    const hosts = plainHosts(url);
    return E.isLeft(hosts) ? [place(finding(['database', key], `cannot be used: ${hosts.left}`))] : [];
  });
