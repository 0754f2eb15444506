import { promptDetails } from '../../../domain/chat/prompt-details.ts';
import { tokenCount } from '../../../domain/ledger/usage.ts';
import { isObject, isAbsent, type Json, type JsonObject } from '../../../domain/shared/json.ts';

/**
 * Usage as it is billed: input + cache read + cache write (rule 36.10). If a part is not a token count, the prompt is
 * unknown, and the usage counts as missing.
 */
export function chatUsage(reported: Json | undefined): JsonObject | undefined {
  if (!isObject(reported)) return undefined;
  const { inputTokens, outputTokens, totalTokens, cacheReadInputTokens, cacheWriteInputTokens } = reported;
  const prompt = sumOf([inputTokens, cacheReadInputTokens ?? 0, cacheWriteInputTokens ?? 0]);
  const completion = tokenCount(outputTokens) ?? null;
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: isAbsent(totalTokens) ? sumOf([prompt, completion]) : totalTokens,
    ...promptDetails(counted(cacheReadInputTokens), counted(cacheWriteInputTokens)),
  };
}

/** A value that is present but not a token count becomes null. */
const counted = (value: Json | undefined): number | null | undefined =>
  isAbsent(value) ? undefined : (tokenCount(value) ?? null);

function sumOf(parts: readonly (Json | undefined)[]): number | null {
  const counts = parts.map(tokenCount);
  return counts.every((count) => count !== undefined) ? counts.reduce((sum, count) => sum + count, 0) : null;
}
