import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import * as E from 'fp-ts/lib/Either.js';
import { stringify } from 'yaml';
import type { UpstreamCall } from '../../application/ports/upstream.ts';
import { priceCatalogue } from '../../domain/money/price-catalogue.ts';
import { redactionRules } from '../../domain/payload/redact.ts';
import { parseConfig } from '../../infrastructure/config/load.ts';
import { resolver } from '../../infrastructure/config/resolver.ts';
import { seedOf } from '../../infrastructure/config/seed.ts';
import { executor } from '../../infrastructure/providers/executor.ts';
import { bundledOutputLimits } from '../../infrastructure/pricing/output-limits.ts';
import { type CatalogueContext, LiveCatalogue } from '../../infrastructure/providers/live-catalogue.ts';
import { type SimulatedUpstream, startSimulatedUpstream } from '../../tools/simulated-upstream/server.ts';
import { aRoute } from '../support/arbitraries/routing.ts';
import { aKey, basicConfig } from '../support/gateway.ts';

const key = aKey();
const prices = priceCatalogue([], []);
let upstream: SimulatedUpstream;
beforeAll(async () => {
  upstream = await startSimulatedUpstream({ port: 0 });
});
afterAll(() => upstream?.close());

/** Has no output limits and ignores warnings, unless the context provides them. */
const emptyCatalogue = (
  context: Partial<Pick<CatalogueContext, 'outputLimitOf' | 'warn'>> = {},
): LiveCatalogue =>
  new LiveCatalogue(prices, {
    redaction: () => redactionRules([], []),
    conceal: () => undefined,
    outputLimitOf: () => undefined,
    warn: () => undefined,
    ...context,
  });

async function aCatalogue(url = upstream.url) {
  const catalogue = emptyCatalogue({
    outputLimitOf: bundledOutputLimits(),
    warn: (message) => {
      throw new Error(message);
    },
  });
  let version = 0;
  /** Loads the current file. */
  const take = async (): Promise<void> => {
    const provider = { default_headers: { 'x-version': String(version) } };
    const loaded = parseConfig(stringify(basicConfig(url, key, { provider })), {});
    if (E.isLeft(loaded)) throw new Error(JSON.stringify(loaded.left));
    const { providers, models } = seedOf(loaded.right);
    const stored = models.map(({ id, routes }) => ({
      id,
      createdAt: new Date(0),
      routes: routes.map(({ config }, position) => ({ position, config })),
    }));
    await catalogue.take({ providers, models: stored }, resolver(loaded.right, {}), prices);
  };
  /** Loads a file in which the provider has changed. */
  const change = async (): Promise<void> => {
    version += 1;
    await take();
  };
  await change();
  const ready = (id: string) => catalogue.readyProvider(id);
  return { take, change, ready, upstream: executor(ready), close: () => catalogue.close() };
}

const call: UpstreamCall = {
  route: aRoute({ upstreamModel: 'simulated-fast' }),
  family: 'chat_completions',
  stream: false,
  body: JSON.stringify({ model: 'simulated-fast', messages: [{ role: 'user', content: 'Hi' }] }),
  answer: { id: 'chatcmpl-1', model: 'fast', createdSecs: 7 },
  betas: [],
};

it('an unchanged provider remains the same object and keeps its connection, and a changed one is replaced', async () => {
  let connections = 0;
  const server = createServer((_, response) => {
    response.setHeader('content-type', 'application/json').end('{"choices":[]}');
  });
  server.on('connection', () => (connections += 1));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const { take, change, ready, upstream: to, close } = await aCatalogue(`http://127.0.0.1:${port}/v1`);
  const send = async (): Promise<void> => {
    const prepared = to.prepare(call);
    if (E.isLeft(prepared)) throw new Error(prepared.left.message);
    expect(E.isRight(await prepared.right.begin({}, () => undefined).reply)).toBe(true);
    // A connection is reused only after a turn of the event loop.
    await turn();
    await turn();
  };
  await send();
  const before = ready(call.route.provider);
  await take();
  expect(ready(call.route.provider)).toBe(before);
  await send();
  expect(connections).toBe(1);
  await change();
  expect(ready(call.route.provider)).not.toBe(before);
  await send();
  expect(connections).toBe(2);
  await close();
  server.close();
});

