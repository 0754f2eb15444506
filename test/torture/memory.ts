/**
 * `node test/torture/memory.ts [STREAMS [READERS [MINUTES]]]`: the memory of a gateway with one process for
 * STREAMS silent streams (by default 9,500), then for READERS callers that do not read (1,000), then for
 * MINUTES with callers that connect and disconnect (10); after each it must hold no more than before. Each
 * end of a stream needs an open file, so the limit of open files (`ulimit -n`) must be above twice the number
 * of streams.
 */
import { rm, writeFile } from 'node:fs/promises';
import type { Socket } from 'node:net';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { stringify } from 'yaml';
import { start } from '../../bench/processes.ts';
import { startEmbeddedPostgres } from '../../infrastructure/embedded-postgres/start.ts';
import { beginExchange } from '../e2e/raw-http.ts';
import { aKey } from '../support/a-key.ts';
import { randomFrom, tortureSeed } from '../support/seeded.ts';
import { aLeaving, disconnectsConfig, leave, leaveAll, type Owner, owners } from './leaving-callers.ts';
import type { Held } from './probe.ts';
import { mebibytes, startProbedGateway } from './probed-gateway.ts';
import { givenNumber } from '../support/given-number.ts';
import { sweptFolder } from '../support/swept-folder.ts';

const streams = givenNumber(1, 9500);
const readers = givenNumber(2, 1000);
const minutes = givenNumber(3, 10);
const callersAtOnce = 64;
/** The limit for 10,000 streams in total; fewer may use their share above the memory of an idle process. */
const maxResidentBytes = 1024 ** 3;
/** The heap difference that is accepted between two measurements: caches that fill up to their limits. */
const heapSlackBytes = 8 * 1024 * 1024;
/** How long memory of callers may take to be freed, since rows of each are still written. */
const patienceMs = 60_000;
/** The limit for each caller that does not read, beyond the socket buffers of the system. */
const bytesOfReader = 512 * 1024;

const seed = tortureSeed();
const out = (line: string): void => void process.stdout.write(`${line}\n`);

/** Both last for minutes: the first is silent after two chunks, the second sends 40 MB to readers. */
const patient = {
  still: 'simulated-fast?chunks=6&hang=2',
  plenty: 'simulated-fast?chunks=20000&chunk-bytes=2000',
} as const;
type Patient = keyof typeof patient;

const config = (upstreamUrl: string, keys: Readonly<Record<Owner, string>>): Record<string, unknown> => {
  const { server, providers, models, ...rest } = disconnectsConfig(upstreamUrl, keys, 40);
  const inFlight = streams + readers + callersAtOnce;
  return {
    ...rest,
    server: {
      ...server,
      stream_keepalive_secs: 5,
      max_in_flight: inFlight,
      max_in_flight_per_owner: inFlight,
    },
    providers: [
      ...providers,
      {
        id: 'patient',
        type: 'compat',
        base_url: upstreamUrl,
        auth: { mode: 'none' },
        timeouts: { connect_ms: 30_000, first_byte_ms: 60_000, idle_ms: 600_000, total_ms: 1_200_000 },
      },
    ],
    models: [
      ...models,
      ...Object.entries(patient).map(([id, upstream_model]) => ({
        id,
        routes: [{ provider: 'patient', upstream_model }],
      })),
    ],
  };
};

const folder = await sweptFolder('memory');
const postgres = await startEmbeddedPostgres({ dataDir: path.join(folder, 'database'), testing: true });
const upstream = await start([
  path.join(import.meta.dirname, '..', '..', 'interfaces', 'cli', 'gateway.mjs'),
  'simulate-upstream',
  '--port',
  '0',
]);
const keys = Object.fromEntries(owners.map((owner) => [owner, aKey()])) as Record<Owner, string>;
const configFile = path.join(folder, 'gateway.yaml');
await writeFile(configFile, stringify(config(upstream.url, keys)));
const gateway = await startProbedGateway(configFile, postgres.url, folder);

const problems: string[] = [];
const expect = (holds: boolean, problem: string): void => {
  if (!holds) problems.push(problem);
};

/** Opens a stream; resolves with its socket when `text` has arrived, and reads no further. */
function opened(model: Patient, text: string): Promise<Socket> {
  const socket = beginExchange(gateway.url, {
    path: '/v1/chat/completions',
    headers: [
      ['authorization', `Bearer ${keys.free}`],
      ['content-type', 'application/json'],
    ],
    body: JSON.stringify({ model, stream: true, messages: [{ role: 'user', content: 'Hello there' }] }),
  });
  return new Promise((resolve, reject) => {
    let received = '';
    const read = (bytes: Buffer): void => {
      received += bytes.toString('latin1');
      if (!received.includes(text)) return;
      socket.off('data', read);
      if (model === 'plenty') socket.pause();
      else socket.resume();
      resolve(socket);
    };
    socket.on('data', read);
    socket.once('error', reject);
    socket.once('close', () => reject(new Error(`a stream ended with ${received.slice(0, 200)}`)));
  });
}

