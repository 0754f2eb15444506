import {
  isDeeperThan,
  isObject,
  isString,
  type JsonObject,
  parseExactObject,
  parseJson,
} from '../shared/json.ts';
import { maxJsonDepth } from '../shared/limits.ts';

/** Some models call a tool without parameters with empty arguments, others with null. */
export const isEmptyArguments = (text: string): boolean => text.trim() === '' || text.trim() === 'null';

/**
 * The input of a call, from its arguments, with every digit. Arguments that are not a JSON object stay text, under
 * `_raw_arguments`: the caller's tool then refuses them, and the model sees that refusal.
 */
export function inputOf(text: string): JsonObject {
  if (isEmptyArguments(text)) return {};
  return exactObject(text) ?? writtenTwice(text) ?? { _raw_arguments: text };
}

/** Some upstreams send the object's text encoded once more as a JSON string. */
function writtenTwice(text: string): JsonObject | undefined {
  const inner = parseJson(text);
  return isString(inner) ? exactObject(inner) : undefined;
}

/**
 * The object in a text, with every digit; `undefined` when the text is not an object, or one nested too deeply to
 * traverse.
 */
export function exactObject(text: string): JsonObject | undefined {
  const value = parseJson(text);
  return isObject(value) && !isDeeperThan(value, maxJsonDepth) ? parseExactObject(text) : undefined;
}
