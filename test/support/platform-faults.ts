import { isJsonObject, type JsonObject } from '../../tools/simulated-upstream/json-object.ts';

/** Why a platform refuses a body, in its own words; undefined: it takes it. */
export type Fault = string | undefined;

/** The first fault that is found. */
export function firstFault<A>(all: Iterable<A>, faultOf: (one: A, index: number) => Fault): Fault {
  let index = 0;
  for (const one of all) {
    const fault = faultOf(one, index);
    if (fault !== undefined) return fault;
    index += 1;
  }
  return undefined;
}

/** The objects of an array; none for what is no array. */
export const objectsIn = (value: unknown): readonly JsonObject[] =>
  Array.isArray(value) ? value.filter(isJsonObject) : [];

/** An object, or an empty one for what is none. */
export const recordIn = (value: unknown): JsonObject => (isJsonObject(value) ? value : {});

/** A text as it is, and whatever else as JSON. */
export const wordsOf = (value: unknown): string =>
  typeof value === 'string' ? value : (JSON.stringify(value) ?? '');

/** The first member that nobody knows. */
export const strangerIn = (object: JsonObject, known: readonly string[]): string | undefined =>
  Object.keys(object).find((name) => !known.includes(name));
