/**
 * `npm run bench:citus [-- --requests N --rounds R --shards S --upstream-ms M]`: the database CPU of a request's
 * admission and settlement, over all nodes of a Citus cluster with a coordinator and two workers, compared with one
 * server of the same PostgreSQL: with the same number of concurrent requests, and with that number per shard. Between
 * its admission and its settlement a request takes from 0 to 2 × M milliseconds (M is 5 by default), because upstreams
 * do not answer in step. This starts both, and needs what `npm run torture:citus` needs.
 */
import { chmod, rm } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import * as E from 'fp-ts/lib/Either.js';
import { Client } from 'pg';
import type { Ledger } from '../application/ports/ledger.ts';
import type { Caller } from '../domain/identity/caller.ts';
import { systemClock } from '../infrastructure/clock.ts';
import { openCluster } from '../infrastructure/postgres/citus/cluster.ts';
import { shardedLedger } from '../infrastructure/postgres/citus/sharded-ledger.ts';
import { gatewayProcess } from '../infrastructure/postgres/gateway-process.ts';
import { ledgerStore } from '../infrastructure/postgres/ledger-store.ts';
import { migrate } from '../infrastructure/postgres/migrate.ts';
import { openPool } from '../infrastructure/postgres/pool.ts';
import { type CitusCluster, startCitus, whyNoCitus } from '../test/torture/citus/cluster.ts';
import { numbersOf } from '../test/support/given-number.ts';
import { askOf, recordOf } from './ledger-records.ts';
import { makeUsers } from './ledger-scene.ts';
import { median } from './load.ts';
import { root, treeMicros } from './processes.ts';
import { sweptFolder } from '../test/support/swept-folder.ts';

const { values } = parseArgs({
  options: {
    requests: { type: 'string', default: '4000' },
    rounds: { type: 'string', default: '3' },
    owners: { type: 'string', default: '200' },
    shards: { type: 'string', default: '4' },
    'upstream-ms': { type: 'string', default: '5' },
  },
});
const { requests, rounds, owners, shards } = numbersOf(values, 'requests', 'rounds', 'owners', 'shards');
const upstreamMs = Number(values['upstream-ms']);
const clock = systemClock();
const out = (line: string): void => void process.stdout.write(`${line}\n`);

interface Side {
  readonly name: string;
  readonly ledger: Ledger;
  readonly callers: readonly Caller[];
  /** CPU so far, in microseconds: of the coordinator or the single server, and of all nodes. */
  readonly micros: () => { readonly first: number; readonly all: number };
  readonly close: () => Promise<void>;
}

const options = {
  closeOnBlock: () => false,
  mailReady: () => false,
  journal: async () => false,
  claimSeconds: () => 60,
  onFault: (_: unknown, error: unknown) => void process.stderr.write(`${String(error)}\n`),
};

async function side(cluster: CitusCluster, distribution: 'none' | 'citus'): Promise<Side> {
  const url = await cluster.makeDatabase(distribution);
  await migrate(url, path.join(root, 'migrations'), distribution);
  const client = new Client(url);
  await client.connect();
  const callers = await makeUsers(client, owners, distribution, true);
  await client.end();
  const pool = await openPool(url, 10);
  const onWriting = (): void => undefined;
  const nodes =
    distribution === 'citus' ? await openCluster(pool, url, { maxConnections: 10, onWriting }) : undefined;
  const pids = cluster.pids();
  return {
    name: distribution === 'citus' ? 'Citus, three nodes' : 'one server',
    ledger:
      nodes === undefined
        ? ledgerStore(pool, { ...options, process: gatewayProcess(pool, { onWriting }) })
        : shardedLedger(nodes, options),
    callers,
    micros: () => {
      const each = pids.map(treeMicros);
      return { first: each[0] ?? 0, all: each.reduce((sum, one) => sum + one, 0) };
    },
    close: async () => {
      await nodes?.end();
      await pool.end();
    },
  };
}

let served = 0;
async function serve({ ledger, callers }: Side): Promise<void> {
  const caller = callers[(served += 7) % callers.length];
  if (caller === undefined) throw new Error('there are no callers');
  const id = clock.newId();
  if (E.isLeft(await ledger.admit(askOf(caller, id)))) throw new Error('not admitted');
  if (upstreamMs > 0) await sleep(Math.random() * 2 * upstreamMs);
  const record = recordOf(caller, id, { logged: true, captured: false });
  if (E.isLeft(await ledger.settle(record))) throw new Error('not settled');
}

async function measured(on: Side, atOnce: number, many: number) {
  const before = on.micros();
  const from = performance.now();
  let left = many;
  const caller = async (): Promise<void> => {
    while (left-- > 0) await serve(on);
  };
  await Promise.all(Array.from({ length: atOnce }, caller));
  const after = on.micros();
  return {
    first: (after.first - before.first) / many,
    all: (after.all - before.all) / many,
    perSecond: (many * 1000) / (performance.now() - from),
  };
}

async function main(): Promise<void> {
  const missing = whyNoCitus();
  if (missing !== undefined) throw new Error(`bench:citus did not run: ${missing}`);
  const folder = await sweptFolder('bench-citus');
  await chmod(folder, 0o755);
  const [one, three] = [
    await startCitus(folder, 0, 'one'),
    await startCitus(folder, 2, 'three', { 'citus.shard_count': shards }),
  ];
  try {
    const sides = [await side(one, 'none'), await side(three, 'citus')] as const;
    out(
      `${shards} shards\n\n| at once | | CPU of the first node | CPU of all nodes | requests per second |\n|---|---|---|---|---|`,
    );
    for (const atOnce of [1, 32, 200]) {
      const loads = [
        { on: sides[0], atOnce },
        { on: sides[1], atOnce },
        { on: sides[1], atOnce: atOnce * shards },
      ].map((load) => ({ ...load, costs: [] as Awaited<ReturnType<typeof measured>>[] }));
      // The first round is a warm-up.
      for (let round = 0; round <= rounds; round += 1)
        for (const load of loads) {
          const cost = await measured(load.on, load.atOnce, requests);
          if (round > 0) load.costs.push(cost);
        }
      const all = loads.map(({ costs }) => median(costs.map((cost) => cost.all)));
      for (const [index, load] of loads.entries()) {
        const of = (key: 'first' | 'perSecond'): number => median(load.costs.map((cost) => cost[key]));
        const ratio = ((all[index] ?? 0) / (all[0] ?? 1)).toFixed(2);
        out(
          `| ${load.atOnce} | ${load.on.name} | ${of('first').toFixed(0)} µs | ${all[index]?.toFixed(0)} µs (${ratio}) | ` +
            `${of('perSecond').toFixed(0)} |`,
        );
      }
    }
    for (const { close } of sides) await close();
  } finally {
    await one.stop();
    await three.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

await main();
process.exit(0);