async function openAll(count: number, model: Patient): Promise<readonly Socket[]> {
  const sockets: Socket[] = [];
  await leaveAll(count, 100, async () => void sockets.push(await opened(model, '"content":')));
  return sockets;
}

const told = (when: string, { residentBytes, heapBytes, sockets }: Held): string =>
  `${when}: resident ${mebibytes(residentBytes)}, heap ${mebibytes(heapBytes)}, sockets ${sockets}`;

const look = async (when: string): Promise<Held> => {
  const held = await gateway.holds('heap');
  out(told(when, held));
  return held;
};

/** Disconnects all callers and measures. Idle connections to the upstream are kept for ten seconds. */
async function looked(when: string, sockets: readonly Socket[], before: Held): Promise<void> {
  for (const socket of sockets) socket.destroy();
  const leftAt = performance.now();
  let after = await gateway.holds('heap');
  while (!isBack(after, before) && performance.now() - leftAt < patienceMs) {
    await sleep(2000);
    after = await gateway.holds('heap');
  }
  const seconds = ((performance.now() - leftAt) / 1000).toFixed(0);
  out(told(`${when}, ${seconds} s later`, after));
  const growth = after.heapBytes - before.heapBytes;
  expect(isBack(after, before), `${when}: ${mebibytes(growth)} more heap, ${after.sockets} sockets`);
}

const isBack = (after: Held, before: Held): boolean =>
  after.heapBytes - before.heapBytes < heapSlackBytes && after.sockets <= before.sockets + 10;

const random = randomFrom(seed);
let disconnects = 0;
const churn = async (count: number): Promise<void> => {
  await leaveAll(count, callersAtOnce, (index) => {
    const leaving = aLeaving(random, `left-${disconnects}-${index}`);
    return leave(gateway.url, keys[leaving.owner], leaving, random);
  });
  disconnects += count;
};

try {
  out(`seed ${seed}; ${streams} idle streams, ${readers} callers who do not read, ${minutes} min of churn`);
  await churn(3000);
  const [first] = await openAll(1, 'still');
  first?.destroy();
  await sleep(12_000);
  const idle = await look('before');

  const still = await openAll(streams, 'still');
  const amid = await look(`${streams} streams that stand still`);
  await sleep(30_000);
  const later = await look('and half a minute later');
  const most = idle.residentBytes + ((maxResidentBytes - idle.residentBytes) * streams) / 10_000;
  expect(later.residentBytes <= most, `${streams} streams hold ${mebibytes(later.residentBytes)}`);
  expect(amid.sockets >= 2 * streams, 'the streams were not all open at once');
  await looked('after they left', still, idle);

  const unread = await openAll(readers, 'plenty');
  await sleep(10_000);
  const held = await look(`${readers} callers who do not read`);
  await sleep(20_000);
  const heldOn = await look('and twenty seconds later');
  const bound = idle.residentBytes + readers * bytesOfReader;
  expect(held.residentBytes <= bound, `who does not read holds more than ${mebibytes(bytesOfReader)}`);
  expect(heldOn.residentBytes <= bound, 'what callers hold who do not read goes on growing');
  await looked('after they left', unread, idle);

  const until = performance.now() + minutes * 60_000;
  const from = performance.now();
  const disconnectsBefore = disconnects;
  while (performance.now() < until) await churn(500);
  const seconds = (performance.now() - from) / 1000;
  out(`${disconnects - disconnectsBefore} callers came and left in ${seconds.toFixed(0)} s`);
  await looked('after them', [], idle);
  const { inFlight, code } = await gateway.stop();
  expect(inFlight === 0, `${String(inFlight)} leases are held`);
  expect(code === 0, `the gateway ended with ${code}`);
  expect(gateway.errors.length === 0, `errors were logged: ${gateway.errors.slice(0, 3).join('\n')}`);
} finally {
  gateway.child.kill('SIGKILL');
  await upstream.stop();
  await postgres.stop();
  await rm(folder, { recursive: true, force: true });
}
for (const problem of problems) out(`FAULT: ${problem}`);
out(problems.length === 0 ? 'nothing is left of them' : `${problems.length} faults`);
process.exitCode = problems.length === 0 ? 0 : 1;
