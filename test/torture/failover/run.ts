/**
 * `npm run torture:failover [-- --rounds N --seed S --replicas R]`: PostgreSQL with synchronous standbys under Patroni,
 * etcd and HAProxy, gateways before it, and callers. In each round the primary is killed (`kill -9`), frozen (SIGSTOP,
 * its Patroni too) or cut off from etcd and from everybody, under load; it comes back, and everything is counted.
 *
 * Needs Debian's packages etcd-server, patroni, haproxy and postgresql-15 (`apt-get install --no-install-recommends`),
 * and installs nothing. Everything it starts listens on 127.0.0.1, as `postgres` or nobody where it is started as root.
 */
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { startSimulatedUpstream } from '../../../tools/simulated-upstream/server.ts';
import { checkTables, longestWait, quantile, readTables } from './checks.ts';
import { type Cluster, startCluster, times } from './cluster.ts';
import { anOwner, configOf, limitsOf } from './config.ts';
import { type Gateway, runCommand, startGateway } from './gateways.ts';
import { type Caller, endConnections, type Owner, randomFrom, startCaller, type Try } from './load.ts';
import { startProbe } from './probe.ts';
import { until } from './processes.ts';
import { findPrograms } from './programs.ts';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '20' },
    seed: { type: 'string', default: String(Date.now() % 2 ** 31) },
    replicas: { type: 'string', default: '3' },
  },
});
const [rounds, seed, replicas] = [Number(values.rounds), Number(values.seed), Number(values.replicas)];
const out = (line: string): void => void process.stdout.write(`${line}\n`);

/** Callers of each owner at each gateway. */
const callersOfEach = 2;
/** How long a round goes on before its fault, and after everybody is served again. */
const beforeMs = 2_000;
const afterMs = 2_000;
/** The other member leads, and every caller was answered, within this time. */
const recoveryMs = 60_000;
/** How long an old primary is still away when another one leads. */
const awayMs = 2_000;
const faults = ['kill -9', 'freeze', 'isolate'] as const;
type Fault = (typeof faults)[number];

const steady = ['hard', 'soft', 'free'].map(anOwner);
/** One for each round, whose hard limit is reached in it. */
const tight = Array.from({ length: rounds }, (_, index) => anOwner(`tight-${index + 1}`));

interface Stage {
  readonly cluster: Cluster;
  readonly gateways: readonly Gateway[];
  readonly folder: string;
  readonly asked: ReadonlySet<string>;
}

interface Round {
  readonly tries: readonly Try[];
  /** Milliseconds from the fault until another member led. */
  readonly promotedMs: number;
  /** Milliseconds from the fault until a plain client could commit. */
  readonly downMs: number;
  /** The longest wait of each caller whose budget was not used up. */
  readonly waits: readonly number[];
  readonly fault: Fault;
}

const faultsOf: Record<Fault, (cluster: Cluster, primary: string) => Promise<void>> = {
  'kill -9': async (cluster, primary) => cluster.kill(primary),
  freeze: async (cluster, primary) => cluster.freeze(primary),
  isolate: (cluster, primary) => cluster.isolate(primary),
};
const backFrom: Record<Fault, (cluster: Cluster, primary: string) => Promise<void>> = {
  // Its Patroni starts it again.
  'kill -9': async () => undefined,
  freeze: async (cluster, primary) => cluster.thaw(primary),
  isolate: (cluster, primary) => cluster.join(primary),
};

