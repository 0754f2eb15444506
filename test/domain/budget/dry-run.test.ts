import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import * as E from 'fp-ts/lib/Either.js';
import { dryRun, type PastAnswer } from '../../../domain/budget/dry-run.ts';
import { charge } from '../../../domain/budget/hard-limit.ts';
import { aBudget } from '../../support/arbitraries/budget.ts';

const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, second));
const answers = (...costs: readonly bigint[]): readonly PastAnswer[] =>
  costs.map((cost, index) => ({ at: at(index), cost }));

const someAnswers = fc
  .array(fc.bigInt({ min: 0n, max: 40n }), { maxLength: 40, size: 'max' })
  .map((costs) => answers(...costs));
const anAmount = fc.bigInt({ min: 0n, max: 200n });

describe('what an amount would have blocked', () => {
  it('is the answer that does not fit, alone: a later, cheaper one may fit', () => {
    expect(dryRun(aBudget({ amount: 10n }), answers(6n, 5n, 4n, 1n))).toEqual({
      blocksFrom: at(1),
      blockedCount: 2,
      blockedCost: 6n,
    });
  });

  it('is nothing where all fit to the last picodollar, and by an amount of 0 all that cost anything', () => {
    const none = { blocksFrom: undefined, blockedCount: 0, blockedCost: 0n };
    expect(dryRun(aBudget({ amount: 15n }), answers(6n, 5n, 4n))).toEqual(none);
    expect(dryRun(aBudget({ amount: 0n }), answers(0n, 2n, 0n, 3n))).toEqual({
      blocksFrom: at(1),
      blockedCount: 2,
      blockedCost: 5n,
    });
    expect(dryRun(aBudget({ amount: 0n, hardLimit: false }), answers(6n, 5n, 4n))).toEqual(none);
  });

  it('is always what settlement would have blocked of the same answers, one after the other', () => {
    fc.assert(
      fc.property(someAnswers, anAmount, fc.boolean(), (past, amount, hardLimit) => {
        const budget = aBudget({ amount, hardLimit });
        const blocked: PastAnswer[] = [];
        let spent = 0n;
        for (const answer of past) {
          const judged = charge(budget, spent, answer.cost);
          if (E.isLeft(judged)) blocked.push(answer);
          else spent = judged.right;
        }
        expect(dryRun(budget, past)).toEqual({
          blocksFrom: blocked[0]?.at,
          blockedCount: blocked.length,
          blockedCost: blocked.reduce((sum, { cost }) => sum + cost, 0n),
        });
      }),
    );
  });

  it('never leaves more than the amount unblocked, and never blocks what fits as a whole', () => {
    fc.assert(
      fc.property(someAnswers, anAmount, (past, amount) => {
        const total = past.reduce((sum, { cost }) => sum + cost, 0n);
        const { blockedCost, blockedCount } = dryRun(aBudget({ amount }), past);
        expect(total - blockedCost <= amount).toBe(true);
        expect(blockedCount === 0).toBe(total <= amount);
      }),
    );
  });
});
