import { withMarkOnLastBlock, unmarked } from '../../../domain/messages/cache-marks.ts';
import {
  isArray,
  isObject,
  isString,
  type JsonObject,
  mapObjects,
  membersOf,
  objectsOf,
  without,
} from '../../../domain/shared/json.ts';
import { textBlocks } from './content.ts';

/**
 * Adapts the cache marks of a caller's own messages body to the platforms, which reject fields that they do not know. A
 * mark on the body itself means the end of the conversation, and is moved there. `scope`, which says with whom a cached
 * prompt is shared, is removed: it is a beta that no platform has.
 */
export function withPlatformMarks(body: JsonObject): JsonObject {
  const marked = body['cache_control'] === undefined ? body : withMarkAtEnd(body);
  const { messages } = marked;
  const placed = isArray(messages)
    ? { ...marked, messages: mapObjects(messages, (message) => withUnscoped(message, 'content')) }
    : marked;
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
  return blocks.length === 0 ? message : { ...message, content: withMarkOnLastBlock(blocks, body) };
}

function withUnscoped(holder: JsonObject, field: 'system' | 'tools' | 'content'): JsonObject {
  const { [field]: blocks } = holder;
  return objectsOf(blocks).some(isScoped) ? { ...holder, [field]: mapObjects(blocks, unscoped) } : holder;
}

const isScoped = ({ cache_control: mark }: JsonObject): boolean =>
  isObject(mark) && Object.hasOwn(mark, 'scope');

const unscoped = (block: JsonObject): JsonObject =>
  isScoped(block) ? { ...block, cache_control: without(membersOf(block['cache_control']), 'scope') } : block;
