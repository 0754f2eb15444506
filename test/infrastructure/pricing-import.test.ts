import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import * as E from 'fp-ts/lib/Either.js';
import { parse } from 'yaml';
import type { CatalogueEntry } from '../../domain/money/price-catalogue.ts';
import { type ImportedPrices, importPrices } from '../../infrastructure/pricing/import.ts';
import { formatOverrides } from '../../infrastructure/pricing/overrides.ts';

const options = { effectiveFrom: '2026-11-21T00:00:00Z', source: 'price map 2026-11-21' };

const imported = (text: string): ImportedPrices => {
  const result = importPrices(text, options);
  if (E.isLeft(result)) throw new Error(result.left);
  return result.right;
};

/** A LiteLLM map with one row, in which numbers stand as they are given. */
const litellm = (key: string, fields: Record<string, string>, provider = 'openai'): string => {
  const members = Object.entries({ litellm_provider: JSON.stringify(provider), mode: '"chat"', ...fields });
  return `{${JSON.stringify(key)}: {${members.map(([name, value]) => `"${name}": ${value}`).join(', ')}}}`;
};

const priced = { input_cost_per_token: '1.5e-07', output_cost_per_token: '6e-07' };

/** A models.dev file with one model, which has this `cost` and these other fields. */
const modelsDev = (
  model: string,
  cost: string | undefined,
  rest: Record<string, unknown> = {},
  provider = 'acme',
): string => {
  const fields = [`"id": ${JSON.stringify(model)}`, ...(cost === undefined ? [] : [`"cost": ${cost}`])];
  const others = Object.entries(rest).map(([name, value]) => `"${name}": ${JSON.stringify(value)}`);
  return `{${JSON.stringify(provider)}: {"id": "x", "models": {${JSON.stringify(model)}: {${[...fields, ...others].join(', ')}}}}}`;
};

const pairs = ({ entries }: ImportedPrices): readonly string[] =>
  entries.map(({ pricingProviderId, upstreamModel }) => `${pricingProviderId} ${upstreamModel}`);

