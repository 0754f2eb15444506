import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startSimulatedUpstream, type SimulatedUpstream } from '../../tools/simulated-upstream/server.ts';
import { eventually } from '../e2e/traces.ts';
import { withDatabase } from '../support/database.ts';
import { aKey, basicConfig, type GatewayProcess, queries, spawnGateway } from '../support/gateway.ts';
import { ledgerVerify } from '../support/ledger-verify.ts';
import { callers, type LoadOutcome, type LoadRequest } from '../support/load.ts';
import { randomFrom, tortureSeed } from '../support/seeded.ts';
import { timed } from '../support/undisturbed.ts';

/** How often a gateway is killed; `TORTURE_KILLS` overrides it. */
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
  // A delay before each commit: an answer that did not wait for its commit would be sent before it.
  await query(`create function take_time() returns trigger language plpgsql as
    'begin perform pg_sleep(random() * 0.02); return new; end'`);
  await query(
    'create trigger slow before insert on usage_daily_totals for each row execute function take_time()',
  );
  upstream = await startSimulatedUpstream({ port: 0 });
});
afterAll(async () => {
  for (const { kill } of spawned) kill();
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

/** Callers that send one request after the other until their gateway is gone. */
function loadUntilGone(url: string) {
  const load = callers(10_000);
  const outcomes: LoadOutcome[] = [];
  const caller = async (): Promise<void> => {
    for (;;) {
      const outcome = await load.send(url, aRequest());
      outcomes.push(outcome);
      if (outcome.fate !== 'complete') return;
    }
  };
  let over = false;
  const gone = Promise.all(Array.from({ length: callersOfEach }, caller)).then(() => {
    over = true;
    load.close();
  });
  return { outcomes, gone, isOver: () => over };
}

describe('after kill -9 of a gateway under load', () => {
  it(
    `every complete answer has one ledger row and one log row, in ${kills} rounds`,
    async () => {
      const outcomes: LoadOutcome[] = [];
      for (let round = 1; round <= kills; round += 1) {
        const gateway = await spawn();
        const loaded = loadUntilGone(gateway.url);
        const enough = 10 + upTo(100);
        while (loaded.outcomes.length < enough && !loaded.isOver()) await sleep(upTo(10));
        gateway.kill();
        expect((await gateway.exited).signal).toBe('SIGKILL');
        await loaded.gone;
        const others = loaded.outcomes.filter(({ fate }) => fate !== 'complete');
        // A refusal is named by its code, which says what the gateway lacked.
        expect(others.map(({ fate, code }) => code ?? fate)).toEqual(Array(callersOfEach).fill('cut'));
        outcomes.push(...loaded.outcomes);
      }
      await everyCompleteAnswerIsThere(outcomes);
      expect(outcomes.filter(({ fate }) => fate === 'complete').length).toBeGreaterThan(20 * kills);
      expect((await ledgerVerify(database.url())).code).toBe(0);
      // A round takes about a second, most of it the start of the gateway, and ten on a busy machine.
    },
    60_000 + kills * 20_000,
  );
});

describe('SIGTERM with 50 streams and 10 other requests in flight', () => {
  it('completes all of them, writes their rows, accepts no new request and exits with 0', async () => {
    const load = callers();
    const gateway = await spawn();
    const streams = await Promise.all(
      Array.from({ length: 50 }, (_, index) =>
        load.open(
          gateway.url,
          aRequest({
            stream: true,
            simulate: {
              chunks: 50,
              'chunk-delay-ms': 100 + index,
              'prompt-tokens': 5,
              'completion-tokens': 5,
            },
          }),
        ),
      ),
    );
    const wholes = Array.from({ length: 10 }, () =>
      load.send(gateway.url, aRequest({ stream: false, simulate: { 'latency-ms': 5000 } })),
    );
    while (upstream.inFlight() < 60) await sleep(5);
    const { value, ms } = await timed(async () => {
      gateway.child.kill('SIGTERM');
      await eventually(() => gateway.output().includes('draining') || undefined);
      const late = await callers().send(gateway.url, aRequest());
      const outcomes = await Promise.all([...streams.map(({ outcome }) => outcome), ...wholes]);
      return { late, outcomes, exited: await gateway.exited };
    });
    const { late, outcomes, exited } = value;
    expect(exited).toEqual({ code: 0, signal: null });
    expect(ms).toBeLessThan(15_000);
    expect(late.fate).toBe('cut');
    expect(outcomes.map(({ fate }) => fate)).toEqual(Array(60).fill('complete'));
    await everyCompleteAnswerIsThere(outcomes);
    load.close();
  });
});
