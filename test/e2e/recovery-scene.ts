import { execFileSync } from 'node:child_process';
import { chown, mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import type { Client } from 'pg';
import {
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from '../../infrastructure/embedded-postgres/start.ts';
import { migrate } from '../../infrastructure/postgres/migrate.ts';
import { connected, makeTestFolder } from '../support/test-server.ts';
import { eventually } from './traces.ts';

const migrations = path.join(import.meta.dirname, '..', '..', 'migrations');
const log = (): void => undefined;

/** A server that archives its log, and its recovery after the loss of its disk. */
export interface ArchivedServer {
  readonly url: string;
  /** Copies the cluster during writes, with PostgreSQL's functions for backups. */
  readonly backUp: () => Promise<void>;
  /** Resolves once everything that was committed until now is in the archive. */
  readonly archived: () => Promise<void>;
  readonly stop: () => Promise<void>;
  /** Another server: the backup, and everything in the archive that was committed until then. */
  readonly restoredTo: (time: string) => Promise<EmbeddedPostgres>;
  readonly remove: () => Promise<void>;
}

/** Resolves once everything that was committed until now is in the archive. */
export async function archived(client: Client): Promise<void> {
  const { rows } = await client.query<{ name: string }>('select pg_walfile_name(pg_switch_wal()) as name');
  const statement = 'select from pg_stat_archiver where last_archived_wal >= $1';
  await eventually(
    async () => ((await client.query(statement, [rows[0]?.name])).rowCount === 1 ? true : undefined),
    20_000,
  );
}

/** An embedded PostgreSQL with all migrations and an archive of its log. */
export async function archivedServer(): Promise<ArchivedServer> {
  const folder = await makeTestFolder('recovery');
  const [own, backup] = [path.join(folder, 'primary'), path.join(folder, 'backup')];
  const copied = path.join(backup, 'cluster');
  // The server's user needs access to it, and has none to the folder of the test run.
  const archive = await mkdtemp(path.join(os.tmpdir(), 'gateway-archive-'));
  const first = await startEmbeddedPostgres({ dataDir: own, log, testing: true });
  await migrate(first.url, migrations, 'none');
  await first.stop();
  const { uid, gid } = await stat(path.join(own, 'cluster'));
  await chown(archive, uid, gid);
  const settings = { archive_mode: 'on', archive_command: `test ! -f ${archive}/%f && cp %p ${archive}/%f` };
  const primary = await startEmbeddedPostgres({ dataDir: own, log, testing: true, settings });

  const intoCopy = async (name: string, text: string): Promise<void> => {
    await writeFile(path.join(copied, name), text);
    await chown(path.join(copied, name), uid, gid);
  };
  return {
    url: primary.url,
    backUp: () =>
      connected(primary.url, async (client) => {
        await client.query("select pg_backup_start('backup', true)");
        // Keeps the owner, which is not root.
        execFileSync('cp', ['-a', own, backup]);
        const { rows } = await client.query<{ labelfile: string }>('select labelfile from pg_backup_stop()');
        execFileSync('rm', ['-rf', ...['postmaster.pid', 'pg_wal'].map((name) => path.join(copied, name))]);
        await mkdir(path.join(copied, 'pg_wal'), { mode: 0o700 });
        await chown(path.join(copied, 'pg_wal'), uid, gid);
        await intoCopy('backup_label', rows[0]?.labelfile ?? '');
      }),
    archived: () => connected(primary.url, archived),
    stop: () => primary.stop(),
    restoredTo: async (time) => {
      await intoCopy('recovery.signal', '');
      return startEmbeddedPostgres({
        dataDir: backup,
        log,
        testing: true,
        settings: {
          restore_command: `cp ${archive}/%f %p`,
          recovery_target_time: time,
          recovery_target_action: 'promote',
        },
      });
    },
    remove: () => rm(archive, { recursive: true, force: true }),
  };
}
