/**
 * `npm run torture:failover [-- --rounds N --seed S --replicas R --fault kill|freeze|isolate]`: PostgreSQL
 * with synchronous standbys under Patroni, etcd and HAProxy, gateways in front of it, and callers. In each
 * round the primary is killed (`kill -9`), frozen (SIGSTOP, its Patroni too) or isolated from etcd and all
 * clients, under load; it returns, soon or once all callers are served again, and all rows are checked. The
 * faults alternate unless one is named.
 *
 * Needs Debian's packages etcd-server, patroni, haproxy and postgresql-15
 * (`apt-get install --no-install-recommends`), and installs nothing. All its servers listen on 127.0.0.1, and
 * run as `postgres` or `nobody` if it is started as root.
 */
import { chmod, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { startSimulatedUpstream } from '../../../tools/simulated-upstream/server.ts';
import { checkTables, quantile, readTables } from './checks.ts';
import { startCluster, times } from './cluster.ts';
import { anOwner, configOf, limitsOf } from './config.ts';
import { type Gateway, runCommand, startGateway } from './gateways.ts';
import { randomFrom } from '../../support/seeded.ts';
import { endConnections, idIn, type Try } from './load.ts';
import { findPrograms, type Programs, toldMissing } from './programs.ts';
import { drained, faults, isFault, oneRound, type Round, type Stage } from './rounds.ts';
import { verdict } from './verdict.ts';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '20' },
    seed: { type: 'string', default: String(Date.now() % 2 ** 31) },
    replicas: { type: 'string', default: '3' },
    fault: { type: 'string', default: '' },
  },
});
const [rounds, seed, replicas] = [Number(values.rounds), Number(values.seed), Number(values.replicas)];
const inTurn = isFault(values.fault) ? [values.fault] : faults;
const out = (line: string): void => void process.stdout.write(`${line}\n`);

const steady = ['hard', 'soft', 'free'].map(anOwner);
/** One owner for each round, whose hard limit is reached in it. */
const tight = Array.from({ length: rounds }, (_, index) => anOwner(`tight-${index + 1}`));
const owners = [...steady, ...tight];

const seconds = (milliseconds: number): string => `${(milliseconds / 1000).toFixed(1)} s`;
const spread = (numbers: readonly number[]): string =>
  `p50 ${seconds(quantile(numbers, 0.5))}, p99 ${seconds(quantile(numbers, 0.99))}`;
const fates = (tries: readonly Try[]): string =>
  [...Map.groupBy(tries, ({ fate, code }) => (code === undefined ? fate : `${fate} ${code}`))]
    .map(([fate, each]) => `${each.length} ${fate}`)
    .join(', ');

/** The problems after a round, one line each; the round is the last of `done`. */
async function count({ cluster, gateways, folder, asked }: Stage, done: readonly Round[]) {
  await drained(gateways);
  await cluster.healthy(240_000);
  const tables = await readTables(cluster.balancedUrl);
  const tries = done.flatMap((round) => round.tries);
  const found = checkTables(tables, tries, asked, limitsOf(owners));
  const verify = ['ledger', 'verify'];
  const { code, output } = await runCommand(path.join(folder, 'gateway-1'), verify, cluster.balancedUrl);
  out(`  ${found.rows} rows, ${found.unseen} of them of requests that failed; ${output.trim()}`);
  return code === 0 ? found.problems : [...found.problems, `ledger verify: ${output.trim()}`];
}