describe('a provider that is replaced', () => {
  it('fails no call that was prepared before, whenever it is sent, and none in flight', async () => {
    const moments = fc.record({ preparedAt: fc.nat(4), sentAfter: fc.nat(4), pauseMs: fc.nat(3) });
    await fc.assert(
      fc.asyncProperty(fc.array(moments, { minLength: 1, maxLength: 12 }), async (plan) => {
        const { change, upstream: to, close } = await aCatalogue();
        const statuses: Promise<unknown>[] = [];
        const waiting = new Map<number, (() => void)[]>();
        for (let step = 0; step < 9; step += 1) {
          for (const { preparedAt, sentAfter } of plan.filter((each) => each.preparedAt === step)) {
            const prepared = to.prepare(call);
            if (E.isLeft(prepared)) throw new Error(prepared.left.message);
            const send = (): void => void statuses.push(prepared.right.begin({}, () => undefined).reply);
            waiting.set(preparedAt + sentAfter, [...(waiting.get(preparedAt + sentAfter) ?? []), send]);
          }
          for (const send of waiting.get(step) ?? []) send();
          await sleep(plan[step % plan.length]?.pauseMs ?? 0);
          await change();
        }
        const replies = await Promise.all(statuses);
        expect(replies).toHaveLength(plan.length);
        expect(replies.filter((reply) => !E.isRight(reply as E.Either<unknown, unknown>))).toEqual([]);
        await close();
      }),
      { seed: 33, numRuns: 25 },
    );
  });

  it('keeps no connection: each is closed after the last call that used it', async () => {
    const { change, upstream: to, close } = await aCatalogue();
    const before = process.getActiveResourcesInfo().filter((kind) => kind === 'TCPSocketWrap').length;
    const prepared = to.prepare(call);
    if (E.isLeft(prepared)) throw new Error(prepared.left.message);
    await change();
    expect(E.isRight(await prepared.right.begin({}, () => undefined).reply)).toBe(true);
    const open = (): number =>
      process.getActiveResourcesInfo().filter((kind) => kind === 'TCPSocketWrap').length - before;
    // Both ends of a connection are in this process.
    for (let looks = 0; open() > 0 && looks < 1000; looks += 1) await sleep(10);
    expect(open()).toBeLessThanOrEqual(0);
    await close();
  });
});

it('a route has the output limit of its upstream model, and none if it is unknown', async () => {
  const catalogue = emptyCatalogue({
    outputLimitOf: (upstreamModel) => (upstreamModel === 'known' ? 4096 : undefined),
  });
  const route = (upstreamModel: string) => aRoute({ upstreamModel, enabled: true });
  const stored = ['known', 'unknown'].map((id) => ({
    id,
    createdAt: new Date(0),
    routes: [{ position: 0, config: {} }],
  }));
  await catalogue.take(
    { providers: [], models: stored },
    { provider: () => E.left('none'), route: (modelId) => E.right(route(modelId)) },
    prices,
  );
  const { models } = catalogue.snapshot();
  expect(models.get('known')?.routes).toMatchObject([{ upstreamModel: 'known', outputLimit: 4096 }]);
  expect(models.get('unknown')?.routes[0]).not.toHaveProperty('outputLimit');
});

it('each fault of a stored provider is logged once, however often it is loaded', async () => {
  const warnings: string[] = [];
  const catalogue = emptyCatalogue({ warn: (message) => void warnings.push(message) });
  for (const reason of ['none', 'none', 'other', 'none'])
    await catalogue.take(
      { providers: [{ id: 'p', config: {} }], models: [] },
      { provider: () => E.left(reason), route: () => E.left(reason) },
      prices,
    );
  expect(warnings).toEqual([
    'provider p is not usable in this process: none',
    'provider p is not usable in this process: other',
  ]);
});

it('an unusable route is logged with its position, and its model keeps the other routes', async () => {
  const warnings: string[] = [];
  const catalogue = emptyCatalogue({ warn: (message) => void warnings.push(message) });
  const routes = [0, 1].map((position) => ({ position, config: {} }));
  await catalogue.take(
    { providers: [], models: [{ id: 'm', createdAt: new Date(0), routes }] },
    {
      provider: () => E.left('none'),
      route: (_, position) => (position === 0 ? E.left('no secret') : E.right(aRoute({ enabled: true }))),
    },
    prices,
  );
  expect(warnings).toEqual(['route m[0] is not usable in this process: no secret']);
  expect(catalogue.snapshot().models.get('m')?.routes).toMatchObject([{ routeId: 'm#1' }]);
});

it('resolving many models lets other work run on the event loop in between', async () => {
  const catalogue = emptyCatalogue();
  const stored = Array.from({ length: 100 }, (_, index) => ({
    id: `model-${index}`,
    createdAt: new Date(0),
    routes: [{ position: 0, config: {} }],
  }));
  const slowly = () => {
    const until = performance.now() + 2;
    while (performance.now() < until);
    return E.right(aRoute({ upstreamModel: 'up', enabled: true }));
  };
  let turns = 0;
  const watch = setInterval(() => void (turns += 1), 1);
  await catalogue.take(
    { providers: [], models: stored },
    { provider: () => E.left('none'), route: slowly },
    prices,
  );
  clearInterval(watch);
  expect(catalogue.snapshot().models.size).toBe(stored.length);
  expect(turns).toBeGreaterThan(5);
});
