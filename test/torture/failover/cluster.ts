/**
 * PostgreSQL with a synchronous standby: three members under Patroni and etcd, and HAProxy in front of them,
 * which gets the leader from Patroni. Connections to each member, and from it to etcd, pass through separate
 * proxies, which can be closed.
 */
import { type ChildProcess, execFileSync } from 'node:child_process';
import { chown, mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { stringify } from 'yaml';
import { type TcpProxy, tcpProxy } from '../../contract/tcp-proxy.ts';
import { endProgram, endWithUs, postmasterIn, signal, startProgram, treeOf, until } from './processes.ts';
import { type Programs, unprivileged } from './programs.ts';
import { freePort } from '../../support/free-port.ts';

/** Short, so that many rounds take little time: Patroni's defaults are 30, 10 and 10 seconds. */
export const times = { ttl: 8, loop_wait: 1, retry_timeout: 3 };

/** A running standby that does not follow after this time is rebuilt. */
const strayMs = 30_000;
/** The time for a rebuild before the next one. */
const rebuildMs = 60_000;

const superuser = { username: 'postgres', password: 'of-the-drill' };
const follower = { username: 'replicator', password: 'of-the-drill-too' };

interface Member {
  readonly name: string;
  readonly pidFile: string;
  readonly patroni: ChildProcess;
  /** Patroni's API without a proxy. */
  readonly api: string;
  /** The proxies to the server, to Patroni, and from Patroni to etcd. */
  readonly network: { readonly server: TcpProxy; readonly api: TcpProxy; readonly etcd: TcpProxy };
  readonly serverPort: number;
}

export interface Cluster {
  /** Through HAProxy, which forwards only to the primary. */
  readonly balancedUrl: string;
  /** All members, of which the driver uses the writable one. */
  readonly hostsUrl: string;
  /**
   * Name of the primary once every member runs without lag, and one standby is synchronous. A standby that
   * does not follow again is rebuilt after a while, as an operator would do.
   */
  readonly healthy: (withinMs: number) => Promise<string>;
  /** Names of the rebuilt standbys, once for each rebuild. */
  readonly rebuilt: readonly string[];
  /** Name of a primary that is not `name`. */
  readonly otherThan: (name: string, withinMs: number) => Promise<string>;
  readonly kill: (name: string) => void;
  readonly freeze: (name: string) => void;
  readonly thaw: (name: string) => void;
  readonly isolate: (name: string) => Promise<void>;
  readonly join: (name: string) => Promise<void>;
  readonly stop: () => Promise<void>;
}

type Needed = Pick<Programs, 'etcd' | 'patroni' | 'haproxy' | 'postgresBin'>;

/** The primary, its synchronous standby, and one more, which takes the place of a member that is down. */
const clusterSize = 3;

export async function startCluster(programs: Needed, folder: string): Promise<Cluster> {
  const etcd = await startEtcd(programs, folder);
  const members: Member[] = [];
  for (let number = 1; number <= clusterSize; number += 1)
    members.push(await startMember(programs, folder, `member${number}`, etcd.url));
  const balancer = await startBalancer(programs, folder, members);
  const called = (name: string): Member => {
    const found = members.find((each) => each.name === name);
    if (found === undefined) throw new Error(`There is no member ${name}.`);
    return found;
  };
  const rebuilt: string[] = [];
  const processesOf = ({ patroni, pidFile }: Member): readonly number[] => [
    ...treeOf(patroni.pid),
    ...treeOf(postmasterIn(pidFile)),
  ];
  const login = `postgres://${superuser.username}:${superuser.password}@`;
  const hosts = members.map(({ network, serverPort }) => new URL(network.server.to(at(serverPort))).host);
  return {
    balancedUrl: `${login}127.0.0.1:${balancer.port}/postgres`,
    hostsUrl: `${login}${hosts.join(',')}/postgres?target_session_attrs=read-write`,
    rebuilt,
    healthy: (withinMs) => {
      let rebuildAt = performance.now() + strayMs;
      return until('the cluster is whole', withinMs, async () => {
        const views = await Promise.all(members.map(viewOf));
        const leader = views.map(leaderOfWhole(clusterSize)).find((each) => each !== undefined);
        if (leader !== undefined || performance.now() < rebuildAt) return leader;
        const lost = views.flatMap(strayIn).map(called).at(0);
        if (lost === undefined) return undefined;
        rebuildAt = performance.now() + rebuildMs;
        rebuilt.push(lost.name);
        await asked(`${lost.api}/reinitialize`, { method: 'POST', body: '{"force": true}' });
        return undefined;
      });
    },
    otherThan: (name, withinMs) =>
      until('another member leads', withinMs, async () => {
        const states = await Promise.all(members.map(stateOf));
        return members.find(
          (member, index) =>
            member.name !== name && states[index]?.role === 'master' && states[index]?.state === 'running',
        )?.name;
      }),
    kill: (name) => {
      const pid = postmasterIn(called(name).pidFile);
      if (pid === undefined) throw new Error(`${name} has no server.`);
      signal(pid, 'SIGKILL');
    },
    freeze: (name) => processesOf(called(name)).forEach((pid) => signal(pid, 'SIGSTOP')),
    thaw: (name) => processesOf(called(name)).forEach((pid) => signal(pid, 'SIGCONT')),
    isolate: async (name) => {
      const { server, api, etcd: toEtcd } = called(name).network;
      await Promise.all([server.refuse(), api.refuse(), toEtcd.refuse()]);
    },
    join: async (name) => {
      const { server, api, etcd: toEtcd } = called(name).network;
      await Promise.all([server.open(), api.open(), toEtcd.open()]);
    },
    stop: async () => {
      await endProgram(balancer.child, 2_000);
      await Promise.all(members.map(({ patroni }) => endProgram(patroni, 15_000)));
      await endProgram(etcd.child, 5_000);
      for (const { pidFile, network } of members) {
        for (const pid of treeOf(postmasterIn(pidFile))) signal(pid, 'SIGKILL');
        await Promise.all(Object.values(network).map((proxy) => proxy.close()));
      }
    },
  };
}

const at = (port: number): string => `http://127.0.0.1:${port}`;

async function ownFolder(...parts: readonly string[]): Promise<string> {
  const folder = path.join(...parts);
  await mkdir(folder, { mode: 0o700 });
  const user = unprivileged();
  if (user !== undefined) await chown(folder, user.uid, user.gid);
  return folder;
}

async function startEtcd({ etcd }: Needed, folder: string) {
  const data = await ownFolder(folder, 'etcd');
  const [clients, peers] = [at(await freePort()), at(await freePort())];
  const child = startProgram(
    etcd,
    Object.entries({
      '--name': 'drill',
      '--data-dir': path.join(data, 'data'),
      '--log-level': 'error',
      '--enable-v2': 'true',
      '--listen-client-urls': clients,
      '--advertise-client-urls': clients,
      '--listen-peer-urls': peers,
      '--initial-advertise-peer-urls': peers,
      '--initial-cluster': `drill=${peers}`,
    }).map(([flag, value]) => `${flag}=${value}`),
    path.join(folder, 'etcd.log'),
    { ETCD_UNSUPPORTED_ARCH: process.arch },
  );
  await until('etcd answers', 15_000, async () => {
    const answer = await asked(`${clients}/health`);
    return answer === undefined ? undefined : true;
  });
  return { url: clients, child };
}

async function startMember(
  { patroni, postgresBin }: Needed,
  folder: string,
  name: string,
  etcdUrl: string,
): Promise<Member> {
  const own = await ownFolder(folder, name);
  const [serverPort, apiPort] = [await freePort(), await freePort()];
  const network = { server: await tcpProxy(), api: await tcpProxy(), etcd: await tcpProxy() };
  const seenAt = (proxy: TcpProxy, url: string): string => new URL(proxy.to(url)).host;
  const data = path.join(own, 'data');
  const config = {
    scope: 'drill',
    name,
    restapi: {
      listen: `127.0.0.1:${apiPort}`,
      connect_address: seenAt(network.api, at(apiPort)),
    },
    // With `use_proxies`: otherwise Patroni connects to the addresses that etcd announces, past the proxy.
    // With the older API of etcd: Patroni before 3.0.3 overwrites the leader key with the newer one (its pull
    // request 2689), so that a frozen primary takes the lock from its successor, and the successor's
    // commits are lost.
    etcd: { hosts: [seenAt(network.etcd, etcdUrl)], use_proxies: true },
    bootstrap: {
      dcs: {
        ...times,
        maximum_lag_on_failover: 1_048_576,
        synchronous_mode: true,
        synchronous_mode_strict: true,
        // A crashed server is not restarted as the primary: a standby takes over.
        master_start_timeout: 0,
        postgresql: {
          use_pg_rewind: true,
          use_slots: true,
          parameters: {
            wal_log_hints: 'on',
            max_connections: 100,
            shared_buffers: '64MB',
            max_wal_size: '256MB',
          },
        },
      },
      // Segments of 1 MB, since `pg_rewind` copies complete segments.
      initdb: [{ encoding: 'UTF8' }, { 'wal-segsize': '1' }, 'data-checksums'],
    },
    postgresql: {
      listen: `127.0.0.1:${serverPort}`,
      connect_address: seenAt(network.server, at(serverPort)),
      data_dir: data,
      bin_dir: postgresBin,
      pgpass: path.join(own, 'pgpass'),
      parameters: { unix_socket_directories: own },
      pg_hba: [
        'local all all trust',
        'host all all 127.0.0.1/32 scram-sha-256',
        'host replication all 127.0.0.1/32 scram-sha-256',
      ],
      authentication: { superuser, replication: follower, rewind: superuser },
      remove_data_directory_on_diverged_timelines: true,
      basebackup: [{ checkpoint: 'fast' }],
    },
    watchdog: { mode: 'off' },
  };
  const file = path.join(own, 'patroni.yml');
  await writeFile(file, stringify(config), { mode: 0o644 });
  const pidFile = path.join(data, 'postmaster.pid');
  endWithUs(pidFile);
  const child = startProgram(patroni, [file], path.join(folder, `${name}.log`));
  const member = { name, pidFile, patroni: child, api: at(apiPort), network, serverPort };
  await until(`${name} runs`, 90_000, async () =>
    (await stateOf(member))?.state === 'running' ? true : undefined,
  );
  return member;
}

async function startBalancer({ haproxy }: Needed, folder: string, members: readonly Member[]) {
  const port = await freePort();
  const servers = members.map(({ name, network, serverPort, api }) => {
    const { host } = new URL(network.server.to(at(serverPort)));
    const { port: check } = new URL(network.api.to(api));
    return `  server ${name} ${host} check port ${check}`;
  });
  const config = [
    'defaults',
    '  mode tcp',
    '  timeout connect 1s',
    '  timeout client 30m',
    '  timeout server 30m',
    '  timeout check 1s',
    'listen primary',
    `  bind 127.0.0.1:${port}`,
    '  option httpchk GET /primary',
    '  http-check expect status 200',
    '  default-server inter 500ms fall 2 rise 1 on-marked-down shutdown-sessions',
    ...servers,
    '',
  ];
  const file = path.join(folder, 'haproxy.cfg');
  await writeFile(file, config.join('\n'), { mode: 0o644 });
  execFileSync(haproxy, ['-c', '-q', '-f', file]);
  return { port, child: startProgram(haproxy, ['-db', '-f', file], path.join(folder, 'haproxy.log')) };
}

async function asked(url: string, how: RequestInit = {}): Promise<unknown> {
  try {
    const answer = await fetch(url, { ...how, signal: AbortSignal.timeout(1_000) });
    return await answer.json();
  } catch {
    return undefined;
  }
}

interface State {
  readonly role: string;
  readonly state: string;
}

const stateOf = async ({ api }: Pick<Member, 'api'>): Promise<State | undefined> =>
  (await asked(`${api}/patroni`)) as State | undefined;

interface View {
  readonly members?: readonly {
    readonly name: string;
    readonly role: string;
    readonly state: string;
    readonly timeline?: number;
    /** The bytes that a standby lacks. */
    readonly lag?: number | 'unknown';
  }[];
}

const viewOf = async ({ api }: Member): Promise<View | undefined> =>
  (await asked(`${api}/cluster`)) as View | undefined;

/** The leader, if all members run, the others have no lag, and one of them is synchronous. */
const leaderOfWhole =
  (size: number) =>
  (view: View | undefined): string | undefined => {
    const members = view?.members ?? [];
    const isWhole =
      members.length === size &&
      members.some(({ role }) => role === 'sync_standby') &&
      new Set(members.map(({ timeline }) => timeline)).size === 1 &&
      members.every(({ role, state, lag }) =>
        role === 'leader' ? state === 'running' : state === 'running' && lag === 0,
      );
    return isWhole ? members.find(({ role }) => role === 'leader')?.name : undefined;
  };

/** Running standbys that do not follow. */
const strayIn = (view: View | undefined): readonly string[] => {
  const leader = view?.members?.find(({ role }) => role === 'leader');
  return (view?.members ?? [])
    .filter(
      ({ role, state, timeline, lag }) =>
        leader !== undefined &&
        role !== 'leader' &&
        state === 'running' &&
        (timeline !== leader.timeline || lag !== 0),
    )
    .map(({ name }) => name);
};
