import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { underTest } from './collector-bench.ts';

describe('after a large batch, the collector', () => {
  beforeEach(() => {
    jest.useFakeTimers();
    jest.advanceTimersByTime(100_000);
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  const turn = () => jest.advanceTimersByTimeAsync(0);
  const pass = (milliseconds: number) => jest.advanceTimersByTimeAsync(milliseconds);
  /** The last millisecond of the wait, and the turn in which the batch is sent: fake timers count it as a millisecond. */
  const sent = 2;
  const items = (count: number, prefix: string): readonly string[] =>
    Array.from({ length: count }, (_, index) => `${prefix}${index}`);

  /** A collector whose last batch, of `count` items, has just ended. */
  async function behind(count: number) {
    const bench = underTest();
    bench.add(...items(count, 'a'));
    await turn();
    bench.batches[0]!.succeed();
    await turn();
    const following = () => bench.sent().slice(1);
    return { ...bench, following };
  }

  it('waits for six items if the batch had eight', async () => {
    const { add, following } = await behind(8);
    add(...items(5, 'b'));
    await turn();
    expect(following()).toEqual([]);
    add('b5');
    await turn();
    expect(following()).toEqual([items(6, 'b')]);
  });

  it('waits for at most 2 ms from the first item on', async () => {
    const { add, following } = await behind(8);
    add('b0');
    await pass(1);
    add('b1');
    await turn();
    expect(following()).toEqual([]);
    await pass(sent);
    expect(following()).toEqual([['b0', 'b1']]);
  });

  it('sends an item at once that has already waited for 2 ms', async () => {
    const { add, batches, sent: all } = underTest();
    add(...items(8, 'a'));
    await turn();
    add('b');
    await pass(2);
    batches[0]!.succeed();
    await turn();
    expect(all().slice(1)).toEqual([['b']]);
  });

  it('waits for as many items as the last batch suggests, so it stops waiting when the load ends', async () => {
    const { add, batches, following } = await behind(8);
    add('b0');
    await pass(1 + sent);
    batches[1]!.succeed();
    await turn();
    add('c0');
    await turn();
    expect(following()).toEqual([['b0'], ['c0']]);
  });

  it('waits if the batch had four items, but not if it had three', async () => {
    const four = await behind(4);
    four.add('b0');
    await turn();
    expect(four.following()).toEqual([]);
    const three = await behind(3);
    three.add('b0');
    await turn();
    expect(three.following()).toEqual([['b0']]);
  });

  it('does not wait for others if the next item arrives 3 ms later', async () => {
    const { add, following } = await behind(8);
    await pass(3);
    add('b0');
    await turn();
    expect(following()).toEqual([['b0']]);
  });

  it('sends no batch early by the timer of a batch that is already sent', async () => {
    const { add, batches, following } = await behind(4);
    add('b0');
    await pass(1);
    add('b1', 'b2');
    await turn();
    expect(following()).toEqual([['b0', 'b1', 'b2']]);
    add('c0');
    await pass(5);
    expect(following()).toHaveLength(1);
    batches[1]!.succeed();
    await turn();
    expect(following()).toEqual([['b0', 'b1', 'b2'], ['c0']]);
  });
});
