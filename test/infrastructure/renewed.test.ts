import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import * as E from 'fp-ts/lib/Either.js';
import { Renewed } from '../../infrastructure/providers/auth/renewed.ts';

/** A clock that the test moves, and a source whose outcomes the test provides. */
function scene(obtainWithinMs = 60_000) {
  const clock = { now: 1_000_000 };
  const asked: { readonly at: number; readonly settle: PromiseWithResolvers<E.Either<string, Lease>> }[] = [];
  const warnings: string[] = [];
  const renewed = new Renewed<Lease>(
    {
      name: 'the token',
      obtain: async () => {
        const settle = Promise.withResolvers<E.Either<string, Lease>>();
        asked.push({ at: clock.now, settle });
        return E.map((value: Lease) => ({ value, endsAt: value.endsAt }))(await settle.promise);
      },
      explain: () => 'it threw',
      warn: (message) => void warnings.push(message),
    },
    { now: () => clock.now, obtainWithinMs },
  );
  const settle = async (outcome: E.Either<string, number>): Promise<void> => {
    asked.at(-1)?.settle.resolve(E.map((lifeMs: number) => ({ endsAt: clock.now + lifeMs }))(outcome));
    await turn();
  };
  return { clock, asked, warnings, renewed, settle };
}

interface Lease {
  readonly endsAt: number;
}

const hour = 3_600_000;
const fault = (reason: string) =>
  E.left({
    kind: 'protocol',
    message: `The gateway could not obtain credentials for the upstream: ${reason}.`,
  });