async function rehearse(stage: Stage): Promise<readonly string[]> {
  const random = randomFrom(seed);
  const problems: string[] = [];
  const done: Round[] = [];
  for (const [index, narrow] of tight.entries()) {
    const fault = inTurn[index % inTurn.length] ?? 'kill';
    const replayed = () => stage.gateways.reduce((sum, each) => sum + each.replayed(), 0);
    const before = replayed();
    const round = await oneRound(stage, fault, steady, narrow, random);
    done.push(round);
    out(
      `round ${index + 1}, ${fault}, back ${round.soon ? 'soon' : 'late'}: another led after ` +
        `${seconds(round.promotedMs)}, a plain client could commit after ${seconds(round.downMs)}; callers were ` +
        `without an answer ${spread(round.waits.balanced)}, by hosts ${spread(round.waits.hosts)}`,
    );
    const found = await count(stage, done);
    out(`  ${fates(round.tries)}; ${replayed() - before} from the journals`);
    for (const problem of found) out(`  WRONG: ${problem}`);
    problems.push(...found.map((problem) => `round ${index + 1}: ${problem}`));
  }
  summarize(stage, done);
  return problems;
}

function summarize({ cluster, gateways }: Stage, done: readonly Round[]): void {
  for (const fault of [...inTurn, undefined]) {
    const of = done.filter((round) => fault === undefined || round.fault === fault);
    if (of.length === 0) continue;
    const balanced = of.flatMap(({ waits }) => waits.balanced);
    const hosts = of.flatMap(({ waits }) => waits.hosts);
    out(
      `${fault ?? 'all'}, ${of.length} rounds: another led after ${spread(of.map(({ promotedMs }) => promotedMs))}; ` +
        `a plain client could commit after ${spread(of.map(({ downMs }) => downMs))}; callers were without an answer ` +
        `${spread(balanced)}, by hosts ${spread(hosts)}, in all ${spread([...balanced, ...hosts])}`,
    );
  }
  if (cluster.rebuilt.length > 0) out(`standbys that Patroni had to rebuild: ${cluster.rebuilt.join(', ')}`);
  for (const { errors } of gateways)
    for (const [line, times] of errors) out(`logged ${times} times: ${line}`);
}

type Needed = Pick<Programs, 'etcd' | 'patroni' | 'haproxy' | 'postgresBin'>;

/** Starts all programs, runs the rounds, and ends the programs. */
async function onStage(programs: Needed, folder: string): Promise<readonly string[]> {
  const asked = new Set<string>();
  const upstream = await startSimulatedUpstream({
    port: 0,
    onRequest: ({ body }) => void asked.add(idIn(body)),
  });
  const gateways: Gateway[] = [];
  const problems: string[] = [];
  const cluster = await startCluster(programs, folder);
  try {
    await cluster.healthy(60_000);
    for (let number = 1; number <= replicas; number += 1) {
      const url = number === replicas ? cluster.hostsUrl : cluster.balancedUrl;
      const own = path.join(folder, `gateway-${number}`);
      gateways.push(await startGateway(own, configOf(upstream.url, owners), url));
    }
    problems.push(...(await rehearse({ cluster, gateways, folder, asked })));
  } catch (error) {
    problems.push(error instanceof Error ? (error.stack ?? error.message) : String(error));
  } finally {
    const codes = await Promise.all(gateways.map(({ stop }) => stop()));
    if (codes.some((code) => code !== 0)) problems.push(`gateways ended with ${codes.join(', ')}`);
    endConnections();
    await upstream.close();
    await cluster.stop();
  }
  return problems;
}

async function main(): Promise<number> {
  const programs = findPrograms(['etcd', 'patroni', 'haproxy', 'postgresBin']);
  if ('missing' in programs) {
    out(toldMissing('torture:failover', programs.missing));
    return 2;
  }
  if (!(rounds >= 1 && replicas >= 2 && replicas <= 4) || (values.fault !== '' && !isFault(values.fault))) {
    out(`torture:failover did not run: --rounds 1 or more, --replicas 2 to 4, --fault ${faults.join('|')}`);
    return 2;
  }
  const folder = await mkdtemp(path.join(tmpdir(), 'gateway-failover-'));
  await chmod(folder, 0o755);
  out(`seed ${seed}, ${rounds} rounds, ${replicas} gateways; ${JSON.stringify(times)}; logs in ${folder}`);
  const problems = await onStage(programs, folder);
  return verdict({ name: 'torture:failover', seed, rounds, folder }, problems, out);
}

process.exit(await main());
