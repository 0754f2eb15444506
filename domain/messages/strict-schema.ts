import { subschemasOf } from '../chat/subschemas.ts';
import {
  isAbsent,
  isArray,
  isObject,
  type Json,
  type JsonObject,
  membersOf,
  itemsIn,
} from '../shared/json.ts';

/**
 * Whether the chat API takes a schema with `strict`: every object in it is closed to other properties, and requires all
 * of its own. The messages API demands only the former, and takes `allOf` and one more format, `uri` (rule 33.39).
 * https://platform.openai.com/docs/guides/structured-outputs
 */
export const fitsStrict = (schema: JsonObject): boolean =>
  (!isOfObject(schema) || isComplete(schema)) &&
  isAbsent(schema['allOf']) &&
  schema['format'] !== 'uri' &&
  subschemasOf(schema).every(fitsStrict);

const isOfObject = ({ type, properties }: JsonObject): boolean =>
  isObject(properties) || (isArray(type) ? type : [type]).includes('object');

function isComplete({ properties, additionalProperties, required }: JsonObject): boolean {
  const names: ReadonlySet<Json> = new Set(itemsIn(required));
  return (
    additionalProperties === false && Object.keys(membersOf(properties)).every((name) => names.has(name))
  );
}
