import { isObject, type Json } from '../shared/json.ts';
import { type TokenUsage, tokenCount } from './usage.ts';

/**
 * Usage from the fields of the messages family, summed as it is billed: input, cache read and cache write tokens are
 * the prompt. Input and output are required. An absent cache count is 0; a count that is present but not a token count
 * makes the usage missing.
 */
export function messagesBodyUsage(reported: Json | undefined): TokenUsage | undefined {
  if (!isObject(reported)) return undefined;
  const promptTokens = tokenCount(
    sumOfCounts([
      tokenCount(reported['input_tokens']),
      tokenCount(reported['cache_read_input_tokens'] ?? 0),
      tokenCount(reported['cache_creation_input_tokens'] ?? 0),
    ]),
  );
  const completionTokens = tokenCount(reported['output_tokens']);
  if (promptTokens === undefined || completionTokens === undefined) return undefined;
  const totalTokens = tokenCount(promptTokens + completionTokens);
  return totalTokens === undefined ? undefined : { promptTokens, completionTokens, totalTokens };
}

/** The fields of the messages family with the counts that are billed. */
export const billedCounts = [
  'input_tokens',
  'cache_read_input_tokens',
  'cache_creation_input_tokens',
  'output_tokens',
] as const;

/** `undefined` when one of them is. */
export const sumOfCounts = (counts: readonly (number | undefined)[]): number | undefined =>
  counts.reduce<number | undefined>(
    (total, count) => (total === undefined || count === undefined ? undefined : total + count),
    0,
  );
