import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { Client } from 'pg';
import { disconnectScene, families, noticedMs, untilLeft, usageMissing } from './disconnect-scene.ts';
import { talks } from './talk.ts';
import { outcomesOf } from './traces.ts';

const { databaseUrl, gateway, upstream, finalTraceOf, config, call, expectLeft, describeEverybodyWhoLeft } =
  disconnectScene();

describe.each([
  ['never', 'hard'],
  ['hard_budget', 'free'],
  ['hard_budget', 'soft'],
] as const)('drain_on_disconnect: %s, owner with %s limit: the upstream call is aborted', (mode, owner) => {
  beforeAll(() => gateway().take(config({ drain_on_disconnect: mode })));

  describe.each(families)('$operation', ({ talk }) => {
    it.each([
      [true, 'stream_start_error'],
      [false, 'provider_error'],
    ])('before the first byte (stream: %p): no ledger row', async (stream, status) => {
      const caller = call(owner, stream, talk);
      const held = await upstream().next();
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
      const held = await upstream().next();
      held.head('stream');
      await caller.receives('text/event-stream');
      await caller.leave();
      await untilLeft(held);
      await expectLeft(talk, caller.requestId, { status: 'stream_error', status_code: 200 }, [usageMissing]);
    });

    it('in the middle of a stream: a ledger row without usage', async () => {
      const caller = call(owner, true, talk);
      const held = await upstream().next();
      held.head('stream');
      held.write(talk.upstream.begin + talk.upstream.piece);
      await caller.receives('piece');
      await caller.leave();
      await untilLeft(held);
      await expectLeft(talk, caller.requestId, { status: 'stream_error', status_code: 200 }, [usageMissing]);
    });

    it('between the head and the end of a whole answer: a ledger row without usage', async () => {
      const caller = call(owner, false, talk);
      const held = await upstream().next();
      held.head('whole');
      held.write(talk.upstream.whole.slice(0, 20));
      await sleep(noticedMs);
      await caller.leave();
      await untilLeft(held);
      await expectLeft(talk, caller.requestId, { status: 'provider_error' }, [usageMissing]);
    });
  });
});

describe('a client disconnect before the request is sent upstream', () => {
  it.each(families)(
    'makes no upstream call, and writes one log row without an attempt ($operation)',
    async ({ talk }) => {
      const before = upstream().calls();
      const blocker = new Client(databaseUrl());
      await blocker.connect();
      await blocker.query('begin; lock table user_budgets in access exclusive mode');
      const caller = call('hard', true, talk);
      await caller.sent();
      await caller.leave();
      await blocker.query('rollback');
      await blocker.end();
      const { logs, attempts, ledger } = await finalTraceOf(caller.requestId);
      expect(logs).toEqual([expect.objectContaining({ status_code: 499, error_code: 'client_closed' })]);
      expect([...attempts, ...ledger]).toEqual([]);
      expect(outcomesOf(gateway(), caller.requestId)).toEqual([
        expect.objectContaining({ outcome: 'client_closed' }),
      ]);
      expect(upstream().calls()).toBe(before);
    },
  );
});

describe('a client disconnect while the key is looked up', () => {
  it.each(families)('is logged as client_closed, without an attempt ($operation)', async ({ talk }) => {
    // A change of the configuration clears the cache of keys, so the key is looked up again.
    await gateway().take(config({ drain_timeout_secs: 20 + talks.indexOf(talk) }));
    const before = upstream().calls();
    const blocker = new Client(databaseUrl());
    await blocker.connect();
    await blocker.query('begin; lock table api_keys in access exclusive mode');
    const caller = call('free', true, talk);
    await caller.sent();
    await caller.leave();
    await blocker.query('rollback');
    await blocker.end();
    const { logs, attempts, ledger } = await finalTraceOf(caller.requestId);
    expect(logs).toEqual([expect.objectContaining({ status_code: 499, error_code: 'client_closed' })]);
    expect([...attempts, ...ledger]).toEqual([]);
    expect(upstream().calls()).toBe(before);
  });
});

describeEverybodyWhoLeft();
