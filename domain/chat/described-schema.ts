import { isAbsent, isString, type Json, type JsonObject } from '../shared/json.ts';

/**
 * What a format of chat is for, as the description of its schema, which upstreams show to the model; in front of the
 * schema's own, where that says something else.
 */
export function describedSchema(schema: JsonObject, description: Json | undefined): JsonObject {
  const { description: own } = schema;
  if (!isString(description) || description === '' || own === description) return schema;
  if (isAbsent(own) || own === '') return { ...schema, description };
  return isString(own) ? { ...schema, description: `${description}\n\n${own}` } : schema;
}
