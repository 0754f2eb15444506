import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { priceCatalogue } from '../../domain/money/price-catalogue.ts';
import { bundledCatalogue, decodeCatalogue } from '../../infrastructure/pricing/bundled.ts';

const entries = bundledCatalogue();
const file = readFileSync(new URL('../../infrastructure/pricing/catalogue.json', import.meta.url), 'utf8');
const now = Date.parse('2026-11-21T00:00:00Z');

describe('the bundled catalogue', () => {
  it('has at least 80 prices', () => {
    expect(entries.length).toBeGreaterThanOrEqual(80);
  });

  it('writes every price as decimal text with at most six decimals', () => {
    const prices = entries.flatMap((entry) => [entry.inputUsdPerMillion, entry.outputUsdPerMillion]);
    expect(prices.filter((price) => !/^\d+(\.\d{1,6})?$/.test(price))).toEqual([]);
  });

  it('has no two rows for the same provider, model and effective date', () => {
    const keys = entries.map((entry) =>
      JSON.stringify([entry.pricingProviderId, entry.upstreamModel, Date.parse(entry.effectiveFrom)]),
    );
    expect(keys.filter((key, index) => keys.indexOf(key) !== index)).toEqual([]);
  });

  it('names a source with each row', () => {
    expect(entries.filter(({ source }) => source.trim() === '')).toEqual([]);
  });

  it('has no input price of zero, and an output price of zero only for embedding models', () => {
    const free = entries.filter(({ inputUsdPerMillion, outputUsdPerMillion, upstreamModel }) =>
      Number(inputUsdPerMillion) === 0
        ? true
        : Number(outputUsdPerMillion) === 0 && !/embed/.test(upstreamModel),
    );
    expect(free).toEqual([]);
  });

  it('has one row per line, sorted, so that diffs are readable', () => {
    const lines = file.trimEnd().split('\n').slice(1, -1);
    const rows = lines.map((line) => JSON.parse(line.replace(/,$/, '')) as Record<string, string>);
    const key = (row: Record<string, string>): string =>
      [row['provider'], row['model'], row['effective_from']].join('\u0000');
    expect(rows.length).toBe(entries.length);
    expect(rows.map(key)).toEqual(rows.map(key).sort());
  });

  it('has the list prices of public models, by case-sensitive name', () => {
    const catalogue = priceCatalogue(entries, []);
    expect(catalogue.priceOf('openai', 'gpt-4o-mini', now)).toMatchObject({
      input: 150_000n,
      output: 600_000n,
    });
    expect(catalogue.priceOf('openai', 'text-embedding-3-small', now)).toMatchObject({
      input: 20_000n,
      output: 0n,
    });
    expect(catalogue.priceOf('openai', 'GPT-4o-mini', now)).toBeUndefined();
  });

  it('changes a price at the announced instant', () => {
    const catalogue = priceCatalogue(entries, []);
    const change = Date.parse('2027-01-01T00:00:00Z');
    expect(catalogue.priceOf('google', 'gemini-3.7-flash', change - 1)).toMatchObject({ input: 750_000n });
    expect(catalogue.priceOf('google', 'gemini-3.7-flash', change)).toMatchObject({ input: 1_500_000n });
  });

  it.each([
    ['simulated-fast', 150_000n, 600_000n],
    ['simulated-reasoning', 1_100_000n, 4_400_000n],
    ['simulated-tools', 150_000n, 600_000n],
    ['simulated-slow', 150_000n, 600_000n],
  ])('prices the quick start model %s', (model, input, output) => {
    const price = priceCatalogue(entries, []).priceOf('simulated', model, now);
    expect(price).toMatchObject({ input, output, source: 'made up for the quick start' });
  });
});

const row = {
  provider: 'p',
  model: 'm',
  input_usd_per_million: '1',
  output_usd_per_million: '2',
  effective_from: '2026-01-01T00:00:00Z',
  source: 's',
};

describe('a catalogue file', () => {
  it('is parsed into entries', () => {
    expect(decodeCatalogue(JSON.stringify([row]))).toEqual([
      {
        pricingProviderId: 'p',
        upstreamModel: 'm',
        inputUsdPerMillion: '1',
        outputUsdPerMillion: '2',
        effectiveFrom: '2026-01-01T00:00:00Z',
        source: 's',
      },
    ]);
  });

  it.each([
    ['no JSON', '[', /JSON/],
    ['no array', '{}', /price catalogue: file is no/],
    ['no rows', '[]', /no rows/],
    [
      'a price that is a number',
      JSON.stringify([{ ...row, input_usd_per_million: 1 }]),
      /0\.input_usd_per_million/,
    ],
    [
      'a price with seven decimals',
      JSON.stringify([{ ...row, output_usd_per_million: '0.0000001' }]),
      /no price/,
    ],
    ['a negative price', JSON.stringify([{ ...row, output_usd_per_million: '-1' }]), /no price/],
    [
      'no output price',
      JSON.stringify([{ ...row, output_usd_per_million: undefined }]),
      /0\.output_usd_per_million/,
    ],
    [
      'an impossible date',
      JSON.stringify([{ ...row, effective_from: '2026-02-30T00:00:00Z' }]),
      /UTC instant/,
    ],
    [
      'a local time',
      JSON.stringify([{ ...row, effective_from: '2026-02-03T00:00:00+01:00' }]),
      /UTC instant/,
    ],
    ['an empty source', JSON.stringify([{ ...row, source: '' }]), /0\.source/],
    ['a bad second row', JSON.stringify([row, { ...row, model: '' }]), /1\.model/],
    [
      'two rows for one pair and instant',
      JSON.stringify([row, { ...row, input_usd_per_million: '3' }]),
      /two rows for/,
    ],
  ])('with %s is rejected with an error that names the fault', (_fault, text, message) => {
    expect(() => decodeCatalogue(text)).toThrow(message);
  });
});
