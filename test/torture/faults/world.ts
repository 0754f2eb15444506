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

/** How many gateways there are. */
export const replicaCount = 4;

/** Four starts at once, on a busy machine. */
const startMs = 180_000;

/** Everything that a round can break. */
export interface World {
  readonly folder: string;
  readonly configFile: string;
  readonly keys: Keys;
  readonly duplicates: DuplicateIds;
  readonly database: TortureDatabase;
  readonly replicas: readonly Replica[];
  /** The way of each replica to the database. */
  readonly networks: readonly TcpProxy[];
  /** The folders that replicas keep their journals in, each of two replicas. */
  readonly journals: readonly string[];
  readonly upstream: TortureUpstream;
  /** Disks of its own are beneath the database and the journals, for they can be filled and closed. */
  readonly hasDisks: boolean;
  /** Ends of gateways since it was asked for the last time. */
  readonly endings: () => readonly Ending[];
  /** What gateways logged, but for requests, since it was asked for the last time. */
  readonly lines: () => readonly string[];
  readonly close: () => Promise<void>;
}

/** A simulated upstream that can be away, at an address that stays. */
export interface TortureUpstream {
  readonly url: string;
  readonly requests: () => number;
  /** Every connection is reset, and new ones are refused. Returns what brings it back. */
  readonly end: () => Promise<() => Promise<void>>;
  readonly close: () => Promise<void>;
}

export interface WorldOptions {
  readonly folder: string;
  readonly duplicates: DuplicateIds;
  /** Small disks are mounted: root may, in a mount namespace that goes with this process. */
  readonly disks: boolean;
  /** The root of an earlier copy of the product: half of the replicas are of it, and it makes the schema at first. */
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
    // Those of the earlier copy have served before the others bring the schema to theirs.
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
      // What cannot be let go of goes with the namespace.
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

/** The clock of money runs beside the system's by what `torture_clock` says. */
async function ownClock({ query }: TortureDatabase): Promise<void> {
  await query('create table torture_clock (shift interval not null)');
  await query("insert into torture_clock values ('0')");
  await query(`create or replace function gateway_now() returns timestamptz language sql volatile
    as 'select clock_timestamp() + (select shift from torture_clock)'`);
}
