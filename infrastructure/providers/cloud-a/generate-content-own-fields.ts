import { isDeepStrictEqual } from 'node:util';
import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import {
  isObject,
  isAbsent,
  isArray,
  isString,
  type Json,
  type JsonObject,
  isTexts,
} from '../../../domain/shared/json.ts';
import { disagreement, fieldError, unavailableField } from '../../../domain/shared/field-errors.ts';
import type { GatewayError } from '../../../domain/shared/gateway-error.ts';
import { namedKey } from '../../../domain/shared/named-key.ts';

/** One of the platform's own fields: where the caller put it, and its value in the format of generate-content. */
export interface OwnField {
  readonly path: string;
  readonly value: Json;
}

/** The platform's own fields that a chat body may carry, by their generate-content names. */
export type OwnFields = Partial<Record<OwnName, OwnField>>;
export type OwnName = keyof typeof readers;

type Reader = (value: Json, path: string) => Either<GatewayError, Json>;

const camel = (name: string): string =>
  name.replaceAll(/_([a-z0-9])/g, (_, first: string) => first.toUpperCase());

const anObject: Reader = (value, path) =>
  isObject(value) ? E.right(value) : E.left(fieldError(path, 'must be an object.'));

const aString: Reader = (value, path) =>
  isString(value) && value !== '' ? E.right(value) : E.left(fieldError(path, 'must be a non-empty string.'));

const someObjects: Reader = (value, path) =>
  isArray(value) && value.every(isObject)
    ? E.right(value)
    : E.left(fieldError(path, 'must be an array of objects.'));

/** The platform's enum values are in upper case. Clients write them in either case. */
const words: Reader = (value, path) =>
  isTexts(value)
    ? E.right(value.map((word) => word.toUpperCase()))
    : E.left(fieldError(path, 'must be an array of strings.'));

/** An object whose members get the platform's spelling: `thinking_budget` becomes `thinkingBudget`. */
const spelled: Reader = (value, path) => {
  if (!isObject(value)) return E.left(fieldError(path, 'must be an object.'));
  const members = new Map<string, OwnField>();
  for (const [key, member] of Object.entries(value)) {
    if (isAbsent(member)) continue;
    const at = `${path}.${namedKey(key)}`;
    const taken = put(members, camel(key), { path: at, value: isLevel(key) ? capitals(member) : member });
    if (taken !== undefined) return E.left(taken);
  }
  return E.right(Object.fromEntries([...members].map(([name, member]) => [name, member.value])));
};

const isLevel = (key: string): boolean => camel(key) === 'thinkingLevel';
const capitals = (value: Json): Json => (isString(value) ? value.toUpperCase() : value);

const readers = {
  cachedContent: aString,
  safetySettings: someObjects,
  labels: anObject,
  thinkingConfig: spelled,
  responseModalities: words,
  imageConfig: spelled,
} as const satisfies Record<string, Reader>;

const ownName = (key: string): OwnName | undefined =>
  Object.hasOwn(readers, camel(key)) ? (camel(key) as OwnName) : undefined;

/**
 * Collects the fields from every place where clients put them: `extra_body.google`, as in the platform's compatible
 * API; `google`, from clients that merged `extra_body` into the body; and the body itself. Each may be in either
 * spelling. Two that differ are rejected, and so are unknown fields in `extra_body` and `google`, because any field
 * there is meant for the platform.
 */
export function ownFields(body: JsonObject): Either<GatewayError, OwnFields> {
  const extra = memberOf(body, 'extra_body', '');
  if (E.isLeft(extra)) return extra;
  const foreign = Object.keys(extra.right).find((key) => key !== 'google' && !isAbsent(extra.right[key]));
  if (foreign !== undefined) return E.left(unavailableField(`extra_body.${namedKey(foreign)}`));
  const nested = memberOf(extra.right, 'google', 'extra_body.');
  if (E.isLeft(nested)) return nested;
  const merged = memberOf(body, 'google', '');
  if (E.isLeft(merged)) return merged;
  const fields = new Map<OwnName, OwnField>();
  const problem =
    take(fields, nested.right, 'extra_body.google.') ??
    take(fields, merged.right, 'google.') ??
    take(fields, body, '');
  return problem === undefined ? E.right(Object.fromEntries(fields)) : E.left(problem);
}

function memberOf(holder: JsonObject, key: string, place: string): Either<GatewayError, JsonObject> {
  const value = holder[key];
  if (isAbsent(value)) return E.right({});
  return isObject(value) ? E.right(value) : E.left(fieldError(`${place}${key}`, 'must be an object.'));
}

/** Adds the fields of one place. Unknown fields are skipped in the body itself, and rejected elsewhere. */
function take(fields: Map<OwnName, OwnField>, holder: JsonObject, place: string): GatewayError | undefined {
  for (const [key, value] of Object.entries(holder)) {
    const name = ownName(key);
    if (isAbsent(value) || (name === undefined && place === '')) continue;
    if (name === undefined) return unavailableField(`${place}${namedKey(key)}`);
    const path = `${place}${key}`;
    const read = readers[name](value, path);
    if (E.isLeft(read)) return read.left;
    const problem = put(fields, name, { path, value: read.right });
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/** Adds a field. If there is one of the same name already, the values must be the same. */
function put<K>(fields: Map<K, OwnField>, name: K, field: OwnField): GatewayError | undefined {
  const other = fields.get(name);
  if (other !== undefined && !isDeepStrictEqual(other.value, field.value))
    return disagreement(other.path, field.path);
  fields.set(name, other ?? field);
  return undefined;
}
