import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { chmod } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { TcpProxy } from '../../contract/tcp-proxy.ts';
import { fill, send } from './database.ts';
import { type MixedLoad, one } from './mixed-load.ts';
import type { Replica } from './replica.ts';
import { mount, unmount, type World } from './world.ts';

/** The objects that a fault can use. */
export interface Stage {
  readonly world: World;
  readonly load: MixedLoad;
  readonly random: () => number;
}

/** Undoes a fault; undefined if it ends by itself. */
type Lift = (() => Promise<unknown>) | undefined;

export interface Fault {
  /** The private disks or system programs that it needs; without them the fault is omitted. */
  readonly needs?: 'disks' | 'closing' | 'prlimit';
  /** Milliseconds until it is lifted. */
  readonly lasts: readonly [min: number, max: number];
  readonly begin: (stage: Stage) => Promise<Lift>;
}

const run = promisify(execFile);

const aReplica = ({ world, random }: Stage): Replica => one(random, world.replicas);

/** All network paths to the database, or one of them. */
const someNetworks = ({ world, random }: Stage): readonly TcpProxy[] =>
  random() < 0.6 ? world.networks : [one(random, world.networks)];

const ended = async (stage: Stage, signal: NodeJS.Signals): Promise<Lift> => {
  const { database } = stage.world;
  await database.signal(signal);
  return () => database.bringBack();
};

/** Sends a signal to several client backends. */
async function endBackends({ world, random }: Stage, signal: NodeJS.Signals, count: number): Promise<Lift> {
  for (let times = 0; times < count; times += 1) {
    const backends = await world.database.backends();
    if (backends.length > 0) send(one(random, backends), signal);
    await sleep(random() * 150);
  }
  return () => world.database.bringBack();
}

/** Makes read-only the default of all sessions, including open ones. */
const readOnly = async ({ world: { database } }: Stage): Promise<Lift> => {
  const set = async (value: string): Promise<void> => {
    await database.query(`alter system set default_transaction_read_only = ${value}`);
    await database.query('select pg_reload_conf()');
  };
  await set('on');
  return () => set('off');
};

/** An open transaction that holds a lock; none if the database is unavailable. */
const holding =
  (statement: (stage: Stage) => string) =>
  (stage: Stage): Promise<Lift> =>
    stage.world.database.holding(statement(stage)).catch(() => undefined);

async function refuse(networks: readonly TcpProxy[]): Promise<() => Promise<unknown>> {
  await Promise.all(networks.map((network) => network.refuse()));
  return () => Promise.all(networks.map((network) => network.open()));
}

/** Makes the journals unwritable and the database unreachable at the same time. */
async function withoutJournals(stage: Stage, close: (journal: string) => Promise<Lift>): Promise<Lift> {
  const opened = await Promise.all(stage.world.journals.map(close));
  const open = await refuse(stage.world.networks);
  return async () => {
    for (const back of stage.random() < 0.5 ? [...opened, open] : [open, ...opened]) await back?.();
  };
}

/** Root ignores file modes: for root a read-only disk is mounted over the folder. */
async function closeJournal(at: string, hasDisks: boolean): Promise<Lift> {
  if (hasDisks) {
    await mount('-t', 'tmpfs', '-o', 'ro,size=64k', 'closed', at);
    return () => unmount(at);
  }
  await chmod(at, 0o500);
  return () => chmod(at, 0o700);
}

/** A serving process gets no further file descriptors, or only a few. */
async function withoutDescriptors(stage: Stage): Promise<Lift> {
  const pid = aReplica(stage).worker();
  if (pid === undefined) return undefined;
  try {
    const { length } = readdirSync(`/proc/${pid}/fd`);
    const { stdout } = await run('prlimit', [
      '--pid',
      String(pid),
      '--nofile',
      '--noheadings',
      '--output=SOFT',
    ]);
    await run('prlimit', ['--pid', String(pid), `--nofile=${length + Math.floor(stage.random() * 4)}:`]);
    // The process may have ended meanwhile.
    return () => run('prlimit', ['--pid', String(pid), `--nofile=${stdout.trim()}:`]).catch(() => undefined);
  } catch {
    return undefined;
  }
}

const hour = 3_600_000;

