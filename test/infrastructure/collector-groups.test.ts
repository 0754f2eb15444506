import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { Collector } from '../../infrastructure/postgres/collector.ts';

const [east, west] = [{ name: 'east' }, { name: 'west' }];

interface Sent {
  readonly items: readonly string[];
  readonly end: () => void;
}

function collecting() {
  const sent: Sent[] = [];
  const collector = new Collector<string, string>({
    run: (items) => {
      const { promise, resolve } = Promise.withResolvers<readonly string[]>();
      sent.push({ items, end: () => resolve(items) });
      return promise;
    },
    lane: () => undefined,
    size: () => 1,
    group: (item) => (item.startsWith('e') ? east : west),
  });
  return { collector, sent, batches: () => sent.map(({ items }) => items) };
}

/** Longer than a batch must last before a second one starts beside it. */
const slowMs = 60;

describe('a collector with groups', () => {
  it('sends items of one group per batch, at most two batches of a group at once', async () => {
    const { collector, sent, batches } = collecting();
    const add = (...items: readonly string[]) => items.map((item) => collector.add(item));
    const first = add('e1', 'w1', 'e2');
    await sleep(slowMs);
    expect(batches()).toEqual([['e1', 'e2'], ['w1']]);
    const later = add('e3');
    await sleep(slowMs);
    const last = add('e4', 'w2');
    await sleep(slowMs);
    // Two batches of east are in flight: its next one waits, while west continues.
    expect(batches().slice(2)).toEqual([['e3'], ['w2']]);
    for (const { end } of sent) end();
    await Promise.all([...first, ...later]);
    await sleep(slowMs);
    expect(batches().slice(4)).toEqual([['e4']]);
    for (const { end } of sent) end();
    expect(await Promise.all(last)).toEqual(['e4', 'w2']);
  });
});
