import type { ApiFamily } from '../routing/model.ts';
import { isFilled, isString, type JsonObject, membersOf, objectsOf } from '../shared/json.ts';

/**
 * What counts as the first token of a stream: text, reasoning, a refusal or a call of any kind, but not the frame
 * around it. Some upstreams stream the whole message in one chunk.
 */
const contentIn = {
  chat_completions: (chunk) =>
    objectsOf(chunk['choices']).some(({ delta, message }) =>
      Object.entries(membersOf(delta ?? message)).some(([name, value]) => name !== 'role' && isFilled(value)),
    ),
  messages: ({ type }) => type === 'content_block_delta',
  responses: ({ type }) => isString(type) && type.endsWith('.delta'),
  embeddings: () => false,
  count_tokens: () => false,
} as const satisfies Record<ApiFamily, (chunk: JsonObject) => boolean>;

export const hasContent = (family: ApiFamily, chunk: JsonObject): boolean => contentIn[family](chunk);
