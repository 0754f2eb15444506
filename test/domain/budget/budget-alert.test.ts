import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { alertThresholdBps, isAlertDue } from '../../../domain/budget/budget-alert.ts';
import { aCost, someMoney } from '../../support/arbitraries/money.ts';

const dollar = 10n ** 12n;

describe('a budget alert is due when 20 % or less of the amount remain', () => {
  it.each([
    ['one picodollar more than 20 % remains', dollar, (8n * dollar) / 10n - 1n, false],
    ['20 % remain', dollar, (8n * dollar) / 10n, true],
    ['less than 20 % remains', dollar, (8n * dollar) / 10n + 1n, true],
    ['nothing is spent', dollar, 0n, false],
    ['the whole amount is spent', dollar, dollar, true],
    ['more than the amount is spent', dollar, 3n * dollar, true],
    ['the amount is 0', 0n, 0n, true],
  ])('%s', (_, amount, spent, due) => {
    expect(isAlertDue(amount, spent)).toBe(due);
  });

  it('and remains due after any further spend', () => {
    fc.assert(
      fc.property(someMoney, someMoney, aCost, (amount, spent, more) => {
        expect(isAlertDue(amount, spent) && !isAlertDue(amount, spent + more)).toBe(false);
      }),
    );
  });

  it('at a threshold of 2000 basis points', () => {
    expect(alertThresholdBps).toBe(2000);
  });
});
