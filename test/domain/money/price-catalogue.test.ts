import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { fromAmount10000, pricePerToken } from '../../../domain/money/money.ts';
import {
  type CatalogueEntry,
  perMillionTokens,
  priceCatalogue,
} from '../../../domain/money/price-catalogue.ts';
import { anAmount10000 } from '../../support/arbitraries/money.ts';

const anEntry = (over: Partial<CatalogueEntry> = {}): CatalogueEntry => ({
  pricingProviderId: 'openai',
  upstreamModel: 'gpt-4o-mini',
  inputUsdPerMillion: '0.15',
  outputUsdPerMillion: '0.60',
  effectiveFrom: '2026-01-01T00:00:00Z',
  source: 'https://example.com/prices',
  ...over,
});

const at = (instant: string): number => Date.parse(instant);
const now = at('2026-11-21T12:00:00Z');

describe('a price is found by the exact pair of pricing provider and upstream model', () => {
  const catalogue = priceCatalogue([anEntry()], []);

  it('with its source', () => {
    expect(catalogue.priceOf('openai', 'gpt-4o-mini', now)).toMatchObject({
      input: 150_000n,
      output: 600_000n,
      source: 'https://example.com/prices',
    });
  });

  it.each([
    ['another provider', 'azure', 'gpt-4o-mini'],
    ['another model', 'openai', 'gpt-4o'],
    ['a dated form of the model', 'openai', 'gpt-4o-mini-2024-07-18'],
    ['a prefix of the model', 'openai', 'gpt-4o-min'],
    ['other capitals', 'openai', 'GPT-4o-mini'],
    ['blanks around it', 'openai', ' gpt-4o-mini'],
    ['both in the wrong order', 'gpt-4o-mini', 'openai'],
    ['empty names', '', ''],
    ['the names of built-in object members', 'constructor', '__proto__'],
  ])('and not by %s', (_, provider, model) => {
    expect(catalogue.priceOf(provider, model, now)).toBeUndefined();
  });

  it('and never by any other pair', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), fc.string(), fc.string(), (provider, model, other, name) => {
        fc.pre(provider !== other || model !== name);
        const entry = anEntry({ pricingProviderId: provider, upstreamModel: model });
        expect(priceCatalogue([entry], []).priceOf(other, name, now)).toBeUndefined();
      }),
    );
  });
});

describe('a price applies from its effective date on', () => {
  const dated = (from: string, input: string): CatalogueEntry =>
    anEntry({ effectiveFrom: from, inputUsdPerMillion: input });
  // Deliberately not sorted by date.
  const catalogue = priceCatalogue(
    [
      dated('2026-06-01T00:00:00Z', '2'),
      dated('2026-01-01T00:00:00Z', '1'),
      dated('2026-09-01T00:00:00Z', '3'),
    ],
    [],
  );

  it.each([
    ['2025-12-31T23:59:59.999Z', undefined],
    ['2026-01-01T00:00:00Z', 1_000_000n],
    ['2026-05-31T23:59:59.999Z', 1_000_000n],
    ['2026-06-01T00:00:00Z', 2_000_000n],
    ['2026-08-31T23:59:59.999Z', 2_000_000n],
    ['2026-09-01T00:00:00Z', 3_000_000n],
    ['2099-01-01T00:00:00Z', 3_000_000n],
  ])('at %s it is %d', (instant, input) => {
    expect(catalogue.priceOf('openai', 'gpt-4o-mini', at(instant))?.input).toBe(input);
  });

  it('until a later price takes effect', () => {
    const instants = fc.integer({ min: 0, max: 4_000_000_000_000 });
    fc.assert(
      fc.property(fc.uniqueArray(instants, { minLength: 1, maxLength: 8 }), instants, (begins, instant) => {
        const entries = begins.map((from, index) => dated(new Date(from).toISOString(), String(index)));
        const begun = begins.filter((from) => from <= instant);
        const expected = begun.length === 0 ? undefined : begins.indexOf(Math.max(...begun));
        const price = priceCatalogue(entries, []).priceOf('openai', 'gpt-4o-mini', instant);
        expect(price?.input).toBe(expected === undefined ? undefined : BigInt(expected) * 1_000_000n);
      }),
    );
  });
});

describe('overrides', () => {
  const bundled = [anEntry(), anEntry({ upstreamModel: 'gpt-4o', inputUsdPerMillion: '2.5' })];

  it('replace the bundled price of their pair, and no other price', () => {
    const catalogue = priceCatalogue(bundled, [
      anEntry({ inputUsdPerMillion: '9', source: 'the configuration' }),
    ]);
    expect(catalogue.priceOf('openai', 'gpt-4o-mini', now)).toMatchObject({
      input: 9_000_000n,
      source: 'the configuration',
    });
    expect(catalogue.priceOf('openai', 'gpt-4o', now)).toMatchObject({ input: 2_500_000n });
  });

  it('add pairs that are not bundled, also of a provider without bundled prices', () => {
    const catalogue = priceCatalogue(bundled, [
      anEntry({ upstreamModel: 'my-model' }),
      anEntry({ pricingProviderId: 'my-provider' }),
    ]);
    expect(catalogue.priceOf('openai', 'my-model', now)).toMatchObject({ input: 150_000n });
    expect(catalogue.priceOf('my-provider', 'gpt-4o-mini', now)).toMatchObject({ input: 150_000n });
  });

  it('hide the bundled price of their pair even before their effective date', () => {
    const catalogue = priceCatalogue(bundled, [anEntry({ effectiveFrom: '2027-01-01T00:00:00Z' })]);
    expect(catalogue.priceOf('openai', 'gpt-4o-mini', now)).toBeUndefined();
  });
});

describe('the price of a million tokens', () => {
  it('is always the price from which the price of one token was read', () => {
    fc.assert(
      fc.property(anAmount10000, (amount) => {
        const usdPerMillion = `${amount / 10_000n}.${String(amount % 10_000n).padStart(4, '0')}`;
        expect(perMillionTokens(pricePerToken(usdPerMillion)!)).toBe(fromAmount10000(amount));
      }),
    );
  });
});

describe('an invalid catalogue entry', () => {
  it.each<[string, Partial<CatalogueEntry>]>([
    ['an input price', { inputUsdPerMillion: '-1' }],
    ['an output price', { outputUsdPerMillion: '0.0000001' }],
    ['a date', { effectiveFrom: 'tomorrow' }],
  ])('throws, and never becomes a price of 0: %s', (_, over) => {
    expect(() => priceCatalogue([anEntry(over)], [])).toThrow(/not a price: openai gpt-4o-mini/);
    expect(() => priceCatalogue([], [anEntry(over)])).toThrow(/not a price/);
  });
});
