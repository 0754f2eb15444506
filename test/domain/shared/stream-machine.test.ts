import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { andThen, type Ending, type Sealed, seal } from '../../../domain/shared/stream-machine.ts';
import { outputsOf } from '../../support/machine-laws.ts';

/** Emits every second input, and at the end the number of inputs. */
const everySecond: Sealed<number, number> = seal({
  start: () => 0,
  step: (seen, input: number) => [seen + 1, seen % 2 === 1 ? [input] : []],
  end: (seen) => [seen],
});

/** Emits each input twice, and at the end the kind of the ending as a number. */
const twice: Sealed<number, number> = seal({
  start: () => undefined,
  step: (state, input: number) => [state, [input, input]],
  end: (_, ending) => [ending.kind === 'eof' ? -1 : -2],
});

/** Emits all inputs at the end. */
const keeper: Sealed<number, number> = seal({
  start: (): readonly number[] => [],
  step: (kept, input: number) => [[...kept, input], []],
  end: (kept) => kept,
});

const machines = fc.constantFrom(everySecond, twice, keeper);
const inputs = fc.array(fc.nat());
const anEnding = fc.constantFrom<Ending>({ kind: 'eof' }, { kind: 'fault', reason: 'broken' });

describe('a sealed machine', () => {
  it('begins every run with a new state', () => {
    const [one, two] = [everySecond.begin(), everySecond.begin()];
    expect([one.push(1), one.push(2), two.push(3), two.push(4)]).toEqual([[], [2], [], [4]]);
    expect([one.end({ kind: 'eof' }), two.end({ kind: 'eof' })]).toEqual([[2], [2]]);
  });

  it('receives the kind of the ending', () => {
    expect(twice.begin().end({ kind: 'eof' })).toEqual([-1]);
    expect(twice.begin().end({ kind: 'fault', reason: 'broken' })).toEqual([-2]);
  });
});

describe('a chain of machines', () => {
  it('passes all outputs of the first machine, also those at its end, to the second one', () => {
    fc.assert(
      fc.property(machines, machines, inputs, anEnding, (first, second, given, ending) => {
        expect(outputsOf(andThen(first, second), given, ending)).toEqual(
          outputsOf(second, outputsOf(first, given, ending), ending),
        );
      }),
    );
  });

  it('of three is the same however it is composed', () => {
    fc.assert(
      fc.property(machines, machines, machines, inputs, anEnding, (a, b, c, given, ending) => {
        expect(outputsOf(andThen(andThen(a, b), c), given, ending)).toEqual(
          outputsOf(andThen(a, andThen(b, c)), given, ending),
        );
      }),
    );
  });

  it('passes the ending on as each machine changes it, and adds up the bytes that each one holds', () => {
    const adds = (reason: string, bytes: number): Sealed<string, string> =>
      seal({
        start: () => undefined,
        step: (state, input: string) => [state, [input]],
        end: (_, ending) => [ending.kind === 'fault' ? ending.reason : ''],
        ending: (_, ending) => ({
          kind: 'fault',
          reason: `${ending.kind === 'fault' ? ending.reason : ''}${reason}`,
        }),
        holds: () => bytes,
      });
    const run = andThen(andThen(adds('a', 1), adds('b', 2)), adds('c', 4)).begin();
    expect(run.end({ kind: 'eof' })).toEqual(['', 'a', 'ab']);
    expect(run.ending({ kind: 'eof' })).toEqual({ kind: 'fault', reason: 'abc' });
    expect(run.holds()).toBe(7);
  });

  it('emits outputs as soon as the second machine has them', () => {
    const run = andThen(twice, twice).begin();
    expect(run.push(1)).toEqual([1, 1, 1, 1]);
    expect(run.push(2)).toEqual([2, 2, 2, 2]);
  });
});
