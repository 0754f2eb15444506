import { isArray, isObject, type Json, type JsonObject, membersOf, objectsOf } from '../shared/json.ts';

const schemasByName: ReadonlySet<string> = new Set(['properties', '$defs', 'definitions']);
const schemas: ReadonlySet<string> = new Set([
  'items',
  'prefixItems',
  'additionalProperties',
  'anyOf',
  'allOf',
  'oneOf',
]);

/** A JSON schema with each schema that it consists of changed. Names of properties, and values, are not schemas. */
export const withSubschemas = (
  schema: JsonObject,
  change: (schema: JsonObject) => JsonObject,
): JsonObject => {
  const ifObject = (value: Json | undefined): Json | undefined => (isObject(value) ? change(value) : value);
  const within = (key: string, value: Json | undefined): Json | undefined => {
    if (schemasByName.has(key) && isObject(value))
      return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, ifObject(each)]));
    if (!schemas.has(key)) return value;
    return isArray(value) ? value.map((each) => ifObject(each) ?? null) : ifObject(value);
  };
  return Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, within(key, value)]));
};

/** The schemas that a JSON schema directly consists of. */
export const subschemasOf = (schema: JsonObject): readonly JsonObject[] =>
  Object.entries(schema).flatMap(([key, value]) => {
    if (schemasByName.has(key)) return Object.values(membersOf(value)).filter(isObject);
    if (!schemas.has(key)) return [];
    return isObject(value) ? [value] : objectsOf(value);
  });
