import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { stringify } from 'yaml';
import { type SimulatedUpstream, startSimulatedUpstream } from '../../../tools/simulated-upstream/server.ts';
import { tcpProxy, type TcpProxy } from '../../contract/tcp-proxy.ts';
import { eventually } from '../../e2e/traces.ts';
import { type TortureDatabase, tortureDatabase } from './database.ts';
import { type Ending, keptReplica, type Replica } from './replica.ts';
import { type DuplicateIds, type Keys, sceneConfig, someKeys } from './scene.ts';

const run = promisify(execFile);

/** The number of gateways. */
const replicaCount = 4;

/** The time for four concurrent starts on a busy machine. */
const startMs = 180_000;

/** Everything that a round can break. */
export interface World {
  readonly folder: string;
  readonly configFile: string;
  readonly keys: Keys;
  readonly duplicates: DuplicateIds;
  readonly database: TortureDatabase;
  readonly replicas: readonly Replica[];
  /** The network path of each replica to the database. */
  readonly networks: readonly TcpProxy[];
  /** The journal folders, each shared by two replicas. */
  readonly journals: readonly string[];
  readonly upstream: TortureUpstream;
  /** Database and journals are on private disks, which can be filled and closed. */
  readonly hasDisks: boolean;
  /** Ends of gateways since the last call. */
  readonly endings: () => readonly Ending[];
  /** Log lines of gateways since the last call, except for those of requests. */
  readonly lines: () => readonly string[];
  readonly close: () => Promise<void>;
}

/** A simulated upstream that can be unavailable, at a constant address. */
export interface TortureUpstream {
  readonly url: string;
  readonly requests: () => number;
  /** Resets every connection, and refuses new ones. Returns a function that restores it. */
  readonly end: () => Promise<() => Promise<void>>;
  readonly close: () => Promise<void>;
}

export interface WorldOptions {
  readonly folder: string;
  readonly duplicates: DuplicateIds;
  /** Mounts small disks, which root may do, in a mount namespace that ends with this process. */
  readonly disks: boolean;
  /** The root of an earlier copy of the product, which creates the schema and runs half of the replicas. */
  readonly earlier?: string;
}

const here = path.join(import.meta.dirname, '..', '..', '..');

export const mount = (...args: readonly string[]): Promise<unknown> => run('mount', [...args]);
export const unmount = (at: string): Promise<unknown> => run('umount', [at]);

async function aDisk(at: string, size: string): Promise<void> {
  await mkdir(at, { recursive: true });
  await mount('-t', 'tmpfs', '-o', `size=${size}`, 'torture', at);
}

async function tortureUpstream(): Promise<TortureUpstream> {
  let before = 0;
  let now: SimulatedUpstream = await startSimulatedUpstream({ port: 0 });
  const { url } = now;
  return {
    url,
    requests: () => before + now.requests(),
    end: async () => {
      await now.close();
      return async () => {
        before += now.requests();
        now = await startSimulatedUpstream({ port: Number(new URL(url).port) });
      };
    },
    close: () => now.close(),
  };
}

export async function openWorld({ folder, duplicates, disks, earlier }: WorldOptions): Promise<World> {
  await mkdir(folder, { recursive: true });
  const keys = someKeys();
  const upstream = await tortureUpstream();
  const networks = await Promise.all(Array.from({ length: replicaCount }, tcpProxy));
  const dataDirs = ['first', 'second'].map((name) => path.join(folder, name));
  const journals = dataDirs.map((dataDir) => path.join(dataDir, 'journal'));
  const databaseDir = path.join(folder, 'database');
  if (disks) {
    await aDisk(databaseDir, '320m');
    for (const journal of journals) await aDisk(journal, '1m');
  }
  for (const journal of journals) await mkdir(journal, { recursive: true });
  const database = await tortureDatabase(databaseDir, path.join(earlier ?? here, 'migrations'), (url) => {
    for (const network of networks) network.to(url);
  });
  await ownClock(database);
  const configFile = path.join(folder, 'gateway.yaml');
  await writeFile(configFile, stringify(sceneConfig(upstream.url, keys, duplicates)));
  let endings: Ending[] = [];
  let lines: string[] = [];
  const start = (number: number, network: TcpProxy): Promise<Replica> =>
    keptReplica({
      number,
      folder,
      configFile,
      databaseUrl: network.to(database.url()),
      dataDir: dataDirs[number % dataDirs.length] ?? folder,
      root: number < replicaCount / 2 ? earlier : undefined,
      onEnd: (ending) => void endings.push(ending),
      onLine: (line) => void lines.push(line),
    });
  const replicas: Replica[] = [];
  for (const [number, network] of networks.entries()) {
    replicas.push(await start(number, network));
    // The replicas of the earlier copy serve before the others migrate the schema.
    if (earlier !== undefined && number === replicaCount / 2 - 1) await allServe({ replicas });
  }
  const world: World = {
    folder,
    configFile,
    keys,
    duplicates,
    database,
    replicas,
    networks,
    journals,
    upstream,
    hasDisks: disks,
    endings: () => {
      const since = endings;
      endings = [];
      return since;
    },
    lines: () => {
      const since = lines;
      lines = [];
      return since;
    },
    close: async () => {
      await Promise.all(replicas.map((replica) => replica.stop()));
      await Promise.all(networks.map((network) => network.close()));
      await database.stop();
      await upstream.close();
      // What cannot be unmounted ends with the namespace.
      if (disks) for (const at of [...journals, databaseDir]) await unmount(at).catch(() => undefined);
    },
  };
  await allServe(world).catch(async (error: unknown) => {
    const said = lines.slice(-20).join('\n');
    await world.close();
    throw new Error(`the gateways did not start: ${said}`, { cause: error });
  });
  return world;
}

/** Waits until every replica listens. */
export const allServe = ({ replicas }: Pick<World, 'replicas'>): Promise<true> =>
  eventually(() => (replicas.every((replica) => replica.url() !== undefined) ? true : undefined), startMs);

/** Shifts `gateway_now` from the system clock by the value in `torture_clock`. */
async function ownClock({ query }: TortureDatabase): Promise<void> {
  await query('create table torture_clock (shift interval not null)');
  await query("insert into torture_clock values ('0')");
  await query(`create or replace function gateway_now() returns timestamptz language sql volatile
    as 'select clock_timestamp() + (select shift from torture_clock)'`);
}