describe('a renewed credential', () => {
  it('is obtained for the first request, once for all requests that wait', async () => {
    const { renewed, asked, settle } = scene();
    expect(asked).toHaveLength(0);
    const waiting = Array.from({ length: 200 }, async () => renewed.current());
    await settle(E.right(hour));
    const answers = await Promise.all(waiting);
    expect(new Set(answers.map((each) => (each as E.Right<Lease>).right)).size).toBe(1);
    expect(asked).toHaveLength(1);
  });

  it.each([
    ['an hour', hour, hour - 225_000],
    ['four minutes', 240_000, 180_000],
    ['a second', 1000, 750],
  ])(
    'is renewed before it expires, while the old one is still used: %s',
    async (_, lifeMs, renewedAfterMs) => {
      const { renewed, asked, clock, settle } = scene();
      void renewed.current();
      await settle(E.right(lifeMs));
      const first = renewed.current();
      clock.now += renewedAfterMs - 1;
      expect([renewed.current(), asked.length]).toEqual([first, 1]);
      clock.now += 1;
      expect([renewed.current(), renewed.current(), asked.length]).toEqual([first, first, 2]);
      await settle(E.right(lifeMs));
      expect([(renewed.current() as Lease).endsAt, asked.length]).toEqual([clock.now + lifeMs, 2]);
    },
  );

  it('is waited for where the old one is about to expire, which is used until then if the renewal fails', async () => {
    const { renewed, clock, settle, warnings } = scene();
    void renewed.current();
    await settle(E.right(hour));
    const old = renewed.current();
    clock.now += hour - 5000;
    const waiting = renewed.current();
    expect(waiting).toBeInstanceOf(Promise);
    await settle(E.left('no'));
    expect(await waiting).toEqual(E.right(old));
    expect(warnings).toEqual(['the token could not be renewed: no; the present one is good for 5 s more']);
    expect(renewed.current()).toBe(old);
    clock.now += 5000;
    const late = renewed.current();
    await settle(E.left('no'));
    expect(await late).toEqual(fault('no'));
  });

  it.each([
    ['an hour', hour, 10_000],
    ['20 seconds', 20_000, 2000],
  ])('of %s is handed out at once until shortly before it expires', async (_, lifeMs, aheadMs) => {
    const { renewed, clock, settle } = scene();
    void renewed.current();
    await settle(E.right(lifeMs));
    const old = renewed.current();
    clock.now += lifeMs - aheadMs - 1;
    expect(renewed.current()).toBe(old);
    clock.now += 1;
    expect(renewed.current()).toBeInstanceOf(Promise);
  });

  it('that cannot be renewed is reported without a present one where there is none, or none that is valid', async () => {
    const { renewed, clock, settle, warnings } = scene();
    void renewed.current();
    await settle(E.left('no'));
    clock.now += 1000;
    void renewed.current();
    await settle(E.right(hour));
    clock.now += hour;
    void renewed.current();
    await settle(E.left('no'));
    clock.now += 1000;
    void renewed.current();
    await settle(E.left('no'));
    expect(warnings).toEqual(Array.from({ length: 3 }, () => 'the token could not be renewed: no'));
  });

  it('is not used from the moment it expires, also between two tries to renew it', async () => {
    const { renewed, clock, settle, asked } = scene();
    void renewed.current();
    await settle(E.right(hour));
    const old = renewed.current();
    clock.now += hour - 500;
    void renewed.current();
    await settle(E.left('no'));
    clock.now += 499;
    expect(renewed.current()).toBe(old);
    clock.now += 1;
    expect([await renewed.current(), asked.length]).toEqual([fault('no'), 2]);
  });

  it('that was refused is renewed by the next request, once in 30 seconds, and still used if that fails', async () => {
    const { renewed, asked, clock, settle } = scene();
    void renewed.current();
    await settle(E.right(hour));
    const old = renewed.current() as Lease;
    renewed.refused({ endsAt: old.endsAt });
    expect([renewed.current(), asked.length]).toEqual([old, 1]);
    renewed.refused(old);
    const waiting = renewed.current();
    expect([waiting, asked.length]).toEqual([expect.any(Promise), 2]);
    await settle(E.left('no'));
    expect(await waiting).toEqual(E.right(old));
    clock.now += 1000;
    void renewed.current();
    await settle(E.right(hour));
    const second = renewed.current() as Lease;
    expect(second).not.toBe(old);
    renewed.refused(old);
    clock.now += 28_999;
    renewed.refused(second);
    expect([renewed.current(), asked.length]).toEqual([second, 3]);
    clock.now += 1;
    renewed.refused(second);
    expect([renewed.current(), asked.length]).toEqual([expect.any(Promise), 4]);
  });

  it('that cannot be obtained is requested again after 1, 2, 4 … 30 seconds, and requests fail at once until then', async () => {
    const { renewed, asked, clock, settle } = scene();
    for (const seconds of [1, 2, 4, 8, 16, 30, 30]) {
      const before = asked.length;
      const waiting = renewed.current();
      expect(asked).toHaveLength(before + 1);
      await settle(E.left('no'));
      expect(await waiting).toEqual(fault('no'));
      clock.now += seconds * 1000 - 1;
      expect(await renewed.current()).toEqual(fault('no'));
      expect(asked).toHaveLength(before + 1);
      clock.now += 1;
    }
    void renewed.current();
    await settle(E.right(hour));
    expect(renewed.current()).toEqual({ endsAt: clock.now + hour });
  });

  it('that is obtained after failures resets the pause after the next failure', async () => {
    const { renewed, asked, clock, settle } = scene();
    for (const outcome of [E.left('no'), E.left('no'), E.right(hour), E.left('no')]) {
      void renewed.current();
      await settle(outcome);
      clock.now += E.isRight(outcome) ? hour : 2000;
    }
    expect(asked).toHaveLength(4);
    void renewed.current();
    expect(asked).toHaveLength(5);
  });

  it('that is not obtained within the timeout is a fault', async () => {
    const { renewed } = scene(20);
    expect(await renewed.current()).toEqual(fault('no answer came in time'));
  });

  it('that has already expired when it is obtained is a fault that mentions the clocks', async () => {
    const { renewed, settle } = scene();
    const waiting = renewed.current();
    await settle(E.right(0));
    expect(await waiting).toEqual(fault('what was obtained has ended already, if the clocks are right'));
  });

  it('that is not obtained because of an exception is a fault with the clause of `explain`', async () => {
    const { renewed, asked } = scene();
    const waiting = renewed.current();
    asked[0]!.settle.reject(new Error('secret'));
    expect(await waiting).toEqual(fault('it threw'));
  });

  it('is requested again at once when the clock is set back, while the old one is still used', async () => {
    const { renewed, asked, clock, settle } = scene();
    void renewed.current();
    await settle(E.left('the clock is wrong'));
    clock.now -= hour;
    const waiting = renewed.current();
    expect(asked).toHaveLength(2);
    await settle(E.right(hour));
    const first = { endsAt: clock.now + hour };
    expect(await waiting).toEqual(E.right(first));
    clock.now -= hour;
    expect([renewed.current(), renewed.current(), asked.length]).toEqual([first, first, 3]);
    await settle(E.right(hour));
    expect(renewed.current()).toEqual({ endsAt: clock.now + hour });
  });

  it('that is refused after the clock was set back is renewed, however late the last refusal seems to be', async () => {
    const { renewed, asked, clock, settle } = scene();
    void renewed.current();
    await settle(E.right(hour));
    renewed.refused(renewed.current() as Lease);
    void renewed.current();
    await settle(E.right(hour));
    clock.now -= hour;
    void renewed.current();
    await settle(E.right(hour));
    renewed.refused(renewed.current() as Lease);
    expect([renewed.current(), asked.length]).toEqual([expect.any(Promise), 4]);
  });

  it('that never expires is obtained once', async () => {
    const { renewed, asked, clock, settle } = scene();
    void renewed.current();
    await settle(E.right(Number.POSITIVE_INFINITY));
    clock.now += 1000 * hour;
    expect(renewed.current()).toEqual({ endsAt: Number.POSITIVE_INFINITY });
    expect(asked).toHaveLength(1);
  });
});

