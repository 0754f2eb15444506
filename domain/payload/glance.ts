import { isArray, isObject, isString, type Json, type JsonObject, numberOf } from '../shared/json.ts';
import { maxPayloadDepth } from '../shared/limits.ts';
import { holdsNoMember } from './json-in-text.ts';
import { type KeyKind, kindOf } from './known-fields.ts';
import { type PathNode, placeOfMember, reaches } from './redaction-paths.ts';
import { isBulky } from './truncate.ts';
import { isHoldableNumber } from './wrap.ts';

/** Characters of text that a print may still take. */
interface Room {
  chars: number;
}

/**
 * Tells of the members of a wrapped payload whether all is as it should be: it can be walked and held, no path reaches
 * into it, its members are of no known kind and nothing is bulky, and its texts and keys take no more than `maxChars`
 * characters together. Nearly all payloads are so, and one look at them costs less than the rules one by one.
 */
export function glance(paths: PathNode, maxChars: number): (key: string, value: Json) => boolean {
  const room = { chars: maxChars };
  return (key, value) => {
    if (isTouched(kindOf(key), value) || reaches(placeOfMember([paths], key), value)) return false;
    return isPlain(value, { key, name: '', object: {} }, maxPayloadDepth - 1, room);
  };
}

/** Whether a member's value may be changed for its key: objects have keys of their own, but errors are so all through. */
const isTouched = (kind: KeyKind | undefined, value: Json | undefined): boolean =>
  kind !== undefined &&
  (kind === 'redacted' || isString(value) || isArray(value) || (kind === 'error' && isObject(value)));

/** Where a value stands: under this key, in an object that has this name itself. */
interface Place {
  readonly key: string;
  readonly name: string;
  readonly object: JsonObject;
}

function isPlain(value: Json | undefined, at: Place, levels: number, room: Room): boolean {
  if (isString(value)) {
    room.chars -= value.length;
    return room.chars >= 0 && holdsNoMember(value) && !isBulky(value, at.key, at.name, at.object);
  }
  if (typeof value !== 'object' || value === null) {
    room.chars -= 1;
    return room.chars >= 0;
  }
  if (levels === 0) return false;
  if (isArray(value)) return value.every((item) => isPlain(item, at, levels - 1, room));
  if (numberOf(value) !== undefined) return isHoldableNumber(value);
  return arePlain(value, at.key, levels, room);
}

function arePlain(object: JsonObject, name: string, levels: number, room: Room): boolean {
  for (const key in object) {
    const value = object[key];
    room.chars -= key.length;
    if (isTouched(kindOf(key), value) || (value === true && saysError.has(key))) return false;
    if (!isPlain(value, { key, name, object }, levels - 1, room)) return false;
  }
  return true;
}

/** Their object holds what went wrong in its content. */
const saysError: ReadonlySet<string> = new Set(['is_error', 'isError']);
