import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { type PurgeOrder, purgeRows } from '../../application/retention/purge-rows.ts';

/** Logs that are deleted in these batches, and all events in order. */
function aPurge(
  batches: readonly { readonly rows: number; readonly tookMs: number; readonly whole?: boolean }[],
) {
  const events: string[] = [];
  let clock = 1_000_000;
  const purge = purgeRows({
    rows: {
      now: async () => new Date('2028-03-08T06:00:00Z'),
      countBefore: async (cutoff) => {
        events.push(`count ${cutoff.toISOString()}`);
        return batches.reduce((sum, { rows }) => sum + rows, 0);
      },
      deleteBefore: async function* (cutoff) {
        for (const { rows, tookMs, whole = false } of batches) {
          clock += tookMs;
          events.push(`delete ${rows} before ${cutoff.toISOString()}`);
          yield { rows, whole };
        }
      },
    },
    clock: { now: () => clock },
    pause: async (ms) => {
      await turn();
      events.push(`rest ${ms}`);
      clock += ms;
    },
  });
  const run = (over: Partial<PurgeOrder> = {}) =>
    purge({ retention: '7d', dryRun: false, shouldContinue: () => true, ...over });
  return { run, events };
}

const cutoff = '2028-03-01T06:00:00.000Z';

describe('a purge', () => {
  it('counts, then deletes in batches, and pauses after each for four times its duration', async () => {
    const { run, events } = aPurge([
      { rows: 5, tookMs: 30 },
      { rows: 3, tookMs: 700 },
    ]);
    expect(await run()).toEqual({ cutoff: new Date(cutoff), matched: 8, deleted: 8 });
    expect(events).toEqual([
      `count ${cutoff}`,
      `delete 5 before ${cutoff}`,
      'rest 120',
      `delete 3 before ${cutoff}`,
      'rest 1000',
      'rest 1000',
      'rest 800',
    ]);
  });

  it('pauses at least 15 seconds after a dropped partition, and ends a pause when it is stopped', async () => {
    const { run, events } = aPurge([
      { rows: 5, tookMs: 10, whole: true },
      { rows: 3, tookMs: 10 },
    ]);
    await run();
    expect(events.slice(2)).toEqual([
      ...Array.from({ length: 15 }, () => 'rest 1000'),
      `delete 3 before ${cutoff}`,
      'rest 40',
    ]);
    const stopped = aPurge([
      { rows: 5, tookMs: 10, whole: true },
      { rows: 3, tookMs: 10 },
    ]);
    let asked = 0;
    expect(await stopped.run({ shouldContinue: () => asked++ < 4 })).toMatchObject({ deleted: 5 });
    expect(stopped.events.slice(2)).toEqual(Array.from({ length: 3 }, () => 'rest 1000'));
  });

  it('only counts in a dry run', async () => {
    const { run, events } = aPurge([{ rows: 5, tookMs: 30 }]);
    expect(await run({ dryRun: true })).toEqual({ cutoff: new Date(cutoff), matched: 5, deleted: 0 });
    expect(events).toEqual([`count ${cutoff}`]);
  });

  it('that is stopped ends after the current batch, and reports the deleted rows', () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ rows: fc.nat(9), tookMs: fc.nat(99) }), { maxLength: 8 }),
        fc.nat(9),
        async (batches, allowed) => {
          const { run, events } = aPurge(batches);
          let asked = 0;
          const report = await run({ shouldContinue: () => asked++ < allowed });
          const deletions = events.filter((event) => event.startsWith('delete')).length;
          expect(deletions).toBe(Math.min(allowed, batches.length));
          const done = batches.slice(0, deletions);
          expect(report.deleted).toBe(done.reduce((sum, { rows }) => sum + rows, 0));
        },
      ),
    ));
});
