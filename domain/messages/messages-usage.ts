import { billedOutputTokens } from '../ledger/price-usage.ts';
import { generationUsage, tokenCount, writtenTo } from '../ledger/usage.ts';
import { isAbsent, isObject, type Json, type JsonObject, membersOf } from '../shared/json.ts';

/**
 * Usage in the fields of the messages family. Input tokens exclude cache reads and cache writes. Output tokens are
 * those that are billed as output, with thinking tokens among them when they are reported. An unknown count is 0.
 */
export function messagesUsage(reported: Json | undefined): JsonObject {
  const usage = membersOf(reported);
  const details = membersOf(usage['prompt_tokens_details']);
  const counted = generationUsage(usage);
  const prompt = counted?.promptTokens ?? tokenCount(usage['prompt_tokens']) ?? 0;
  const read = tokenCount(details['cached_tokens'] ?? cachedIn(usage)) ?? 0;
  const among = tokenCount(writtenTo(details));
  const written =
    among === undefined
      ? (tokenCount(usage['cache_creation_input_tokens']) ?? 0)
      : withoutRead(among, read, prompt);
  const output =
    counted === undefined
      ? (tokenCount(usage['completion_tokens']) ?? 0)
      : Number(billedOutputTokens(counted));
  return {
    input_tokens: uncached(usage, prompt, read + written),
    cache_creation_input_tokens: written,
    cache_read_input_tokens: read,
    output_tokens: output,
    ...thoughtIn(usage, output),
  };
}

/**
 * The tokens of a prompt that were written to a cache, and not read from it as well: clients add up all counts. Both
 * are kept when one exceeds the prompt, for they are then not among its tokens (rule 36.17).
 */
const withoutRead = (written: number, read: number, prompt: number): number =>
  Math.max(written, read) > prompt ? written : Math.min(written, prompt - read);

/**
 * Thinking tokens are reported in the details, or beside them as `reasoning_tokens`. The latter are ignored when they
 * exceed the output, since some upstreams then count tokens that are not part of it.
 */
function thoughtIn(usage: JsonObject, output: number): JsonObject {
  const { completion_tokens_details: details, reasoning_tokens: beside } = usage;
  const detailed = isObject(details) ? tokenCount(details['reasoning_tokens']) : undefined;
  const thought = detailed ?? tokenCount(beside);
  const isAmong = thought !== undefined && (thought === detailed || thought <= output);
  return isAmong ? { output_tokens_details: { thinking_tokens: thought } } : {};
}

/**
 * The prompt tokens without those of the cache. `input_tokens`, as the messages family names it, already excludes them,
 * and so does a prompt with fewer tokens than the cache (rule 36.20).
 */
function uncached(usage: JsonObject, prompt: number, cached: number): number {
  if (isAbsent(usage['prompt_tokens'])) return tokenCount(usage['input_tokens']) ?? 0;
  return cached > prompt ? prompt : prompt - cached;
}

/** The fields for cache reads of upstreams that report no prompt details. */
const cachedIn = (usage: JsonObject): Json | undefined =>
  usage['cached_tokens'] ??
  usage['num_cached_tokens'] ??
  usage['prompt_cache_hit_tokens'] ??
  usage['cache_read_input_tokens'];
