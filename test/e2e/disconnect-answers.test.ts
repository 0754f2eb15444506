import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { Client } from 'pg';
import {
  type Caller,
  disconnectScene,
  families,
  noticedMs,
  priced,
  usageMissing,
} from './disconnect-scene.ts';
import { chat, responses, wholeStream } from './talk.ts';

const { databaseUrl, gateway, upstream, config, call, expectSuccess, describeEverybodyWhoLeft } =
  disconnectScene();

describe.each(['never', 'always'] as const)(
  'a client disconnect after the answer is complete (drain: %s)',
  (mode) => {
    beforeAll(() => gateway().take(config({ drain_on_disconnect: mode })));

    // Messages go upstream as chat, so the chat stream decides when the answer is complete.
    describe.each(families.filter(({ talk }) => talk !== responses))('$operation', ({ talk }) => {
      const { begin, piece, finish, usage } = talk.upstream;
      const finished = async (caller: Caller): Promise<void> => {
        await caller.receives('piece');
        if (talk === chat) await caller.receives('"finish_reason":"stop"');
        else await sleep(noticedMs);
      };

      it('between the finish reason and the usage is a success, and the gateway waits for the usage', async () => {
        const caller = call('hard', true, talk);
        const held = await upstream().next();
        held.head('stream');
        held.write(begin + piece + finish);
        await finished(caller);
        await caller.leave();
        expect(held.left()).toBe(false);
        held.write(usage + talk.upstream.done);
        held.end();
        await expectSuccess(talk, caller.requestId, priced);
      });

      it('between the usage and [DONE] is a success', async () => {
        const caller = call('free', true, talk);
        const held = await upstream().next();
        held.head('stream');
        held.write(begin + piece + finish + usage);
        await finished(caller);
        await caller.leave();
        held.end();
        await expectSuccess(talk, caller.requestId, priced);
      });

      it('is a success with usage_missing if the upstream then ends without usage', async () => {
        const caller = call('free', true, talk);
        const held = await upstream().next();
        held.head('stream');
        held.write(begin + piece + finish);
        await finished(caller);
        await caller.leave();
        held.end();
        await expectSuccess(talk, caller.requestId, usageMissing);
      });
    });

    it('while the terminal event of a response is held back is a success, with its usage', async () => {
      const caller = call('free', true, responses);
      const held = await upstream().next();
      held.head('stream');
      held.write(wholeStream(responses));
      await caller.receives('piece');
      await caller.leave();
      expect(caller.received()).not.toContain('response.completed');
      held.end();
      await expectSuccess(responses, caller.requestId, priced);
    });

    it.each(families)(
      'after the end of a stream or of a whole answer is a success, recorded once ($operation)',
      async ({ talk }) => {
        const streamed = call('free', true, talk);
        const heldStream = await upstream().next();
        heldStream.head('stream');
        heldStream.write(wholeStream(talk));
        await streamed.receives(talk.end.stream);
        await streamed.leave();
        const whole = call('free', false, talk);
        const heldWhole = await upstream().next();
        heldWhole.head('whole');
        heldWhole.write(talk.upstream.whole);
        heldWhole.end();
        await whole.receives(talk.end.whole);
        await whole.leave();
        for (const { requestId } of [streamed, whole]) await expectSuccess(talk, requestId, priced);
        heldStream.end();
      },
    );
  },
);

describe('the end of an answer is held back until the request is committed, then is sent', () => {
  beforeAll(() => gateway().take(config()));

  const lockedLedger = async (): Promise<() => Promise<void>> => {
    const blocker = new Client(databaseUrl());
    await blocker.connect();
    await blocker.query('begin; lock table usage_cost_events in access exclusive mode');
    return async () => {
      await blocker.query('rollback');
      await blocker.end();
    };
  };

  it.each(families)('$operation: whole and streamed', async ({ talk }) => {
    const streamed = call('free', true, talk);
    const heldStream = await upstream().next();
    heldStream.head('stream');
    heldStream.write(talk.upstream.begin + talk.upstream.piece);
    await streamed.receives('piece');
    const wholeCaller = call('free', false, talk);
    const heldWhole = await upstream().next();
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

describeEverybodyWhoLeft();