describe('the import of a LiteLLM price map', () => {
  it('imports a price per token as exact text per million, with the given date and source', () => {
    expect(imported(litellm('fast-1', priced))).toEqual({
      entries: [
        {
          pricingProviderId: 'openai',
          upstreamModel: 'fast-1',
          inputUsdPerMillion: '0.15',
          outputUsdPerMillion: '0.6',
          ...options,
        },
      ],
      skipped: [],
      notes: [],
    });
  });

  it('keeps digits that a double would lose, and skips the row instead of rounding', () => {
    const written = imported(litellm('m', { ...priced, input_cost_per_token: '1.50000000000000000001e-07' }));
    expect(written.entries).toEqual([]);
    expect(written.skipped).toEqual([
      { model: 'm', reason: 'input price: more than 6 decimals: 0.150000000000000000001 USD per million' },
    ]);
  });

  it.each([
    ['openai', 'm', 'openai m'],
    ['text-completion-openai', 'm', 'openai m'],
    ['azure', 'azure/m', 'azure m'],
    ['anthropic', 'claude-x', 'anthropic claude-x'],
    ['bedrock_converse', 'us.vendor.m-v1:0', 'bedrock us.vendor.m-v1:0'],
    ['bedrock', 'bedrock/vendor.m-v1:0', 'bedrock vendor.m-v1:0'],
    ['bedrock_mantle', 'bedrock_mantle/vendor.m', 'bedrock_mantle vendor.m'],
    ['gemini', 'gemini/gemini-x', 'google gemini-x'],
    ['vertex_ai-language-models', 'gemini-x', 'google google/gemini-x'],
    ['vertex_ai', 'vertex_ai/gemini-x', 'google google/gemini-x'],
    ['vertex_ai-embedding-models', 'text-embedding-9', 'google google/text-embedding-9'],
    ['vertex_ai-anthropic_models', 'vertex_ai/claude-x@20260101', 'google anthropic/claude-x@20260101'],
    ['vertex_ai-llama_models', 'vertex_ai/meta/llama-x-maas', 'google meta/llama-x-maas'],
    ['groq', 'groq/openai/m', 'groq openai/m'],
    ['mistral', 'mistral/m', 'mistral m'],
    ['cohere_chat', 'command-x', 'cohere command-x'],
    ['together_ai', 'together_ai/org/m', 'together org/m'],
    ['fireworks_ai', 'fireworks_ai/accounts/fireworks/models/m', 'fireworks accounts/fireworks/models/m'],
    ['openrouter', 'openrouter/org/m', 'openrouter org/m'],
    ['xai', 'xai/m', 'xai m'],
    ['somebody', 'other/m', 'somebody other/m'],
  ])('maps the provider %s and the model %s to the pair %s', (provider, key, pair) => {
    expect(pairs(imported(litellm(key, priced, provider)))).toEqual([pair]);
  });

  it.each([
    [
      'a tier above a prompt length',
      { ...priced, input_cost_per_token_above_200k_tokens: '3e-07' },
      /^tiered by prompt/,
    ],
    [
      'a tier by prompt length of a service tier',
      { ...priced, output_cost_per_token_above_272k_tokens_priority: '3e-07' },
      /^tiered by/,
    ],
    ['a list of tiers', { ...priced, tiered_pricing: '[]' }, /^tiered by prompt length: tiered_pricing$/],
    ['prices by the hour', { ...priced, off_peak_pricing: '{}' }, /time of day/],
    [
      'a fee per request',
      { ...priced, input_cost_per_request: '0.005' },
      /more than text tokens: input_cost_per_request/,
    ],
    ['a fee per image', { ...priced, input_cost_per_image: '0.001' }, /input_cost_per_image/],
    ['a fee per second', { ...priced, output_cost_per_second: '0.001' }, /output_cost_per_second/],
    ['a fee per query', { ...priced, input_cost_per_query: '0.001' }, /input_cost_per_query/],
    ['a price per character', { ...priced, input_cost_per_character: '1e-7' }, /input_cost_per_character/],
    ['a fee of an unknown kind', { ...priced, mood_surcharge: '1' }, /more than text tokens: mood_surcharge/],
    ['a price that is an object', { ...priced, cost_of_something: '{}' }, /more than text tokens/],
    [
      'reasoning at its own price',
      { ...priced, output_cost_per_reasoning_token: '9e-07' },
      /^reasoning tokens/,
    ],
    ['no output price', { input_cost_per_token: '1e-06' }, /^no output price$/],
    ['a null output price', { ...priced, output_cost_per_token: 'null' }, /^no output price$/],
    ['no input price', { output_cost_per_token: '1e-06' }, /^no input price$/],
    ['an output price of zero', { ...priced, output_cost_per_token: '0.0' }, /^output price is zero/],
    ['an input price of zero', { ...priced, input_cost_per_token: '0' }, /^input price is zero/],
    ['a negative price', { ...priced, output_cost_per_token: '-6e-07' }, /^output price: negative/],
    [
      'seven decimals per million',
      { ...priced, input_cost_per_token: '1.23e-11' },
      /^input price: more than 6/,
    ],
    ['a price in quotes', { ...priced, input_cost_per_token: '"1e-06"' }, /^input price is not a number$/],
    ['a price that is true', { ...priced, output_cost_per_token: 'true' }, /^output price is not a number$/],
    [
      'an exponent that is far too large',
      { ...priced, input_cost_per_token: '1e-999999999' },
      /not a number that a price/,
    ],
    ['a mode for images', { ...priced, mode: '"image_generation"' }, /^mode image_generation is not/],
    ['a mode that is not a string', { ...priced, mode: '7' }, /^mode unknown is not/],
  ])('skips a row with %s and reports the reason', (_what, fields, reason) => {
    const result = imported(litellm('m', fields));
    expect(result.entries).toEqual([]);
    expect(result.skipped).toEqual([{ model: 'm', reason: expect.stringMatching(reason) }]);
  });

  it.each([
    [
      'cached prompts',
      { ...priced, cache_read_input_token_cost: '1e-08', cache_creation_input_token_cost_above_1hr: '1e-6' },
    ],
    ['batches', { ...priced, input_cost_per_token_batches: '1e-08' }],
    ['reasoning at the price of output', { ...priced, output_cost_per_reasoning_token: '0.6e-06' }],
    ['audio at the price of text', { ...priced, input_cost_per_audio_token: '0.15e-06' }],
    ['a fee of zero', { ...priced, input_cost_per_request: '0.0' }],
    [
      'settings that are no prices',
      { ...priced, provider_specific_entry: '{"schema": "v2"}', max_tokens: '4096' },
    ],
  ])('imports a row with %s without a note', (_what, fields) => {
    const result = imported(litellm('m', fields));
    expect(result.entries).toHaveLength(1);
    expect(result.notes).toEqual([]);
  });

  it.each([
    ['service tiers', { ...priced, input_cost_per_token_priority: '3e-07' }, /service tiers/],
    [
      'searches',
      { ...priced, search_context_cost_per_query: '{"search_context_size_low": 0.01}' },
      /search tools/,
    ],
    ['hosted tools', { ...priced, code_interpreter_cost_per_session: '0.03' }, /hosted tools/],
    ['audio', { ...priced, input_cost_per_audio_token: '1e-06' }, /audio, image or video tokens/],
    [
      'audio in long prompts',
      {
        ...priced,
        input_cost_per_audio_token_above_200k_tokens: '1e-06',
        input_cost_per_audio_token_above_200k_tokens_flex: '0.5e-06',
      },
      /audio, image or video tokens/,
    ],
    ['regions', { ...priced, regional_endpoint_uplift_multiplier: '1.1' }, /regional endpoints/],
    ['modes', { ...priced, provider_specific_entry: '{"fast": 6}' }, /multiplier/],
  ])('imports a row with separate prices for %s, and notes it', (_what, fields, note) => {
    const result = imported(litellm('m', fields));
    expect(result.entries).toHaveLength(1);
    expect(result.skipped).toEqual([]);
    expect(result.notes).toEqual([{ model: 'm', reason: expect.stringMatching(note) }]);
  });

  it('skips a model that searches in every call, because each call has a fee', () => {
    const fields = { ...priced, search_context_cost_per_query: '{"search_context_size_low": 0.01}' };
    expect(imported(litellm('m-search-preview', fields)).skipped[0]?.reason).toMatch(/^fee for each call/);
    expect(imported(litellm('perplexity/m', fields, 'perplexity')).skipped[0]?.reason).toMatch(
      /^fee for each call/,
    );
  });

  it('imports embedding models with an output price of zero, written or not', () => {
    const embedding = { mode: '"embedding"', input_cost_per_token: '2e-08' };
    expect(imported(litellm('m', embedding)).entries[0]).toMatchObject({
      inputUsdPerMillion: '0.02',
      outputUsdPerMillion: '0',
    });
    expect(
      imported(litellm('m', { ...embedding, output_cost_per_token: '0.0' })).entries[0]?.outputUsdPerMillion,
    ).toBe('0');
  });

  it('skips a row that applies to one region only', () => {
    expect(imported(litellm('azure/eu/m', priced, 'azure')).skipped[0]?.reason).toMatch(/one region/);
    expect(imported(litellm('bedrock/us-east-1/v.m', priced, 'bedrock')).skipped[0]?.reason).toMatch(
      /one region/,
    );
  });

  it('skips a managed-platform name whose publisher is unknown', () => {
    expect(imported(litellm('jamba-x', priced, 'vertex_ai-ai21_models')).skipped[0]?.reason).toMatch(
      /publisher/,
    );
  });

  it.each(['${DATABASE_URL}', 'a\nb', ' m', 'm'.repeat(257), 'modèle', 'a b'])(
    'skips a row with the invalid name %j',
    (key) => {
      expect(imported(litellm(key, priced)).skipped[0]?.reason).toMatch(/not a name/);
    },
  );

  const two = (first: string, second: string): string =>
    `${litellm('m', { ...priced, input_cost_per_token: first }).slice(0, -1)}, ${litellm('openai/m', {
      ...priced,
      input_cost_per_token: second,
    }).slice(1)}`;

  it('keeps the first of two rows with the same price in different notation, and lists the second as skipped', () => {
    const result = imported(two('1.5e-07', '0.00000015'));
    expect(pairs(result)).toEqual(['openai m']);
    expect(result.skipped).toEqual([{ model: 'openai/m', reason: 'duplicate of m' }]);
  });

  it('skips both of two rows for the same model with different prices', () => {
    const result = imported(two('1.5e-07', '1.6e-07'));
    expect(result.entries).toEqual([]);
    expect(result.skipped.map(({ reason }) => reason)).toEqual(
      Array.from({ length: 2 }, () => 'duplicate: rows for openai m differ in price'),
    );
  });

  it('skips the legend of the file and rows that are not models', () => {
    const text = `{"sample_spec": {"litellm_provider": "one of these"}, "a": {}, "b": 1, "c": null, "d": []}`;
    const { entries, skipped } = imported(text);
    expect(entries).toEqual([]);
    expect(skipped.map(({ model }) => model)).toEqual(['sample_spec', 'a', 'b', 'c', 'd']);
  });

  it('returns every row of the file as an entry or as skipped, and prices with at most 6 decimals', () => {
    const aSpelling = fc.constantFrom(
      '1e-06',
      '0',
      '-1e-6',
      '"1"',
      'null',
      '1.23e-13',
      '2.5e-07',
      '{}',
      '1e400',
    );
    const aField = fc.constantFrom(
      'input_cost_per_token',
      'output_cost_per_token',
      'input_cost_per_request',
      'cache_cost',
    );
    const aRow = fc.tuple(
      fc.constantFrom('openai', 'azure', 'groq'),
      fc.dictionary(aField, aSpelling, { maxKeys: 4 }),
    );
    fc.assert(
      fc.property(fc.dictionary(fc.string({ minLength: 1 }), aRow, { minKeys: 1 }), (rows) => {
        const text = Object.entries(rows).map(([key, [provider, fields]]) =>
          litellm(key, fields, provider).slice(1, -1),
        );
        const { entries, skipped } = imported(`{${text.join(', ')}}`);
        const prices = entries.flatMap((entry) => [entry.inputUsdPerMillion, entry.outputUsdPerMillion]);
        return (
          entries.length + skipped.length === text.length &&
          prices.every((price) => /^\d+(\.\d{1,6})?$/.test(price))
        );
      }),
    );
  });
});

