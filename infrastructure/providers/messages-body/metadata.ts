import type { Json, JsonObject } from '../../../domain/shared/json.ts';

/**
 * What of a native answer has no word in chat, under the provider's own namespace: reasoning, citations, and blocks
 * that are neither text nor a call of the caller's tools. None of it is ever in the content.
 */
export interface NativeParts {
  readonly reasoning?: readonly Json[];
  readonly citations?: readonly Json[];
  readonly blocks?: readonly Json[];
}

/** The member `provider_metadata`, which is left out where it has no parts. */
export function metadataMember(namespace: string, parts: NativeParts): JsonObject {
  const there = Object.entries(parts).filter(([, values]) => values.length > 0);
  return there.length === 0 ? {} : { provider_metadata: { [namespace]: Object.fromEntries(there) } };
}

export const isThinking = ({ type }: JsonObject): boolean =>
  type === 'thinking' || type === 'redacted_thinking';
