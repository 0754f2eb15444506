import { describe, expect, it } from '@jest/globals';
import { writeBehindQueue } from '../../infrastructure/postgres/write-behind-queue.ts';

interface Item {
  readonly key: string;
  readonly value: number;
}

/** A queue whose statements are told, and fail where the test says so. */
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

describe('what is written behind the answers', () => {
  it('shares a statement, and of those with the same key the last one is written', async () => {
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

  it('is left out where 10,000 wait already', async () => {
    const { queue, written } = aQueue();
    for (let value = 0; value < 10_001; value += 1) queue.put({ key: String(value), value });
    await queue.close(5000);
    expect(written.map((items) => [items.length, items.at(-1)?.value])).toEqual([[10_000, 9_999]]);
  });

  it('takes the place of what waits with the same key also where no more may wait', async () => {
    const { queue, written } = aQueue();
    for (let value = 0; value < 10_000; value += 1) queue.put({ key: String(value), value });
    queue.put({ key: '0', value: -1 });
    await queue.close(5000);
    expect(written.map((items) => [items.length, items[0]?.value])).toEqual([[10_000, -1]]);
  });

  it('is lost with its own statement alone: what came meanwhile goes with the next', async () => {
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
