import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import * as E from 'fp-ts/lib/Either.js';
import { budgetWindow } from '../../../domain/budget/budget-window.ts';
import {
  admit,
  budgetExceeded,
  charge,
  costExceedsBudget,
  windowShut,
} from '../../../domain/budget/hard-limit.ts';
import { fromAmount10000, maxAmount10000 } from '../../../domain/money/money.ts';
import { maxRetryAfterSecs } from '../../../domain/shared/limits.ts';
import { aBudget, aCadence, anInstant, someBudget } from '../../support/arbitraries/budget.ts';
import { aCost, someMoney } from '../../support/arbitraries/money.ts';

const dollar = 10n ** 12n;
const hard = aBudget({ amount: dollar });
const soft = aBudget({ amount: dollar, hardLimit: false });
const nothing = aBudget({ amount: 0n });

describe('admission: a request is rejected when spend is at or above the amount of a budget with hard_limit', () => {
  it.each([
    ['below the amount', hard, dollar - 1n, false, true],
    ['at the amount', hard, dollar, false, false],
    ['above the amount', hard, dollar + 1n, false, false],
    ['nothing spent', hard, 0n, false, true],
    ['nothing spent of an amount of 0', nothing, 0n, false, false],
    ['below the amount, in a window that a blocked cost has closed', hard, 0n, true, false],
    ['above the amount of a soft budget', soft, 2n * dollar, false, true],
    ['a soft budget, in a closed window', soft, 0n, true, true],
    ['no budget', undefined, 10n ** 30n, false, true],
    ['no budget, in a closed window', undefined, 0n, true, true],
    [
      'the largest amount, just below',
      aBudget({ amount: fromAmount10000(maxAmount10000) }),
      fromAmount10000(maxAmount10000) - 1n,
      false,
      true,
    ],
    [
      'the largest amount, reached',
      aBudget({ amount: fromAmount10000(maxAmount10000) }),
      fromAmount10000(maxAmount10000),
      false,
      false,
    ],
  ])('%s', (_, budget, spent, closed, admitted) => {
    expect(admit(budget, spent, closed)).toEqual(admitted ? E.right(undefined) : E.left('full'));
  });
});

describe('settlement: a cost that would exceed the amount of a hard budget is not written', () => {
  it.each([
    ['takes the spend to just below the amount', hard, 0n, dollar - 1n, true],
    ['takes the spend to the amount', hard, 1n, dollar - 1n, true],
    ['takes the spend one picodollar over it', hard, 1n, dollar, false],
    ['comes when the amount is reached', hard, dollar, 1n, false],
    ['is 0 when the amount is reached', hard, dollar, 0n, true],
    ['is 0 when the spend is above the amount', hard, dollar + 1n, 0n, false],
    ['is 0 with an amount of 0', nothing, 0n, 0n, true],
    ['is 1 with an amount of 0', nothing, 0n, 1n, false],
    ['goes over a soft budget', soft, dollar, dollar, true],
    ['has no budget', undefined, dollar, dollar, true],
  ])('a cost that %s', (_, budget, spent, cost, written) => {
    const charged = charge(budget, spent, cost);
    expect(charged).toEqual(written ? E.right(spent + cost) : E.left('over'));
  });

  it('no sequence of costs takes the spend over the amount of a hard budget', () => {
    fc.assert(
      fc.property(someBudget, fc.array(aCost), (budget, costs) => {
        let spent = 0n;
        for (const cost of costs) {
          const charged = charge(budget, spent, cost);
          if (E.isRight(charged)) spent = charged.right;
          if (budget.hardLimit) expect(spent <= budget.amount).toBe(true);
        }
        if (!budget.hardLimit) expect(spent).toBe(costs.reduce((sum, cost) => sum + cost, 0n));
      }),
      { numRuns: 300 },
    );
  });

  it('a request rejected at admission could not have been charged any cost above 0', () => {
    fc.assert(
      fc.property(someBudget, someMoney, aCost, (budget, spent, cost) => {
        fc.pre(cost > 0n && E.isLeft(admit(budget, spent, false)));
        expect(charge(budget, spent, cost)).toEqual(E.left('over'));
      }),
    );
  });
});

describe('the error budget_exceeded', () => {
  const at = (instant: string): Date => new Date(instant);
  const window = budgetWindow('daily', at('2026-11-21T12:00:00Z'));

  it.each([
    ['2026-11-21T00:00:00.000Z', undefined],
    ['2026-11-21T12:00:00.000Z', undefined],
    ['2026-11-21T23:58:59.999Z', undefined],
    ['2026-11-21T23:59:00.000Z', 60],
    ['2026-11-21T23:59:58.999Z', 2],
    ['2026-11-21T23:59:59.000Z', 1],
    ['2026-11-21T23:59:59.999Z', 1],
    ['2026-11-22T00:00:00.000Z', 1],
    ['2026-11-23T00:00:00.000Z', 1],
  ])('has Retry-After only if the window ends within 60 seconds: at %s %p', (now, seconds) => {
    expect(budgetExceeded(hard, window, at(now)).retryAfterSecs).toBe(seconds);
  });

  it('has a Retry-After of 1 … 60 whole seconds that reaches the window end, and always has the reset time', () => {
    fc.assert(
      fc.property(aCadence, anInstant, fc.boolean(), (cadence, now, near) => {
        const current = budgetWindow(cadence, now);
        const from = near ? new Date(current.until.getTime() - (now.getTime() % 90_000)) : now;
        const { retryAfterSecs: seconds, budgetResetsAt } = budgetExceeded(hard, current, from);
        expect(budgetResetsAt).toBe(current.until.toISOString());
        const soon = current.until.getTime() - from.getTime() <= maxRetryAfterSecs * 1000;
        expect(seconds !== undefined).toBe(soon);
        if (seconds === undefined) return;
        expect(Number.isInteger(seconds) && seconds >= 1 && seconds <= maxRetryAfterSecs).toBe(true);
        expect(from.getTime() + seconds * 1000 >= current.until.getTime()).toBe(true);
      }),
    );
  });

  it('names the exhausted budget and its reset time', () => {
    expect(
      budgetExceeded(aBudget({ amount: fromAmount10000(25_000n) }), window, at('2026-11-21T12:00:00Z')),
    ).toEqual({
      code: 'budget_exceeded',
      message:
        'Quota exceeded: the daily budget of 2.5 USD is used up; it will reset at 2026-11-22T00:00:00.000Z.',
      budgetResetsAt: '2026-11-22T00:00:00.000Z',
    });
  });

  it('in a window closed by a blocked cost names that reason, not an exhausted budget', () => {
    const budget = aBudget({ amount: fromAmount10000(25_000n) });
    expect(windowShut(budget, window, at('2026-11-21T12:00:00Z'))).toEqual({
      code: 'budget_exceeded',
      message:
        'Quota exceeded: the cost of an earlier answer would have passed what was left of the daily budget of 2.5 USD, which will reset at 2026-11-22T00:00:00.000Z.',
      budgetResetsAt: '2026-11-22T00:00:00.000Z',
    });
  });

  it('at settlement states that the cost of this answer exceeds what remains, not an exhausted budget', () => {
    const budget = aBudget({ amount: fromAmount10000(25_000n) });
    expect(costExceedsBudget(budget, window, at('2026-11-21T12:00:00Z'))).toEqual({
      code: 'budget_exceeded',
      message:
        'Quota exceeded: the cost of this answer would pass what is left of the daily budget of 2.5 USD, which will reset at 2026-11-22T00:00:00.000Z.',
      budgetResetsAt: '2026-11-22T00:00:00.000Z',
    });
  });
});
