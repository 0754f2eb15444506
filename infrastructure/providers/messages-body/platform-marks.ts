import { endingMarked, unmarked } from '../../../domain/messages/cache-marks.ts';
import {
  isArray,
  isObject,
  isString,
  type Json,
  type JsonObject,
  objectsOf,
  without,
} from '../../../domain/shared/json.ts';
import { textBlocks } from './content.ts';

/**
 * The cache marks of a caller's own messages body as the platforms take them, which refuse whatever they do not know.
 * The mark of the whole body means the end of the conversation, and stands there. With whom a cached prompt is shared
 * (`scope`) is a beta that none of them has.
 */
export function withPlatformMarks(body: JsonObject): JsonObject {
  const marked = body['cache_control'] === undefined ? body : withMarkAtEnd(body);
  const { messages } = marked;
  const placed = isArray(messages) ? { ...marked, messages: messages.map(withContentUnscoped) } : marked;
  return withUnscoped(withUnscoped(placed, 'system'), 'tools');
}

function withMarkAtEnd(body: JsonObject): JsonObject {
  const messages = isArray(body['messages']) ? body['messages'] : [];
  const last = messages.at(-1);
  return {
    ...unmarked(body),
    messages: isObject(last) ? [...messages.slice(0, -1), withEndMarked(last, body)] : messages,
  };
}

function withEndMarked(message: JsonObject, body: JsonObject): JsonObject {
  const { content } = message;
  const blocks = isString(content) ? textBlocks(content) : objectsOf(content);
  return blocks.length === 0 ? message : { ...message, content: endingMarked(blocks, body) };
}

const withContentUnscoped = (message: Json): Json =>
  isObject(message) ? withUnscoped(message, 'content') : message;

function withUnscoped(holder: JsonObject, field: 'system' | 'tools' | 'content'): JsonObject {
  const { [field]: blocks } = holder;
  return isArray(blocks) && blocks.some(isScoped) ? { ...holder, [field]: blocks.map(unscoped) } : holder;
}

const isScoped = (block: Json): boolean =>
  isObject(block) && isObject(block['cache_control']) && Object.hasOwn(block['cache_control'], 'scope');

const unscoped = (block: Json): Json =>
  isObject(block) && isObject(block['cache_control'])
    ? { ...block, cache_control: without(block['cache_control'], 'scope') }
    : block;
