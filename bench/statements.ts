// npm run bench:statements: PostgreSQL's CPU per request for the statements of the money path, admission and settlement
// together: for single requests, and in batches of 32.
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import * as E from 'fp-ts/lib/Either.js';
import { Client } from 'pg';
import { type Caller, scopeOf } from '../domain/identity/caller.ts';
import { systemClock } from '../infrastructure/clock.ts';
import { makeLogPartitions } from '../infrastructure/postgres/log-partitions.ts';
import { numbersOf } from '../test/support/given-number.ts';
import { payloads as payloadsOf } from './ledger-payloads.ts';
import { askOf, recordOf, type Settled } from './ledger-records.ts';
import { ledgerScene, makeUsers } from './ledger-scene.ts';
import { median } from './load.ts';
import { databaseMicros } from './processes.ts';
import { backendMicros } from './statement-costs.ts';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    owners: { type: 'string', default: '50' },
    requests: { type: 'string', default: '600' },
    batches: { type: 'string', default: '100' },
  },
});
const { rounds, owners, requests, batches } = numbersOf(values, 'rounds', 'owners', 'requests', 'batches');
const batchSize = 32;

const scene = await ledgerScene();
const { ledger, payloads } = scene;
const serverMicros = databaseMicros(scene.dataDir);
await makeLogPartitions(scene.pool, false);
const clock = systemClock();
/** The bodies of a small request. */
const bodies = payloadsOf(0.1);
const client = new Client(scene.url);
await client.connect();

interface Part extends Settled {
  readonly name: string;
  readonly callers: readonly Caller[];
}

let served = 0;

async function serve(part: Part): Promise<void> {
  const caller = part.callers[served++ % part.callers.length];
  if (caller === undefined) throw new Error('there are no callers');
  const number = served;
  const id = clock.newId();
  if (E.isLeft(await ledger.admit(askOf(caller, id)))) throw new Error('not admitted');
  if (E.isLeft(await ledger.settle(recordOf(caller, id, part)))) throw new Error('not settled');
  if (part.captured) payloads.keep({ requestLogId: id, scope: scopeOf(caller) }, () => bodies.of(number));
}

/** This many requests at once, and the next ones when all of them have ended. */
async function serveAll(part: Part, atOnce: number, requests: number): Promise<void> {
  for (let left = requests; left > 0; left -= atOnce)
    await Promise.all(Array.from({ length: atOnce }, () => serve(part)));
  while (payloads.counts().queuedBytes > 0) await sleep(20);
  if (payloads.counts().shed > 0) throw new Error('payloads were shed');
}

interface Cost {
  readonly backends: number;
  readonly server: number;
  readonly own: number;
  readonly milliseconds: number;
}

async function measured(part: Part, atOnce: number, requests: number): Promise<Cost> {
  const before = {
    backends: await backendMicros(client),
    server: serverMicros(),
    own: process.cpuUsage(),
  };
  const from = performance.now();
  await serveAll(part, atOnce, requests);
  const milliseconds = ((performance.now() - from) * atOnce) / requests;
  const { user, system } = process.cpuUsage(before.own);
  return {
    backends: ((await backendMicros(client)) - before.backends) / requests,
    server: (serverMicros() - before.server) / requests,
    own: (user + system) / requests,
    milliseconds,
  };
}

try {
  const [free, budgeted] = [
    await makeUsers(client, owners, 'free', false),
    await makeUsers(client, owners, 'budgeted', true),
  ];
  const parts: readonly Part[] = [
    { name: 'no budget, ledger row', callers: free, logged: false, captured: false },
    { name: 'no budget, and summary row', callers: free, logged: true, captured: false },
    { name: 'hard budget, ledger row', callers: budgeted, logged: false, captured: false },
    { name: 'hard budget, and summary row', callers: budgeted, logged: true, captured: false },
    {
      name: `hard budget, and ${bodies.bytes} bytes of bodies`,
      callers: budgeted,
      logged: true,
      captured: true,
    },
  ];
  const loads = [
    { name: 'one at a time', atOnce: 1, requests },
    { name: `batches of ${batchSize}`, atOnce: batchSize, requests: batchSize * batches },
  ];
  const cases = loads.flatMap((load) => parts.map((part) => ({ load, part, costs: [] as Cost[] })));
  // The first round is a warm-up.
  for (let round = 0; round <= rounds; round += 1)
    for (const { load, part, costs } of cases) {
      const cost = await measured(part, load.atOnce, load.requests);
      if (round > 0) costs.push(cost);
    }
  const shown = (costs: readonly Cost[], of: keyof Cost, digits = 0): string =>
    median(costs.map((cost) => cost[of])).toFixed(digits);
  process.stdout.write(
    '| | PostgreSQL, for clients | whole server | this process | median time |\n|---|---|---|---|---|\n',
  );
  for (const { load, part, costs } of cases)
    process.stdout.write(
      `| ${load.name}, ${part.name} | ${shown(costs, 'backends')} µs | ${shown(costs, 'server')} µs | ` +
        `${shown(costs, 'own')} µs | ${shown(costs, 'milliseconds', 2)} ms |\n`,
    );
} finally {
  await client.end();
  await scene.close();
}
