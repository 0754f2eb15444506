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
import { type HeldCall, type HeldUpstream, startHeldUpstream } from './held-upstream.ts';
import { beginExchange } from './raw-http.ts';
import { chat, messages, responses, type Talk, talks, wholeStream } from './talk.ts';
import { eventually, finalTracesIn, outcomesOf } from './traces.ts';

/** In this time the gateway has noticed that its caller is gone: both are on this machine. */
const noticedMs = 50;

const database = withDatabase();
const query = queries(database.url);
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

function call(owner: keyof typeof keys, stream: boolean, { path, body }: Talk = chat): Caller {
  const requestId = `left-${randomUUID()}`;
  const socket = beginExchange(gateway.url, {
    path,
    headers: [
      ['authorization', `Bearer ${keys[owner]}`],
      ['content-type', 'application/json'],
      ['x-request-id', requestId],
    ],
    body: JSON.stringify(body(stream)),
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
const settled = finalTracesIn(query, () => gateway);

const untilLeft = (held: HeldCall): Promise<true> => eventually(() => (held.left() ? true : undefined));

const priced = { pricing_status: 'priced', cost_picousd: String(10n * 150_000n + 20n * 600_000n) };
const usageMissing = { pricing_status: 'usage_missing', cost_picousd: null };

/** The rows and the one outcome of a caller that left. */
async function expectLeft(
  { operation }: Talk,
  requestId: string,
  attempt: object,
  ledger: readonly object[],
): Promise<void> {
  const trace = await settled(requestId);
  expect(trace.logs).toEqual([
    expect.objectContaining({
      status_code: 499,
      error_code: 'client_closed',
      provider_key: 'up',
      metadata_json: expect.objectContaining({ operation }),
    }),
  ]);
  expect(trace.attempts).toEqual([expect.objectContaining(attempt)]);
  expect(trace.ledger).toEqual(ledger.map((row) => expect.objectContaining(row)));
  expect(outcomesOf(gateway, requestId)).toEqual([
    expect.objectContaining({ outcome: 'client_closed', status: 499 }),
  ]);
}

async function expectSuccess({ operation }: Talk, requestId: string, ledger: object): Promise<void> {
  const trace = await settled(requestId);
  expect(trace.logs).toEqual([
    expect.objectContaining({
      status_code: 200,
      error_code: null,
      metadata_json: expect.objectContaining({ operation }),
    }),
  ]);
  expect(trace.attempts).toEqual([
    expect.objectContaining({ status: 'success', status_code: 200, error_code: null }),
  ]);
  expect(trace.ledger).toEqual([expect.objectContaining(ledger)]);
  expect(outcomesOf(gateway, requestId)).toEqual([expect.objectContaining({ outcome: 'success' })]);
}

/** `$operation` names the family in a title. */
const families = talks.map((talk) => ({ operation: talk.operation, talk }));

describe.each([
  ['never', 'hard'],
  ['hard_budget', 'free'],
  ['hard_budget', 'soft'],
] as const)('drain_on_disconnect: %s, owner with %s limit: the upstream is left', (mode, owner) => {
  beforeAll(() => gateway.take(config({ drain_on_disconnect: mode })));

  describe.each(families)('$operation', ({ talk }) => {
    it.each([
      [true, 'stream_start_error'],
      [false, 'provider_error'],
    ])('before the first byte (stream: %p): no ledger row', async (stream, status) => {
      const caller = call(owner, stream, talk);
      const held = await upstream.next();
      await caller.leave();
      await untilLeft(held);
      await expectLeft(
        talk,
        caller.requestId,
        { status, status_code: null, error_code: 'client_closed' },
        [],
      );
    });

    it('between the head and the first event: a ledger row without usage', async () => {
      const caller = call(owner, true, talk);
      const held = await upstream.next();
      held.head('stream');
      await caller.receives('text/event-stream');
      await caller.leave();
      await untilLeft(held);
      await expectLeft(talk, caller.requestId, { status: 'stream_error', status_code: 200 }, [usageMissing]);
    });

    it('in the middle of a stream: a ledger row without usage', async () => {
      const caller = call(owner, true, talk);
      const held = await upstream.next();
      held.head('stream');
      held.write(talk.upstream.begin + talk.upstream.piece);
      await caller.receives('piece');
      await caller.leave();
      await untilLeft(held);
      await expectLeft(talk, caller.requestId, { status: 'stream_error', status_code: 200 }, [usageMissing]);
    });

    it('between the head and the end of a whole answer: a ledger row without usage', async () => {
      const caller = call(owner, false, talk);
      const held = await upstream.next();
      held.head('whole');
      held.write(talk.upstream.whole.slice(0, 20));
      await sleep(noticedMs);
      await caller.leave();
      await untilLeft(held);
      await expectLeft(talk, caller.requestId, { status: 'provider_error' }, [usageMissing]);
    });
  });
});

describe.each([
  ['hard_budget', 'hard'],
  ['always', 'free'],
] as const)(
  'drain_on_disconnect: %s, owner with %s limit: the upstream is read to its end',
  (mode, owner) => {
    beforeAll(() => gateway.take(config({ drain_on_disconnect: mode })));

    describe.each(families)('$operation', ({ talk }) => {
      const { begin, piece, finish, usage, done, error, whole } = talk.upstream;

      it('before the first byte of a stream', async () => {
        const caller = call(owner, true, talk);
        const held = await upstream.next();
        await caller.leave();
        expect(held.left()).toBe(false);
        held.head('stream');
        held.write(wholeStream(talk));
        held.end();
        await expectLeft(talk, caller.requestId, { status: 'success', status_code: 200 }, [priced]);
      });

      it('before the head of a whole answer', async () => {
        const caller = call(owner, false, talk);
        const held = await upstream.next();
        await caller.leave();
        held.head('whole');
        held.write(whole);
        held.end();
        await expectLeft(talk, caller.requestId, { status: 'success', status_code: 200 }, [priced]);
      });

      it('in the middle of a stream', async () => {
        const caller = call(owner, true, talk);
        const held = await upstream.next();
        held.head('stream');
        held.write(begin + piece);
        await caller.receives('piece');
        await caller.leave();
        expect(held.left()).toBe(false);
        held.write(piece + finish + usage + done);
        held.end();
        await expectLeft(talk, caller.requestId, { status: 'success' }, [priced]);
      });

      it('between the head and the end of a whole answer', async () => {
        const caller = call(owner, false, talk);
        const held = await upstream.next();
        held.head('whole');
        held.write(whole.slice(0, 20));
        await caller.leave();
        held.write(whole.slice(20));
        held.end();
        await expectLeft(talk, caller.requestId, { status: 'success' }, [priced]);
      });

      it('and a refusal that it comes to is still a caller that left, which costs nothing', async () => {
        const caller = call(owner, true, talk);
        const held = await upstream.next();
        await caller.leave();
        held.refuse(500);
        await expectLeft(
          talk,
          caller.requestId,
          { status: 'stream_start_error', status_code: 500, error_code: 'client_closed' },
          [],
        );
      });

      it('and an error that comes in the stream too: usage is missing then', async () => {
        const caller = call(owner, true, talk);
        const held = await upstream.next();
        held.head('stream');
        held.write(begin + piece);
        await caller.receives('piece');
        await caller.leave();
        held.write(error);
        held.end();
        await expectLeft(talk, caller.requestId, { status: 'stream_error' }, [usageMissing]);
      });
    });
  },
);

describe('a drain', () => {
  it('ends after drain_timeout_secs, with the usage seen so far', async () => {
    await gateway.take(config({ drain_on_disconnect: 'always', drain_timeout_secs: 1 }));
    const callers = [call('free', true, chat), call('soft', true, messages), call('hard', true, responses)];
    const held = [await upstream.next(), await upstream.next(), await upstream.next()];
    // Which call belongs to which caller is not known: each gets what its family understands.
    const spoken = await Promise.all(held.map(async (each) => ({ each, talk: talkOf(each) })));
    for (const { each, talk } of spoken) {
      each.head('stream');
      each.write(talk.upstream.begin + talk.upstream.piece);
    }
    await Promise.all(callers.map((caller) => caller.receives('piece')));
    await Promise.all(callers.map((caller) => caller.leave()));
    for (const { each, talk } of spoken) if (talk !== responses) each.write(talk.upstream.usage);
    expect(held.map((each) => each.left())).toEqual([false, false, false]);
    await Promise.all(held.map(untilLeft));
    for (const [index, talk] of [chat, messages, responses].entries())
      await expectLeft(talk, callers[index]!.requestId, { status: 'stream_error', status_code: 200 }, [
        talk === responses ? usageMissing : priced,
      ]);
  });

  it.each(families)('takes one of max_drains places, and gives it back ($operation)', async ({ talk }) => {
    await gateway.take(config({ drain_on_disconnect: 'always', max_drains: 1 }));
    const { begin, piece, finish, usage, done } = talk.upstream;
    for (let round = 0; round < 2; round += 1) {
      const callers = [call('free', true, talk), call('free', true, talk)];
      const held = [await upstream.next(), await upstream.next()];
      for (const each of held) {
        each.head('stream');
        each.write(begin + piece);
      }
      for (const caller of callers) await caller.receives('piece');
      for (const caller of callers) await caller.leave();
      const drained = held.filter((each) => !each.left());
      expect(drained).toHaveLength(1);
      drained[0]?.write(finish + usage + done);
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

/** Messages go upstream as chat. */
const talkOf = ({ path }: HeldCall): Talk => (path.endsWith(responses.path) ? responses : chat);

describe.each(['never', 'always'] as const)('after the answer is complete (drain: %s)', (mode) => {
  beforeAll(() => gateway.take(config({ drain_on_disconnect: mode })));

  // Messages are chat upstream: what is complete there is complete.
  describe.each(families.filter(({ talk }) => talk !== responses))('$operation', ({ talk }) => {
    const { begin, piece, finish, usage } = talk.upstream;
    const finished = async (caller: Caller): Promise<void> => {
      await caller.receives('piece');
      if (talk === chat) await caller.receives('"finish_reason":"stop"');
      else await sleep(noticedMs);
    };

    it('hanging up between the finish reason and the usage is a success, and the usage is waited for', async () => {
      const caller = call('hard', true, talk);
      const held = await upstream.next();
      held.head('stream');
      held.write(begin + piece + finish);
      await finished(caller);
      await caller.leave();
      expect(held.left()).toBe(false);
      held.write(usage + talk.upstream.done);
      held.end();
      await expectSuccess(talk, caller.requestId, priced);
    });

    it('hanging up between the usage and [DONE] is a success', async () => {
      const caller = call('free', true, talk);
      const held = await upstream.next();
      held.head('stream');
      held.write(begin + piece + finish + usage);
      await finished(caller);
      await caller.leave();
      held.end();
      await expectSuccess(talk, caller.requestId, priced);
    });

    it('an upstream that ends there without usage is a success whose usage is missing', async () => {
      const caller = call('free', true, talk);
      const held = await upstream.next();
      held.head('stream');
      held.write(begin + piece + finish);
      await finished(caller);
      await caller.leave();
      held.end();
      await expectSuccess(talk, caller.requestId, usageMissing);
    });
  });

  it('hanging up while the terminal event of a response is held back is a success, with its usage', async () => {
    const caller = call('free', true, responses);
    const held = await upstream.next();
    held.head('stream');
    held.write(wholeStream(responses));
    await caller.receives('piece');
    await caller.leave();
    expect(caller.received()).not.toContain('response.completed');
    held.end();
    await expectSuccess(responses, caller.requestId, priced);
  });

  it.each(families)(
    'hanging up on the end of a stream or after a whole answer is a success, once ($operation)',
    async ({ talk }) => {
      const streamed = call('free', true, talk);
      const heldStream = await upstream.next();
      heldStream.head('stream');
      heldStream.write(wholeStream(talk));
      await streamed.receives(talk.end.stream);
      await streamed.leave();
      const whole = call('free', false, talk);
      const heldWhole = await upstream.next();
      heldWhole.head('whole');
      heldWhole.write(talk.upstream.whole);
      heldWhole.end();
      await whole.receives(talk.end.whole);
      await whole.leave();
      for (const { requestId } of [streamed, whole]) await expectSuccess(talk, requestId, priced);
      heldStream.end();
    },
  );
});

describe('what completes an answer is held back until it is committed, and is not lost', () => {
  beforeAll(() => gateway.take(config()));

  const lockedLedger = async (): Promise<() => Promise<void>> => {
    const blocker = new Client(database.url());
    await blocker.connect();
    await blocker.query('begin; lock table usage_cost_events in access exclusive mode');
    return async () => {
      await blocker.query('rollback');
      await blocker.end();
    };
  };

  it.each(families)('$operation: whole and streamed', async ({ talk }) => {
    const streamed = call('free', true, talk);
    const heldStream = await upstream.next();
    heldStream.head('stream');
    heldStream.write(talk.upstream.begin + talk.upstream.piece);
    await streamed.receives('piece');
    const wholeCaller = call('free', false, talk);
    const heldWhole = await upstream.next();
    const unlock = await lockedLedger();
    heldStream.write(talk.upstream.finish + talk.upstream.usage + talk.upstream.done);
    heldStream.end();
    heldWhole.head('whole');
    heldWhole.write(talk.upstream.whole);
    heldWhole.end();
    await sleep(4 * noticedMs);
    expect(streamed.received()).not.toContain(talk.end.stream);
    expect(wholeCaller.received()).toBe('');
    await unlock();
    await streamed.receives(talk.end.stream);
    await wholeCaller.receives(talk.end.whole);
    for (const { requestId } of [streamed, wholeCaller]) await expectSuccess(talk, requestId, priced);
    for (const caller of [streamed, wholeCaller]) caller.socket.destroy();
  });
});

describe('a caller that leaves before its request is sent upstream', () => {
  it.each(families)(
    'costs no upstream call, and has one row without an attempt ($operation)',
    async ({ talk }) => {
      const before = upstream.calls();
      const blocker = new Client(database.url());
      await blocker.connect();
      await blocker.query('begin; lock table user_budgets in access exclusive mode');
      const caller = call('hard', true, talk);
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
    },
  );
});

describe('a caller that leaves while its key is looked up', () => {
  it.each(families)('is logged as one that left, without an attempt ($operation)', async ({ talk }) => {
    // What is known of keys is forgotten when the configuration changes.
    await gateway.take(config({ drain_timeout_secs: 20 + talks.indexOf(talk) }));
    const before = upstream.calls();
    const blocker = new Client(database.url());
    await blocker.connect();
    await blocker.query('begin; lock table api_keys in access exclusive mode');
    const caller = call('free', true, talk);
    await sleep(noticedMs);
    await caller.leave();
    await blocker.query('rollback');
    await blocker.end();
    const { logs, attempts, ledger } = await settled(caller.requestId);
    expect(logs).toEqual([expect.objectContaining({ status_code: 499, error_code: 'client_closed' })]);
    expect([...attempts, ...ledger]).toEqual([]);
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
