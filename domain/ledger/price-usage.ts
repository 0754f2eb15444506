import type { TokenUsage } from './usage.ts';
import type { Picodollars } from '../money/money.ts';
import type { Price } from '../money/price-catalogue.ts';

/**
 * Billed output is `max(completion_tokens, total_tokens − prompt_tokens)`, because some upstreams report reasoning
 * tokens only in the total (rule 36.11).
 */
export const billedOutputTokens = (usage: TokenUsage): bigint => {
  const completion = BigInt(usage.completionTokens);
  const beyondPrompt = BigInt(usage.totalTokens) - BigInt(usage.promptTokens);
  return beyondPrompt > completion ? beyondPrompt : completion;
};

/** `cost = prompt_tokens × input + billed output × output`, exact in integers. */
export const priceUsage = (usage: TokenUsage, price: Pick<Price, 'input' | 'output'>): Picodollars =>
  BigInt(usage.promptTokens) * price.input + billedOutputTokens(usage) * price.output;