async function oneRound(
  { cluster, gateways }: Stage,
  fault: Fault,
  narrow: Owner,
  random: () => number,
): Promise<Round> {
  const primary = await cluster.healthy(90_000);
  const over = new AbortController();
  const callers: readonly Caller[] = gateways.flatMap(({ url }) => [
    ...steady.flatMap((owner) =>
      Array.from({ length: callersOfEach }, () => startCaller(owner, url, random, over.signal)),
    ),
    startCaller(narrow, url, random, over.signal),
  ]);
  const probe = startProbe(cluster.balancedUrl);
  const served = callers.filter(({ owner }) => owner !== narrow);
  await sleep(beforeMs + random() * 1_000);
  const from = performance.now();
  try {
    await faultsOf[fault](cluster, primary);
    await cluster.otherThan(primary, recoveryMs);
    const promotedMs = performance.now() - from;
    await sleep(awayMs);
    await backFrom[fault](cluster, primary);
    const answeredSince = (at: number) => (caller: Caller) =>
      caller.tries.some(({ fate, startedAt }) => fate === 'complete' && startedAt > at);
    await until('every caller is answered again', recoveryMs, async () =>
      served.every(answeredSince(from + promotedMs)) ? true : undefined,
    );
    await sleep(afterMs);
    over.abort();
    await Promise.all(callers.map(({ ended }) => ended));
    return {
      fault,
      promotedMs,
      downMs: probe.outageSince(from),
      tries: callers.flatMap(({ tries }) => tries),
      waits: served.map(({ tries }) => longestWait(tries, from)),
    };
  } finally {
    over.abort();
    await probe.stop();
  }
}

/** Everything that waits in the journals is in the database. */
const drained = (gateways: readonly Gateway[]): Promise<true> =>
  until('the journals are settled', 60_000, async () => {
    const files = (await Promise.all(gateways.map(({ journal }) => journal()))).flat();
    if (files.some((name) => name.endsWith('.refused'))) throw new Error(`refused: ${files.join(', ')}`);
    return files.some((name) => name.endsWith('.journal')) ? undefined : true;
  });

const seconds = (milliseconds: number): string => `${(milliseconds / 1000).toFixed(1)} s`;
const fates = (tries: readonly Try[]): string =>
  [...Map.groupBy(tries, ({ fate, code }) => (code === undefined ? fate : `${fate} ${code}`))]
    .map(([fate, each]) => `${each.length} ${fate}`)
    .join(', ');

async function rehearse(stage: Stage): Promise<readonly string[]> {
  const { cluster, gateways, folder, asked } = stage;
  const random = randomFrom(seed);
  const problems: string[] = [];
  const done: Round[] = [];
  for (let number = 1; number <= rounds; number += 1) {
    const fault = faults[(number - 1) % faults.length] ?? 'kill -9';
    const before = gateways.map(({ replayed }) => replayed());
    const narrow = tight[number - 1];
    if (narrow === undefined) break;
    const round = await oneRound(stage, fault, narrow, random);
    done.push(round);
    await drained(gateways);
    const leader = await cluster.healthy(90_000);
    const found = checkTables(
      await readTables(cluster.balancedUrl),
      done.flatMap(({ tries }) => tries),
      asked,
      limitsOf([...steady, ...tight]),
    );
    const verified = await runCommand(
      path.join(folder, 'gateway-1'),
      ['ledger', 'verify'],
      cluster.balancedUrl,
    );
    const replayed = gateways.reduce((sum, each, index) => sum + each.replayed() - (before[index] ?? 0), 0);
    if (verified.code !== 0) problems.push(`round ${number}: ledger verify: ${verified.output.trim()}`);
    problems.push(...found.problems.map((problem) => `round ${number}: ${problem}`));
    out(
      `round ${number}, ${fault}: another led after ${seconds(round.promotedMs)}, now ${leader}; a plain client ` +
        `could commit after ${seconds(round.downMs)}, callers waited ` +
        `p50 ${seconds(quantile(round.waits, 0.5))}, p99 ${seconds(quantile(round.waits, 0.99))}; ` +
        `${replayed} from the journals; ${fates(round.tries)}; ${found.rows} rows, ${found.unseen} of them of ` +
        `requests that failed; ${verified.output.trim()}`,
    );
    for (const problem of found.problems) out(`  WRONG: ${problem}`);
  }
  for (const fault of faults) {
    const of = done.filter((round) => round.fault === fault);
    const waits = of.flatMap((round) => round.waits);
    const led = of.map(({ promotedMs }) => promotedMs);
    const down = of.map(({ downMs }) => downMs);
    if (of.length > 0)
      out(
        `${fault}, ${of.length} rounds: another led after ${seconds(quantile(led, 0.5))} (p50), a plain client could ` +
          `commit after ${seconds(quantile(down, 0.5))} (p50); a caller was without an answer p50 ${seconds(quantile(waits, 0.5))}, p99 ${seconds(quantile(waits, 0.99))}, ` +
          `at most ${seconds(Math.max(...waits))}`,
      );
  }
  const waits = done.flatMap((round) => round.waits);
  out(
    `all rounds: a caller was without an answer p50 ${seconds(quantile(waits, 0.5))}, ` +
      `p99 ${seconds(quantile(waits, 0.99))}`,
  );
  if (cluster.rebuilt.length > 0) out(`standbys that Patroni had to rebuild: ${cluster.rebuilt.join(', ')}`);
  for (const { errors } of gateways)
    for (const [line, count] of errors) out(`logged ${count} times: ${line}`);
  return problems;
}

