import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import type { Route } from '../routing/model.ts';
import { type GatewayError, invalidRequest } from '../shared/gateway-error.ts';
import { deepMerge, isObject, type Json } from '../shared/json.ts';
import { exactMember, type JsonDocument, parseDocument, withMembers } from '../shared/json-document.ts';
import type { ChatRequest } from './chat-request.ts';

/** Members to replace (`Json`) or to take away (`undefined`). */
export type Changes = ReadonlyMap<string, Json | undefined>;

/**
 * The outbound chat body: the caller's own text, changed by as few edits as the route asks for. The model's
 * upstream name comes first, `extra_body` is the final raw override.
 */
export function prepareChat(request: ChatRequest, route: Route): Either<GatewayError, string> {
  const changes = new Map<string, Json | undefined>();
  if (request.model !== route.upstreamModel) changes.set('model', route.upstreamModel);
  for (const [key, value] of Object.entries(route.extraBody)) {
    const merged = overridden(request.document, key, value);
    if (E.isLeft(merged)) return merged;
    changes.set(key, merged.right);
  }
  return E.right(withMembers(request.document, changes));
}

/** Objects merge deeply; arrays, scalars and null replace. A merge edits a level, so it must not repeat a key. */
function overridden(
  document: JsonDocument,
  key: string,
  value: Json | undefined,
): Either<GatewayError, Json | undefined> {
  if (!isObject(value) || !isObject(document.value[key])) return E.right(value);
  const member = document.members.find((each) => each.key === key);
  const inner = document.text.slice(member?.valueStart, member?.end);
  const level = parseDocument(inner, watchedBy(value));
  if (E.isLeft(level)) return E.left(invalidRequest(level.left.message, `${key}.${level.left.path}`));
  const present = exactMember(document, key);
  return E.right(isObject(present) ? deepMerge(present, value) : value);
}

interface Levels {
  readonly [key: string]: Levels;
}

const watchedBy = (value: { readonly [key: string]: Json | undefined }): Levels =>
  Object.fromEntries(
    Object.entries(value).flatMap(([key, inner]) => (isObject(inner) ? [[key, watchedBy(inner)]] : [])),
  );
