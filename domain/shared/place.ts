import { isArray, isObject, type Json, type JsonObject } from './json.ts';

/** Where something is, as the rest of a path: `[1].content[0]`. `undefined` when it is nowhere. */
export type Place = string | undefined;

/** The first place that `find` returns for the objects of an array, with the index before it. */
export function placeIn(list: Json | undefined, find: (object: JsonObject) => Place): Place {
  if (!isArray(list)) return undefined;
  for (const [index, item] of list.entries()) {
    const place = isObject(item) ? find(item) : undefined;
    if (place !== undefined) return `[${index}]${place}`;
  }
  return undefined;
}

/** The place with the member's name before it. */
export const below = (member: string, place: Place): Place =>
  place === undefined ? undefined : `${member}${place}`;
