/**
 * `npm run torture:citus [-- --rounds N --seed S --suites no]`: a Citus cluster of a coordinator and two
 * workers, the contract suites of the ledger on it, and then four replicas and their callers while a worker
 * is killed and restarted, a shard moves and a replica is killed. In each round an owner reaches its hard
 * limit on all replicas at once, and callers without an answer repeat the request under the same id; then all
 * rows are checked.
 *
 * Needs PostgreSQL 15 of Debian 12 and the extension, which `test/torture/citus/build.sh` builds, and installs nothing.
 * All its servers listen on 127.0.0.1, and run as `postgres` or `nobody` if it is started as root.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { migrate } from '../../../infrastructure/postgres/migrate.ts';
import { startSimulatedUpstream } from '../../../tools/simulated-upstream/server.ts';
import { checkTables, readTables } from '../failover/checks.ts';
import { anOwner, configOf, limitsOf } from '../failover/config.ts';
import { type Gateway, runCommand, startGateway } from '../failover/gateways.ts';
import { numbersOf } from '../../support/given-number.ts';
import { randomFrom } from '../../support/seeded.ts';
import { withDatabaseName } from '../../support/test-server.ts';
import { endConnections, idIn, type Try } from '../failover/load.ts';
import { drained } from '../failover/rounds.ts';
import { type CitusCluster, startCitus, whyNoCitus } from './cluster.ts';
import { type Fault, faults, oneRound, type Stage } from './faults.ts';
import { suites } from './suites.ts';
import { verdict } from '../failover/verdict.ts';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '6' },
    seed: { type: 'string', default: String(Date.now() % 2 ** 31) },
    suites: { type: 'string', default: 'yes' },
  },
});
const { rounds, seed } = numbersOf(values, 'rounds', 'seed');
const replicas = 4;
const root = path.join(import.meta.dirname, '..', '..', '..');
const out = (line: string): void => void process.stdout.write(`${line}\n`);

const steady = ['hard', 'soft', 'free', 'free-2', 'free-3', 'free-4'].map(anOwner);
/** One owner for each round, whose hard limit is reached in it. */
const tight = Array.from({ length: rounds }, (_, index) => anOwner(`tight-${index + 1}`));
const owners = [...steady, ...tight];

/** Runs the contract suites of the ledger on the cluster. */
async function runSuites(cluster: CitusCluster): Promise<readonly string[]> {
  const child = spawn(process.execPath, ['node_modules/jest/bin/jest.js', '--maxWorkers=1', ...suites], {
    cwd: root,
    env: { ...process.env, GATEWAY_TEST_CITUS_URLS: cluster.nodeUrls.join(',') },
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const [code] = (await once(child, 'exit')) as [number | null];
  return code === 0 ? [] : ['the suites failed'];
}

/** The problems after a round, one line each. */
async function count(
  { url, gateways }: Stage,
  folder: string,
  tries: readonly Try[],
  asked: ReadonlySet<string>,
): Promise<readonly string[]> {
  await drained(gateways);
  const found = checkTables(await readTables(url), tries, asked, limitsOf(owners));
  const { code, output } = await runCommand(path.join(folder, 'gateway-1'), ['ledger', 'verify'], url);
  out(`  ${found.rows} rows, ${found.unseen} of them of requests that failed; ${output.trim()}`);
  return code === 0 ? found.problems : [...found.problems, `ledger verify: ${output.trim()}`];
}

async function rehearse(
  stage: Stage,
  folder: string,
  asked: ReadonlySet<string>,
): Promise<readonly string[]> {
  const random = randomFrom(seed);
  const problems: string[] = [];
  const tries: Try[] = [];
  for (const [index, narrow] of tight.entries()) {
    const fault: Fault = faults[index % faults.length] ?? 'worker';
    const round = await oneRound(stage, fault, Math.floor(index / faults.length), steady, narrow, random);
    tries.push(...round.tries);
    out(`round ${index + 1}: ${round.told}`);
    const found = [...round.problems, ...(await count(stage, folder, tries, asked))];
    for (const problem of found) out(`  WRONG: ${problem}`);
    problems.push(...found.map((problem) => `round ${index + 1}: ${problem}`));
  }
  return problems;
}

async function onStage(cluster: CitusCluster, folder: string): Promise<readonly string[]> {
  const asked = new Set<string>();
  const upstream = await startSimulatedUpstream({
    port: 0,
    onRequest: ({ body }) => void asked.add(idIn(body)),
  });
  const gateways: Gateway[] = [];
  const problems: string[] = [];
  try {
    const url = await cluster.makeDatabase('gateway');
    await migrate(url, path.join(root, 'migrations'), 'citus');
    const config = { ...configOf(upstream.url, owners), database: { distribution: 'citus' } };
    // Each is configured with another node, since any node gives access to the cluster.
    const urls = cluster.nodeUrls.map((node) => withDatabaseName(node, 'gateway'));
    const start = (index: number) =>
      startGateway(path.join(folder, `gateway-${index + 1}`), config, urls[index % urls.length] ?? url);
    for (let index = 0; index < replicas; index += 1) gateways.push(await start(index));
    problems.push(...(await rehearse({ cluster, url, gateways, startAgain: start }, folder, asked)));
  } catch (error) {
    problems.push(error instanceof Error ? (error.stack ?? error.message) : String(error));
  } finally {
    const codes = await Promise.all(gateways.map(({ stop }) => stop()));
    if (codes.some((code) => code !== 0)) problems.push(`gateways ended with ${codes.join(', ')}`);
    for (const { errors } of gateways)
      for (const [line, times] of errors) out(`logged ${times} times: ${line}`);
    endConnections();
    await upstream.close();
  }
  return problems;
}

async function main(): Promise<number> {
  const missing = whyNoCitus();
  if (missing !== undefined) {
    out(`torture:citus did not run: ${missing}`);
    return 2;
  }
  const folder = await mkdtemp(path.join(tmpdir(), 'gateway-citus-'));
  await chmod(folder, 0o755);
  out(`seed ${seed}, ${rounds} rounds, ${replicas} replicas; logs in ${folder}`);
  const problems: string[] = [];
  const onCluster = async (name: string, run: (cluster: CitusCluster) => Promise<readonly string[]>) => {
    const cluster = await startCitus(folder, 2, name);
    try {
      problems.push(...(await run(cluster)));
    } finally {
      await cluster.stop();
    }
  };
  if (values.suites !== 'no') await onCluster('suites', runSuites);
  // A new cluster: a killed server reads every file of the suites' databases before it answers.
  await onCluster('cluster', (cluster) => onStage(cluster, folder));
  return verdict({ name: 'torture:citus', seed, rounds, folder }, problems, out);
}

process.exit(await main());
