import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { allOf, changesOf, type BodyEdit, noChanges } from '../compatibility/chat-body.ts';
import { compatEdit } from '../compatibility/compat.ts';
import { routerEdit } from '../compatibility/router-preferences.ts';
import { overridden } from '../routing/extra-body.ts';
import type { Route } from '../routing/model.ts';
import type { GatewayError } from '../shared/gateway-error.ts';
import { deepMerge, type JsonObject } from '../shared/json.ts';
import { editedMembers, exactMember } from '../shared/json-document.ts';
import type { OutboundText } from '../shared/outbound-text.ts';
import { perObject } from '../shared/per-object.ts';
import type { GenerationRequest } from '../routing/generation-request.ts';

/** What a route changes in every outbound chat-completions body. `extra_body` is applied after it. */
const routeEdit = perObject(
  ({ upstreamModel, compatibility }: Route): BodyEdit =>
    allOf([nameModel(upstreamModel), compatEdit(compatibility), routerEdit(compatibility)]),
);

/** Replaces the model's name with the upstream's. */
function nameModel(upstreamModel: string): BodyEdit {
  const named = changesOf(['model', upstreamModel]);
  return ({ value }) => (value['model'] === upstreamModel ? noChanges : named);
}

/**
 * The outbound chat body: the caller's own text with as few edits as the route requires. `extra_body` is the final raw
 * override, over the edits too.
 */
export function prepareChat(
  { document }: GenerationRequest,
  route: Route,
): Either<GatewayError, OutboundText> {
  const changes = routeEdit(route)({ value: document.value, exact: (key) => exactMember(document, key) });
  if (E.isLeft(changes)) return changes;
  const all = overridden(document, changes.right, route.extraBody);
  return E.isLeft(all) ? all : E.right(editedMembers(document, all.right));
}

/**
 * The outbound body of a chat request that was translated from another family: the same edits and the same override.
 * `body` is as `parseExact` returns it.
 */
export function prepareTranslatedChat(body: JsonObject, route: Route): Either<GatewayError, string> {
  const changes = routeEdit(route)({ value: body, exact: (key) => body[key] });
  if (E.isLeft(changes)) return changes;
  const changed = Object.fromEntries([...Object.entries(body), ...changes.right]);
  return E.right(JSON.stringify(deepMerge(changed, route.extraBody)));
}
