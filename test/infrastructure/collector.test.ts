import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import * as fc from 'fast-check';
import { Collector, putBack, WaitedTooLong } from '../../infrastructure/postgres/collector.ts';
import { type Batch, type Item, laneOf, underTest } from './collector-bench.ts';

const names = (count: number): readonly Item[] => Array.from({ length: count }, (_, index) => `i${index}`);

describe('a collector', () => {
  beforeEach(() => {
    jest.useFakeTimers();
    // The clock must not start at 0.
    jest.advanceTimersByTime(100_000);
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  /** A batch that has lasted 25 ms is slow; timers have whole milliseconds, so the next one is surely later. */
  const slow = 26;

  /** After a large batch, items wait for others for 2 ms; the turn after a timer takes one more of the fake clock. */
  const gathering = 3;

  /** Runs everything that is due now. */
  const turn = () => jest.advanceTimersByTimeAsync(0);
  const pass = async (milliseconds: number): Promise<void> => {
    await jest.advanceTimersByTimeAsync(milliseconds);
    await turn();
  };

  describe('batches items', () => {
    it('that arrive in one turn of the event loop, in order, at the end of the turn', async () => {
      const { add, sent, collector } = underTest();
      add('a', 'b', 'c');
      expect(sent()).toEqual([]);
      expect(collector.depth).toBe(3);
      await turn();
      expect(sent()).toEqual([['a', 'b', 'c']]);
      expect(collector.depth).toBe(0);
    });

    it('that arrive while a batch runs, and sends them when it ends', async () => {
      const { add, sent, batches, collector } = underTest();
      add('a');
      await turn();
      add('b');
      await turn();
      add('c', 'd');
      await turn();
      expect(sent()).toEqual([['a']]);
      expect(collector.depth).toBe(3);
      batches[0]!.succeed();
      await turn();
      expect(sent()).toEqual([['a'], ['b', 'c', 'd']]);
    });

    it('and returns each item its own result', async () => {
      const { add, batches, fates } = underTest();
      add('a', 'b');
      await turn();
      add('c');
      batches[0]!.succeed();
      await turn();
      expect([...fates]).toEqual([
        ['a', 'a!'],
        ['b', 'b!'],
      ]);
      batches[1]!.succeed();
      await turn();
      expect(fates.get('c')).toBe('c!');
    });

    it('and sends the next one at once when no batch is in flight', async () => {
      const { add, batches, sent } = underTest();
      for (const item of ['a', 'b', 'c']) {
        add(item);
        await turn();
        batches.at(-1)!.succeed();
        await turn();
      }
      expect(sent()).toEqual([['a'], ['b'], ['c']]);
    });
  });

  describe('never has items of one lane in two batches at once', () => {
    it('but has several of them in one batch', async () => {
      const { add, sent } = underTest();
      add('x:1', 'y:1', 'x:2');
      await turn();
      expect(sent()).toEqual([['x:1', 'y:1', 'x:2']]);
    });

    it('so they wait for the batch of their lane, however long it takes', async () => {
      const { add, sent, batches } = underTest();
      add('x:1');
      await turn();
      add('x:2');
      await pass(5000);
      add('x:3');
      await pass(100);
      expect(sent()).toEqual([['x:1']]);
      batches[0]!.succeed();
      await turn();
      expect(sent()).toEqual([['x:1'], ['x:2', 'x:3']]);
    });

    it('while items without a lane do not wait for one another', async () => {
      const { add, sent } = underTest();
      add('a');
      await turn();
      add('b');
      await pass(slow);
      expect(sent()).toEqual([['a'], ['b']]);
    });
  });

  describe('starts a second batch beside one that has lasted 25 ms', () => {
    it('and not before', async () => {
      const { add, sent } = underTest();
      add('x:1');
      await turn();
      add('y:1');
      await pass(24);
      expect(sent()).toEqual([['x:1']]);
      await pass(slow - 24);
      expect(sent()).toEqual([['x:1'], ['y:1']]);
    });

    it('counted from its start, not from later arrivals', async () => {
      const { add, sent } = underTest();
      add('x:1');
      await turn();
      await pass(20);
      add('y:1');
      await pass(slow - 20);
      expect(sent()).toEqual([['x:1'], ['y:1']]);
    });

    it('with all items whose lane is free, in order', async () => {
      const { add, sent } = underTest();
      add('x:1');
      await turn();
      add('y:1', 'x:2', 'z', 'y:2');
      await pass(slow);
      expect(sent()).toEqual([['x:1'], ['y:1', 'z', 'y:2']]);
    });

    it('without a new arrival, and again when that second batch has ended', async () => {
      const { add, sent, batches } = underTest();
      add('x:1');
      await turn();
      add('y:1');
      await pass(slow);
      batches[1]!.succeed();
      await turn();
      add('z:1');
      await pass(slow);
      expect(sent()).toEqual([['x:1'], ['y:1'], ['z:1']]);
    });

    it('at once when an item arrives later than that', async () => {
      const { add, sent } = underTest();
      add('x:1');
      await pass(1000);
      add('y:1');
      await turn();
      expect(sent()).toEqual([['x:1'], ['y:1']]);
    });

    it('but never has more than four in flight', async () => {
      const { add, sent, batches } = underTest();
      for (const item of names(7)) {
        add(item);
        await pass(30);
      }
      expect(sent()).toEqual([['i0'], ['i1'], ['i2'], ['i3']]);
      batches[2]!.succeed();
      await pass(30);
      expect(sent().slice(4)).toEqual([['i4', 'i5', 'i6']]);
    });
  });

  describe('limits a batch', () => {
    it('to 200 items, and sends the others next, in order', async () => {
      const { add, sent, batches } = underTest();
      const items = names(450);
      add(...items);
      await turn();
      batches[0]!.succeed();
      await turn();
      batches[1]!.succeed();
      await pass(gathering);
      expect(sent()).toEqual([items.slice(0, 200), items.slice(200, 400), items.slice(400)]);
    });

    it('and sends the remaining items without a new arrival', async () => {
      const { add, sent } = underTest();
      add(...names(201));
      await pass(slow);
      expect(sent().map(({ length }) => length)).toEqual([200, 1]);
    });

    const mib = 1024 * 1024;

    it.each([
      ['items of 1 MiB', [mib, mib, mib, mib, mib], [4, 1]],
      ['the item that goes over it is the last', [3 * mib, 3 * mib, 1], [2, 1]],
      ['a byte less', [4 * mib - 1, 1, 1], [2, 1]],
      ['one item over it goes alone', [9 * mib, 1], [1, 1]],
    ])('to 4 MiB: %s', async (_, sizes, lengths) => {
      const { add, sent, batches } = underTest((item) => sizes[Number(item.slice(1))]!);
      add(...names(sizes.length));
      await turn();
      batches[0]!.succeed();
      await pass(gathering);
      expect(sent().map(({ length }) => length)).toEqual(lengths);
    });
  });

  describe('reports a failure', () => {
    it('of a batch to exactly its items', async () => {
      const { add, batches, fates } = underTest();
      add('a', 'b');
      await turn();
      add('c');
      batches[0]!.fail(new Error('connection lost'));
      await turn();
      batches[1]!.succeed();
      await turn();
      expect([...fates]).toEqual([
        ['a', 'connection lost'],
        ['b', 'connection lost'],
        ['c', 'c!'],
      ]);
    });

    it('and continues with the lane that failed', async () => {
      const { add, batches, fates } = underTest();
      add('x:1');
      await turn();
      add('x:2');
      batches[0]!.fail(new Error('refused'));
      await turn();
      batches[1]!.succeed();
      await turn();
      expect(fates.get('x:2')).toBe('x:2!');
    });

    it('to the items whose results are missing', async () => {
      const { add, batches, fates } = underTest();
      add('a', 'b', 'c');
      await turn();
      batches[0]!.answer(['A']);
      await turn();
      expect(fates.get('a')).toBe('A');
      for (const item of ['b', 'c']) expect(fates.get(item)).toMatch(/fewer results/);
    });

    it('to an item that was in no statement for ten seconds, and to no other', async () => {
      const { add, batches, fates, sent, collector } = underTest();
      add('x:1');
      await turn();
      add('x:2');
      await pass(5000);
      add('x:3');
      await pass(4999);
      expect(fates.size).toBe(0);
      await pass(1);
      expect([...fates]).toEqual([['x:2', 'no statement took the item up in time']]);
      expect(collector.depth).toBe(1);
      batches[0]!.succeed();
      await turn();
      expect(sent()).toEqual([['x:1'], ['x:3']]);
      expect(fates.get('x:1')).toBe('x:1!');
    });

    it('of waiting too long as `WaitedTooLong`', async () => {
      const { collector, add } = underTest();
      add('x:1');
      await turn();
      const waited = expect(collector.add('x:2')).rejects.toBeInstanceOf(WaitedTooLong);
      await pass(10_000);
      await waited;
    });
  });

  describe('when waits are cancelled', () => {
    it('rejects items in a batch, waiting items and later items at once, and keeps earlier results', async () => {
      const { add, batches, fates, sent, collector } = underTest();
      add('a');
      await turn();
      batches[0]!.succeed();
      await turn();
      add('x:1');
      await turn();
      add('x:2');
      collector.cancelWaits();
      add('x:3');
      await turn();
      const ends = ['x:1', 'x:2', 'x:3'].map((item) => [item, 'the process ends']);
      expect([...fates]).toEqual([['a', 'a!'], ...ends]);
      batches[1]!.succeed();
      await pass(10_000);
      expect([...fates]).toEqual([['a', 'a!'], ...ends]);
      expect(sent()).toEqual([['a'], ['x:1']]);
    });

    it('resolves items with the result of `unanswered` where it is given', async () => {
      const collector = new Collector<string, string>({
        run: () => new Promise(() => undefined),
        lane: () => undefined,
        size: () => 1,
        unanswered: (why) => `nobody: ${why.message}`,
      });
      const first = collector.add('first');
      await turn();
      expect(collector.depth).toBe(0);
      collector.cancelWaits();
      const none = 'nobody: the process ends';
      expect(await Promise.all([first, collector.add('second')])).toEqual([none, none]);
    });
  });

  describe('retries items that a batch puts back', () => {
    it('each lane alone, in order, and before later items', async () => {
      const { add, batches, sent, fates } = underTest();
      add('x:1', 'y:1', 'y:2', 'z:1');
      await turn();
      add('y:3', 'a');
      batches[0]!.answer(['X', putBack, putBack, putBack]);
      await turn();
      expect(sent().slice(1)).toEqual([['y:1', 'y:2', 'y:3']]);
      await pass(slow);
      expect(sent().slice(2)).toEqual([['z:1']]);
      await pass(slow);
      expect(sent().slice(3)).toEqual([['a']]);
      for (const batch of batches.slice(1)) batch.succeed();
      await turn();
      expect(Object.fromEntries(fates)).toEqual({
        'x:1': 'X',
        'y:1': 'y:1!',
        'y:2': 'y:2!',
        'y:3': 'y:3!',
        'z:1': 'z:1!',
        a: 'a!',
      });
    });

    it('at most two of these lanes at once, while other items continue beside them', async () => {
      const { add, batches, sent } = underTest();
      add('w:1', 'x:1', 'y:1', 'z:1', 'v:1');
      await turn();
      batches[0]!.answer(['W', putBack, putBack, putBack, putBack]);
      await pass(60);
      add('b:1');
      await pass(30);
      add('c:1');
      await pass(30);
      expect(sent().slice(1)).toEqual([['x:1'], ['y:1'], ['b:1'], ['c:1']]);
      for (const batch of [1, 3, 4]) batches[batch]!.succeed();
      await pass(60);
      expect(sent().slice(5)).toEqual([['z:1']]);
      batches[5]!.succeed();
      await pass(30);
      expect(sent().slice(6)).toEqual([['v:1']]);
    });

    it.each([
      ['in less than a second is batched with others again', 999, [['x:2', 'a']]],
      ['only after a second stays alone in its batch', 1000, [['x:2'], ['a']]],
    ])('and a lane that succeeded %s', async (_, milliseconds, after) => {
      const { add, batches, sent } = underTest();
      add('x:1', 'y:1');
      await turn();
      batches[0]!.answer([putBack, 'Y']);
      await turn();
      await pass(milliseconds);
      batches[1]!.succeed();
      await turn();
      add('x:2', 'a');
      await pass(slow);
      expect(sent().slice(2)).toEqual(after);
    });

    it('but for no longer than ten seconds since they were added', async () => {
      const { add, batches, fates } = underTest();
      add('x:1', 'y:1', 'z:1', 'w:1');
      await turn();
      await pass(6000);
      batches[0]!.answer(['X', putBack, putBack, putBack]);
      await pass(3999);
      expect(fates.has('w:1')).toBe(false);
      await pass(1);
      expect(Object.fromEntries(fates)).toEqual({
        'x:1': 'X',
        'w:1': 'no statement took the item up in time',
      });
    });
  });

  describe('for any arrivals and any ends of statements', () => {
    type Step =
      | { readonly kind: 'add'; readonly lane: string }
      | { readonly kind: 'end'; readonly which: number; readonly how: 'succeed' | 'fail' | 'putBack' }
      | { readonly kind: 'pass'; readonly milliseconds: number };
    const aStep = fc.oneof<fc.WeightedArbitrary<Step>[]>(
      {
        weight: 5,
        arbitrary: fc.record({ kind: fc.constant('add'), lane: fc.constantFrom('', 'x:', 'y:', 'z:') }),
      },
      {
        weight: 3,
        arbitrary: fc.record({
          kind: fc.constant('end'),
          which: fc.nat({ max: 3 }),
          how: fc.constantFrom('succeed', 'succeed', 'fail', 'putBack'),
        }),
      },
      {
        weight: 3,
        arbitrary: fc.record({
          kind: fc.constant('pass'),
          milliseconds: fc.constantFrom(0, 1, 25, 30, 1000),
        }),
      },
    );

    const end = (batch: Batch, how: 'succeed' | 'fail' | 'putBack'): void => {
      const lanes = new Set(batch.items.map(laneOf));
      if (how === 'fail') batch.fail(new Error('failed'));
      else if (how === 'putBack' && lanes.size > 1)
        batch.answer(batch.items.map((item) => (laneOf(item) === [...lanes][0] ? `${item}!` : putBack)));
      else batch.succeed();
    };

    it('gives each item its own result or error, keeps lanes apart and in order, and has at most four batches', async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(aStep, { maxLength: 40, size: 'max' }), async (steps) => {
          const { add, batches, open, fates } = underTest();
          const added: Item[] = [];
          const check = (): void => {
            const lanes = [...open].flatMap(({ items }) =>
              [...new Set(items.map(laneOf))].filter((lane) => lane !== undefined),
            );
            expect(new Set(lanes).size).toBe(lanes.length);
            expect(open.size).toBeLessThanOrEqual(4);
          };
          for (const step of steps) {
            if (step.kind === 'add') {
              added.push(`${step.lane}${added.length}`);
              add(added.at(-1)!);
            } else if (step.kind === 'end') {
              const batch = [...open][step.which % Math.max(1, open.size)];
              if (batch !== undefined) end(batch, step.how);
            } else await pass(step.milliseconds);
            check();
          }
          for (let round = 0; round < 60 && fates.size < added.length; round += 1) {
            await pass(30);
            check();
            for (const batch of open) batch.succeed();
          }
          expect([...fates.keys()].toSorted()).toEqual(added.toSorted());
          for (const [item, fate] of fates)
            expect([`${item}!`, 'failed', 'no statement took the item up in time']).toContain(fate);
          // Items of a lane are sent in the order in which they were added.
          for (const lane of ['x', 'y', 'z']) {
            const taken = batches.flatMap(({ items }) => items.filter((item) => laneOf(item) === lane));
            const firsts = [...new Set(taken)].map((item) => Number(item.slice(2)));
            expect(firsts).toEqual(firsts.toSorted((a, b) => a - b));
          }
        }),
        { numRuns: 200 },
      );
    });
  });
});
