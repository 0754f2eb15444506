import { execFileSync } from 'node:child_process';
import path from 'node:path';
import {
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from '../../infrastructure/embedded-postgres/start.ts';
import { migrate } from '../../infrastructure/postgres/migrate.ts';
import { makeTestFolder } from './test-server.ts';

/** A server with all migrations, and a standby that follows it by streaming replication. */
export async function serverAndStandby(): Promise<{
  readonly primary: EmbeddedPostgres;
  readonly standby: EmbeddedPostgres;
}> {
  const folder = await makeTestFolder('replica');
  const [own, copy] = [path.join(folder, 'primary'), path.join(folder, 'standby')];
  const log = (): void => undefined;
  const first = await startEmbeddedPostgres({ dataDir: own, log, testing: true });
  await migrate(first.url, path.join(import.meta.dirname, '..', '..', 'migrations'), 'none');
  await first.stop();
  // Keeps the owner of the files, who is not root.
  execFileSync('cp', ['-a', own, copy]);
  const inCopy = (name: string): string => path.join(copy, 'cluster', name);
  execFileSync('cp', ['-a', inCopy('PG_VERSION'), inCopy('standby.signal')]);
  const primary = await startEmbeddedPostgres({ dataDir: own, log, testing: true });
  const { port, password } = new URL(primary.url);
  const standby = await startEmbeddedPostgres({
    dataDir: copy,
    log,
    testing: true,
    settings: { primary_conninfo: `host=127.0.0.1 port=${port} user=gateway password=${password}` },
  });
  return { primary, standby };
}
