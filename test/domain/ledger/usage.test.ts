import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { embeddingUsage, generationUsage, tokenCount } from '../../../domain/ledger/usage.ts';
import { type Json, type JsonObject, parseExact } from '../../../domain/shared/json.ts';
import { aJson } from '../../support/arbitraries/json-text.ts';

const max = Number.MAX_SAFE_INTEGER;

describe('a token count is an integer in 0 … 2^53 − 1', () => {
  it.each([['0'], ['1'], ['128000'], ['9007199254740991'], ['12.0'], ['1e3'], ['1.5e1']])(
    '%s is a token count',
    (text) => {
      expect(tokenCount(JSON.parse(text) as Json)).toBe(Number(text));
      expect(tokenCount(parseExact(text))).toBe(Number(text));
    },
  );

  it.each([
    ['-1'],
    ['-0.5'],
    ['0.5'],
    ['1.0000001'],
    ['9007199254740992'],
    ['9007199254740993'],
    ['1e300'],
    ['1e400'],
    ['-1e400'],
    ['"5"'],
    ['""'],
    ['null'],
    ['true'],
    ['[]'],
    ['[5]'],
    ['{}'],
    ['{"rawJSON":"5"}'],
  ])('%s is missing usage', (text) => {
    expect(tokenCount(JSON.parse(text) as Json)).toBeUndefined();
    expect(tokenCount(parseExact(text))).toBeUndefined();
  });

  it('any other value is missing usage', () => {
    fc.assert(
      fc.property(fc.oneof(aJson, fc.double()), (value) => {
        const count = tokenCount(value);
        if (count === undefined) return !(Number.isSafeInteger(value) && (value as number) >= 0);
        return Number.isSafeInteger(count) && count >= 0 && count === value;
      }),
    );
  });
});

