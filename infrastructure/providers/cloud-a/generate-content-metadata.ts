import { providerMetadata } from '../../../domain/chat/chat-envelope.ts';
import type { JsonObject } from '../../../domain/shared/json.ts';
import type { CandidateContent } from './generate-content-candidate.ts';
import { ownReasons } from './generate-content-finish.ts';
import { namespace } from './generate-content-signatures.ts';

/**
 * Native reasoning is never placed in the content: it is kept under `provider_metadata.<provider>.reasoning`, with the
 * signatures of calls behind it. Grounding and citations stand beside it as they came, and why it ended, if that is known.
 */
export function metadataOf(
  { reasoning, others, about }: Pick<CandidateContent, 'reasoning' | 'others' | 'about'>,
  ofCalls: readonly JsonObject[],
  reasons: JsonObject = {},
): JsonObject {
  const all = [...reasoning, ...ofCalls];
  return providerMetadata(namespace, { reasoning: all, parts: others, ...about, ...reasons });
}

/** What the chunk that finishes says beside its `finish_reason`: of a dozen reasons chat makes one. */
export const finishMetadata = (candidate: JsonObject): JsonObject =>
  providerMetadata(namespace, ownReasons(candidate));
