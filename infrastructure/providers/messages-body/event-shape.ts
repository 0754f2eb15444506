import {
  isObject,
  isAbsent,
  isArray,
  isString,
  type Json,
  type JsonObject,
  numberOf,
} from '../../../domain/shared/json.ts';

/** Null counts as absent. */
const mayBeText = (value: Json | undefined): boolean => isAbsent(value) || isString(value);

/** The text fields of a content block, by its type. */
const blockTexts: ReadonlyMap<Json | undefined, readonly string[]> = new Map([
  ['text', ['text']],
  ['thinking', ['thinking', 'signature']],
  ['redacted_thinking', ['data']],
  ['tool_use', ['id', 'name']],
]);

/** The text fields of a content block's delta, by its type. */
const deltaTexts: ReadonlyMap<Json | undefined, readonly string[]> = new Map([
  ['text_delta', ['text']],
  ['thinking_delta', ['thinking']],
  ['signature_delta', ['signature']],
  ['input_json_delta', ['partial_json']],
]);

const hasTexts = (object: JsonObject, texts: ReadonlyMap<Json | undefined, readonly string[]>): boolean =>
  texts.get(object['type'])?.every((field) => mayBeText(object[field])) ?? true;

/** Whether the fields of a content block have the types that they must have. */
export const isWellFormed = (block: Json | undefined): boolean =>
  isObject(block) &&
  hasTexts(block, blockTexts) &&
  (isAbsent(block['citations']) || isArray(block['citations']));

/** The shape that each event must have. Nothing is read of other events. */
const shapes: ReadonlyMap<string, (event: JsonObject) => boolean> = new Map([
  ['message_start', ({ message }) => isAbsent(message) || (isObject(message) && hasBlocks(message))],
  ['content_block_start', (event) => hasIndex(event) && isWellFormed(event['content_block'])],
  [
    'content_block_delta',
    (event) => hasIndex(event) && isObject(event['delta']) && hasTexts(event['delta'], deltaTexts),
  ],
  ['content_block_stop', (event) => hasIndex(event)],
  ['message_delta', ({ delta }) => isAbsent(delta) || (isObject(delta) && mayBeText(delta['stop_reason']))],
]);

/** A message may start without content, and most do. */
const hasBlocks = ({ content }: JsonObject): boolean => !isArray(content) || content.every(isWellFormed);

const hasIndex = ({ index }: JsonObject): boolean => isAbsent(index) || numberOf(index) !== undefined;

/**
 * Whether a field of an event has a type that it cannot have. It would be dropped silently, and the rest would look
 * like the whole answer.
 */
export const isMalformed = (type: string, event: JsonObject): boolean => shapes.get(type)?.(event) === false;
