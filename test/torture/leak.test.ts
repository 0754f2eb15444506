import { queryObjects } from 'node:v8';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Exchange } from '../../infrastructure/providers/exchange.ts';
import { type SimulatedUpstream, startSimulatedUpstream } from '../../tools/simulated-upstream/server.ts';
import { eventually } from '../e2e/traces.ts';
import { withDatabase } from '../support/database.ts';
import { aKey, queries, startGateway, type TestGateway } from '../support/gateway.ts';
import { ledgerVerify } from '../support/ledger-verify.ts';
import { randomFrom, tortureSeed } from '../support/seeded.ts';
import { aLeaving, disconnectsConfig, faultyRequests, leave, leaveAll } from './leaving-callers.ts';

/** `npm run torture:disconnects` makes thousands of them, and also checks the heap. */
const disconnects = 400;
const callersAtOnce = 32;

const seed = tortureSeed();
const random = randomFrom(seed);
const keys = { free: aKey(), soft: aKey(), hard: aKey() };
const database = withDatabase();
const query = queries(database.url);
let upstream: SimulatedUpstream;
let gateway: TestGateway;

beforeAll(async () => {
  upstream = await startSimulatedUpstream({ port: 0 });
  gateway = await startGateway(disconnectsConfig(upstream.url, keys, 40), database.url());
});
afterAll(async () => {
  await upstream?.close();
});

describe(`${disconnects} client disconnects in all families at all moments (seed ${seed})`, () => {
  it('produce one log row, one outcome line and the expected ledger rows per request, and no logged error', async () => {
    await leaveAll(disconnects, callersAtOnce, (index) => {
      const leaving = aLeaving(random, `left-${index}`);
      return leave(gateway.url, keys[leaving.owner], leaving, random);
    });
    const outcomes = (): readonly unknown[] =>
      gateway.log.lines
        .filter(({ message }) => message === 'request')
        .map(({ fields }) => fields['request_id']);
    await eventually(async () => {
      const before = outcomes().length;
      await sleep(200);
      return upstream.inFlight() === 0 && outcomes().length === before ? true : undefined;
    }, 10_000);
    const ids = outcomes();
    expect(new Set(ids).size).toBe(ids.length);
    // The missing requests were disconnected before the gateway had read a byte of them.
    expect(ids.length).toBeGreaterThan(disconnects * 0.8);
    expect(await query('select count(*)::int as n from request_logs')).toEqual([{ n: ids.length }]);
    expect(await query(faultyRequests)).toEqual([]);
    expect(gateway.log.lines.filter(({ level }) => level === 'error')).toEqual([]);
    expect((await ledgerVerify(database.url())).code).toBe(0);
  });

  it('keep no upstream exchange in memory and no request in flight', async () => {
    await eventually(() => (queryObjects(Exchange, { format: 'count' }) === 0 ? true : undefined), 40_000);
    await gateway.stop();
    expect(gateway.log.lines).toContainEqual({
      level: 'info',
      fields: { in_flight: 0 },
      message: 'draining',
    });
  });
});
