import { afterEach, describe, expect, it } from '@jest/globals';
import type { DatabasePool } from 'slonik';
import { openPool } from '../../infrastructure/postgres/pool.ts';
import { Freshness, StateFollower, touchState } from '../../infrastructure/postgres/state-follower.ts';
import { eventually } from '../e2e/traces.ts';
import { withDatabase } from '../support/database.ts';

const database = withDatabase();
let follower: StateFollower | undefined;
let pool: DatabasePool | undefined;
afterEach(async () => {
  await follower?.stop();
  await pool?.end();
});

/**
 * A follower of the database's state, with a record of changes, faults and confirmations that the state was
 * current.
 */
async function following(onChange: (time: number) => Promise<void>) {
  const opened = await openPool(database.url(), 2);
  pool = opened;
  const confirmed: number[] = [];
  const faults: unknown[] = [];
  let changes = 0;
  class Told extends Freshness {
    override confirm(at: number): void {
      confirmed.push(at);
      super.confirm(at);
    }
  }
  const freshness = new Told();
  follower = new StateFollower(opened, {
    freshness,
    onChange: () => onChange((changes += 1)),
    onFault: (error) => void faults.push(error),
    onFollowed: () => undefined,
  });
  await follower.start();
  return { follower, confirmed, faults, freshness, changes: () => changes, touch: () => touchState(opened) };
}

/** A second read, which lasts until `reading` is resolved. */
async function aLookUnderWay() {
  const reading = Promise.withResolvers<void>();
  const {
    follower: followed,
    changes,
    touch,
  } = await following(async (time) => {
    if (time === 2) await reading.promise;
  });
  await touch();
  await eventually(() => (changes() === 2 ? true : undefined));
  return { followed, changes, reading };
}

describe('the state that a replica follows', () => {
  it('is as fresh as the start of its read, however long the read took', async () => {
    let began = 0;
    const { confirmed, freshness } = await following(async () => {
      began = performance.now();
      await new Promise((resolve) => setTimeout(resolve, 50));
    });
    expect(confirmed[0]).toBeLessThanOrEqual(began);
    expect(freshness.isFresh()).toBe(true);
  });

  it('is not fresh if it was read more than four seconds ago', () => {
    const freshness = new Freshness();
    expect(freshness.isFresh()).toBe(false);
    freshness.confirm(performance.now() - 3500);
    expect(freshness.isFresh()).toBe(true);
    freshness.confirm(performance.now() - 4001);
    expect(freshness.isFresh()).toBe(false);
  });

  it('is read again after a failed read, and is not confirmed as current before', async () => {
    const { changes, faults, confirmed, touch } = await following(async (time) => {
      if (time === 2) throw new Error('not read');
    });
    await touch();
    await eventually(() => (faults.length > 0 ? true : undefined));
    const known = confirmed.length;
    await eventually(() => (confirmed.length > known ? true : undefined));
    expect([changes(), faults]).toEqual([3, [new Error('not read')]]);
  });

  it('is never read twice at once: a refresh waits for the read in progress', async () => {
    const { followed, changes, reading } = await aLookUnderWay();
    const refreshed = followed.refresh();
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(changes()).toBe(2);
    reading.resolve();
    await refreshed;
    expect(changes()).toBe(3);
  });

  it('is followed until the read in progress has ended', async () => {
    const { followed, reading } = await aLookUnderWay();
    const stopped = followed.stop().then(() => 'stopped');
    const waited = new Promise((resolve) => setTimeout(resolve, 100, 'still reading'));
    expect(await Promise.race([stopped, waited])).toBe('still reading');
    reading.resolve();
    expect(await stopped).toBe('stopped');
  });
});
