import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { shutDown } from '../../composition/shutdown.ts';
import { timed } from '../support/undisturbed.ts';

const never = new Promise<void>(() => undefined);
/** The steps of a shutdown, a hundred times as fast. */
const steps = {
  upstreamsMs: 50,
  waitsCancelledMs: 80,
  announcedMs: 90,
  settledMs: 100,
  releasedMs: 140,
  endMs: 150,
};
/** Timers are late on a busy machine. */
const slackMs = 2000;

const plans = fc.record({
  graceMs: fc.nat(400),
  idleAfterMs: fc.oneof(fc.nat(700), fc.constant(Number.POSITIVE_INFINITY)),
  forcedAfterMs: fc.option(fc.nat(400), { nil: undefined }),
  releaseHangs: fc.boolean(),
});

type Plan = typeof plans extends fc.Arbitrary<infer A> ? A : never;

async function ended(plan: Plan, bounds = steps) {
  const { graceMs, idleAfterMs, forcedAfterMs, releaseHangs } = plan;
  const from = performance.now();
  const now = (): number => performance.now() - from;
  const at: Record<string, number> = {};
  const step = (name: string) => (): void => void (at[name] = now());
  const unsettled = await shutDown(
    {
      inFlight: () => (now() < idleAfterMs ? 1 : 0),
      graceMs,
      forced: forcedAfterMs === undefined ? never : sleep(forcedAfterMs),
      announceShutdown: step('announced'),
      cut: step('cut'),
      endUpstreams: step('upstreams'),
      cancelWaits: step('waitsCancelled'),
      release: () => (releaseHangs ? never : sleep(30).then(step('released'))),
    },
    bounds,
  );
  return { plan, at, unsettled, endedAt: now() };
}

describe('the shutdown of a process', () => {
  it('ends within the grace and its limit, and cuts nothing off before the grace is over', async () => {
    const {
      value: all,
      allMs,
      ms,
    } = await timed(() =>
      Promise.all(fc.sample(plans, { seed: 32, numRuns: 200 }).map((each) => ended(each))),
    );
    const pausedMs = allMs - ms;
    for (const { plan, at, unsettled, endedAt } of all) {
      const { graceMs, idleAfterMs, forcedAfterMs } = plan;
      const graceOver = Math.min(graceMs, forcedAfterMs ?? graceMs, idleAfterMs);
      const announcedAt = at['announced'] ?? 0;
      // A timer may be a millisecond early.
      expect(announcedAt).toBeGreaterThanOrEqual(graceOver - 2);
      expect(at['cut']).toBeGreaterThanOrEqual(announcedAt);
      expect(at['upstreams']).toBeGreaterThanOrEqual(announcedAt);
      expect(endedAt).toBeLessThan(graceOver + steps.endMs + slackMs + pausedMs);
      if (at['waitsCancelled'] !== undefined)
        expect(at['waitsCancelled'] - announcedAt).toBeGreaterThan(steps.waitsCancelledMs - 2);
      if (idleAfterMs === Number.POSITIVE_INFINITY)
        expect([unsettled, at['waitsCancelled'] !== undefined]).toEqual([1, true]);
      if (idleAfterMs <= graceOver) expect(unsettled).toBe(0);
    }
  });

  const plan: Plan = {
    graceMs: 0,
    idleAfterMs: Number.POSITIVE_INFINITY,
    forcedAfterMs: undefined,
    releaseHangs: false,
  };

  it('is announced to callers before they are cut off, which is after the waits, and waits for late settlements', async () => {
    // Room for timers of a busy machine after the step that is compared.
    const roomy = { ...steps, settledMs: 1_000, releasedMs: 30_000 };
    const { at } = await ended(plan, roomy);
    expect((at['cut'] ?? 0) - (at['announced'] ?? 0)).toBeGreaterThanOrEqual(steps.announcedMs - 2);
    expect(Object.keys(at)).toEqual(['announced', 'upstreams', 'waitsCancelled', 'cut', 'released']);
    const late = (roomy.announcedMs + roomy.settledMs) / 2;
    expect(await ended({ ...plan, idleAfterMs: late }, roomy)).toMatchObject({ unsettled: 0 });
  });

  it('waits until everything is released', async () => {
    const { at } = await ended({ ...plan, idleAfterMs: 0 }, { ...steps, releasedMs: 30_000 });
    expect(at['released']).toBeGreaterThan(0);
  });

  it('begins at once when it is forced, however long the grace is', async () => {
    const { at } = await ended({ ...plan, graceMs: 40_000, forcedAfterMs: 20 });
    expect(at['announced']).toBeLessThan(20_000);
  });
});
