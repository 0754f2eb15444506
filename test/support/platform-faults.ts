import { isJsonObject, type JsonObject } from '../../tools/simulated-upstream/json-object.ts';

/** The reason why a platform refuses a body, in its own words; undefined if it accepts it. */
export type Fault = string | undefined;

/** Returns the first fault found. */
export function firstFault<A>(all: Iterable<A>, faultOf: (one: A, index: number) => Fault): Fault {
  let index = 0;
  for (const one of all) {
    const fault = faultOf(one, index);
    if (fault !== undefined) return fault;
    index += 1;
  }
  return undefined;
}

/** The objects of an array; empty for anything else. */
export const objectsIn = (value: unknown): readonly JsonObject[] =>
  Array.isArray(value) ? value.filter(isJsonObject) : [];

/** An object, or an empty one for anything else. */
export const recordIn = (value: unknown): JsonObject => (isJsonObject(value) ? value : {});

/** A text unchanged, and anything else as JSON. */
export const wordsOf = (value: unknown): string =>
  typeof value === 'string' ? value : (JSON.stringify(value) ?? '');

/** The first unknown member. */
export const strangerIn = (object: JsonObject, known: readonly string[]): string | undefined =>
  Object.keys(object).find((name) => !known.includes(name));

const reserved = 'x-anthropic-billing-header';

/** The platforms keep this word for Anthropic's own clients: https://github.com/anthropics/claude-code/issues/24168 */
export const reservedFault = (system: unknown): Fault =>
  wordsOf(system).includes(reserved)
    ? `${reserved} is a reserved keyword and may not be used in the system prompt.`
    : undefined;