describe('the import of a models.dev api.json', () => {
  it('imports a price per million as exact text', () => {
    expect(imported(modelsDev('m', '{"input": 0.0375, "output": 1.50e0}'))).toEqual({
      entries: [
        {
          pricingProviderId: 'acme',
          upstreamModel: 'm',
          inputUsdPerMillion: '0.0375',
          outputUsdPerMillion: '1.5',
          ...options,
        },
      ],
      skipped: [],
      notes: [],
    });
  });

  it.each([
    ['amazon-bedrock', 'vendor.m-v1:0', 'bedrock vendor.m-v1:0'],
    ['google', 'gemini-x', 'google gemini-x'],
    ['google-vertex', 'gemini-x', 'google google/gemini-x'],
    ['google-vertex', 'claude-x@default', 'google anthropic/claude-x'],
    ['google-vertex-anthropic', 'claude-x@20260101', 'google anthropic/claude-x@20260101'],
    ['google-vertex', 'meta/llama-x', 'google meta/llama-x'],
    ['togetherai', 'org/m', 'together org/m'],
    ['fireworks-ai', 'accounts/fireworks/models/m', 'fireworks accounts/fireworks/models/m'],
    ['groq', 'openai/m', 'groq openai/m'],
    ['openrouter', 'openrouter/m', 'openrouter openrouter/m'],
  ])('maps the provider %s and the model %s to the pair %s', (provider, model, pair) => {
    expect(pairs(imported(modelsDev(model, '{"input": 1, "output": 2}', {}, provider)))).toEqual([pair]);
  });

  it.each([
    ['no cost', undefined, {}, /^no cost$/],
    ['tiers', '{"input": 1, "output": 2, "tiers": []}', {}, /^tiered by prompt length: tiers$/],
    [
      'a price over 200k',
      '{"input": 1, "output": 2, "context_over_200k": {"input": 2}}',
      {},
      /^tiered by prompt length/,
    ],
    ['reasoning at its own price', '{"input": 1, "output": 2, "reasoning": 3}', {}, /^reasoning tokens/],
    ['a fee of an unknown kind', '{"input": 1, "output": 2, "request": 0.01}', {}, /text tokens: request$/],
    ['no output price', '{"input": 1}', {}, /^no output price$/],
    ['prices of zero', '{"input": 0, "output": 0}', {}, /^input price is zero/],
    ['a negative price', '{"input": 1, "output": -2}', {}, /^output price: negative/],
    [
      'a price that is an unrounded double',
      '{"input": 0.30000000000000004, "output": 2}',
      {},
      /^input price: more than 6/,
    ],
    ['a price in quotes', '{"input": "1", "output": 2}', {}, /^input price is not a number$/],
    [
      'images as output',
      '{"input": 1, "output": 2}',
      { modalities: { output: ['text', 'image'] } },
      /^makes image/,
    ],
  ])('skips a model with %s and reports the reason', (_what, cost, rest, reason) => {
    const result = imported(modelsDev('m', cost, rest));
    expect(result.entries).toEqual([]);
    expect(result.skipped).toEqual([{ model: 'acme/m', reason: expect.stringMatching(reason) }]);
  });

  it('notes that audio prices are not imported, and adds no note about cache prices', () => {
    const cost =
      '{"input": 1, "output": 2, "cache_read": 0.1, "cache_write": 1.25, "reasoning": 2.0, "input_audio": 7}';
    const result = imported(
      modelsDev('m', cost, { modalities: { input: ['text', 'audio'], output: ['text'] } }),
    );
    expect(result.entries).toHaveLength(1);
    expect(result.notes).toEqual([
      { model: 'acme/m', reason: 'not carried: audio, image or video tokens at their own price' },
    ]);
  });

  it('imports embedding models, known by name or family, with an output price of zero', () => {
    expect(imported(modelsDev('m-embed', '{"input": 1}')).entries[0]?.outputUsdPerMillion).toBe('0');
    expect(
      imported(modelsDev('m', '{"input": 1, "output": 0}', { family: 'text-embedding' })).entries,
    ).toHaveLength(1);
  });

  it('lists a member that is not a provider as skipped', () => {
    const text = `${modelsDev('m', '{"input": 1, "output": 2}').slice(0, -1)}, "note": 1}`;
    expect(imported(text).skipped).toEqual([{ model: 'note', reason: 'no models: not a provider' }]);
  });
});

