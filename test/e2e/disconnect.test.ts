import { randomUUID } from 'node:crypto';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Client } from 'pg';
import { withDatabase } from '../support/database.ts';
import {
  aKey,
  basicConfig,
  type ConfigFile,
  queries,
  startGateway,
  type TestGateway,
} from '../support/gateway.ts';
import { frames, type HeldCall, type HeldUpstream, startHeldUpstream, wholeAnswer } from './held-upstream.ts';
import { beginExchange } from './raw-http.ts';
import { eventually, outcomesOf, type Trace, tracesIn } from './traces.ts';

/** In this time the gateway has noticed that its caller is gone: both are on this machine. */
const noticedMs = 80;

const database = withDatabase();
const query = queries(database.url);
const traceOf = tracesIn(query);
const keys = { free: aKey(), soft: aKey(), hard: aKey(), poor: aKey() };
let upstream: HeldUpstream;
let gateway: TestGateway;
let stopped: Promise<void> | undefined;

const budget = (hard_limit: boolean, amount_10000 = 1_000_000) => ({
  cadence: 'daily',
  amount_10000,
  hard_limit,
});

const config = (accounting: ConfigFile = {}): ConfigFile =>
  basicConfig(upstream.url, keys.free, {
    more: {
      accounting,
      users: [
        { email: 'free@example.com' },
        { email: 'soft@example.com', budget: budget(false) },
        { email: 'hard@example.com', budget: budget(true) },
        { email: 'poor@example.com', budget: budget(true, 0) },
      ],
      api_keys: Object.entries(keys).map(([name, value]) => ({
        name,
        owner: `user:${name}@example.com`,
        value,
      })),
    },
  });

beforeAll(async () => {
  upstream = await startHeldUpstream();
  gateway = await startGateway(config(), database.url());
});
afterAll(async () => {
  await upstream?.close();
  await (stopped ?? gateway?.stop());
});

interface Caller {
  readonly requestId: string;
  readonly socket: Socket;
  /** Waits until the caller has received the text. */
  readonly receives: (text: string) => Promise<true>;
  readonly received: () => string;
  /** Hangs up, and waits until the gateway knows. */
  readonly leave: () => Promise<void>;
}

function call(owner: keyof typeof keys, stream: boolean): Caller {
  const requestId = `left-${randomUUID()}`;
  const socket = beginExchange(gateway.url, {
    path: '/v1/chat/completions',
    headers: [
      ['authorization', `Bearer ${keys[owner]}`],
      ['content-type', 'application/json'],
      ['x-request-id', requestId],
    ],
    body: JSON.stringify({ model: 'fast', stream, messages: [{ role: 'user', content: 'Hi' }] }),
  });
  let text = '';
  socket.on('data', (piece: Buffer) => void (text += piece.toString()));
  return {
    requestId,
    socket,
    receives: (wanted) => eventually(() => (text.includes(wanted) ? true : undefined)),
    received: () => text,
    leave: async () => {
      socket.destroy();
      await sleep(noticedMs);
    },
  };
}

/** What a request has left behind, once it has. */
const settled = (requestId: string): Promise<Trace> =>
  eventually(async () => {
    const trace = await traceOf(requestId);
    return trace.logs.length > 0 ? trace : undefined;
  });

const untilLeft = (held: HeldCall): Promise<true> => eventually(() => (held.left() ? true : undefined));

const priced = { pricing_status: 'priced', cost_picousd: String(10n * 150_000n + 20n * 600_000n) };
const usageMissing = { pricing_status: 'usage_missing', cost_picousd: null };

async function expectLeft(requestId: string, attempt: object, ledger: readonly object[]): Promise<void> {
  const trace = await settled(requestId);
  expect(trace.logs).toEqual([
    expect.objectContaining({ status_code: 499, error_code: 'client_closed', provider_key: 'up' }),
  ]);
  expect(trace.attempts).toEqual([expect.objectContaining(attempt)]);
  expect(trace.ledger).toEqual(ledger.map((row) => expect.objectContaining(row)));
  expect(outcomesOf(gateway, requestId)).toEqual([
    expect.objectContaining({ outcome: 'client_closed', status: 499 }),
  ]);
}

async function expectSuccess(requestId: string, ledger: object): Promise<void> {
  const trace = await settled(requestId);
  expect(trace.logs).toEqual([expect.objectContaining({ status_code: 200, error_code: null })]);
  expect(trace.attempts).toEqual([
    expect.objectContaining({ status: 'success', status_code: 200, error_code: null }),
  ]);
  expect(trace.ledger).toEqual([expect.objectContaining(ledger)]);
  expect(outcomesOf(gateway, requestId)).toEqual([expect.objectContaining({ outcome: 'success' })]);
}

