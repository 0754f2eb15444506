import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  startSimulatedUpstream,
  type SimulatedUpstream,
} from '../../interfaces/simulated-upstream/server.ts';
import { withDatabase } from '../support/database.ts';
import { aKey, basicConfig, type GatewayProcess, queries, spawnGateway } from '../support/gateway.ts';
import {
  callers,
  ledgerVerify,
  type LoadOutcome,
  type LoadRequest,
  randomFrom,
  tortureSeed,
} from '../support/load.ts';

/** How often a gateway is killed: `TORTURE_KILLS` asks for more. */
const kills = Number(process.env['TORTURE_KILLS'] ?? 20);
/** Callers of one gateway, each with one request at a time. */
const callersOfEach = 16;

const seed = tortureSeed();
const random = randomFrom(seed);
const upTo = (max: number): number => Math.floor(random() * (max + 1));
const key = aKey();
const database = withDatabase();
const query = queries(database.url);
let upstream: SimulatedUpstream;
const spawned: GatewayProcess[] = [];

const spawn = async (): Promise<GatewayProcess> => {
  const config = basicConfig(upstream.url, key, {
    user: { budget: { cadence: 'monthly', amount_10000: 100_000_000, hard_limit: true } },
    more: { server: { bind: '127.0.0.1:0', shutdown_grace_secs: 20 } },
  });
  const gateway = await spawnGateway(config, database.url());
  spawned.push(gateway);
  return gateway;
};

beforeAll(async () => {
  upstream = await startSimulatedUpstream({ port: 0 });
});
afterAll(async () => {
  for (const { child } of spawned) child.kill('SIGKILL');
  await Promise.all(spawned.map(({ exited }) => exited));
  await upstream?.close();
});

const aRequest = (over: Partial<LoadRequest> = {}): LoadRequest => ({
  requestId: randomUUID(),
  key,
  stream: random() < 0.5,
  simulate: {
    'prompt-tokens': upTo(500),
    'completion-tokens': upTo(100),
    'latency-ms': upTo(15),
    'chunk-delay-ms': upTo(2),
    chunks: 1 + upTo(5),
  },
  ...over,
});

/** Ids of `requests` that have no row in a table, or more than one. */
async function withoutOneRow(table: string, requests: readonly LoadOutcome[]): Promise<readonly string[]> {
  const rows = await query<{ request_id: string; rows: string }>(
    `select request_id, count(*) as rows from ${table} where request_id = any ($1) group by 1`,
    [requests.map(({ requestId }) => requestId)],
  );
  const found = new Map(rows.map(({ request_id, rows }) => [request_id, Number(rows)]));
  return requests.map(({ requestId }) => requestId).filter((id) => found.get(id) !== 1);
}

async function everyCompleteAnswerIsThere(outcomes: readonly LoadOutcome[]): Promise<void> {
  const complete = outcomes.filter(({ fate }) => fate === 'complete');
  const missing = {
    ledger: await withoutOneRow('usage_cost_events', complete),
    log: await withoutOneRow('request_logs', complete),
  };
  expect({ seed, missing }).toEqual({ seed, missing: { ledger: [], log: [] } });
}

/** Callers that ask one request after the other until their gateway is gone. */
async function loadUntilGone(url: string): Promise<readonly LoadOutcome[]> {
  const load = callers(10_000);
  const outcomes: LoadOutcome[] = [];
  const caller = async (): Promise<void> => {
    for (;;) {
      const outcome = await load.send(url, aRequest());
      outcomes.push(outcome);
      if (outcome.fate !== 'complete') return;
    }
  };
  await Promise.all(Array.from({ length: callersOfEach }, caller));
  load.close();
  return outcomes;
}

describe('kill -9 of a gateway under load', () => {
  it(`leaves the ledger row and the log row of every complete answer behind, ${kills} times`, async () => {
    const outcomes: LoadOutcome[] = [];
    let next = spawn();
    for (let round = 1; round <= kills; round += 1) {
      const gateway = await next;
      // The next one starts while this one is under load.
      if (round < kills) next = spawn();
      const loaded = loadUntilGone(gateway.url);
      await sleep(100 + upTo(300));
      gateway.child.kill('SIGKILL');
      const { signal } = await gateway.exited;
      expect(signal).toBe('SIGKILL');
      const ofRound = await loaded;
      outcomes.push(...ofRound);
      expect(ofRound.filter(({ fate }) => fate !== 'complete').map(({ fate }) => fate)).toEqual(
        Array(callersOfEach).fill('cut'),
      );
    }
    console.log(
      kills,
      'kills',
      outcomes.length,
      'requests',
      outcomes.filter(({ fate }) => fate === 'complete').length,
    );
    await everyCompleteAnswerIsThere(outcomes);
    expect(outcomes.filter(({ fate }) => fate === 'complete').length).toBeGreaterThan(20 * kills);
    expect((await ledgerVerify(database.url())).code).toBe(0);
  });
});

describe('SIGTERM with fifty streams in flight', () => {
  it('lets every stream come to its end, writes every row and exits with 0', async () => {
    const load = callers();
    const gateway = await spawn();
    const streams = await Promise.all(
      Array.from({ length: 50 }, (_, index) =>
        load.open(
          gateway.url,
          aRequest({
            stream: true,
            simulate: {
              chunks: 20,
              'chunk-delay-ms': 40 + index,
              'prompt-tokens': 5,
              'completion-tokens': 5,
            },
          }),
        ),
      ),
    );
    const wholes = Array.from({ length: 10 }, () =>
      load.send(gateway.url, aRequest({ stream: false, simulate: { 'latency-ms': 500 } })),
    );
    await sleep(50);
    const from = performance.now();
    gateway.child.kill('SIGTERM');
    await sleep(100);
    const late = await callers().send(gateway.url, aRequest());
    const outcomes = await Promise.all([...streams.map(({ outcome }) => outcome), ...wholes]);
    expect(await gateway.exited).toEqual({ code: 0, signal: null });
    expect(performance.now() - from).toBeLessThan(15_000);
    expect(late.fate).toBe('cut');
    expect(outcomes.map(({ fate }) => fate)).toEqual(Array(60).fill('complete'));
    await everyCompleteAnswerIsThere(outcomes);
    load.close();
  });
});
