import { providerMetadata } from '../../../domain/chat/chat-envelope.ts';
import type { JsonObject } from '../../../domain/shared/json.ts';
import type { CandidateContent } from './generate-content-candidate.ts';
import { platformReasons } from './generate-content-finish.ts';
import { namespace } from './generate-content-signatures.ts';

/**
 * Native reasoning is never placed in the content: it is kept under `provider_metadata.<provider>.reasoning`, followed
 * by the signatures of calls. Grounding and citations are added to the metadata unchanged, and so are the reasons of
 * the finish, if they are known.
 */
export function metadataOf(
  { reasoning, others, about }: Pick<CandidateContent, 'reasoning' | 'others' | 'about'>,
  ofCalls: readonly JsonObject[],
  reasons: JsonObject = {},
): JsonObject {
  const all = [...reasoning, ...ofCalls];
  return providerMetadata(namespace, { reasoning: all, parts: others, ...about, ...reasons });
}

/** The metadata of the finishing chunk: the platform's own reason, since chat maps a dozen reasons to one. */
export const finishMetadata = (candidate: JsonObject): JsonObject =>
  providerMetadata(namespace, platformReasons(candidate));