describe('the import of prices', () => {
  it.each([
    ['', /^not JSON/],
    ['{', /^not JSON/],
    ['{}', /^neither/],
    ['[]', /^neither/],
    ['1', /^neither/],
    ['null', /^neither/],
    ['{"a": {"b": 1}}', /^neither/],
    ['{"a": 1.5}', /^neither/],
  ])('rejects the file %j', (text, reason) => {
    expect(importPrices(text, options)).toEqual(E.left(expect.stringMatching(reason)));
  });

  it.each(['2026-11-21', 'tomorrow', '2026-13-01T00:00:00Z', '2026-11-21T00:00:00+01:00', ''])(
    'rejects the effective date %j',
    (effectiveFrom) => {
      expect(importPrices(litellm('m', priced), { ...options, effectiveFrom })).toEqual(
        E.left(expect.stringMatching(/^not an RFC 3339 UTC instant/)),
      );
    },
  );

  it.each(['', 'two\nlines'])('rejects the source %j', (source) => {
    expect(E.isLeft(importPrices(litellm('m', priced), { ...options, source }))).toBe(true);
  });
});

describe('the overrides block', () => {
  const entry: CatalogueEntry = {
    pricingProviderId: 'openai',
    upstreamModel: 'fast-1',
    inputUsdPerMillion: '0.15',
    outputUsdPerMillion: '0.6',
    ...options,
  };

  it('is YAML for the configuration file, with the source in a comment', () => {
    expect(formatOverrides([entry, { ...entry, upstreamModel: 'slow-1' }])).toBe(
      [
        'pricing:',
        '  overrides:',
        '    # price map 2026-11-21, in force from 2026-11-21T00:00:00Z',
        '    - { provider: "openai", model: "fast-1", input_usd_per_million: "0.15", output_usd_per_million: "0.6" }',
        '    - { provider: "openai", model: "slow-1", input_usd_per_million: "0.15", output_usd_per_million: "0.6" }',
        '',
      ].join('\n'),
    );
  });

  it('is valid without entries', () => {
    expect(parse(formatOverrides([]))).toEqual({ pricing: { overrides: [] } });
  });

  it('is always parsed back to the same names and price texts', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.string(), fc.string())), (names) => {
        const entries = names.map(([pricingProviderId, upstreamModel]) => ({
          ...entry,
          pricingProviderId,
          upstreamModel,
        }));
        expect(parse(formatOverrides(entries))).toEqual({
          pricing: {
            overrides: names.map(([provider, model]) => ({
              provider,
              model,
              input_usd_per_million: '0.15',
              output_usd_per_million: '0.6',
            })),
          },
        });
      }),
    );
  });
});
