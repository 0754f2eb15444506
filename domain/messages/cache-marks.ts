import { isAbsent, type JsonObject, objectsOf, without } from '../shared/json.ts';

/**
 * The member with which callers ask to cache everything up to the end of its object, or no member. Messages blocks have
 * it. Chat parts, messages, calls and tools have it in the form `cache_control: {type: ephemeral, ttl?}`, which
 * aggregating routers defined. The upstream judges its content.
 */
export const markOf = ({ cache_control: mark }: JsonObject): JsonObject =>
  isAbsent(mark) ? {} : { cache_control: mark };

/** Which marks are kept: those of `markOf`, or none. */
export type Marks = (from: JsonObject) => JsonObject;

export const noMarks: Marks = () => ({});

export const isMarked = ({ cache_control: mark }: JsonObject): boolean => !isAbsent(mark);

/** These blocks, the last of which carries the mark of `from` unless it has its own. */
export const withMarkOnLastBlock = (
  blocks: readonly JsonObject[],
  from: JsonObject,
): readonly JsonObject[] =>
  isMarked(from)
    ? withLast(blocks, (last) => (isMarked(last) ? last : { ...last, ...markOf(from) }))
    : blocks;

/**
 * These turns, the last of which ends with the mark of the whole body, if it has one: the mark covers the whole
 * conversation.
 */
export const withMarkOnLastTurn = (turns: readonly JsonObject[], body: JsonObject): readonly JsonObject[] =>
  isMarked(body)
    ? withLast(turns, (last) => ({ ...last, content: withMarkOnLastBlock(objectsOf(last['content']), body) }))
    : turns;

function withLast(
  objects: readonly JsonObject[],
  change: (last: JsonObject) => JsonObject,
): readonly JsonObject[] {
  const last = objects.at(-1);
  return last === undefined ? objects : [...objects.slice(0, -1), change(last)];
}

/** The last mark among these blocks, as a member. */
export const lastMark = (blocks: readonly JsonObject[]): JsonObject =>
  markOf(blocks.findLast(isMarked) ?? {});

/** The block without its mark. */
export const unmarked = (block: JsonObject): JsonObject => without(block, 'cache_control');
