import type { ChildProcess } from 'node:child_process';
import { mkdtemp } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import {
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from '../../infrastructure/embedded-postgres/start.ts';
import { preparePage } from './browser.ts';
import { migrate } from '../../infrastructure/postgres/migrate.ts';
import {
  ADMIN_URL_VARIABLE,
  FOLDER_VARIABLE,
  TEMPLATE_DATABASE,
  connected,
  withDatabaseName,
} from './test-server.ts';
import { startSweeper } from './swept-folder.ts';

/** What the set-up started and the tear-down ends; both run in one process, before and after the suites. */
export interface TestRun {
  readonly folder: string;
  /** Undefined if the run uses a given server. */
  readonly server: EmbeddedPostgres | undefined;
  readonly sweeper: ChildProcess;
}

declare global {
  var gatewayTestRun: TestRun | undefined;
}

const migrations = path.join(import.meta.dirname, '..', '..', 'migrations');

/**
 * One PostgreSQL for the whole run: the server named by GATEWAY_TEST_DATABASE_URL (its user must be allowed to create
 * databases), otherwise an embedded one in a temporary folder.
 */
// oxlint-disable-next-line import/no-default-export -- jest calls the default export
export default async function setUp(): Promise<void> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'gateway-test-'));
  // Started first: from here on nothing is left behind if the run is killed.
  const sweeper = startSweeper(folder);
  const given = process.env['GATEWAY_TEST_DATABASE_URL'];
  const server =
    given === undefined
      ? await startEmbeddedPostgres({
          dataDir: path.join(folder, 'server'),
          testing: true,
          // Autovacuum would otherwise process the databases that the suites leave until the end of the run.
          settings: { autovacuum: 'off', full_page_writes: 'off' },
        })
      : undefined;
  const adminUrl = given ?? server?.url ?? '';
  globalThis.gatewayTestRun = { folder, server, sweeper };
  await Promise.all([preparePage(), makeTemplate(adminUrl)]);
  process.env[ADMIN_URL_VARIABLE] = adminUrl;
  process.env[FOLDER_VARIABLE] = folder;
}

async function makeTemplate(adminUrl: string): Promise<void> {
  await connected(adminUrl, async (admin) => {
    await admin.query(`DROP DATABASE IF EXISTS ${TEMPLATE_DATABASE} WITH (FORCE)`);
    await admin.query(`CREATE DATABASE ${TEMPLATE_DATABASE} TEMPLATE template0`);
  });
  await migrate(withDatabaseName(adminUrl, TEMPLATE_DATABASE), migrations, 'none');
  // PostgreSQL does not copy a database with open connections.
  await connected(adminUrl, (admin) =>
    admin.query(`ALTER DATABASE ${TEMPLATE_DATABASE} WITH ALLOW_CONNECTIONS false`),
  );
}
