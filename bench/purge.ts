// npm run bench:purge [-- ROWS [SECONDS]]: a purge of half of this many request logs, during 100 requests per second.
import { spawn } from 'node:child_process';
import { rm, writeFile } from 'node:fs/promises';
import { availableParallelism, loadavg } from 'node:os';
import path from 'node:path';
import { Pool } from 'undici';
import { stringify } from 'yaml';
import { startEmbeddedPostgres } from '../infrastructure/embedded-postgres/start.ts';
import { migrate } from '../infrastructure/postgres/migrate.ts';
import { percentile, post, type Target } from './load.ts';
import { gatewayScript, root, start, startUpstream } from './processes.ts';
import { aftermath, fillLogs, sizesOf } from './purge-rows.ts';
import { aKey } from '../test/support/a-key.ts';
import { givenNumber } from '../test/support/given-number.ts';
import { sweptFolder } from '../test/support/swept-folder.ts';

const rows = givenNumber(1, 10_000_000);
/** How long the same load runs before the purge, and after it. */
const quietSecs = givenNumber(2, 120);
/** The purge is stopped and continued in turns, so that other work on the machine affects both. */
const goesSecs = 20;
const heldSecs = 10;
const perSecond = 100;
/** The factor by which the 99th percentile may grow. */
const limit = 1.2;

const key = aKey();
const out = (line: string): void => void process.stdout.write(`${line}\n`);

/** A hard budget that is checked at each request and never reached, and stored payloads, as by default. */
const config = (upstreamUrl: string) => ({
  server: { bind: '127.0.0.1:0' },
  providers: [{ id: 'simulated', type: 'compat', base_url: upstreamUrl, auth: { mode: 'none' } }],
  models: [{ id: 'simulated-fast', routes: [{ provider: 'simulated', upstream_model: 'simulated-fast' }] }],
  users: [
    {
      email: 'bench@example.com',
      name: 'Bench',
      budget: { cadence: 'monthly', amount_10000: 9007199254740991, hard_limit: true },
    },
  ],
  api_keys: [{ name: 'bench', owner: 'user:bench@example.com', value: key }],
});

const body = JSON.stringify({
  model: 'simulated-fast',
  messages: [{ role: 'user', content: 'Hello there' }],
});

/** Milliseconds of each request, and the number of failures. */
class Times {
  readonly ms: number[] = [];
  failed = 0;
}

/** Open loop: a fixed rate, whatever the answers do, until `shouldContinue` returns false. */
async function load(target: Target, shouldContinue: () => boolean, into: () => Times): Promise<void> {
  const pool = new Pool(target.url, { connections: 64 });
  const one = async (times: Times): Promise<void> => {
    const startedAt = performance.now();
    const status = await post(pool, target, body).then(
      (answer) => answer.status,
      () => 0,
    );
    times.ms.push(performance.now() - startedAt);
    if (status !== 200) times.failed += 1;
  };
  const answers: Promise<void>[] = [];
  const startedAt = performance.now();
  for (let sent = 0; shouldContinue(); sent += 1) {
    const wait = startedAt + (sent * 1000) / perSecond - performance.now();
    if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
    answers.push(one(into()));
  }
  await Promise.all(answers);
  await pool.close();
}

async function loadFor(target: Target, seconds: number): Promise<Times> {
  const until = performance.now() + seconds * 1000;
  const times = new Times();
  await load(
    target,
    () => performance.now() < until,
    () => times,
  );
  return times;
}

function tell(what: string, times: Times): void {
  const [p50, p99, max] = [0.5, 0.99, 1].map((part) => percentile(times.ms, part).toFixed(1));
  out(
    `${what}: ${times.ms.length} requests, ${times.failed} failed, p50 ${p50} ms, p99 ${p99} ms, longest ${max} ms, ` +
      `load average ${loadavg()[0]?.toFixed(1)} on ${availableParallelism()} processors`,
  );
}

