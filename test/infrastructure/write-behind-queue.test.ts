import { describe, expect, it } from '@jest/globals';
import { writeBehindQueue } from '../../infrastructure/postgres/write-behind-queue.ts';

interface Item {
  readonly key: string;
  readonly value: number;
}

/** A queue that records its statements, which fail where the test makes them. */
function aQueue(writeAll: (items: readonly Item[]) => Promise<void> = async () => undefined) {
  const written: (readonly Item[])[] = [];
  const faults: unknown[] = [];
  const queue = writeBehindQueue<Item>(
    ({ key }) => [key],
    async (items) => {
      written.push(items);
      await writeAll(items);
    },
    (error) => void faults.push(error),
  );
  return { queue, written, faults };
}

describe('the write-behind queue', () => {
  it('writes items together in one statement, and of items with the same key only the last one', async () => {
    const { queue, written } = aQueue();
    for (const [key, value] of [
      ['a', 1],
      ['b', 2],
      ['a', 3],
    ] as const)
      queue.put({ key, value });
    await queue.close(5000);
    expect(written).toEqual([
      [
        { key: 'a', value: 3 },
        { key: 'b', value: 2 },
      ],
    ]);
  });

  it('drops a new item where 10,000 are waiting', async () => {
    const { queue, written } = aQueue();
    for (let value = 0; value < 10_001; value += 1) queue.put({ key: String(value), value });
    await queue.close(5000);
    expect(written.map((items) => [items.length, items.at(-1)?.value])).toEqual([[10_000, 9_999]]);
  });

  it('replaces a waiting item with the same key also where it is full', async () => {
    const { queue, written } = aQueue();
    for (let value = 0; value < 10_000; value += 1) queue.put({ key: String(value), value });
    queue.put({ key: '0', value: -1 });
    await queue.close(5000);
    expect(written.map((items) => [items.length, items[0]?.value])).toEqual([[10_000, -1]]);
  });

  it('loses only the items of a failed statement, and writes later ones with the next', async () => {
    const { queue, written, faults } = aQueue(async ([first]) => {
      if (first?.key !== 'bad') return;
      queue.put({ key: 'good', value: 2 });
      throw new Error('no');
    });
    queue.put({ key: 'bad', value: 1 });
    await queue.close(5000);
    queue.put({ key: 'late', value: 3 });
    await queue.close(5000);
    expect([written.flat().map(({ key }) => key), faults]).toEqual([
      ['bad', 'good', 'late'],
      [new Error('no')],
    ]);
  });
});
