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
 * A native platform's parts are first summed as its bill does: prompt + tool-use prompt, candidates + thoughts. A part
 * that is not there is none; without a prompt count nothing is known of the prompt. Undefined: nothing is counted.
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

/** How much of the prompt was sound; undefined where that is not told. */
const audioIn = (details: Json | undefined): Json | undefined =>
  objectsOf(details).find(({ modality }) => modality === 'AUDIO')?.['tokenCount'];

/** Undefined where a part is no token count. */
function sum(...parts: readonly (Json | undefined)[]): number | undefined {
  let whole = 0;
  for (const part of parts) {
    const count = isAbsent(part) ? 0 : tokenCount(part);
    if (count === undefined) return undefined;
    whole += count;
  }
  return whole;
}
