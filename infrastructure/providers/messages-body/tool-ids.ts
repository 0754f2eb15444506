import { ConversationIds } from '../../../domain/calls/conversation-ids.ts';
import type { Digest } from '../../../domain/shared/digest.ts';

/** The ids of tool calls that an upstream takes. */
const idShape = /^[A-Za-z0-9_-]{1,64}$/;

/** Returns an id that the upstream takes. */
export type BoundId = (id: string) => string;

/**
 * Valid provider-native ids are preserved. Invalid or overlong tool-use and result ids are replaced on both sides of
 * the pair by the same deterministic bounded value `tool_<SHA-256>`.
 */
export const boundedToolId =
  (digest: Digest, shape: RegExp = idShape): BoundId =>
  (id) =>
    shape.test(id) ? id : `tool_${digest(id)}`;

/** The ids of a conversation: the first call of an id keeps a valid one, and each later one gets an id of its own. */
export function boundedIds(digest: Digest, shape?: RegExp): ConversationIds {
  const boundId = boundedToolId(digest, shape);
  return new ConversationIds((id, earlier) =>
    earlier === 0 ? boundId(id) : `tool_${digest(`${id}\n${earlier}`)}`,
  );
}
