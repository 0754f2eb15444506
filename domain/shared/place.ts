import { isArray, isObject, type Json, type JsonObject } from './json.ts';

/** Where something stands, as the rest of a path: `[1].content[0]`. Undefined: nowhere. */
export type Place = string | undefined;

/** The first place in the objects of a list. */
export function placeIn(list: Json | undefined, find: (object: JsonObject) => Place): Place {
  if (!isArray(list)) return undefined;
  for (const [index, item] of list.entries()) {
    const place = isObject(item) ? find(item) : undefined;
    if (place !== undefined) return `[${index}]${place}`;
  }
  return undefined;
}

/** A place below a member. */
export const below = (member: string, place: Place): Place =>
  place === undefined ? undefined : `${member}${place}`;
