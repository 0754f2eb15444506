import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll } from '@jest/globals';
import { DatabaseError } from 'pg';
import { createCitusDatabase, onCitus } from './citus-database.ts';
import {
  ADMIN_URL_VARIABLE,
  TEMPLATE_DATABASE,
  connected,
  fromSetUp,
  withDatabaseName,
} from './test-server.ts';

/** A database that belongs to one suite. */
export interface TestDatabase {
  readonly url: string;
  /** Removes the database; open connections to it are ended. */
  readonly drop: () => Promise<void>;
}

/**
 * Copying fails while a background worker of PostgreSQL is connected to the template, which lasts seconds.
 */
const COPY_TRIES = 100;
const COPY_PAUSE_MS = 250;

/** `object_in_use`: another session is connected to the template. */
const OBJECT_IN_USE = '55006';

/** Creates a database with all migrations applied, or an empty one with `empty: true`. */
export async function createDatabase(options: { readonly empty?: boolean } = {}): Promise<TestDatabase> {
  const name = `gateway_test_${randomBytes(8).toString('hex')}`;
  if (onCitus()) return createCitusDatabase(name, options.empty === true);
  const adminUrl = fromSetUp(ADMIN_URL_VARIABLE);
  await copyTemplate(adminUrl, name, options.empty === true ? 'template0' : TEMPLATE_DATABASE);
  return {
    url: withDatabaseName(adminUrl, name),
    drop: async () => {
      await connected(adminUrl, (admin) => admin.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`));
    },
  };
}

/**
 * Gives the calling suite (a file or a `describe`) a database of its own with all migrations applied. `url`
 * may be called in hooks and tests. The database stays until the run ends, so that nothing in the suite loses
 * its connection before.
 */
export function withDatabase(): { readonly url: () => string } {
  let database: TestDatabase | undefined;
  beforeAll(async () => {
    database = await createDatabase();
  });
  return {
    url: () => {
      if (database === undefined)
        throw new Error('url() is for hooks and tests: the database is made before them.');
      return database.url;
    },
  };
}

async function copyTemplate(adminUrl: string, name: string, template: string): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      // The other strategy also writes each page to the server's log.
      await connected(adminUrl, (admin) =>
        admin.query(`CREATE DATABASE ${name} TEMPLATE ${template} STRATEGY FILE_COPY`),
      );
      return;
    } catch (error) {
      if (!(error instanceof DatabaseError) || error.code !== OBJECT_IN_USE || tries === COPY_TRIES)
        throw error;
      await sleep(COPY_PAUSE_MS);
    }
  }
}
