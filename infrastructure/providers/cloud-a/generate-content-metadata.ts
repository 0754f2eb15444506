import { providerMetadata } from '../../../domain/chat/chat-envelope.ts';
import type { JsonObject } from '../../../domain/shared/json.ts';
import type { CandidateContent } from './generate-content-candidate.ts';
import { namespace } from './generate-content-signatures.ts';

/**
 * Native reasoning is never placed in the content: it is kept under `provider_metadata.<provider>.reasoning`, with the
 * signatures of calls behind it. Grounding and citations stand beside it as they came.
 */
export function metadataOf(
  { reasoning, others, about }: Pick<CandidateContent, 'reasoning' | 'others' | 'about'>,
  ofCalls: readonly JsonObject[],
): JsonObject {
  return providerMetadata(namespace, { reasoning: [...reasoning, ...ofCalls], parts: others, ...about });
}
