/**
 * `npm run torture:pgbouncer [-- --seconds N --seed S]`: gateways behind a real PgBouncer in transaction
 * mode, whose few server sessions they share. They start and migrate concurrently and serve a mixed load;
 * then all rows are checked.
 *
 * Needs Debian's package pgbouncer (`apt-get install --no-install-recommends pgbouncer`), and installs nothing.
 */
import { execFileSync } from 'node:child_process';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Client } from 'pg';
import { startEmbeddedPostgres } from '../../../infrastructure/embedded-postgres/start.ts';
import { purgeUnderLock } from '../../../infrastructure/postgres/purge-store.ts';
import { startSimulatedUpstream } from '../../../tools/simulated-upstream/server.ts';
import { checkTables, readTables } from './checks.ts';
import { anOwner, configOf, limitsOf } from './config.ts';
import { type Gateway, runCommand, startGateway } from './gateways.ts';
import { numbersOf } from '../../support/given-number.ts';
import { randomFrom } from '../../support/seeded.ts';
import { endConnections, idIn, startCaller, type Try } from './load.ts';
import { endProgram, startProgram, until } from './processes.ts';
import { findPrograms, toldMissing } from './programs.ts';
import { freePort } from '../../support/free-port.ts';

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '20' },
    seed: { type: 'string', default: String(Date.now() % 2 ** 31) },
  },
});
const { seconds: loadSeconds, seed } = numbersOf(values, 'seconds', 'seed');
const out = (line: string): void => void process.stdout.write(`${line}\n`);

const replicas = 3;
/** Far fewer than the connections of the gateways. */
const serverSessions = 4;
const owners = ['hard', 'soft', 'free', 'tight'].map(anOwner);

const rowsOf = async <Row extends object>(url: string, statement: string): Promise<readonly Row[]> => {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Row>(statement)).rows;
  } finally {
    await client.end();
  }
};

/** Configured as in docs/operations.md. Names of statements are tracked from 1.21 on, if configured. */
async function startPooler(program: string, folder: string, server: URL) {
  const port = await freePort();
  const [, major = '0', minor = '0'] =
    /(\d+)\.(\d+)/.exec(execFileSync(program, ['--version']).toString()) ?? [];
  const followsNames = Number(major) > 1 || Number(minor) >= 21;
  const users = path.join(folder, 'users.txt');
  await writeFile(users, `"${server.username}" "${server.password}"\n`, { mode: 0o644 });
  const file = path.join(folder, 'pgbouncer.ini');
  await writeFile(
    file,
    [
      '[databases]',
      `gateway = host=${server.hostname} port=${server.port} dbname=${server.pathname.slice(1)}`,
      '[pgbouncer]',
      'listen_addr = 127.0.0.1',
      `listen_port = ${port}`,
      'unix_socket_dir =',
      'auth_type = scram-sha-256',
      `auth_file = ${users}`,
      'pool_mode = transaction',
      `default_pool_size = ${serverSessions}`,
      'max_client_conn = 500',
      'ignore_startup_parameters = options,statement_timeout,idle_in_transaction_session_timeout',
      ...(followsNames ? ['max_prepared_statements = 100'] : []),
      '',
    ].join('\n'),
    { mode: 0o644 },
  );
  const child = startProgram(program, [file], path.join(folder, 'pgbouncer.log'));
  const through = new URL(server);
  through.host = `127.0.0.1:${port}`;
  through.pathname = '/gateway';
  await until('PgBouncer answers', 10_000, () =>
    rowsOf(through.href, 'select 1').then(
      () => true,
      () => undefined,
    ),
  );
  return { url: through.href, child, version: `${major}.${minor}`, followsNames };
}

/** PgBouncer drops startup settings of connections: a gateway checks this, and reports an error. */
async function refusesOtherIsolation(url: string, folder: string, config: object) {
  const told = await startGateway(path.join(folder, 'refused'), config, url).then(
    (gateway) => gateway.stop().then(() => 'it started'),
    (error: unknown) => String(error),
  );
  return told.includes("default_transaction_isolation = 'repeatable read'")
    ? []
    : [`with repeatable read: ${told}`];
}

