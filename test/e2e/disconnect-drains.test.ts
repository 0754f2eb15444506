import { beforeAll, describe, expect, it } from '@jest/globals';
import { undisturbed } from '../support/undisturbed.ts';
import { disconnectScene, families, priced, untilLeft, usageMissing } from './disconnect-scene.ts';
import type { HeldCall } from './held-upstream.ts';
import { chat, messages, responses, type Talk, wholeStream } from './talk.ts';
import { eventually } from './traces.ts';

const { query, gateway, upstream, config, call, expectLeft, describeEverybodyWhoLeft } = disconnectScene();

/** Messages go upstream as chat. */
const talkOf = ({ path }: HeldCall): Talk => (path.endsWith(responses.path) ? responses : chat);

describe.each([
  ['hard_budget', 'hard'],
  ['always', 'free'],
] as const)(
  'drain_on_disconnect: %s, owner with %s limit: the upstream is read to its end after a disconnect',
  (mode, owner) => {
    beforeAll(() => gateway().take(config({ drain_on_disconnect: mode })));

    describe.each(families)('$operation', ({ talk }) => {
      const { begin, piece, finish, usage, done, error, whole } = talk.upstream;

      it('before the first byte of a stream', async () => {
        const caller = call(owner, true, talk);
        const held = await upstream().next();
        await caller.leave();
        expect(held.left()).toBe(false);
        held.head('stream');
        held.write(wholeStream(talk));
        held.end();
        await expectLeft(talk, caller.requestId, { status: 'success', status_code: 200 }, [priced]);
      });

      it('before the head of a whole answer', async () => {
        const caller = call(owner, false, talk);
        const held = await upstream().next();
        await caller.leave();
        held.head('whole');
        held.write(whole);
        held.end();
        await expectLeft(talk, caller.requestId, { status: 'success', status_code: 200 }, [priced]);
      });

      it('in the middle of a stream', async () => {
        const caller = call(owner, true, talk);
        const held = await upstream().next();
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
        const held = await upstream().next();
        held.head('whole');
        held.write(whole.slice(0, 20));
        await caller.leave();
        held.write(whole.slice(20));
        held.end();
        await expectLeft(talk, caller.requestId, { status: 'success' }, [priced]);
      });

      it('before the upstream answers with an error: client_closed, without a ledger row', async () => {
        const caller = call(owner, true, talk);
        const held = await upstream().next();
        await caller.leave();
        held.refuse(500);
        await expectLeft(
          talk,
          caller.requestId,
          { status: 'stream_start_error', status_code: 500, error_code: 'client_closed' },
          [],
        );
      });

      it('before the upstream sends an error in the stream: client_closed, with usage_missing', async () => {
        const caller = call(owner, true, talk);
        const held = await upstream().next();
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
  it('after the finish of one choice, if another one follows', async () => {
    await gateway().take(config());
    const caller = call('hard', true);
    const held = await upstream().next();
    const { piece, finish, usage, done } = chat.upstream;
    const second = (frames: string): string => frames.replaceAll('"index":0', '"index":1');
    held.head('stream');
    held.write(piece + finish);
    await caller.receives('stop');
    await caller.leave();
    held.write(second(piece));
    held.write(second(finish) + usage + done);
    held.end();
    await expectLeft(chat, caller.requestId, { status: 'success' }, [priced]);
  });

  it('ends after drain_timeout_secs, with the usage seen so far', async () => {
    await gateway().take(config({ drain_on_disconnect: 'always', drain_timeout_secs: 1 }));
    await undisturbed(300, async () => {
      const callers = [call('free', true, chat), call('soft', true, messages), call('hard', true, responses)];
      const held = [await upstream().next(), await upstream().next(), await upstream().next()];
      // Calls arrive in any order: each gets an answer of the family of its path.
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
  });

  it.each(families)(
    'takes one of max_drains places and releases it when it ends ($operation)',
    async ({ talk }) => {
      await gateway().take(config({ drain_on_disconnect: 'always', max_drains: 1 }));
      const { begin, piece, finish, usage, done } = talk.upstream;
      for (let round = 0; round < 2; round += 1) {
        const callers = [call('free', true, talk), call('free', true, talk)];
        const held = [await upstream().next(), await upstream().next()];
        for (const each of held) {
          each.head('stream');
          each.write(begin + piece);
        }
        for (const caller of callers) await caller.receives('piece');
        for (const caller of callers) await caller.leave();
        await eventually(() => held.some((each) => each.left()) || undefined);
        const drained = held.filter((each) => !each.left());
        expect(drained).toHaveLength(1);
        drained[0]?.write(finish + usage + done);
        drained[0]?.end();
        const ledgers = await Promise.all(callers.map(({ requestId }) => settledStatus(requestId)));
        expect(ledgers.toSorted()).toEqual(['priced', 'usage_missing']);
      }
    },
  );

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

describeEverybodyWhoLeft();
