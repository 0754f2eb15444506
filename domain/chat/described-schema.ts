import { isAbsent, isString, type Json, type JsonObject } from '../shared/json.ts';

/**
 * The schema with the description of its chat `response_format`, because upstreams show the schema's description to the
 * model. It comes before the schema's own description when that is different.
 */
export function describedSchema(schema: JsonObject, description: Json | undefined): JsonObject {
  const { description: own } = schema;
  if (!isString(description) || description === '' || own === description) return schema;
  if (isAbsent(own) || own === '') return { ...schema, description };
  return isString(own) ? { ...schema, description: `${description}\n\n${own}` } : schema;
}
