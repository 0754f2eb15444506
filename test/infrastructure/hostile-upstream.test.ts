import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import { chatStream } from '../../domain/chat/chat-stream.ts';
import { andThen, seal } from '../../domain/shared/stream-machine.ts';
import { ConnectionPool } from '../../infrastructure/providers/connection-pool.ts';
import { Deadlines } from '../../infrastructure/providers/deadlines.ts';
import { Exchange } from '../../infrastructure/providers/exchange.ts';
import { sseFrames } from '../../infrastructure/providers/wire/sse.ts';
import { chat } from '../e2e/talk.ts';
import { hostileActs, isWhole, startHostileUpstream } from '../support/hostile-upstream.ts';
import { until } from '../support/otlp-receiver.ts';
import { randomFrom, tortureSeed } from '../support/seeded.ts';

const timeouts = { connectMs: 5000, firstByteMs: 500, idleMs: 500, totalMs: 4000 };
const patient = { connectMs: 10_000, firstByteMs: 20_000, idleMs: 20_000, totalMs: 40_000 };
const machine = andThen(sseFrames, seal(chatStream({ namespace: 'compat', sanitise: (words) => words })));
const { begin, piece, finish, usage, done, whole } = chat.upstream;
const stream = `${begin}${piece.repeat(40)}${finish}${usage}${done}`;

let upstream: Awaited<ReturnType<typeof startHostileUpstream>>;
let pool: ConnectionPool;
let patientPool: ConnectionPool;
beforeAll(async () => {
  upstream = await startHostileUpstream({ whole, stream });
  pool = new ConnectionPool(upstream.url, timeouts);
  patientPool = new ConnectionPool(upstream.url, patient);
});
afterAll(async () => {
  await pool?.destroy();
  await patientPool?.destroy();
  upstream?.close();
});

const deadlines = new Deadlines();
const seed = tortureSeed();
const random = randomFrom(seed);

/** One call, whose caller may disconnect at any moment; `finished` if it looks complete to the caller. */
async function called(
  id: string,
  act: string,
  of: typeof timeouts = timeouts,
): Promise<{ readonly finished: boolean; readonly left: boolean }> {
  const isStream = random() < 0.5;
  const exchange = new Exchange({
    stream: isStream,
    decode: (body) =>
      body.toString() === whole
        ? E.right({ value: {}, text: body })
        : E.left({ kind: 'protocol', message: 'It is cut.' }),
    events: () => machine.begin(),
    sanitise: (words) => words,
    deadlines,
    hold: () => undefined,
    ...of,
  });
  const accept = isStream ? 'text/event-stream' : 'application/json';
  const body = 'x'.repeat(random() < 0.2 ? 300_000 : 10);
  (of === patient ? patientPool : pool).dispatch(
    { method: 'POST', path: '/', headers: { 'x-id': id, 'x-act': act, accept }, body },
    exchange,
  );
  const leavesAt = random() < 0.2 ? random() * 8 : undefined;
  if (leavesAt !== undefined) setTimeout(() => exchange.cancel(), leavesAt);
  const slowly = random() < 0.2 ? () => sleep(2) : () => undefined;
  const reply = await exchange.reply;
  const finished =
    E.isRight(reply) &&
    (reply.right.kind !== 'stream' || (await reply.right.forward(slowly, () => undefined)).kind === 'done');
  return { finished, left: leavesAt !== undefined };
}

describe(`an upstream that misbehaves in every way that sockets allow (TORTURE_SEED=${seed})`, () => {
  it('gets each request at most once, every call ends, and no broken call looks complete', async () => {
    let next = 0;
    const wrong: string[] = [];
    const caller = async (): Promise<void> => {
      while (next < 1000) {
        const id = String((next += 1));
        const act = hostileActs[Math.floor(random() * hostileActs.length)] ?? '';
        const { finished } = await called(id, act);
        if (finished && !isWhole(act)) wrong.push(`${id} that ${act} looks finished`);
      }
    };
    await Promise.all(Array.from({ length: 32 }, caller));
    expect(wrong).toEqual([]);
    expect(upstream.heard).toHaveLength(new Set(upstream.heard).size);
    expect(upstream.heard.length).toBeGreaterThan(700);
  });

  it.each(hostileActs.filter(isWhole))('completes every uncancelled call if it answers %s', async (act) => {
    // Connections of the previous test may still send something.
    await sleep(20);
    const ids = Array.from({ length: 10 }, (_, at) => `${10_000 + at}`);
    const calls = await Promise.all(ids.map((id) => called(id, act, patient)));
    for (const { finished, left } of calls) expect(finished || left).toBe(true);
  });

  it('has no open connection after the pools are closed', async () => {
    await Promise.all([pool.close(), patientPool.close()]);
    await until(() => upstream.open() === 0);
    expect(upstream.open()).toBe(0);
  });
});
