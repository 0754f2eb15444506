import { beforeAll, describe, expect, it } from '@jest/globals';
import { aKey, basicConfig, type ConfigFile } from '../support/gateway.ts';
import { heldScene } from './held-scene.ts';
import type { HeldCall } from './held-upstream.ts';
import { beginExchange } from './raw-http.ts';
import { chat, type Talk, talks } from './talk.ts';
import { eventually, outcomesOf } from './traces.ts';

const keys = { free: aKey(), hard: aKey() };
type Owner = keyof typeof keys;

/** A request that is in flight when the gateway's shutdown grace period ends. */
interface Cut {
  readonly name: string;
  readonly owner: Owner;
  readonly talk: Talk;
  /** How far the upstream's answer is; `drained`: the upstream completes it after the caller was cut off. */
  readonly upstream: 'silent' | 'begun' | 'drained';
  readonly stream: boolean;
}

const cuts: readonly Cut[] = [
  ...talks.flatMap((talk): readonly Cut[] => [
    { name: `${talk.operation}-stream`, owner: 'free', talk, upstream: 'begun', stream: true },
    { name: `${talk.operation}-unbegun`, owner: 'free', talk, upstream: 'silent', stream: true },
    { name: `${talk.operation}-whole`, owner: 'free', talk, upstream: 'silent', stream: false },
  ]),
  { name: 'drained', owner: 'hard', talk: chat, upstream: 'drained', stream: true },
  { name: 'drained in vain, begun', owner: 'hard', talk: chat, upstream: 'begun', stream: true },
  { name: 'drained in vain, whole', owner: 'hard', talk: chat, upstream: 'silent', stream: false },
];

const config = (upstreamUrl: string): ConfigFile =>
  basicConfig(upstreamUrl, aKey(), {
    more: {
      server: { bind: '127.0.0.1:0', shutdown_grace_secs: 0 },
      users: [
        { email: 'free@example.com' },
        {
          email: 'hard@example.com',
          budget: { cadence: 'daily', amount_10000: 1_000_000, hard_limit: true },
        },
      ],
      api_keys: Object.entries(keys).map(([name, value]) => ({
        name,
        owner: `user:${name}@example.com`,
        value,
      })),
    },
  });

const { upstream, gateway, traceOf, stop } = heldScene(config);
const received = new Map<string, string>();
const closed: Promise<void>[] = [];

async function begin({ name, owner, talk, upstream: how, stream }: Cut): Promise<HeldCall> {
  const socket = beginExchange(gateway().url, {
    path: talk.path,
    headers: [
      ['authorization', `Bearer ${keys[owner]}`],
      ['content-type', 'application/json'],
      ['x-request-id', name],
    ],
    body: JSON.stringify(talk.body(stream)),
  });
  received.set(name, '');
  socket.on('data', (piece: Buffer) => received.set(name, (received.get(name) ?? '') + piece.toString()));
  closed.push(new Promise((resolve) => socket.once('close', () => resolve())));
  const call = await upstream().next();
  if (how === 'silent') return call;
  call.head('stream');
  call.write(talk.upstream.begin + talk.upstream.piece);
  await eventually(() => (received.get(name)?.includes('piece') === true ? true : undefined));
  return call;
}

beforeAll(async () => {
  const calls: HeldCall[] = [];
  for (const cut of cuts) calls.push(await begin(cut));
  const stopped = stop();
  for (const [index, { upstream: how, talk }] of cuts.entries()) {
    if (how !== 'drained') continue;
    await eventually(() => (calls[0]?.left() === true ? true : undefined));
    calls[index]?.write(talk.upstream.finish + talk.upstream.usage + talk.upstream.done);
    calls[index]?.end();
  }
  await stopped;
  await Promise.all(closed);
});

describe('a request that the gateway cuts off at the end of its shutdown grace period', () => {
  it.each(cuts)(
    'ends with 503 shutting_down, not as a client disconnect: $name',
    async ({ name, talk, upstream: how, stream }) => {
      const { logs, attempts, ledger } = await traceOf(name);
      expect(logs).toMatchObject([
        { status_code: 503, error_code: 'shutting_down', metadata_json: { operation: talk.operation } },
      ]);
      expect(attempts).toMatchObject([{ error_code: how === 'drained' ? null : 'shutting_down' }]);
      expect(outcomesOf(gateway(), name)).toMatchObject([{ outcome: 'interrupted', status: 503 }]);
      const status = { silent: [], begun: ['usage_missing'], drained: ['priced'] }[how];
      expect(ledger.map((row) => row['pricing_status'])).toEqual(status);

      const text = received.get(name) ?? '';
      expect(text).not.toContain(talk.end.stream);
      expect(text).toContain('shutting_down');
      expect(text).toContain('overloaded_error');
      if (how === 'silent') {
        expect(text).toMatch(/^HTTP\/1.1 503 /);
        expect(text.toLowerCase()).toContain('retry-after: 1');
      } else {
        expect(text).toMatch(/^HTTP\/1.1 200 /);
        expect(text).toContain(talk.failure);
      }
      expect(stream || how === 'silent').toBe(true);
    },
  );
});
