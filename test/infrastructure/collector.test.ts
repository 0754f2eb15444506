import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import * as fc from 'fast-check';
import { Collector, putBack, WaitedTooLong } from '../../infrastructure/postgres/collector.ts';
import { type Batch, type Item, laneOf, underTest } from './collector-bench.ts';

const names = (count: number, prefix = 'i'): readonly Item[] =>
  Array.from({ length: count }, (_, index) => `${prefix}${index}`);

describe('a collector', () => {
  beforeEach(() => {
    jest.useFakeTimers();
    // Not at the beginning of the clock.
    jest.advanceTimersByTime(100_000);
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  /** A batch that has lasted 25 ms is slow; timers are whole milliseconds, so the next one is sure. */
  const slow = 26;

  /** Items wait for others behind a large batch for 2 ms; what a timer leaves to the turn behind it takes one more here. */
  const gathering = 3;

  /** Lets everything happen that waits for nothing but its turn. */
  const turn = () => jest.advanceTimersByTimeAsync(0);
  const pass = async (milliseconds: number): Promise<void> => {
    await jest.advanceTimersByTimeAsync(milliseconds);
    await turn();
  };

  describe('sends together what arrives together', () => {
    it('in one turn of the event loop, in order, and not before', async () => {
      const { add, sent, collector } = underTest();
      add('a', 'b', 'c');
      expect(sent()).toEqual([]);
      expect(collector.depth).toBe(3);
      await turn();
      expect(sent()).toEqual([['a', 'b', 'c']]);
      expect(collector.depth).toBe(0);
    });

    it('while a batch runs: it goes when that one is done', async () => {
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

    it('and gives every item its own result', async () => {
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

    it('and sends at once again when nothing is under way', async () => {
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
    it('but takes several of them in one', async () => {
      const { add, sent } = underTest();
      add('x:1', 'y:1', 'x:2');
      await turn();
      expect(sent()).toEqual([['x:1', 'y:1', 'x:2']]);
    });

    it('so they wait for their lane, however long it takes', async () => {
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

    it('counted from its start, not from what arrived since', async () => {
      const { add, sent } = underTest();
      add('x:1');
      await turn();
      await pass(20);
      add('y:1');
      await pass(slow - 20);
      expect(sent()).toEqual([['x:1'], ['y:1']]);
    });

    it('with what need not wait, in order', async () => {
      const { add, sent } = underTest();
      add('x:1');
      await turn();
      add('y:1', 'x:2', 'z', 'y:2');
      await pass(slow);
      expect(sent()).toEqual([['x:1'], ['y:1', 'z', 'y:2']]);
    });

    it('without a new arrival, also when the batch beside it has come and gone', async () => {
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

    it('but never has more than four under way', async () => {
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

  describe('bounds a batch', () => {
    it('to 200 items; the others go next, in order', async () => {
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

    it('and does not wait for a new arrival with what was left over', async () => {
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

  describe('tells a failure', () => {
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

    it('and goes on with the lane that failed', async () => {
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

    it('to an item that no statement took up in ten seconds, and to no other', async () => {
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

    it('of waiting by its own kind of error', async () => {
      const { collector, add } = underTest();
      add('x:1');
      await turn();
      const waited = expect(collector.add('x:2')).rejects.toBeInstanceOf(WaitedTooLong);
      await pass(10_000);
      await waited;
    });
  });

  describe('at the last call', () => {
    it('answers all that waits, in a batch or for one, and all that comes later, at once; what was answered stays', async () => {
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

    it('by a result, where there is one for what nobody answers', async () => {
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

  describe('tries again what a batch puts back', () => {
    it('each lane alone, in its order, and before what came later', async () => {
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

    it('at most two of these lanes at once: the others go on beside them', async () => {
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
      ['in less than a second is not stuck: it travels with others again', 999, [['x:2', 'a']]],
      ['only after a second is still suspect: it travels alone', 1000, [['x:2'], ['a']]],
    ])('and a lane that got through %s', async (_, milliseconds, after) => {
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

    it('but not for longer than anything may wait', async () => {
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

  describe('whatever arrives, and however statements end', () => {
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

    it('every item gets its own fate once, lanes never overlap and keep their order, four batches at most', async () => {
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
          // In a lane, whatever was taken up first was added first.
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
