import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { pricePerToken, toUsd } from '../../../domain/money/money.ts';
import { billedOutputTokens, priceUsage } from '../../../domain/ledger/price-usage.ts';
import { aTokenCount, aWrittenPrice, someUsage } from '../../support/arbitraries/money.ts';

const usageOf = (promptTokens: number, completionTokens: number, totalTokens: number) => ({
  promptTokens,
  completionTokens,
  totalTokens,
});

const huge = Number.MAX_SAFE_INTEGER;

describe('billed output is max(completion_tokens, total_tokens − prompt_tokens)', () => {
  it.each([
    ['the total is the sum', 10, 5, 15, 5n],
    ['reasoning is only in the total', 10, 5, 40, 30n],
    ['the total is less than the sum', 10, 5, 12, 5n],
    ['the total is less than the prompt', 10, 5, 3, 5n],
    ['the total is 0', 10, 5, 0, 5n],
    ['there is no completion', 10, 0, 10, 0n],
    ['completion is only in the total', 10, 0, 17, 7n],
    ['everything is 0', 0, 0, 0, 0n],
    ['the counts have the maximum value', huge, huge, huge, BigInt(huge)],
    ['the total has the maximum value', 0, 0, huge, BigInt(huge)],
  ])('%s', (_, prompt, completion, total, billed) => {
    expect(billedOutputTokens(usageOf(prompt, completion, total))).toBe(billed);
  });

  it('is never less than completion_tokens', () => {
    fc.assert(fc.property(someUsage, (usage) => billedOutputTokens(usage) >= BigInt(usage.completionTokens)));
  });
});

describe('cost = prompt_tokens × input + billed output × output', () => {
  it.each([
    ['0.15', '0.60', 5, 17, 22, '0.00001095'],
    ['3', '15', 1_000_000, 1_000_000, 2_000_000, '18'],
    ['0.000001', '0', 1, 0, 1, '0.000000000001'],
    ['0', '0', 100, 100, 200, '0'],
    ['1.10', '4.40', 10, 0, 1010, '0.004411'],
    ['0.1', '0.2', 3, 3, 6, '0.0000009'],
  ])(
    'at %s and %s USD per million, %d + %d tokens (%d in all) cost %s USD',
    (input, output, prompt, completion, total, usd) => {
      const price = { input: pricePerToken(input)!, output: pricePerToken(output)! };
      expect(toUsd(priceUsage(usageOf(prompt, completion, total), price))).toBe(usd);
    },
  );

  it('is always exact, whatever the counts and the prices', () => {
    fc.assert(
      fc.property(someUsage, aWrittenPrice, aWrittenPrice, (usage, input, output) => {
        const price = { input: pricePerToken(input.text)!, output: pricePerToken(output.text)! };
        const beyond = BigInt(usage.totalTokens) - BigInt(usage.promptTokens);
        const completion = BigInt(usage.completionTokens);
        const billed = beyond > completion ? beyond : completion;
        // In fractions: (prompt × input + billed × output) USD / 1e6 tokens, times 1e12.
        const numerator =
          BigInt(usage.promptTokens) * input.numerator * output.denominator +
          billed * output.numerator * input.denominator;
        expect(priceUsage(usage, price) * input.denominator * output.denominator).toBe(numerator * 10n ** 6n);
      }),
      { numRuns: 500 },
    );
  });

  it('of prompt and completion is the sum of the cost of each', () => {
    fc.assert(
      fc.property(fc.tuple(aTokenCount, aTokenCount), aWrittenPrice, ([prompt, completion], { text }) => {
        const price = { input: pricePerToken(text)!, output: pricePerToken(text)! };
        expect(priceUsage(usageOf(prompt, completion, 0), price)).toBe(
          priceUsage(usageOf(prompt, 0, 0), price) + priceUsage(usageOf(0, completion, 0), price),
        );
      }),
    );
  });
});