export const faults = {
  'a gateway is killed': {
    lasts: [200, 1500],
    begin: async (stage) => {
      aReplica(stage).kill(stage.random() < 0.7 ? 'all' : 'supervisor');
      return undefined;
    },
  },
  'all gateways are killed': {
    lasts: [200, 1500],
    begin: async ({ world }) => {
      for (const replica of world.replicas) replica.kill('all');
      return undefined;
    },
  },
  'a worker is killed': {
    lasts: [200, 1500],
    begin: async (stage) => {
      const pid = aReplica(stage).worker();
      if (pid !== undefined) send(pid, 'SIGKILL');
      return undefined;
    },
  },
  'a gateway is told to stop': {
    lasts: [200, 3000],
    begin: async (stage) => {
      aReplica(stage).terminate();
      return undefined;
    },
  },
  'all gateways are told to stop': {
    lasts: [200, 3000],
    begin: async ({ world }) => {
      for (const replica of world.replicas) replica.terminate();
      return undefined;
    },
  },
  'a gateway is frozen': {
    lasts: [300, 7000],
    begin: async (stage) => {
      const pid = aReplica(stage).worker();
      if (pid === undefined) return undefined;
      send(pid, 'SIGSTOP');
      return async () => send(pid, 'SIGCONT');
    },
  },
  'gateways take their configuration up again': {
    lasts: [200, 2000],
    begin: async ({ world }) => {
      for (const replica of world.replicas) replica.reload();
      return undefined;
    },
  },
  'a gateway has no descriptors': { needs: 'prlimit', lasts: [500, 3000], begin: withoutDescriptors },
  'PostgreSQL is killed': { lasts: [0, 2500], begin: (stage) => ended(stage, 'SIGKILL') },
  'PostgreSQL is ended at once': { lasts: [0, 2500], begin: (stage) => ended(stage, 'SIGQUIT') },
  'PostgreSQL is stopped': { lasts: [0, 2500], begin: (stage) => ended(stage, 'SIGINT') },
  'PostgreSQL lets nobody in any more': {
    lasts: [500, 2500],
    begin: async ({ world: { database } }) => {
      await database.signal('SIGTERM');
      return async () => {
        await database.signal('SIGINT');
        await database.bringBack();
      };
    },
  },
  'a backend is killed': { lasts: [0, 1000], begin: (stage) => endBackends(stage, 'SIGKILL', 1) },
  'backends are ended': { lasts: [0, 1000], begin: (stage) => endBackends(stage, 'SIGTERM', 12) },
  'PostgreSQL is frozen': {
    lasts: [300, 16_000],
    begin: async ({ world }) => {
      const thaw = await world.database.freeze();
      return async () => thaw();
    },
  },
  'PostgreSQL is slow': {
    lasts: [1000, 5000],
    begin: async (stage) => {
      const networks = someNetworks(stage);
      for (const network of networks) network.lag(20 + stage.random() * 700);
      return async () => networks.forEach((network) => network.lag(0));
    },
  },
  'PostgreSQL is read-only': { lasts: [500, 3000], begin: readOnly },
  'PostgreSQL has no connections': {
    lasts: [500, 4000],
    begin: ({ world }) => world.database.takeConnections(),
  },
  'the lock of an owner is held': {
    lasts: [300, 9000],
    begin: holding(
      () =>
        "select lock_scopes(array_agg('user:' || user_id order by user_id)) from users where name in ('hard', 'free')",
    ),
  },
  'a table is locked': {
    lasts: [300, 9000],
    begin: holding(
      ({ random }) =>
        `lock table ${one(random, ['usage_cost_events', 'request_logs', 'gateway_processes', 'gateway_state', 'user_budgets'])} in access exclusive mode`,
    ),
  },
  'the disk of PostgreSQL is full': {
    needs: 'disks',
    lasts: [500, 4000],
    begin: async ({ world: { database } }) => {
      const free = await database.fillDisk();
      return async () => {
        await free();
        await database.bringBack();
      };
    },
  },
  'the database cannot be reached': { lasts: [100, 6000], begin: (stage) => refuse(someNetworks(stage)) },
  'connections to the database break': {
    lasts: [0, 500],
    begin: async (stage) => {
      for (const network of someNetworks(stage)) network.cut();
      return undefined;
    },
  },
  'the network to the database is half open': {
    lasts: [500, 16_000],
    begin: async (stage) => {
      const networks = someNetworks(stage);
      for (const network of networks) network.stall();
      return async () => networks.forEach((network) => network.resume());
    },
  },
  'connections to the database are dead, and nobody says so': {
    lasts: [0, 2000],
    begin: async (stage) => {
      for (const network of someNetworks(stage)) network.freeze();
      return undefined;
    },
  },
  'the journals are full, and the database is away': {
    needs: 'disks',
    lasts: [500, 3000],
    begin: (stage) => withoutJournals(stage, fill),
  },
  'the journals are read-only, and the database is away': {
    needs: 'closing',
    lasts: [500, 3000],
    begin: (stage) => withoutJournals(stage, (at) => closeJournal(at, stage.world.hasDisks)),
  },
  'the upstream is away': {
    lasts: [200, 2000],
    begin: ({ world }) => world.upstream.end(),
  },
  'the upstream breaks its answers': {
    lasts: [1000, 4000],
    begin: async ({ load }) => {
      load.breakAnswers(0.8);
      return async () => load.breakAnswers(0.05);
    },
  },
  'the clock of a gateway steps': {
    lasts: [500, 3000],
    begin: async (stage) => {
      const replica = aReplica(stage);
      // Hours, as with a wrong time zone, or more than a year, as on a machine without the date.
      const hours = stage.random() < 0.7 ? 60 : 20_000;
      await replica.stepClock(Math.round((stage.random() - 0.5) * hours * hour));
      return () => replica.stepClock(0);
    },
  },
  'the clock of the database steps': {
    lasts: [500, 3000],
    begin: async ({ world: { database }, random }) => {
      const seconds = Math.round((random() - 0.5) * 60 * 3600);
      await database.query(`update torture_clock set shift = '${seconds} seconds'`);
      return () => database.query("update torture_clock set shift = '0'");
    },
  },
} satisfies Record<string, Fault>;

export type FaultName = keyof typeof faults;
export const faultNames = Object.keys(faults) as readonly FaultName[];
