import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { type GatewayError, invalidRequest } from '../shared/gateway-error.ts';
import { deepMerge, isObject, type Json, type JsonObject } from '../shared/json.ts';
import {
  exactMember,
  type JsonDocument,
  type MemberChanges,
  parseDocument,
} from '../shared/json-document.ts';
import type { Watched } from '../shared/json-scan.ts';

/**
 * The changes with a route's `extra_body` on top, the final raw override: objects merge deeply; arrays, scalars and
 * null replace. A merge edits a level of the caller's body, so a level that is merged into must not repeat a key.
 */
export function overridden(
  document: JsonDocument,
  changes: MemberChanges,
  extraBody: JsonObject,
): Either<GatewayError, MemberChanges> {
  const overrides = Object.entries(extraBody);
  if (overrides.length === 0) return E.right(changes);
  const over = new Map(changes);
  for (const [key, value] of overrides) {
    const present = changes.has(key) ? E.right(changes.get(key)) : ownMember(document, key, value);
    if (E.isLeft(present)) return present;
    over.set(key, deepMerge({ [key]: present.right }, { [key]: value })[key]);
  }
  return E.right(over);
}

/** The caller's own member, if the override is to be merged into it. */
function ownMember(
  document: JsonDocument,
  key: string,
  value: Json | undefined,
): Either<GatewayError, Json | undefined> {
  if (!isObject(value) || !isObject(document.value[key])) return E.right(undefined);
  const member = document.members.find((each) => each.key === key);
  const level = parseDocument(document.text.slice(member?.valueStart, member?.end), watchedBy(value));
  if (E.isLeft(level)) return E.left(invalidRequest(level.left.message, `${key}.${level.left.path}`));
  return E.right(exactMember(document, key));
}

const watchedBy = (value: JsonObject): Watched =>
  Object.fromEntries(
    Object.entries(value).flatMap(([key, inner]) => (isObject(inner) ? [[key, watchedBy(inner)]] : [])),
  );