interface Purge {
  readonly held: () => boolean;
  /** The output of the command, and the seconds in which it was not stopped. */
  readonly over: Promise<{ readonly said: string; readonly seconds: number }>;
}

/** The command itself, stopped for a third of the time. */
function purge(env: Readonly<Record<string, string>>): Purge {
  const child = spawn(process.execPath, [gatewayScript, 'purge-request-logs', '--retention', '7d'], {
    env: { PATH: process.env['PATH'], ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let said = '';
  child.stdout.on('data', (piece: Buffer) => void (said += piece.toString()));
  let held = false;
  let seconds = 0;
  let since = performance.now();
  let timer: NodeJS.Timeout | undefined;
  const turn = (): void => {
    if (!held) seconds += (performance.now() - since) / 1000;
    since = performance.now();
    held = !held;
    child.kill(held ? 'SIGSTOP' : 'SIGCONT');
    timer = setTimeout(turn, (held ? heldSecs : goesSecs) * 1000);
  };
  timer = setTimeout(turn, goesSecs * 1000);
  const over = new Promise<{ said: string; seconds: number }>((resolve, reject) => {
    child.once('close', (code) => {
      clearTimeout(timer);
      if (!held) seconds += (performance.now() - since) / 1000;
      if (code === 0) resolve({ said, seconds });
      else reject(new Error(`the purge ended with ${code}`));
    });
  });
  return { held: () => held, over };
}

const folder = await sweptFolder('bench-purge');
const database = await startEmbeddedPostgres({
  dataDir: path.join(folder, 'database'),
  settings: { max_wal_size: '4GB' },
});
const upstream = await startUpstream();
try {
  await migrate(database.url, path.join(root, 'migrations'), 'none');
  await fillLogs(database.url, Math.floor(rows / 2), Math.ceil(rows / 2));
  out(`sizes: ${await sizesOf(database.url)}`);
  const configFile = path.join(folder, 'gateway.yaml');
  await writeFile(configFile, stringify(config(upstream.url)));
  const env = { GATEWAY_CONFIG: configFile, DATABASE_URL: database.url, GATEWAY_DATA_DIR: folder };
  const gateway = await start([gatewayScript, 'serve'], env);
  const target: Target = { url: gateway.url, headers: { authorization: `Bearer ${key}` } };
  try {
    await loadFor(target, 15);
    const before = await loadFor(target, quietSecs);
    tell('before the purge', before);
    const [beside, between] = [new Times(), new Times()];
    const { held, over } = purge(env);
    let under = true;
    const [purged] = await Promise.all([
      over.finally(() => (under = false)),
      load(
        target,
        () => under,
        () => (held() ? between : beside),
      ),
    ]);
    tell('beside the purge', beside);
    tell('while it is held', between);
    const deleted = Number(/deleted (\d+)/.exec(purged.said)?.[1]);
    out(
      `${purged.said.trim().replaceAll('\n', ', ')} in ${purged.seconds.toFixed(0)} s: ` +
        `${(deleted / purged.seconds).toFixed(0)} rows per second`,
    );
    for (const line of await aftermath(database.url)) out(line);
    const after = await loadFor(target, quietSecs);
    tell('after the purge', after);
    out(`sizes: ${await sizesOf(database.url)}`);
    // A purge that drops whole days ends before it is first stopped.
    const without = between.ms.length > 0 ? between.ms : [...before.ms, ...after.ms];
    const ratio = percentile(beside.ms, 0.99) / percentile(without, 0.99);
    const failed = [before, beside, between, after].reduce((sum, each) => sum + each.failed, 0);
    const good = ratio <= limit && failed === 0 && deleted === Math.floor(rows / 2);
    out(`p99 beside the purge is ${ratio.toFixed(2)} × that without${good ? '' : ': NOT GOOD ENOUGH'}`);
    if (!good) process.exitCode = 1;
  } finally {
    await gateway.stop();
  }
} finally {
  await upstream.stop();
  await database.stop();
  await rm(folder, { recursive: true, force: true });
}