describe.each([
  ['never', 'hard'],
  ['hard_budget', 'free'],
  ['hard_budget', 'soft'],
] as const)('drain_on_disconnect: %s, owner with %s limit: the upstream is left', (mode, owner) => {
  beforeAll(() => gateway.take(config({ drain_on_disconnect: mode })));

  it.each([
    [true, 'stream_start_error'],
    [false, 'provider_error'],
  ])('before the first byte (stream: %p): no ledger row', async (stream, status) => {
    const caller = call(owner, stream);
    const held = await upstream.next();
    await caller.leave();
    await untilLeft(held);
    await expectLeft(caller.requestId, { status, status_code: null, error_code: 'client_closed' }, []);
  });

  it('in the middle of a stream: a ledger row without usage', async () => {
    const caller = call(owner, true);
    const held = await upstream.next();
    held.head('stream');
    held.write(frames.content);
    await caller.receives('piece');
    await caller.leave();
    await untilLeft(held);
    await expectLeft(caller.requestId, { status: 'stream_error', status_code: 200 }, [usageMissing]);
  });

  it('between the head and the end of a whole answer: a ledger row without usage', async () => {
    const caller = call(owner, false);
    const held = await upstream.next();
    held.head('whole');
    held.write(wholeAnswer.slice(0, 20));
    await sleep(noticedMs);
    await caller.leave();
    await untilLeft(held);
    await expectLeft(caller.requestId, { status: 'provider_error' }, [usageMissing]);
  });
});

describe.each([
  ['hard_budget', 'hard'],
  ['always', 'free'],
] as const)(
  'drain_on_disconnect: %s, owner with %s limit: the upstream is read to its end',
  (mode, owner) => {
    beforeAll(() => gateway.take(config({ drain_on_disconnect: mode })));

    it('before the first byte of a stream', async () => {
      const caller = call(owner, true);
      const held = await upstream.next();
      await caller.leave();
      expect(held.left()).toBe(false);
      held.head('stream');
      held.write(frames.content + frames.finish + frames.usage + frames.done);
      held.end();
      await expectLeft(caller.requestId, { status: 'success', status_code: 200 }, [priced]);
    });

    it('before the head of a whole answer', async () => {
      const caller = call(owner, false);
      const held = await upstream.next();
      await caller.leave();
      held.head('whole');
      held.write(wholeAnswer);
      held.end();
      await expectLeft(caller.requestId, { status: 'success', status_code: 200 }, [priced]);
    });

    it('in the middle of a stream', async () => {
      const caller = call(owner, true);
      const held = await upstream.next();
      held.head('stream');
      held.write(frames.content);
      await caller.receives('piece');
      await caller.leave();
      expect(held.left()).toBe(false);
      held.write(frames.content + frames.finish + frames.usage + frames.done);
      held.end();
      await expectLeft(caller.requestId, { status: 'success' }, [priced]);
    });

    it('between the head and the end of a whole answer', async () => {
      const caller = call(owner, false);
      const held = await upstream.next();
      held.head('whole');
      held.write(wholeAnswer.slice(0, 20));
      await caller.leave();
      held.write(wholeAnswer.slice(20));
      held.end();
      await expectLeft(caller.requestId, { status: 'success' }, [priced]);
    });

    it('and a refusal that it comes to is still a caller that left, which costs nothing', async () => {
      const caller = call(owner, true);
      const held = await upstream.next();
      await caller.leave();
      held.refuse(500);
      await expectLeft(
        caller.requestId,
        { status: 'stream_start_error', status_code: 500, error_code: 'client_closed' },
        [],
      );
    });

    it('and an error that comes in the stream too: usage is missing then', async () => {
      const caller = call(owner, true);
      const held = await upstream.next();
      held.head('stream');
      held.write(frames.content);
      await caller.receives('piece');
      await caller.leave();
      held.write(frames.error);
      held.end();
      await expectLeft(caller.requestId, { status: 'stream_error' }, [usageMissing]);
    });
  },
);