describe('usage needs prompt and completion, or input_tokens and output_tokens', () => {
  it.each<[string, Json, readonly [number, number, number]]>([
    ['chat', { prompt_tokens: 3, completion_tokens: 5, total_tokens: 8 }, [3, 5, 8]],
    [
      'the names of messages and responses',
      { input_tokens: 3, output_tokens: 5, total_tokens: 8 },
      [3, 5, 8],
    ],
    ['an absent total is their sum', { prompt_tokens: 3, completion_tokens: 5 }, [3, 5, 8]],
    ['a null total is absent', { input_tokens: 3, output_tokens: 5, total_tokens: null }, [3, 5, 8]],
    ['a total above the sum', { prompt_tokens: 3, completion_tokens: 5, total_tokens: 50 }, [3, 5, 50]],
    ['a total below the sum', { prompt_tokens: 3, completion_tokens: 5, total_tokens: 1 }, [3, 5, 1]],
    ['zeros', { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }, [0, 0, 0]],
    [
      'null under the chat names',
      { prompt_tokens: null, completion_tokens: null, input_tokens: 3, output_tokens: 5 },
      [3, 5, 8],
    ],
    [
      'both pairs of names: the chat names are used',
      { prompt_tokens: 1, completion_tokens: 2, input_tokens: 3, output_tokens: 5 },
      [1, 2, 3],
    ],
    ['one name of each pair', { prompt_tokens: 1, output_tokens: 2 }, [1, 2, 3]],
    [
      'with prompt_tokens_details',
      { prompt_tokens: 3, completion_tokens: 5, prompt_tokens_details: { cached_tokens: 2 } },
      [3, 5, 8],
    ],
    ['the largest counts', { prompt_tokens: max, completion_tokens: 0 }, [max, 0, max]],
  ])('%s', (_, usage, [promptTokens, completionTokens, totalTokens]) => {
    expect(generationUsage(usage)).toEqual({ promptTokens, completionTokens, totalTokens });
  });

  it.each<[string, JsonObject, readonly number[]]>([
    [
      'the chat names are 0, as in responses of gateways that write both',
      { prompt_tokens: 0, completion_tokens: 0, input_tokens: 3, output_tokens: 5, total_tokens: 8 },
      [3, 5, 8],
    ],
    [
      'the names of responses are 0, as in chat answers of the same gateways',
      { prompt_tokens: 3, completion_tokens: 5, input_tokens: 0, output_tokens: 0, total_tokens: 8 },
      [3, 5, 8],
    ],
    [
      'one count is 0 under both names',
      { prompt_tokens: 0, completion_tokens: 0, input_tokens: 3, output_tokens: 0, total_tokens: 3 },
      [3, 0, 3],
    ],
    [
      'the other one is not a count',
      { prompt_tokens: 0, completion_tokens: 5, input_tokens: -3, total_tokens: 5 },
      [0, 5, 5],
    ],
  ])('of both names of a count, the one that is not 0 counts: %s', (_, usage, counted) => {
    expect(Object.values(generationUsage(usage) ?? {})).toEqual(counted);
  });

  it('cache tokens that the total includes but prompt_tokens does not are added to the prompt', () => {
    const usage = (total_tokens: number | null, more: JsonObject = {}): JsonObject => ({
      prompt_tokens: 3,
      completion_tokens: 5,
      total_tokens,
      cache_read_input_tokens: 100,
      cache_creation_input_tokens: 20,
      ...more,
    });
    const counted = (told: JsonObject) => Object.values(generationUsage(told) ?? {});
    expect(counted(usage(128))).toEqual([123, 5, 128]);
    expect(counted(usage(108, { cache_creation_input_tokens: null }))).toEqual([103, 5, 108]);
    expect(counted(usage(28, { cache_read_input_tokens: null }))).toEqual([23, 5, 28]);
    // The prompt includes the cache tokens already, or the total includes something else.
    for (const total of [8, 127, 129, 1]) expect(counted(usage(total))).toEqual([3, 5, total]);
    expect(counted(usage(null))).toEqual([3, 5, 8]);
    expect(counted(usage(8, { cache_read_input_tokens: -100, cache_creation_input_tokens: 'x' }))).toEqual([
      3, 5, 8,
    ]);
  });

  it.each<[string, JsonObject, readonly number[]]>([
    ['read', { total_tokens: 8724, prompt_tokens_details: { cached_tokens: 4328 } }, [8470, 254, 8724]],
    [
      'read and written',
      { total_tokens: 4516, prompt_tokens_details: { cached_tokens: 100, cache_write_tokens: 20 } },
      [4262, 254, 4516],
    ],
    [
      'read, with the details of responses',
      { total_tokens: 8724, input_tokens_details: { cached_tokens: 4328 } },
      [8470, 254, 8724],
    ],
    [
      'read, and thinking tokens within the completion',
      {
        total_tokens: 8724,
        prompt_tokens_details: { cached_tokens: 4328 },
        completion_tokens_details: { reasoning_tokens: 100 },
      },
      [8470, 254, 8724],
    ],
    [
      'read, and thinking tokens beside the completion',
      {
        total_tokens: 8824,
        prompt_tokens_details: { cached_tokens: 4328 },
        completion_tokens_details: { reasoning_tokens: 100 },
      },
      [8470, 254, 8824],
    ],
    [
      'thinking tokens beside the completion alone, as many as were read',
      {
        total_tokens: 4496,
        prompt_tokens_details: { cached_tokens: 100 },
        completion_tokens_details: { reasoning_tokens: 100 },
      },
      [4142, 254, 4496],
    ],
    [
      'not in the total',
      { total_tokens: 4396, prompt_tokens_details: { cached_tokens: 4328 } },
      [4142, 254, 4396],
    ],
  ])('cache tokens of the details that the total counts beside the prompt: %s', (_, more, counted) => {
    const usage = { prompt_tokens: 4142, completion_tokens: 254, ...more };
    expect(Object.values(generationUsage(usage) ?? {})).toEqual(counted);
  });

  it.each([
    'cache_write_tokens',
    'cache_creation_input_tokens',
    'cache_creation_tokens',
    'cached_creation_tokens',
  ])('tokens written to a cache are read from %s', (name) => {
    const usage = { prompt_tokens: 3, completion_tokens: 5, total_tokens: 28 };
    expect(generationUsage({ ...usage, prompt_tokens_details: { [name]: 20 } })?.promptTokens).toBe(23);
  });

  it.each<[string, Json | undefined]>([
    ['nothing', undefined],
    ['null', null],
    ['an array', [3, 5]],
    ['a number', 8],
    ['a string', '8'],
    ['an empty object', {}],
    ['no completion', { prompt_tokens: 3, total_tokens: 8 }],
    ['no prompt', { completion_tokens: 5, total_tokens: 8 }],
    ['a total alone', { total_tokens: 8 }],
    ['a negative prompt', { prompt_tokens: -3, completion_tokens: 5 }],
    ['a fraction', { prompt_tokens: 3, completion_tokens: 5.5 }],
    ['a huge count', { prompt_tokens: 1e300, completion_tokens: 5 }],
    ['a count in a string', { prompt_tokens: '3', completion_tokens: 5 }],
    ['a total that is negative', { prompt_tokens: 3, completion_tokens: 5, total_tokens: -8 }],
    ['a total in a string', { prompt_tokens: 3, completion_tokens: 5, total_tokens: '8' }],
    ['a total that is a fraction', { prompt_tokens: 3, completion_tokens: 5, total_tokens: 8.5 }],
    ['a sum over the bound', { prompt_tokens: max, completion_tokens: 1 }],
    [
      'an invalid count, with a valid one under the other name',
      { prompt_tokens: -1, input_tokens: 3, completion_tokens: 5 },
    ],
  ])('anything else is missing usage: %s', (_, usage) => {
    expect(generationUsage(usage)).toBeUndefined();
  });

  it('nothing is estimated: every count was reported, or is the sum of reported counts', () => {
    const fields = fc.record(
      {
        prompt_tokens: fc.oneof(fc.nat(), aJson),
        completion_tokens: fc.oneof(fc.nat(), aJson),
        input_tokens: fc.oneof(fc.nat(), aJson),
        output_tokens: fc.oneof(fc.nat(), aJson),
        total_tokens: fc.oneof(fc.nat(), aJson),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(fields, (usage) => {
        const read = generationUsage(usage);
        if (read === undefined) return true;
        const reported: readonly unknown[] = Object.values(usage);
        return (
          reported.includes(read.promptTokens) &&
          reported.includes(read.completionTokens) &&
          (reported.includes(read.totalTokens) ||
            read.totalTokens === read.promptTokens + read.completionTokens)
        );
      }),
      { numRuns: 300 },
    );
  });
});

describe('embeddings need the prompt count, or the total; completion is 0', () => {
  it.each<[string, Json, readonly [number, number]]>([
    ['both', { prompt_tokens: 8, total_tokens: 8 }, [8, 8]],
    ['a prompt count alone', { prompt_tokens: 8 }, [8, 8]],
    ['a total alone', { total_tokens: 8 }, [8, 8]],
    ['a null prompt count is absent', { prompt_tokens: null, total_tokens: 8 }, [8, 8]],
    ['a null total is absent', { prompt_tokens: 8, total_tokens: null }, [8, 8]],
    ['a total above the prompt count', { prompt_tokens: 8, total_tokens: 9 }, [8, 9]],
    ['zeros', { prompt_tokens: 0, total_tokens: 0 }, [0, 0]],
    ['a completion count is ignored', { prompt_tokens: 8, completion_tokens: -1, total_tokens: 8 }, [8, 8]],
    ['the largest count', { total_tokens: max }, [max, max]],
  ])('%s', (_, usage, [promptTokens, totalTokens]) => {
    expect(embeddingUsage(usage)).toEqual({ promptTokens, completionTokens: 0, totalTokens });
  });

  it('a prompt count of 0 beside a total does not count, since the tokens would have the price of output', () => {
    const usage = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 8 };
    expect(embeddingUsage(usage)).toEqual({ promptTokens: 8, completionTokens: 0, totalTokens: 8 });
  });

  it.each<[string, Json | undefined]>([
    ['nothing', undefined],
    ['null', null],
    ['an array', [8]],
    ['a number', 8],
    ['an empty object', {}],
    ['neither', { completion_tokens: 8 }],
    ['a negative prompt count', { prompt_tokens: -8, total_tokens: 8 }],
    ['a fraction', { prompt_tokens: 8.5 }],
    ['a count in a string', { total_tokens: '8' }],
    ['a total that is negative', { prompt_tokens: 8, total_tokens: -8 }],
    ['a huge total', { total_tokens: 1e300 }],
  ])('anything else is missing usage: %s', (_, usage) => {
    expect(embeddingUsage(usage)).toBeUndefined();
  });

  it('nothing is estimated: every count was reported', () => {
    const count = fc.oneof(fc.nat(), aJson);
    const fields = fc.record({ prompt_tokens: count, total_tokens: count }, { requiredKeys: [] });
    fc.assert(
      fc.property(fields, (usage) => {
        const read = embeddingUsage(usage);
        if (read === undefined) return true;
        const reported: readonly unknown[] = Object.values(usage);
        return (
          reported.includes(read.promptTokens) &&
          reported.includes(read.totalTokens) &&
          read.completionTokens === 0
        );
      }),
    );
  });
});