const step = fc.oneof(
  fc.record({ kind: fc.constant('pass' as const), ms: fc.integer({ min: 1, max: 40_000 }) }),
  fc.record({ kind: fc.constant('ask' as const) }),
  fc.record({ kind: fc.constant('obtain' as const), lifeMs: fc.integer({ min: 1, max: 60_000 }) }),
  fc.record({ kind: fc.constant('refuse' as const) }),
);

describe('a renewed credential, in any sequence of events,', () => {
  it('has at most one renewal at a time, is never used after it expired, and every request is answered', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        const { renewed, asked, clock, settle } = scene();
        const answers: Promise<unknown>[] = [];
        let settled = 0;
        let refusedAt = Number.NEGATIVE_INFINITY;
        for (const each of steps) {
          if (each.kind === 'pass') clock.now += each.ms;
          else if (each.kind === 'ask') {
            const before = asked.length;
            const answer = renewed.current();
            if (answer instanceof Promise)
              answers.push(
                answer.then((given) => {
                  if (E.isRight(given)) expect(given.right.endsAt).toBeGreaterThan(clock.now);
                }),
              );
            else expect(answer.endsAt).toBeGreaterThan(clock.now);
            if (asked.length > before) expect(clock.now - refusedAt).toBeGreaterThanOrEqual(1000);
          } else if (asked.length > settled) {
            settled = asked.length;
            if (each.kind === 'refuse') refusedAt = clock.now;
            else refusedAt = Number.NEGATIVE_INFINITY;
            await settle(each.kind === 'refuse' ? E.left('no') : E.right(each.lifeMs));
          }
          expect(asked.length - settled).toBeLessThanOrEqual(1);
        }
        await settle(E.left('no'));
        await Promise.all(answers);
      }),
      { numRuns: 300 },
    );
  });
});
