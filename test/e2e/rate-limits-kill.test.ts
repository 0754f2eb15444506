import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startSimulatedUpstream, type SimulatedUpstream } from '../../tools/simulated-upstream/server.ts';
import { withDatabase } from '../support/database.ts';
import { type GatewayProcess, spawnGateway } from '../support/gateway.ts';
import { timed, undisturbed } from '../support/undisturbed.ts';
import { keyOf, limitsConfig } from './limits-scene.ts';
import { eventually } from './traces.ts';

const database = withDatabase();
let upstream: SimulatedUpstream;
const processes: GatewayProcess[] = [];

beforeAll(async () => {
  upstream = await startSimulatedUpstream({ host: '127.0.0.1', port: 0 });
  const config = limitsConfig(upstream.url, { narrow: { requests_in_flight: 3 } });
  for (let index = 0; index < 2; index += 1) processes.push(await spawnGateway(config, database.url()));
});
afterAll(async () => {
  for (const { kill } of processes) kill();
  await Promise.all(processes.map(({ exited }) => exited));
  await upstream?.close();
});

/** The status of a request that the upstream answers after `latencyMs`; 0 if its gateway is gone. */
async function ask({ url }: GatewayProcess, latencyMs: number): Promise<number> {
  try {
    const answer = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${keyOf('narrow')}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model: 'fast',
        messages: [{ role: 'user', content: 'Hi' }],
        simulate: { 'latency-ms': latencyMs },
      }),
    });
    await answer.text();
    return answer.status;
  } catch {
    return 0;
  }
}

/** Requests that are sent at once and last this long overlap even on a busy machine, unless it pauses. */
const togetherMs = 1_000;

describe('kill -9 of a process with requests in flight under a limit', () => {
  it('releases them within 10 seconds, and none of those that another process holds', async () => {
    const [dying, there] = processes as [GatewayProcess, GatewayProcess];
    const cut = [ask(dying, 100_000), ask(dying, 100_000)];
    const kept = ask(there, 100_000);
    await eventually(() => (upstream.inFlight() === 3 ? true : undefined));
    expect(await ask(there, 0)).toBe(429);

    const { value: ms } = await timed(async (soFarMs) => {
      let roomMs: number | undefined;
      dying.kill();
      expect(await Promise.all(cut)).toEqual([0, 0]);
      // Two at once are admitted as soon as both are released.
      for (;;) {
        const { value: both, longestPauseMs } = await timed(() =>
          Promise.all([ask(there, togetherMs), ask(there, togetherMs)]),
        );
        if (both.every((status) => status === 200)) {
          roomMs ??= soFarMs();
          // With a pause of the machine, one may have followed the other.
          if (longestPauseMs < togetherMs / 2) return roomMs;
        }
        expect(roomMs ?? soFarMs()).toBeLessThan(10_000);
        await sleep(100);
      }
    });
    expect(ms).toBeLessThan(10_000);
    await undisturbed(togetherMs / 2, async () => {
      const three = await Promise.all([1, 2, 3].map(() => ask(there, togetherMs)));
      expect(three.toSorted((one, other) => one - other)).toEqual([200, 200, 429]);
    });
    there.kill();
    expect(await kept).toBe(0);
  });
});
