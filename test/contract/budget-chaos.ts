import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdir, readdir } from 'node:fs/promises';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import * as fc from 'fast-check';
import { findPostmaster } from '../../infrastructure/embedded-postgres/postmaster.ts';
import { startEmbeddedPostgres } from '../../infrastructure/embedded-postgres/start.ts';
import { migrate } from '../../infrastructure/postgres/migrate.ts';
import type { Actor, Answer } from './budget-actor.ts';
import { audit, auditSums, type Figures, keepHistory, openSql, type Sql } from './budget-audit.ts';
import { aJump, anAction, aWorld, checkReseed, jumpAhead, maybeTerms, perform } from './budget-model.ts';
import type { Order } from './budget-worker.ts';
import { tcpProxy, type TcpProxy } from './tcp-proxy.ts';

const script = path.join(import.meta.dirname, 'budget-worker.ts');
const migrations = path.join(import.meta.dirname, '..', '..', 'migrations');

/** Requests that each process has in flight at the same time. */
const clientsOfEach = 5;

type Without<A, K extends PropertyKey> = A extends unknown ? Omit<A, K> : never;

/** A child process that does the budget work of a gateway; it can be killed at any moment. */
interface Worker extends Actor {
  readonly child: ChildProcess;
  readonly ready: Promise<void>;
  readonly kill: () => Promise<void>;
  /** Lets it end by itself. */
  readonly stop: () => Promise<void>;
}

const living = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of living) child.kill('SIGKILL');
});

