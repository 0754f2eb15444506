import { isObject, type Json, type JsonObject, membersOf, numberOf } from '../shared/json.ts';
import { maxTokenCount } from '../shared/limits.ts';

/** Tokens as the provider reports them. Nothing is estimated: a count that is not reported is missing. */
export interface TokenUsage {
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly totalTokens: number;
}

/** A token count is an integer in 0 … 2^53 − 1; anything else is not a count, and counts as missing. */
export function tokenCount(value: Json | undefined): number | undefined {
  const count = numberOf(value);
  return count !== undefined && Number.isInteger(count) && count >= 0 && count <= maxTokenCount
    ? count
    : undefined;
}

/**
 * Chat, messages and responses need prompt and completion tokens (or `input_tokens` and `output_tokens`). An absent
 * total is their sum. A total that is present but not a token count makes the usage missing.
 */
export function generationUsage(usage: Json | undefined): TokenUsage | undefined {
  if (!isObject(usage)) return undefined;
  const promptTokens = countUnder(usage, 'prompt_tokens', 'input_tokens');
  const completionTokens = countUnder(usage, 'completion_tokens', 'output_tokens');
  if (promptTokens === undefined || completionTokens === undefined) return undefined;
  const totalTokens = tokenCount(usage['total_tokens'] ?? promptTokens + completionTokens);
  if (totalTokens === undefined) return undefined;
  const cached = cachedBeside(usage, totalTokens - promptTokens - completionTokens);
  return { promptTokens: promptTokens + cached, completionTokens, totalTokens };
}

/**
 * The count under one of two names. Some gateways write both and fill in only one: the other is 0, and does not count
 * (rule 36.16).
 */
function countUnder(usage: JsonObject, name: string, otherName: string): number | undefined {
  const count = tokenCount(usage[name] ?? usage[otherName]);
  return count === 0 ? (tokenCount(usage[otherName]) ?? 0) : count;
}

/**
 * Some upstreams leave cache reads and cache writes out of the prompt, as the messages family does, but count them in
 * the total. When the total exceeds prompt plus completion by exactly these tokens, they belong to the prompt and not
 * to the output (rule 36.15). Their names differ, and the total may also count thinking tokens (rule 36.19).
 */
function cachedBeside(usage: JsonObject, rest: number): number {
  const details = membersOf(usage['prompt_tokens_details'] ?? usage['input_tokens_details']);
  const read = tokenCount(usage['cache_read_input_tokens'] ?? details['cached_tokens']) ?? 0;
  const written = tokenCount(usage['cache_creation_input_tokens'] ?? writtenTo(details)) ?? 0;
  const thought = tokenCount(membersOf(usage['completion_tokens_details'])['reasoning_tokens']) ?? 0;
  const cached = read + written;
  return rest === cached + thought || (rest === cached && rest !== thought) ? cached : 0;
}

/** The names that upstreams and routers use for the prompt tokens written to a cache. */
export const writtenTo = (details: JsonObject): Json | undefined =>
  details['cache_write_tokens'] ??
  details['cache_creation_input_tokens'] ??
  details['cache_creation_tokens'] ??
  details['cached_creation_tokens'];

/**
 * Embeddings need the prompt count (or the total); completion is 0 (rule 36.9). Some gateways write a prompt count of 0
 * beside the total, and it does not count (rule 36.18).
 */
export function embeddingUsage(usage: Json | undefined): TokenUsage | undefined {
  if (!isObject(usage)) return undefined;
  const promptTokens = countUnder(usage, 'prompt_tokens', 'total_tokens');
  const totalTokens = tokenCount(usage['total_tokens'] ?? promptTokens);
  if (promptTokens === undefined || totalTokens === undefined) return undefined;
  return { promptTokens, completionTokens: 0, totalTokens };
}
