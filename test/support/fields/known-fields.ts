import type { Json, JsonObject } from '../../../domain/shared/json.ts';

/**
 * Fields that callers can send beside these members; a note in brackets after a field distinguishes its
 * kinds.
 */
export interface Scene {
  readonly given: JsonObject;
  readonly fields: Readonly<Record<string, Json>>;
}

/** A field that a public API documents, in the smallest body that can have it. */
export interface KnownField {
  /** As in the docs: `tools[].function.strict`, `tools[] (custom)`. */
  readonly name: string;
  /** As in errors: `tools[0].function.strict`. */
  readonly path: string;
  readonly value: Json;
  readonly bare: JsonObject;
  readonly body: JsonObject;
}

/** Words that can be found again wherever they are sent. */
export const mark = (what: string): string => `mark-${what}`;

type Step = string | number;

const stepsOf = (path: string): readonly Step[] =>
  [...path.matchAll(/\[(\d+)\]|[^.[\]]+/g)].map(([step, index]) =>
    index === undefined ? step : Number(index),
  );

function placed(target: Json | undefined, [step, ...rest]: readonly Step[], value: Json): Json {
  if (step === undefined) return value;
  if (typeof step === 'number') {
    const items = Array.isArray(target) ? [...(target as readonly Json[])] : [];
    items[step] = placed(items[step], rest, value);
    return items;
  }
  const members = typeof target === 'object' && target !== null && !Array.isArray(target) ? target : {};
  const object = members as JsonObject;
  return { ...object, [step]: placed(object[step], rest, value) };
}

/** The fields of all scenes, each in its own body. */
export const fieldsOf = (common: JsonObject, scenes: readonly Scene[]): readonly KnownField[] =>
  scenes.flatMap(({ given, fields }) =>
    Object.entries(fields).map(([key, value]) => {
      const path = key.replace(/ \(.*\)$/, '');
      const bare = { ...common, ...given };
      const body = placed(bare, stepsOf(path), value) as JsonObject;
      return { name: key.replaceAll(/\[\d+\]/g, '[]'), path, value, bare, body };
    }),
  );

/** The marked words in a value. */
export function marksIn(value: Json | undefined): readonly string[] {
  if (typeof value === 'string') return value.startsWith('mark-') ? [value] : [];
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap((each) => marksIn(each as Json));
}
