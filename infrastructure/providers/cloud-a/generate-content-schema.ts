import { isAbsent, isString, type JsonObject, numberOf, without } from '../../../domain/shared/json.ts';
import { withSubschemas } from '../../../domain/chat/subschemas.ts';

/**
 * A JSON schema as the upstream takes it, which supports only a part of the standard (rule 17.57):
 * https://cloud.google.com/vertex-ai/generative-ai/docs/reference/rest/v1/GenerationConfig
 */
export const jsonSchema = (schema: JsonObject): JsonObject =>
  withLoneReference(withItems(withEnum(withSubschemas(withoutRejected(schema), jsonSchema))));

/** Keywords that some clients send as null instead of leaving them out. The upstream rejects null. */
const nullMeansAbsent = ['properties', 'required'];

/** `discriminator`, which Pydantic writes beside a union, says nothing that the union does not. */
const withoutRejected = (schema: JsonObject): JsonObject =>
  without(schema, 'discriminator', ...nullMeansAbsent.filter((key) => schema[key] === null));

/** The upstream ignores `const`, and knows `enum` of texts and numbers, which needs a type (rule 17.58). */
function withEnum(schema: JsonObject): JsonObject {
  const { const: only, ...rest } = schema;
  if (!isAbsent(rest['enum'])) return schema;
  if (isString(only)) return { type: 'string', ...rest, enum: [only] };
  return numberOf(only) === undefined ? schema : { type: 'number', ...rest, enum: [only ?? null] };
}

/** The upstream rejects a list of which the schema does not say what is in it (rule 17.59). */
const withItems = (schema: JsonObject): JsonObject =>
  schema['type'] === 'array' && isAbsent(schema['items']) && isAbsent(schema['prefixItems'])
    ? { ...schema, items: {} }
    : schema;

/** The upstream rejects a reference that has a description, a default or the like beside it. */
function withLoneReference(schema: JsonObject): JsonObject {
  const { $ref: reference, ...rest } = schema;
  const isAlone = Object.keys(rest).every((key) => key.startsWith('$'));
  if (!isString(reference) || isAlone || !isAbsent(rest['anyOf'])) return schema;
  return { ...rest, anyOf: [{ $ref: reference }] };
}
