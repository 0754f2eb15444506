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

describe('the dry run of a budget amount on past answers', () => {
  it('blocks only the answers that do not fit: a later, cheaper answer may fit', () => {
    expect(dryRun(aBudget({ amount: 10n }), answers(6n, 5n, 4n, 1n))).toEqual({
      blocksFrom: at(1),
      blockedCount: 2,
      blockedCost: 6n,
    });
  });

  it('blocks nothing if all answers fit exactly, and every answer with a cost if the amount is 0', () => {
    const none = { blocksFrom: undefined, blockedCount: 0, blockedCost: 0n };
    expect(dryRun(aBudget({ amount: 15n }), answers(6n, 5n, 4n))).toEqual(none);
    expect(dryRun(aBudget({ amount: 0n }), answers(0n, 2n, 0n, 3n))).toEqual({
      blocksFrom: at(1),
      blockedCount: 2,
      blockedCost: 5n,
    });
    expect(dryRun(aBudget({ amount: 0n, hardLimit: false }), answers(6n, 5n, 4n))).toEqual(none);
  });

  it('always blocks the same answers as settling them one after the other', () => {
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

  it('never lets more than the amount pass, and blocks nothing exactly when the total cost fits', () => {
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