async function main(): Promise<number> {
  const programs = findPrograms(['etcd', 'patroni', 'haproxy', 'postgresBin']);
  if ('missing' in programs) {
    out(`torture:failover did not run: missing packages: ${programs.missing.join(' ')}`);
    out(`apt-get install --no-install-recommends ${programs.missing.join(' ')}`);
    return 2;
  }
  if (!Number.isInteger(rounds) || rounds < 1 || !(replicas >= 2 && replicas <= 4)) {
    out('torture:failover did not run: --rounds is a number from 1 on, --replicas from 2 to 4');
    return 2;
  }
  const folder = await mkdtemp(path.join(tmpdir(), 'gateway-failover-'));
  await chmod(folder, 0o755);
  out(`seed ${seed}, ${rounds} rounds, ${replicas} gateways; ${JSON.stringify(times)}; logs in ${folder}`);
  const asked = new Set<string>();
  const upstream = await startSimulatedUpstream({
    port: 0,
    onRequest: ({ body }) => {
      const [, id] = /"content":"([0-9a-f-]{36})"/.exec(body) ?? [];
      if (id !== undefined) asked.add(id);
    },
  });
  let problems: readonly string[] = ['it did not come to its end'];
  const gateways: Gateway[] = [];
  const cluster = await startCluster(programs, folder);
  try {
    await cluster.healthy(60_000);
    for (let number = 1; number <= replicas; number += 1) {
      // The last one without HAProxy: its driver finds the primary.
      const url = number === replicas ? cluster.hostsUrl : cluster.balancedUrl;
      gateways.push(
        await startGateway(
          path.join(folder, `gateway-${number}`),
          configOf(upstream.url, [...steady, ...tight]),
          url,
        ),
      );
    }
    problems = await rehearse({ cluster, gateways, folder, asked });
  } catch (error) {
    problems = [error instanceof Error ? (error.stack ?? error.message) : String(error)];
  } finally {
    const codes = await Promise.all(gateways.map(({ stop }) => stop()));
    if (codes.some((code) => code !== 0)) problems = [...problems, `gateways ended with ${codes.join(', ')}`];
    endConnections();
    await upstream.close();
    await cluster.stop();
  }
  for (const problem of problems) out(`WRONG: ${problem}`);
  if (problems.length === 0) await rm(folder, { recursive: true, force: true });
  out(
    problems.length === 0
      ? `torture:failover: nothing lost, doubled or overshot in ${rounds} rounds (seed ${seed})`
      : `torture:failover FAILED: ${problems.length} problems (seed ${seed}); logs in ${folder}`,
  );
  return problems.length === 0 ? 0 : 1;
}

process.exit(await main());
