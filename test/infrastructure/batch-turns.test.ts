import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Collector } from '../../infrastructure/postgres/collector.ts';
import { BatchTurns } from '../../infrastructure/postgres/batch-turns.ts';

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

/** The longest wait for a turn, and a time well below it. */
const [maxMs, shortMs] = [8, 3];

/** A collector for each of `count` servers; the test ends their batches. */
function servers(count: number) {
  const turns = new BatchTurns();
  /** The batches sent to all servers, in order, as `server: items`. */
  const sent: string[] = [];
  const ends: (() => void)[] = [];
  const collectors = Array.from(
    { length: count },
    (_, server) =>
      new Collector<string, string>({
        run: (items) => {
          const { promise, resolve } = Promise.withResolvers<readonly string[]>();
          sent.push(`${server}: ${items.join(' ')}`);
          ends.push(() => resolve(items));
          return promise;
        },
        lane: () => undefined,
        size: () => 1,
        turns,
      }),
  );
  const add = (server: number, ...items: readonly string[]): void => {
    for (const item of items) void collectors[server]?.add(item);
  };
  const pass = async (ms: number): Promise<void> => {
    await jest.advanceTimersByTimeAsync(ms);
    // A collector sends its batch at the end of a turn of the event loop.
    await jest.advanceTimersByTimeAsync(0);
  };
  /** Ends the oldest batch in flight, or the one that has `older` batches before it. */
  const end = async (older = 0): Promise<void> => {
    for (const endOne of ends.splice(older, 1)) endOne();
    await pass(0);
  };
  return { sent, add, pass, end };
}

describe('collectors that share batch turns', () => {
  it('keep gathering items while another server has a batch in flight', async () => {
    const { sent, add, pass, end } = servers(2);
    add(0, 'a');
    await pass(0);
    add(1, 'b');
    await pass(shortMs);
    add(1, 'c');
    await pass(0);
    expect(sent).toEqual(['0: a']);
    await end();
    expect(sent).toEqual(['0: a', '1: b c']);
  });

  it('send their batches one after the other, in the order in which they began to wait', async () => {
    const { sent, add, pass, end } = servers(3);
    add(0, 'a');
    await pass(0);
    add(2, 'b');
    add(1, 'c');
    add(0, 'd');
    await pass(shortMs);
    await end();
    expect(sent).toEqual(['0: a', '2: b']);
    await end();
    expect(sent).toEqual(['0: a', '2: b', '1: c']);
    await end();
    expect(sent).toEqual(['0: a', '2: b', '1: c', '0: d']);
  });

  it('wait at most 8 ms for a slow batch, and not at all once it has lasted that long', async () => {
    const { sent, add, pass, end } = servers(2);
    add(0, 'away');
    await pass(0);
    add(1, 'b');
    await pass(maxMs - 1);
    expect(sent).toEqual(['0: away']);
    // Timers have whole milliseconds, so the wait has surely ended in the next one.
    await pass(2);
    expect(sent).toEqual(['0: away', '1: b']);
    await end(1);
    add(1, 'c');
    await pass(0);
    expect(sent).toEqual(['0: away', '1: b', '1: c']);
  });

  it('wait at most 8 ms in total, however many other servers have batches', async () => {
    const { sent, add, pass, end } = servers(20);
    for (let server = 0; server < 20; server += 1) add(server, `item ${server}`);
    for (let time = 0; time < maxMs; time += 1) {
      await pass(1);
      await end();
    }
    await pass(1);
    expect(sent).toHaveLength(20);
  });

  it('send at once when no other server has a batch in flight', async () => {
    const { sent, add, pass, end } = servers(2);
    add(1, 'a');
    await pass(0);
    await end();
    add(1, 'b');
    await pass(0);
    expect(sent).toEqual(['1: a', '1: b']);
  });
});
