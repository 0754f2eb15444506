import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { stringify } from 'yaml';
import { startSimulatedUpstream, type SimulatedUpstream } from '../../tools/simulated-upstream/server.ts';
import { withDatabase } from '../support/database.ts';
import {
  aKey,
  basicConfig,
  type ConfigFile,
  onDatabase,
  startGateway,
  type TestGateway,
} from '../support/gateway.ts';

const database = withDatabase();
const key = aKey();
let upstream: SimulatedUpstream;
let gateway: TestGateway;

beforeAll(async () => {
  upstream = await startSimulatedUpstream({ port: 0 });
  gateway = await startGateway(config(), database.url());
});
afterAll(async () => {
  await gateway?.stop();
  await upstream?.close();
});

const route = { upstream_model: 'simulated-fast?chunks=200&chunk-delay-ms=10' };
const config = (): ConfigFile => onDatabase(basicConfig(upstream.url, key, { route }));

const ofCompany = 4000;
const companyKey = (index: number): string =>
  `gwk_company${String(index).padStart(8, '0')}.${'0123456789abcdef'.repeat(3)}`;

/** The same file with many users, keys and models, written as text for speed: that is not measured. */
function ofManyPeople(): string {
  const { users: _users, api_keys: _keys, models, ...rest } = config();
  const indexes = Array.from({ length: ofCompany }, (_, index) => index);
  const lines = [
    stringify(rest),
    `users:\n- {email: a@example.com}`,
    ...indexes.map((n) => `- {email: p${n}@example.com, budget: {cadence: daily, amount_10000: ${n + 1}}}`),
    `api_keys:\n- {name: dev, owner: "user:a@example.com", value: ${key}}`,
    ...indexes.map((n) => `- {name: k${n}, owner: "user:p${n}@example.com", value: ${companyKey(n)}}`),
    stringify({ models }).trimEnd(),
    ...indexes
      .slice(0, 250)
      .map((n) => `  - {id: model-${n}, routes: [{provider: up, upstream_model: simulated-fast}]}`),
  ];
  return `${lines.join('\n')}\n`;
}

const ask = (url: string, apiKey: string, init: RequestInit = {}): Promise<Response> =>
  fetch(`${gateway.url}${url}`, {
    ...init,
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
  });

/** Measures the most processor time of one turn of the event loop, because that ignores other processes. */
function watchTurns(): () => number {
  const spent = (): number => {
    const { user, system } = process.threadCpuUsage();
    return (user + system) / 1000;
  };
  let before = spent();
  let most = 0;
  const watch = setInterval(() => {
    const now = spent();
    most = Math.max(most, now - before);
    before = now;
  }, 1);
  return () => {
    clearInterval(watch);
    return most;
  };
}

it('a reload of thousands of users, keys and budgets needs less than 250 ms of processor time per turn of the event loop', async () => {
  const text = ofManyPeople();
  const body = JSON.stringify({ model: 'fast', stream: true, messages: [{ role: 'user', content: 'Hi' }] });
  const streamed = ask('/v1/chat/completions', key, { method: 'POST', body }).then((each) => each.text());
  const mostOfATurn = watchTurns();
  await gateway.reload(text);
  expect(mostOfATurn()).toBeLessThan(250);
  expect(await streamed).toContain('[DONE]');
  const listed = await ask('/v1/models', companyKey(ofCompany - 1));
  const { data } = (await listed.json()) as { data: readonly { id: string }[] };
  expect(data).toHaveLength(251);
});
