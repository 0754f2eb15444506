import { readdirSync, readFileSync, statfsSync } from 'node:fs';
import { open, rm } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import {
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from '../../../infrastructure/embedded-postgres/start.ts';
import { findPostmaster } from '../../../infrastructure/embedded-postgres/postmaster.ts';
import { migrate } from '../../../infrastructure/postgres/migrate.ts';
import type { Sql } from '../../contract/budget-audit.ts';

/** The maximum number of sessions of the server, which is enough for the gateways' pools. */
const maxConnections = 60;

/** A restarted server must answer within this time. */
const backMs = 30_000;

/** A PostgreSQL that can be killed, stopped and frozen, and whose disk can be filled. */
export interface TortureDatabase {
  readonly url: () => string;
  /** Repeated until the server is available again; in a session that may write, whatever the default is. */
  readonly query: Sql;
  /** Process id of the postmaster; undefined while there is none. */
  readonly pid: () => Promise<number | undefined>;
  /** Process ids of the client backends. */
  readonly backends: () => Promise<readonly number[]>;
  readonly signal: (name: NodeJS.Signals) => Promise<void>;
  /** Pauses it with all of its processes. Returns a function that resumes them. */
  readonly freeze: () => Promise<() => void>;
  /** Opens all free sessions, and replaces those of others. Returns a function that closes them. */
  readonly takeConnections: () => Promise<() => Promise<void>>;
  /** Holds the locks of a statement in an open transaction. Returns a function that ends it. */
  readonly holding: (statement: string) => Promise<() => Promise<void>>;
  /** Fills the disk completely. Returns a function that frees it. */
  readonly fillDisk: () => Promise<() => Promise<void>>;
  /** Starts it if it does not run, and waits until it answers. `onUrl` is called with its URL. */
  readonly bringBack: () => Promise<void>;
  readonly stop: () => Promise<void>;
}

const sessionUrl = (url: string): string => {
  const own = new URL(url);
  own.searchParams.set('options', '-c default_transaction_read_only=off');
  return own.href;
};

async function connected(url: string): Promise<Client> {
  const client = new Client({ connectionString: sessionUrl(url), connectionTimeoutMillis: 5000 });
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

export const send = (pid: number, name: NodeJS.Signals): void => {
  try {
    process.kill(pid, name);
  } catch (error) {
    // ESRCH: the process has already ended.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
};

/** The child processes of a process, on Linux. */
export function childrenOf(pid: number): readonly number[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
      .trim()
      .split(' ')
      .filter(Boolean)
      .map(Number);
  } catch {
    return [];
  }
}

/** Starts it with these migrations; `onUrl` is called with its URL after each start. */
export async function tortureDatabase(
  dataDir: string,
  migrations: string,
  onUrl: (url: string) => void,
): Promise<TortureDatabase> {
  const start = (): Promise<EmbeddedPostgres> =>
    startEmbeddedPostgres({
      dataDir,
      testing: true,
      settings: {
        max_connections: String(maxConnections),
        max_wal_size: '64MB',
        min_wal_size: '32MB',
        autovacuum: 'off',
      },
    });
  const cluster = path.join(dataDir, 'cluster');
  let server = await start();
  await migrate(server.url, migrations, 'none');
  onUrl(server.url);
  const pid = async (): Promise<number | undefined> => (await findPostmaster(cluster))?.pid;

  const query: Sql = async <Row extends object>(text: string, values: unknown[] = []) => {
    for (let tries = 1; ; tries += 1) {
      let client: Client | undefined;
      try {
        client = await connected(server.url);
        return (await client.query<Row>(text, values)).rows;
      } catch (error) {
        if (tries === 100) throw error;
        await sleep(100);
      } finally {
        await client?.end().catch(() => undefined);
      }
    }
  };
  const answers = async (): Promise<boolean> => {
    try {
      const client = await connected(server.url);
      await client.query('create temporary table back ()');
      await client.end();
      return true;
    } catch {
      return false;
    }
  };
  const bringBack = async (): Promise<void> => {
    const deadline = performance.now() + backMs;
    while (!(await answers())) {
      if (performance.now() > deadline) throw new Error('PostgreSQL does not come back');
      if ((await pid()) === undefined) {
        await server.stop();
        server = await start().catch(() => server);
        onUrl(server.url);
      }
      await sleep(50);
    }
  };
  return {
    url: () => server.url,
    query,
    pid,
    backends: async () =>
      (
        await query<{ pid: number }>(
          "select pid from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid() and datname = current_database()",
        )
      ).map((row) => row.pid),
    signal: async (name) => {
      const found = await pid();
      if (found !== undefined) send(found, name);
    },
    freeze: async () => {
      const found = await pid();
      if (found === undefined) return () => undefined;
      send(found, 'SIGSTOP');
      const all = [...childrenOf(found), found];
      for (const each of all) send(each, 'SIGSTOP');
      return () => {
        for (const each of all) send(each, 'SIGCONT');
      };
    },
    takeConnections: () => takeAll(server.url),
    holding: async (statement) => {
      const client = await connected(server.url);
      await client.query('begin');
      await client.query(statement);
      return () => client.end().catch(() => undefined);
    },
    fillDisk: () => fill(dataDir),
    bringBack,
    stop: async () => {
      await bringBack().catch(() => undefined);
      await server.stop();
    },
  };
}

/** Opens sessions until none is free, ends those of others, and opens these too. */
async function takeAll(url: string): Promise<() => Promise<void>> {
  const taken: Client[] = [];
  const takeWhatIsLeft = async (): Promise<void> => {
    try {
      while (taken.length < maxConnections) taken.push(await connected(url));
    } catch {
      // No session is free.
    }
  };
  const first = await connected(url);
  taken.push(first);
  await takeWhatIsLeft();
  await first
    .query(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where backend_type = 'client backend' and datname = current_database() and not pid = any ($1)`,
      [taken.map((client) => (client as unknown as { processID: number }).processID)],
    )
    .catch(() => undefined);
  await takeWhatIsLeft();
  return async () => {
    await Promise.all(taken.map((client) => client.end().catch(() => undefined)));
  };
}

const pieceBytes = 1024 * 1024;

/** Writes a file until the disk of the folder is full. */
export async function fill(folder: string): Promise<() => Promise<void>> {
  const at = path.join(folder, 'filler');
  const file = await open(at, 'w');
  const write = async (bytes: number): Promise<void> => {
    const piece = Buffer.alloc(bytes);
    try {
      for (;;) await file.appendFile(piece);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
    }
  };
  if (statfsSync(folder).blocks * statfsSync(folder).bsize > 2 ** 30)
    throw new Error(`${folder} is on a disk that is not ours to fill: ${readdirSync(folder).join(' ')}`);
  await write(pieceBytes);
  await write(1);
  await file.close();
  return () => rm(at, { force: true });
}
