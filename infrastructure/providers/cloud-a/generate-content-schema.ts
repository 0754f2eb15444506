import { isObject, isArray, type Json, type JsonObject } from '../../../domain/shared/json.ts';

/** Keywords that some clients send as null instead of leaving them out. The upstream rejects null. */
const nullMeansAbsent: ReadonlySet<string> = new Set(['properties', 'required']);

/** A JSON schema as the upstream takes it: unchanged, except that these keywords are removed if they are null. */
export const jsonSchema = (schema: JsonObject): JsonObject =>
  Object.fromEntries(
    Object.entries(schema).flatMap(([key, value]) =>
      value === null && nullMeansAbsent.has(key) ? [] : [[key, within(value)]],
    ),
  );

function within(value: Json | undefined): Json | undefined {
  if (isArray(value)) return value.map((each) => within(each) ?? null);
  return isObject(value) ? jsonSchema(value) : value;
}
