import { describe, expect, it } from '@jest/globals';
import { countsTowardSpend, usageCost } from '../../../domain/ledger/usage-cost-event.ts';

const usage = { promptTokens: 5, completionTokens: 17, totalTokens: 22 };
const price = { input: 150_000n, output: 600_000n, source: 'the configuration' };

describe('ledger pricing status', () => {
  it('is priced when usage can be normalised and an exact catalogue price matches', () => {
    expect(usageCost(usage, price)).toEqual({ pricingStatus: 'priced', usage, price, cost: 10_950_000n });
  });

  it('is priced with a price of 0 too', () => {
    expect(usageCost(usage, { ...price, input: 0n, output: 0n })).toMatchObject({
      pricingStatus: 'priced',
      cost: 0n,
    });
  });

  it('is unpriced when the exact catalogue match is missing, with its usage and a reason', () => {
    expect(usageCost(usage, undefined)).toEqual({
      pricingStatus: 'unpriced',
      usage,
      unpricedReason: 'no_catalogue_price',
    });
  });

  it.each([
    ['with a price', price],
    ['without a price', undefined],
  ])('is usage_missing when provider usage is missing, %s', (_, found) => {
    expect(usageCost(undefined, found)).toEqual({ pricingStatus: 'usage_missing' });
  });

  it.each([
    ['priced', true],
    ['legacy_estimated', true],
    ['unpriced', false],
    ['usage_missing', false],
  ] as const)('%s counts toward spend and budget windows: %p', (status, counts) => {
    expect(countsTowardSpend[status]).toBe(counts);
  });
});