describe('a drain', () => {
  it('ends after drain_timeout_secs, with the usage seen so far', async () => {
    await gateway.take(config({ drain_on_disconnect: 'always', drain_timeout_secs: 1 }));
    const [silent, seen] = [call('free', true), call('soft', true)];
    const held = [await upstream.next(), await upstream.next()];
    for (const each of held) {
      each.head('stream');
      each.write(frames.content);
    }
    await Promise.all([silent.receives('piece'), seen.receives('piece')]);
    await Promise.all([silent.leave(), seen.leave()]);
    for (const each of held) each.write(frames.usage);
    expect(held.map((each) => each.left())).toEqual([false, false]);
    await Promise.all(held.map(untilLeft));
    for (const { requestId } of [silent, seen])
      await expectLeft(requestId, { status: 'stream_error', status_code: 200 }, [priced]);
  });

  it('takes one of max_drains places, and gives it back', async () => {
    await gateway.take(config({ drain_on_disconnect: 'always', max_drains: 1 }));
    for (let round = 0; round < 2; round += 1) {
      const callers = [call('free', true), call('free', true)];
      const held = [await upstream.next(), await upstream.next()];
      for (const each of held) {
        each.head('stream');
        each.write(frames.content);
      }
      for (const caller of callers) await caller.receives('piece');
      for (const caller of callers) await caller.leave();
      const drained = held.filter((each) => !each.left());
      expect(drained).toHaveLength(1);
      drained[0]?.write(frames.finish + frames.usage + frames.done);
      drained[0]?.end();
      const ledgers = await Promise.all(callers.map(({ requestId }) => settledStatus(requestId)));
      expect(ledgers.toSorted()).toEqual(['priced', 'usage_missing']);
    }
  });

  const settledStatus = async (requestId: string): Promise<string> => {
    const [row] = await eventually(async () => {
      const rows = await query('select pricing_status from usage_cost_events where request_id = $1', [
        requestId,
      ]);
      return rows.length > 0 ? rows : undefined;
    });
    return String(row?.['pricing_status']);
  };
});

describe.each(['never', 'always'] as const)('after the answer is complete (drain: %s)', (mode) => {
  beforeAll(() => gateway.take(config({ drain_on_disconnect: mode })));

  it('hanging up between the finish reason and the usage is a success, and the usage is waited for', async () => {
    const caller = call('hard', true);
    const held = await upstream.next();
    held.head('stream');
    held.write(frames.content + frames.finish);
    await caller.receives('"finish_reason":"stop"');
    await caller.leave();
    expect(held.left()).toBe(false);
    held.write(frames.usage + frames.done);
    held.end();
    await expectSuccess(caller.requestId, priced);
  });

  it('hanging up between the usage and [DONE] is a success', async () => {
    const caller = call('free', true);
    const held = await upstream.next();
    held.head('stream');
    held.write(frames.content + frames.finish + frames.usage);
    await caller.receives('"total_tokens":30');
    await caller.leave();
    held.end();
    await expectSuccess(caller.requestId, priced);
  });

  it('an upstream that ends there without usage is a success whose usage is missing', async () => {
    const caller = call('free', true);
    const held = await upstream.next();
    held.head('stream');
    held.write(frames.content + frames.finish);
    await caller.receives('"finish_reason":"stop"');
    await caller.leave();
    held.end();
    await expectSuccess(caller.requestId, usageMissing);
  });

  it('hanging up after [DONE] or after a whole answer is a success, once', async () => {
    const streamed = call('free', true);
    const heldStream = await upstream.next();
    heldStream.head('stream');
    heldStream.write(frames.content + frames.finish + frames.usage + frames.done);
    await streamed.receives('[DONE]');
    await streamed.leave();
    const whole = call('free', false);
    const heldWhole = await upstream.next();
    heldWhole.head('whole');
    heldWhole.write(wholeAnswer);
    heldWhole.end();
    await whole.receives('"content":"all"');
    await whole.leave();
    for (const { requestId } of [streamed, whole]) await expectSuccess(requestId, priced);
    heldStream.end();
  });
});

describe('a caller that leaves before its request is sent upstream', () => {
  it('costs no upstream call, and has one row without an attempt', async () => {
    const before = upstream.calls();
    const blocker = new Client(database.url());
    await blocker.connect();
    await blocker.query('begin; lock table user_budgets in access exclusive mode');
    const caller = call('hard', true);
    await sleep(noticedMs);
    await caller.leave();
    await blocker.query('rollback');
    await blocker.end();
    const { logs, attempts, ledger } = await settled(caller.requestId);
    expect(logs).toEqual([expect.objectContaining({ status_code: 499, error_code: 'client_closed' })]);
    expect([...attempts, ...ledger]).toEqual([]);
    expect(outcomesOf(gateway, caller.requestId)).toEqual([
      expect.objectContaining({ outcome: 'client_closed' }),
    ]);
    expect(upstream.calls()).toBe(before);
  });
});

describe('everybody who left', () => {
  it('holds nothing any more: the gateway is as idle as before', async () => {
    stopped = gateway.stop();
    await expect(
      Promise.race([stopped.then(() => 'idle'), sleep(2000, 'busy', { ref: false })]),
    ).resolves.toBe('idle');
    expect(gateway.log.lines).toContainEqual({
      level: 'info',
      fields: { in_flight: 0 },
      message: 'draining',
    });
    expect(gateway.log.lines.filter(({ level }) => level === 'error')).toEqual([]);
  });
});
