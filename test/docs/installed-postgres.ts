import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import { chown, mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { connected } from '../support/test-server.ts';
import { eventually } from '../e2e/traces.ts';
import { freePort } from '../support/free-port.ts';

/** The folders of programs in packages of Debian, Red Hat and Homebrew, and the folders of `PATH`. */
const places = (): readonly string[] => [
  ...['/usr/lib/postgresql', '/opt/homebrew/opt', '/usr'].flatMap((folder) =>
    existsSync(folder)
      ? readdirSync(folder)
          .filter((name) => /^(?:\d+|postgresql@\d+|pgsql-\d+)$/.test(name))
          .toSorted()
          .toReversed()
          .map((name) => path.join(folder, name, 'bin'))
      : [],
  ),
  ...(process.env['PATH'] ?? '').split(path.delimiter),
];

/** The oldest version that the gateway supports. */
const oldestMajor = 15;

const wanted = ['initdb', 'postgres', 'pg_dump', 'pg_restore', 'pg_basebackup'];

const majorOf = (folder: string): number =>
  Number(
    /\) (\d+)/.exec(execFileSync(path.join(folder, 'postgres'), ['--version'], { encoding: 'utf8' }))?.[1],
  );

/** The folder of the newest installed PostgreSQL with server and clients; undefined if there is none. */
export const installedPrograms = (): string | undefined =>
  places().find(
    (folder) => wanted.every((name) => existsSync(path.join(folder, name))) && majorOf(folder) >= oldestMajor,
  );

/** PostgreSQL does not run as root: then it runs as `nobody`. */
const user = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};

/** A folder in which the installed programs work, with servers on its clusters. */
export interface PostgresFolder {
  readonly folder: string;
  /** Runs a script in the folder, with the programs first on the path. */
  readonly run: (script: string, variables?: Readonly<Record<string, string>>) => void;
  /** Starts a server on a cluster in the folder; resolves with a database's URL once it accepts writes. */
  readonly start: (cluster: string, database: string) => Promise<string>;
  /** Ends the running server immediately, as a power failure would. */
  readonly lose: () => Promise<void>;
  readonly remove: () => Promise<void>;
}

export async function postgresFolder(programs: string): Promise<PostgresFolder> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'gateway-docs-'));
  if (user.uid !== undefined) await chown(folder, user.uid, user.gid);
  let server: ChildProcess | undefined;
  process.once('exit', () => server?.kill('SIGQUIT'));
  const lose = async (): Promise<void> => {
    if (server === undefined || server.exitCode !== null || server.signalCode !== null) return;
    server.kill('SIGQUIT');
    await once(server, 'exit');
  };
  return {
    folder,
    lose,
    run: (script, variables = {}) => {
      execFileSync('sh', ['-ec', script], {
        ...user,
        cwd: folder,
        env: { PATH: `${programs}:${process.env['PATH']}`, LC_ALL: 'C', ...variables },
        stdio: ['ignore', 'pipe', 'pipe'],
        timeout: 60_000,
      });
    },
    start: async (cluster, database) => {
      const port = await freePort();
      const settings = [
        `port=${port}`,
        'listen_addresses=127.0.0.1',
        'unix_socket_directories=',
        'fsync=off',
      ];
      const args = ['-D', cluster, ...settings.flatMap((setting) => ['-c', setting])];
      server = spawn(path.join(programs, 'postgres'), args, { ...user, cwd: folder, stdio: 'ignore' });
      const url = (name: string): string => `postgresql://gateway@127.0.0.1:${port}/${name}`;
      await eventually(() => takesWrites(url('postgres')), 30_000);
      return url(database);
    },
    remove: async () => {
      await lose();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function takesWrites(url: string): Promise<true | undefined> {
  try {
    return await connected(url, async (client) => {
      const { rows } = await client.query<{ over: boolean }>('select not pg_is_in_recovery() as over');
      return rows[0]?.over === true ? true : undefined;
    });
  } catch {
    // It does not listen yet, or is still starting: both are retried until the timeout.
    return undefined;
  }
}
