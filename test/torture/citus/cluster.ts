/** A Citus cluster: a coordinator and its workers, each a separate server on this machine. */
import { type ChildProcess, execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { appendFile, chown, mkdir } from 'node:fs/promises';
import path from 'node:path';
import {
  endProgram,
  endWithUs,
  postmasterIn,
  signal,
  startProgram,
  treeOf,
  until,
} from '../failover/processes.ts';
import { unprivileged } from '../failover/programs.ts';
import { runAll } from '../../support/test-server.ts';
import { freePort } from '../../support/free-port.ts';

/** The PostgreSQL of Debian 12, for which the extension is built. */
const postgresBin = '/usr/lib/postgresql/15/bin';

/** Why no cluster can be started here; undefined if it can. */
export function whyNoCitus(): string | undefined {
  if (!existsSync(path.join(postgresBin, 'postgres'))) return 'postgresql-15 is not installed';
  const library = path.join(postgresBin, '..', 'lib', 'citus.so');
  return existsSync(library)
    ? undefined
    : `the extension is not installed (test/torture/citus/build.sh builds it)`;
}

const settings = {
  listen_addresses: "'127.0.0.1'",
  shared_preload_libraries: "'citus'",
  wal_level: 'logical',
  max_connections: 400,
  max_prepared_transactions: 100,
  max_wal_senders: 20,
  max_replication_slots: 20,
  max_worker_processes: 100,
  max_locks_per_transaction: 512,
  shared_buffers: "'128MB'",
  max_wal_size: "'2GB'",
  timezone: "'UTC'",
  'citus.shard_count': 8,
  'citus.max_cached_conns_per_worker': 4,
  'citus.node_conninfo': "'sslmode=disable'",
  'citus.enable_statistics_collection': 'off',
};

interface CitusNode {
  readonly port: number;
  /** Also after a kill. */
  readonly start: () => Promise<void>;
  readonly kill: () => void;
  /** Of the server's first process; 0 if it does not run. */
  readonly pid: () => number;
  readonly stop: () => Promise<void>;
}

export interface CitusCluster {
  /** As a superuser, the coordinator's first. */
  readonly nodeUrls: readonly string[];
  readonly workers: readonly CitusNode[];
  /** Of the first process of each node, the coordinator's first. */
  readonly pids: () => readonly number[];
  /** Creates a database with the extension on all nodes, and returns its URL at the coordinator. */
  readonly makeDatabase: (name: string) => Promise<string>;
  readonly stop: () => Promise<void>;
}

const urlOf = (port: number, database = 'postgres'): string =>
  `postgres://gateway@127.0.0.1:${port}/${database}`;

type Settings = Readonly<Record<string, string | number>>;

async function startNode(folder: string, name: string, more: Settings): Promise<CitusNode> {
  const own = path.join(folder, name);
  await mkdir(own, { mode: 0o700 });
  const user = unprivileged();
  if (user !== undefined) await chown(own, user.uid, user.gid);
  const data = path.join(own, 'data');
  const options = { ...user, stdio: 'pipe' } as const;
  const initdb = path.join(postgresBin, 'initdb');
  execFileSync(
    initdb,
    ['-D', data, '-U', 'gateway', '-A', 'trust', '-E', 'UTF8', '--locale=C', '-N'],
    options,
  );
  const port = await freePort();
  const lines = Object.entries({ ...settings, ...more, port, unix_socket_directories: `'${own}'` }).map(
    ([key, value]) => `${key} = ${value}\n`,
  );
  await appendFile(path.join(data, 'postgresql.conf'), lines.join(''));
  const pidFile = path.join(data, 'postmaster.pid');
  endWithUs(pidFile);
  let child: ChildProcess | undefined;
  const node: CitusNode = {
    port,
    start: async () => {
      child = startProgram(
        path.join(postgresBin, 'postgres'),
        ['-D', data],
        path.join(folder, `${name}.log`),
      );
      await until(`${name} answers`, 30_000, async () =>
        runAll(urlOf(port), ['select 1']).then(
          () => true,
          () => undefined,
        ),
      );
    },
    kill: () => {
      for (const pid of treeOf(postmasterIn(pidFile))) signal(pid, 'SIGKILL');
    },
    pid: () => postmasterIn(pidFile) ?? 0,
    stop: async () => {
      if (child === undefined) return;
      // Open sessions do not delay it.
      child.kill('SIGINT');
      await endProgram(child, 10_000);
    },
  };
  await node.start();
  return node;
}

/** `name` distinguishes it from others in the same folder; `more` are settings of PostgreSQL. */
export async function startCitus(
  folder: string,
  workerCount: number,
  name: string,
  more: Settings = {},
): Promise<CitusCluster> {
  const coordinator = await startNode(folder, `${name}-coordinator`, more);
  const workers: CitusNode[] = [];
  for (let number = 1; number <= workerCount; number += 1)
    workers.push(await startNode(folder, `${name}-worker${number}`, more));
  return {
    nodeUrls: [coordinator, ...workers].map(({ port }) => urlOf(port)),
    workers,
    pids: () => [coordinator, ...workers].map(({ pid }) => pid()),
    makeDatabase: async (database) => {
      for (const { port } of [coordinator, ...workers]) {
        await runAll(urlOf(port), [`create database ${database}`]);
        await runAll(urlOf(port, database), ['create extension citus']);
      }
      await runAll(urlOf(coordinator.port, database), [
        `select citus_set_coordinator_host('127.0.0.1', ${coordinator.port})`,
        ...workers.map(({ port }) => `select citus_add_node('127.0.0.1', ${port})`),
      ]);
      return urlOf(coordinator.port, database);
    },
    stop: async () => {
      await Promise.all([coordinator, ...workers].map(({ stop }) => stop()));
    },
  };
}