function startWorker(url: string, folder: string, onCrash: (why: string) => void): Worker {
  const child = spawn(process.execPath, [script, folder], {
    env: { PATH: process.env['PATH'], DATABASE_URL: url },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  living.add(child);
  const waiting = new Map<number, (answer: unknown) => void>();
  const ready = Promise.withResolvers<void>();
  let serial = 0;
  let said = '';
  let meant = false;
  let over = false;
  child.stderr.on('data', (piece: Buffer) => void (said += piece.toString()));
  child.stdin.on('error', () => undefined);
  createInterface(child.stdout).on('line', (line) => {
    const {
      ready: isReady,
      id,
      answer,
    } = JSON.parse(line) as { ready?: boolean; id: number; answer: unknown };
    if (isReady === true) return ready.resolve();
    waiting.get(id)?.(answer);
    waiting.delete(id);
  });
  const gone = new Promise<void>((resolve) =>
    child.once('close', (code, signal) => {
      over = true;
      living.delete(child);
      if (!meant) onCrash(`a worker ended by itself (${code ?? signal}): ${said}`);
      ready.resolve();
      for (const answer of waiting.values()) answer(undefined);
      resolve();
    }),
  );
  /** Resolves to undefined if the process died before it answered. */
  const tell = async (order: Without<Order, 'id'>): Promise<unknown> => {
    if (over) return undefined;
    const id = (serial += 1);
    const { promise, resolve } = Promise.withResolvers<unknown>();
    waiting.set(id, resolve);
    child.stdin.write(`${JSON.stringify({ id, ...order })}\n`);
    return promise;
  };
  return {
    child,
    ready: ready.promise,
    settle: async (submissions) =>
      ((await tell({ do: 'settle', submissions })) as Answer[] | undefined) ??
      submissions.map(() => 'killed'),
    settleLate: async (submission, at) =>
      ((await tell({ do: 'settleLate', submission, at })) as string | undefined) ?? 'killed',
    set: async (owner, terms) => (await tell({ do: 'set', owner, terms })) === true,
    reseed: async (budgets) => (await tell({ do: 'reseed', budgets })) === true,
    kill: async () => {
      meant = true;
      child.kill('SIGKILL');
      await gone;
    },
    stop: async () => {
      meant = true;
      child.stdin.end();
      await gone;
    },
  };
}

/** A PostgreSQL that is stopped and started behind an address that stays the same. */
async function aServer(folder: string) {
  const dataDir = path.join(folder, 'server');
  const start = () => startEmbeddedPostgres({ dataDir, testing: true });
  let server = await start();
  const proxy: TcpProxy = await tcpProxy();
  const again = async (): Promise<void> => {
    server = await start();
    proxy.to(server.url);
  };
  await migrate(server.url, migrations, 'none');
  return {
    url: proxy.to(server.url),
    /** Cuts every connection; the server keeps running. */
    cut: () => proxy.cut(),
    restart: async (awayMs: number) => {
      await server.stop();
      await sleep(awayMs);
      await again();
    },
    /** The server stops at once, without a shutdown, and recovers from its log. */
    crash: async (awayMs: number) => {
      const found = await findPostmaster(path.join(dataDir, 'cluster'));
      assert.ok(found !== undefined, 'there is no server');
      process.kill(found.pid, 'SIGQUIT');
      while ((await findPostmaster(path.join(dataDir, 'cluster'))) !== undefined) await sleep(10);
      await server.stop();
      await sleep(awayMs);
      await again();
    },
    stop: async () => {
      await proxy.close();
      await server.stop();
    },
  };
}

const anEvent = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant('jump' as const), jump: aJump, waitMs: fc.nat({ max: 600 }) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('kill' as const),
      worker: fc.nat(),
      waitMs: fc.nat({ max: 600 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('pause' as const),
      worker: fc.nat(),
      waitMs: fc.nat({ max: 600 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('cut' as const), waitMs: fc.nat({ max: 600 }) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constantFrom('restart' as const, 'crash' as const),
      awayMs: fc.nat({ max: 400 }),
      waitMs: fc.nat({ max: 600 }),
    }),
  },
);
type Event = typeof anEvent extends fc.Arbitrary<infer A> ? A : never;

export interface ChaosOptions {
  readonly folder: string;
  readonly seed: number;
  readonly workers: number;
  /** Number of cycles, each with new owners. */
  readonly cycles: number;
  readonly cycleSeconds: number;
  readonly onCycle?: (total: ChaosFigures) => void;
}

export interface ChaosFigures extends Figures {
  cycles: number;
  readonly events: Record<Event['kind'], number>;
  readonly answers: Record<string, number>;
}

/** An endless sequence of values that is determined by the seed. */
function* endless<A>(arbitrary: fc.Arbitrary<A>, seed: number): Generator<A, never> {
  for (let chunk = 0; ; chunk += 1) yield* fc.sample(arbitrary, { seed: seed + chunk * 7919, numRuns: 200 });
}

/** Retries until the server is back. */
const steadily =
  (query: Sql): Sql =>
  async (text, values) => {
    for (let tries = 0; ; tries += 1) {
      try {
        return await query(text, values);
      } catch (error) {
        if (tries === 200) throw error;
        await sleep(100);
      }
    }
  };

/**
 * Processes settle, and change budgets, while they are killed, paused and disconnected, PostgreSQL is
 * restarted, and the ledger's clock passes the ends of windows. Throws at the first fault.
 */
export async function budgetChaos(options: ChaosOptions): Promise<ChaosFigures> {
  const { folder, seed, workers: count, cycles, cycleSeconds } = options;
  const journals = path.join(folder, 'journals');
  await mkdir(journals, { recursive: true });
  const server = await aServer(folder);
  const sql = openSql(server.url);
  const query = steadily(sql.query);
  await keepHistory(query);
  const crashes: string[] = [];
  const start = (): Worker => startWorker(server.url, journals, (why) => crashes.push(why));
  const workers = Array.from({ length: count }, start);
  await Promise.all(workers.map(({ ready }) => ready));
  // An actor stands for a place: it passes work to the process that holds the place now.
  const actors = workers.map((_, place): Actor => {
    const now = () => workers[place]!;
    return {
      settle: (...all) => now().settle(...all),
      settleLate: (...all) => now().settleLate(...all),
      set: (...all) => now().set(...all),
      reseed: (...all) => now().reseed(...all),
    };
  });
  const total: ChaosFigures = {
    cycles: 0,
    rows: 0,
    blocked: 0,
    budgets: 0,
    alerts: 0,
    full: 0,
    events: { jump: 0, kill: 0, pause: 0, cut: 0, restart: 0, crash: 0 },
    answers: {},
  };
  const events = endless(anEvent, seed);

  const happen = async (event: Event): Promise<void> => {
    total.events[event.kind] += 1;
    if (event.kind === 'jump') await jumpAhead(query, event.jump);
    else if (event.kind === 'cut') server.cut();
    else if (event.kind === 'kill') {
      const place = event.worker % count;
      await workers[place]!.kill();
      const next = start();
      workers[place] = next;
      await next.ready;
    } else if (event.kind === 'pause') {
      const { child } = workers[event.worker % count]!;
      child.kill('SIGSTOP');
      await sleep(800);
      child.kill('SIGCONT');
    } else await server[event.kind](event.awayMs);
    await sleep(event.waitMs);
  };

  const oneCycle = async (cycle: number): Promise<void> => {
    const world = await aWorld(query, actors, { users: 4, teams: 2 });
    let over = false;
    const client = async (number: number): Promise<void> => {
      for (const action of endless(anAction, seed + cycle * 104_729 + number * 1_000_003)) {
        if (over) return;
        await perform(world, { ...action, actor: number % count });
        // A rejected request would otherwise be repeated without a pause.
        await sleep(3);
      }
    };
    const clients = Promise.all(Array.from({ length: count * clientsOfEach }, (_, number) => client(number)));
    const until = performance.now() + cycleSeconds * 1000;
    while (performance.now() < until && crashes.length === 0) await happen(events.next().value);
    over = true;
    await clients;
    await quiet(query, journals);
    assert.deepEqual(crashes, []);
    const scopes = world.owners.map(({ scope }) => scope);
    await checkReseed(world, fc.sample(maybeTerms, { seed: seed + cycle, numRuns: 6 }));
    const figures = await audit(query, scopes, world.told);
    await auditSums(query);
    total.cycles += 1;
    for (const key of ['rows', 'blocked', 'budgets', 'alerts', 'full'] as const) total[key] += figures[key];
    for (const { answer } of world.told) total.answers[answer] = (total.answers[answer] ?? 0) + 1;
    options.onCycle?.(total);
  };

  try {
    for (let cycle = 0; cycle < cycles; cycle += 1) await oneCycle(cycle);
    await Promise.all(workers.map((worker) => worker.stop()));
  } finally {
    await Promise.all(workers.map((worker) => worker.kill()));
    await sql.end();
    await server.stop();
  }
  return total;
}

/** Waits until no statement of a killed process is running, and the journals are settled. */
async function quiet(query: Sql, journals: string): Promise<void> {
  for (let tries = 0; ; tries += 1) {
    const [row] = await query<{ busy: string }>(
      `select count(*) as busy from pg_stat_activity
       where datname = current_database() and pid <> pg_backend_pid() and state <> 'idle'`,
    );
    const files = await readdir(journals);
    if (Number(row?.busy) === 0 && files.length === 0) return;
    assert.ok(tries < 300, `it did not become quiet: ${row?.busy} busy, ${files.join(' ')}`);
    await sleep(100);
  }
}
