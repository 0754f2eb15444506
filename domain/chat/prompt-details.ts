import type { JsonObject } from '../shared/json.ts';

/**
 * The member `prompt_tokens_details` of a chat usage: prompt tokens read from a cache, and prompt tokens written to
 * one, as far as they are known. Writes have the name that OpenAI and OpenRouter use.
 */
export function promptDetails(
  read: number | null | undefined,
  written: number | null | undefined,
): JsonObject {
  const details = {
    ...(read === undefined ? {} : { cached_tokens: read }),
    ...(written === undefined ? {} : { cache_write_tokens: written }),
  };
  return Object.keys(details).length === 0 ? {} : { prompt_tokens_details: details };
}
