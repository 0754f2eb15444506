/**
 * `node test/torture/disconnects.ts [COUNT]`: COUNT callers (by default 10,000) disconnect from a gateway, in
 * every family, at every moment, while its upstream answers, refuses, breaks or falls silent; then the
 * gateway must hold no more than before. `TORTURE_SEED` repeats an earlier run.
 */
import { rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { stringify } from 'yaml';
import { startEmbeddedPostgres } from '../../infrastructure/embedded-postgres/start.ts';
import { startSimulatedUpstream } from '../../tools/simulated-upstream/server.ts';
import { chat, messages, responses } from '../e2e/talk.ts';
import { eventually } from '../e2e/traces.ts';
import { aKey } from '../support/a-key.ts';
import { randomFrom, tortureSeed } from '../support/seeded.ts';
import {
  aLeaving,
  disconnectsConfig,
  drained,
  faultyRequests,
  leave,
  leaveAll,
  type Leaving,
  type Owner,
  owners,
} from './leaving-callers.ts';
import type { Held } from './probe.ts';
import { mebibytes, startProbedGateway } from './probed-gateway.ts';
import { givenNumber } from '../support/given-number.ts';
import { sweptFolder } from '../support/swept-folder.ts';

const count = givenNumber(1, 10_000);
const callersAtOnce = 64;
const maxDrains = 40;
/** The first rounds are a warm-up: compiled code, pools and caches are not a leak. */
const rounds = 10;
/** The heap difference that is accepted between two measurements: caches that fill up to their limits. */
const heapSlackBytes = 4 * 1024 * 1024;

const seed = tortureSeed();
const out = (line: string): void => void process.stdout.write(`${line}\n`);

const told = ({ heapBytes, sockets, intervals, objects }: Held): string =>
  [
    `heap ${mebibytes(heapBytes)}`,
    `sockets ${sockets}`,
    `repeating timers ${intervals.length}`,
    ...Object.entries(objects).map(([kind, live]) => `${kind} ${live}`),
  ].join(', ');

const folder = await sweptFolder('disconnects');
const postgres = await startEmbeddedPostgres({ dataDir: path.join(folder, 'database'), testing: true });
const upstream = await startSimulatedUpstream({ port: 0 });
const keys = Object.fromEntries(owners.map((owner) => [owner, aKey()])) as Record<Owner, string>;
const configFile = path.join(folder, 'gateway.yaml');
await writeFile(configFile, stringify(disconnectsConfig(upstream.url, keys, maxDrains)));
const gateway = await startProbedGateway(configFile, postgres.url, folder);
const database = new Client(postgres.url);
await database.connect();
const rowsOf = async (sql: string): Promise<readonly Record<string, unknown>[]> =>
  (await database.query(sql)).rows;

const problems: string[] = [];
const expect = (holds: boolean, problem: string): void => {
  if (!holds) problems.push(problem);
};

/** Waits until all requests have ended. */
async function quiet(): Promise<void> {
  const finished = (): number => [...gateway.outcomes.values()].reduce((sum, each) => sum + each, 0);
  const deadline = Date.now() + 20_000;
  for (let calm = 0, before = -1; calm < 5 && Date.now() < deadline; before = finished()) {
    await sleep(100);
    calm = upstream.inFlight() === 0 && finished() === before ? calm + 1 : 0;
  }
}

/** Counts concurrent drains, which must be the maximum: no place was lost, and none was released twice. */
async function drainPlaces(): Promise<number> {
  const talks = [chat, messages, responses];
  const over = maxDrains + 10;
  await Promise.all(
    Array.from({ length: over }, (_, index) => {
      const leaving: Leaving = {
        requestId: `drain-${index}`,
        talk: talks[index % talks.length] ?? chat,
        stream: true,
        owner: 'hard',
        model: drained[0] as Leaving['model'],
        moment: 'in the middle',
        rudely: false,
      };
      return leave(gateway.url, keys.hard, leaving, () => 0);
    }),
  );
  await quiet();
  const [row] = await rowsOf(
    "select count(*) filter (where pricing_status = 'priced')::int as priced, count(*)::int as n from usage_cost_events where request_id like 'drain-%'",
  );
  expect(row?.['n'] === over, `of ${over} callers that left, ${String(row?.['n'])} are in the ledger`);
  return Number(row?.['priced']);
}

try {
  out(`seed ${seed}; ${count} disconnects, ${callersAtOnce} callers at once`);
  const random = randomFrom(seed);
  const atStart = await gateway.holds('objects');
  out(`before: ${told(atStart)}`);
  const busy = leaveAll(callersAtOnce * 3, callersAtOnce, (index) => {
    const leaving = aLeaving(random, `busy-${index}`);
    return leave(gateway.url, keys[leaving.owner], leaving, random);
  });
  // On a busy machine the first requests take long.
  await eventually(() => (upstream.inFlight() >= 10 ? true : undefined));
  const amid = await gateway.holds('objects');
  await busy;
  out(`amid: ${told(amid)}`);
  expect(amid.intervals.length > 0 && amid.objects['Exchange'] !== 0, 'the probe saw nothing');
  let warm: Held | undefined;
  for (let round = 0; round < rounds; round += 1) {
    const from = performance.now();
    await leaveAll(Math.ceil(count / rounds), callersAtOnce, (index) => {
      const leaving = aLeaving(random, `left-${round}-${index}`);
      return leave(gateway.url, keys[leaving.owner], leaving, random);
    });
    const seconds = (performance.now() - from) / 1000;
    await quiet();
    const last = await gateway.holds('heap');
    warm ??= last;
    out(`after ${Math.ceil(count / rounds) * (round + 1)} (${seconds.toFixed(1)} s): ${told(last)}`);
  }
  const places = await drainPlaces();
  // Idle connections to the upstream are kept for ten seconds.
  await sleep(11_000);
  const after = await gateway.holds('objects');
  out(`drain places in use at once after it all: ${places} of ${maxDrains}`);
  out(`after: ${told(after)}`);
  const faulty = await rowsOf(faultyRequests);
  const kinds = await rowsOf(
    "select metadata_json->>'operation' as operation, status_code, count(*)::int as requests from request_logs group by 1, 2 order by 1, 2",
  );
  for (const { operation, status_code, requests } of kinds)
    out(`  ${String(operation)} ${String(status_code)}: ${String(requests)}`);
  out(`outcomes: ${JSON.stringify(Object.fromEntries(gateway.outcomes))}`);
  const { inFlight, code } = await gateway.stop();
  out(`in-flight leases at the end: ${String(inFlight)}; exit code ${code}`);

  const growth = after.heapBytes - (warm?.heapBytes ?? 0);
  out(`heap growth since the first round: ${mebibytes(growth)}`);
  expect(growth < heapSlackBytes, `the heap has grown by ${mebibytes(growth)}`);
  expect(places === maxDrains, `${places} of ${maxDrains} drain places were there`);
  for (const kind of ['Exchange', 'Forwarding', 'IncomingMessage', 'ServerResponse'])
    expect(after.objects[kind] === 0, `${after.objects[kind]} objects of the kind ${kind} are still there`);
  expect(after.sockets <= atStart.sockets + 10, `${after.sockets} sockets are open`);
  expect(
    after.intervals.join() === atStart.intervals.join(),
    `repeating timers: ${after.intervals.join()} instead of ${atStart.intervals.join()}`,
  );
  expect(inFlight === 0, `${String(inFlight)} leases are held`);
  expect(code === 0, `the gateway ended with ${code}`);
  expect(gateway.doubles.size === 0, `more than one outcome: ${[...gateway.doubles].slice(0, 5).join()}`);
  expect(gateway.errors.length === 0, `errors were logged: ${gateway.errors.slice(0, 3).join('\n')}`);
  expect(faulty.length === 0, `rows that should not be: ${JSON.stringify(faulty.slice(0, 5))}`);
} finally {
  gateway.child.kill('SIGKILL');
  await database.end();
  await upstream.close();
  await postgres.stop();
  await rm(folder, { recursive: true, force: true });
}
for (const problem of problems) out(`FAULT: ${problem}`);
out(problems.length === 0 ? 'nothing is left of them' : `${problems.length} faults`);
process.exitCode = problems.length === 0 ? 0 : 1;