async function rehearse(url: string, direct: string, folder: string, config: object, asked: Set<string>) {
  const problems: string[] = [];
  const gateways: readonly Gateway[] = await Promise.all(
    Array.from({ length: replicas }, (_, index) =>
      startGateway(path.join(folder, `gateway-${index + 1}`), config, url),
    ),
  );
  const tries = await loaded(gateways);
  problems.push(...(await locksLeft(url, direct, folder)));
  const verified = await runCommand(path.join(folder, 'gateway-1'), ['ledger', 'verify'], url);
  if (verified.code !== 0) problems.push(`ledger verify: ${verified.output}`);
  const found = checkTables(await readTables(direct), tries, asked, limitsOf(owners));
  const others = tries.filter(({ fate, code }) => fate !== 'complete' && code !== 'budget_exceeded');
  problems.push(
    ...found.problems,
    ...others.slice(0, 5).map(({ fate, code }) => `a request was ${fate}: ${code ?? 'no code'}`),
    ...gateways.flatMap(({ errors }) => [...errors].map(([line, times]) => `logged ${times} times: ${line}`)),
  );
  const sessions = await rowsOf<{ count: string }>(
    direct,
    `select count(*) from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()
     and datname = current_database()`,
  );
  out(
    `${tries.length} requests, ${tries.length - others.length} answered or over their budget; ${found.rows} rows; ` +
      `${sessions[0]?.count} sessions at the server; ${verified.output.trim()}`,
  );
  const codes = await Promise.all(gateways.map(({ stop }) => stop()));
  if (codes.some((code) => code !== 0)) problems.push(`gateways ended with ${codes.join(', ')}`);
  return problems;
}

async function loaded(gateways: readonly Gateway[]): Promise<readonly Try[]> {
  const over = new AbortController();
  const random = randomFrom(seed);
  const callers = gateways.flatMap((gateway) =>
    owners.flatMap((owner) => [1, 2, 3].map(() => startCaller(owner, gateway.url, random, over.signal))),
  );
  await sleep(loadSeconds * 1_000);
  over.abort();
  await Promise.all(callers.map(({ ended }) => ended));
  return callers.flatMap(({ tries }) => tries);
}

/** Only one purge runs at a time; neither purges nor migrations keep a lock in a session of the pooler. */
async function locksLeft(url: string, direct: string, folder: string): Promise<readonly string[]> {
  const [first, second] = await Promise.all([
    purgeUnderLock(url, () => sleep(500, 'purged')),
    sleep(250).then(() => purgeUnderLock(url, async () => 'purged, too')),
  ]);
  const third = await purgeUnderLock(url, async () => 'purged again');
  const migrated = await runCommand(path.join(folder, 'gateway-1'), ['migrate'], url);
  const held = await rowsOf(
    direct,
    `select from pg_locks l join pg_database d on d.oid = l.database
     where locktype = 'advisory' and datname = current_database()`,
  );
  return [
    ...(first === 'purged' && second === undefined && third === 'purged again'
      ? []
      : [`purges were not alone, or left their lock behind: ${first}, ${second}, ${third}`]),
    ...(migrated.code === 0 ? [] : [`migrate: ${migrated.output}`]),
    ...(held.length === 0 ? [] : ['advisory locks were left behind']),
  ];
}

async function main(): Promise<number> {
  const programs = findPrograms(['pgbouncer']);
  if ('missing' in programs) {
    out(toldMissing('torture:pgbouncer', programs.missing));
    return 2;
  }
  const folder = await mkdtemp(path.join(tmpdir(), 'gateway-pgbouncer-'));
  await chmod(folder, 0o755);
  const asked = new Set<string>();
  const upstream = await startSimulatedUpstream({
    port: 0,
    onRequest: ({ body }) => void asked.add(idIn(body)),
  });
  const server = await startEmbeddedPostgres({ dataDir: path.join(folder, 'database'), testing: true });
  const config = configOf(upstream.url, owners);
  const poolers: Awaited<ReturnType<typeof startPooler>>[] = [];
  let problems: readonly string[];
  try {
    const start = async () => {
      const pooler = await startPooler(programs.pgbouncer, folder, new URL(server.url));
      poolers.push(pooler);
      return pooler;
    };
    const role = (what: string) => rowsOf(server.url, `alter role ${new URL(server.url).username} ${what}`);
    await role(`set statement_timeout = '10s'`);
    const pooler = await start();
    out(
      `PgBouncer ${pooler.version}, ${serverSessions} sessions, names of statements are ` +
        `${pooler.followsNames ? '' : 'not '}followed; ${replicas} gateways, ${loadSeconds} s; seed ${seed}`,
    );
    problems = await rehearse(pooler.url, server.url, folder, config, asked);
    // Sessions keep the role settings of their start.
    await endProgram(pooler.child, 2_000);
    await role(`set default_transaction_isolation = 'repeatable read'`);
    const other = await start();
    problems = [...problems, ...(await refusesOtherIsolation(other.url, folder, config))];
  } catch (error) {
    problems = [error instanceof Error ? (error.stack ?? error.message) : String(error)];
  } finally {
    endConnections();
    await upstream.close();
    for (const { child } of poolers) await endProgram(child, 2_000);
    await server.stop();
  }
  for (const problem of problems) out(`WRONG: ${problem}`);
  await rm(folder, { recursive: true, force: true });
  out(
    problems.length === 0
      ? 'torture:pgbouncer: everything is served and counted once'
      : `torture:pgbouncer FAILED: ${problems.length} problems (seed ${seed})`,
  );
  return problems.length === 0 ? 0 : 1;
}

process.exit(await main());
