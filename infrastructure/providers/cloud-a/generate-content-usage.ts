import {
  isObject,
  isAbsent,
  type Json,
  type JsonObject,
  objectsOf,
  present,
} from '../../../domain/shared/json.ts';
import { tokenCount } from '../../../domain/ledger/usage.ts';

const counts = [
  'promptTokenCount',
  'toolUsePromptTokenCount',
  'candidatesTokenCount',
  'thoughtsTokenCount',
  'totalTokenCount',
  'cachedContentTokenCount',
] as const;

/**
 * The platform's counts are summed as it bills them: prompt + tool-use prompt, candidates + thoughts. An absent part
 * counts as zero, but without a prompt count the prompt is unknown. `undefined` if there is no count at all.
 */
export function chatUsage(metadata: Json | undefined): JsonObject | undefined {
  if (!isObject(metadata) || counts.every((name) => isAbsent(metadata[name]))) return undefined;
  const [prompt, toolUse, candidates, thoughts, total, cached] = counts.map((name) => metadata[name]);
  const promptTokens = isAbsent(prompt) ? undefined : sum(prompt, toolUse);
  const completionTokens = sum(candidates, thoughts);
  const both =
    promptTokens === undefined || completionTokens === undefined
      ? undefined
      : promptTokens + completionTokens;
  const details = present({ cached_tokens: cached, audio_tokens: audioIn(metadata['promptTokensDetails']) });
  return {
    prompt_tokens: promptTokens ?? null,
    completion_tokens: completionTokens ?? null,
    total_tokens: isAbsent(total) ? (both ?? null) : total,
    ...(Object.keys(details).length === 0 ? {} : { prompt_tokens_details: details }),
    ...(isAbsent(thoughts) ? {} : { completion_tokens_details: { reasoning_tokens: thoughts } }),
  };
}

/** The audio tokens of the prompt; `undefined` if they are not reported. */
const audioIn = (details: Json | undefined): Json | undefined =>
  objectsOf(details).find(({ modality }) => modality === 'AUDIO')?.['tokenCount'];

/** `undefined` if a part is not a token count. */
function sum(...parts: readonly (Json | undefined)[]): number | undefined {
  let whole = 0;
  for (const part of parts) {
    const count = isAbsent(part) ? 0 : tokenCount(part);
    if (count === undefined) return undefined;
    whole += count;
  }
  return whole;
}
