import { isAbsent, type JsonObject, objectsOf, without } from '../shared/json.ts';

/**
 * The member with which callers ask that what ends here be cached, or none. Messages blocks have it, and chat parts,
 * messages, calls and tools in the form that aggregating routers defined: `cache_control: {type: ephemeral, ttl?}`.
 * What it says is for the upstream to judge.
 */
export const markOf = ({ cache_control: mark }: JsonObject): JsonObject =>
  isAbsent(mark) ? {} : { cache_control: mark };

/** Whether marks are kept (`markOf`), or nothing is one. */
export type Marks = (from: JsonObject) => JsonObject;

export const noMarks: Marks = () => ({});

export const isMarked = ({ cache_control: mark }: JsonObject): boolean => !isAbsent(mark);

/** What ends with the last of these carries the mark of `from`, unless it has one of its own. */
export const endingMarked = (blocks: readonly JsonObject[], from: JsonObject): readonly JsonObject[] =>
  isMarked(from)
    ? withLast(blocks, (last) => (isMarked(last) ? last : { ...last, ...markOf(from) }))
    : blocks;

/** Turns of which the last ends with the mark of the whole body, if it has one: all of the conversation is meant. */
export const endMarked = (turns: readonly JsonObject[], body: JsonObject): readonly JsonObject[] =>
  isMarked(body)
    ? withLast(turns, (last) => ({ ...last, content: endingMarked(objectsOf(last['content']), body) }))
    : turns;

function withLast(
  objects: readonly JsonObject[],
  change: (last: JsonObject) => JsonObject,
): readonly JsonObject[] {
  const last = objects.at(-1);
  return last === undefined ? objects : [...objects.slice(0, -1), change(last)];
}

/** The last mark among these, as a member. */
export const lastMark = (blocks: readonly JsonObject[]): JsonObject =>
  markOf(blocks.findLast(isMarked) ?? {});

/** The same without its mark. */
export const unmarked = (block: JsonObject): JsonObject => without(block, 'cache_control');
