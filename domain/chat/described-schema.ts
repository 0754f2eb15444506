import { isAbsent, isString, type Json, type JsonObject } from '../shared/json.ts';

/** What a format of chat is for, as the description of its schema, which upstreams show to the model. */
export const describedSchema = (schema: JsonObject, description: Json | undefined): JsonObject =>
  isString(description) && isAbsent(schema['description']) ? { ...schema, description } : schema;
