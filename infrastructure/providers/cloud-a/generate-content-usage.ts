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
  const { promptTokensDetails, candidatesTokensDetails } = metadata;
  const ofPrompt = present({ cached_tokens: cached, ...mediaTokens(promptTokensDetails) });
  const ofCompletion = present({ reasoning_tokens: thoughts, ...mediaTokens(candidatesTokensDetails) });
  return {
    prompt_tokens: promptTokens ?? null,
    completion_tokens: completionTokens ?? null,
    total_tokens: isAbsent(total) ? (both ?? null) : total,
    ...(Object.keys(ofPrompt).length === 0 ? {} : { prompt_tokens_details: ofPrompt }),
    ...(Object.keys(ofCompletion).length === 0 ? {} : { completion_tokens_details: ofCompletion }),
  };
}

/** The tokens that are not text, as far as they are reported. They have their own prices on the platform. */
const mediaTokens = (details: Json | undefined): JsonObject => {
  const of = (name: string): Json | undefined =>
    objectsOf(details).find(({ modality }) => modality === name)?.['tokenCount'];
  return { audio_tokens: of('AUDIO'), image_tokens: of('IMAGE'), video_tokens: of('VIDEO') };
};

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
