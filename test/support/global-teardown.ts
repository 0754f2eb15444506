import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import type { TestRun } from './global-setup.ts';
import { ADMIN_URL_VARIABLE, TEMPLATE_DATABASE, connected } from './test-server.ts';

/** Ends what the set-up of the run started; on a given server it removes the run's databases. */
// oxlint-disable-next-line import/no-default-export -- jest calls the default export
export default async function tearDown(): Promise<void> {
  const run: TestRun | undefined = globalThis.gatewayTestRun;
  if (run === undefined) return;
  if (run.server === undefined) await removeDatabases();
  await run.server?.stop();
  await rm(run.folder, { recursive: true, force: true });
  const swept = once(run.sweeper, 'exit');
  run.sweeper.ref();
  run.sweeper.stdin?.end();
  await swept;
}

/** Databases of the run on a given server: those of the suites, and their template. */
async function removeDatabases(): Promise<void> {
  const adminUrl = process.env[ADMIN_URL_VARIABLE];
  if (adminUrl === undefined) return;
  await connected(adminUrl, async (admin) => {
    const { rows } = await admin.query<{ datname: string }>(
      "select datname from pg_database where datname like 'gateway\\_test\\_%'",
    );
    for (const name of [...rows.map(({ datname }) => datname), TEMPLATE_DATABASE])
      await admin.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
  });
}
