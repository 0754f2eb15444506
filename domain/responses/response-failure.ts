import { isArray, isObject, isString, type Json, type JsonObject, parseExactObject } from '../shared/json.ts';
import { kindOf } from '../payload/known-fields.ts';
import { mappedItems, mappedMembers } from '../shared/changed-members.ts';
import { marker } from '../text/text-edits.ts';
import { type ReportedFailure, upstreamFailure, type Sanitise } from '../upstream/upstream-words.ts';

/** The upstream's message for a failure: from an `error` event, a failed response, or any other envelope in use. */
export const failedResponse = (payload: JsonObject, sanitise: Sanitise): ReportedFailure =>
  upstreamFailure(payload, 'The upstream reported an error.', sanitise);

/**
 * The payload with its error message made safe to show, every digit kept; `undefined` when it is safe already. It walks
 * the payload recursively, so callers must first reject one that is nested too deeply.
 */
export function sanitisedFailure(
  payload: JsonObject,
  text: string,
  sanitise: Sanitise,
): JsonObject | undefined {
  return withSanitisedMessages(payload, sanitise) === payload
    ? undefined
    : withSanitisedMessages(parseExactObject(text), sanitise);
}

/** Members in which upstreams put errors, in an event and in its response. No other member is part of an error. */
const messageFields: ReadonlySet<string> = new Set([
  'error',
  'message',
  'code',
  'param',
  'detail',
  'Message',
  'msg',
  'title',
  'error_code',
  'errors',
  'base_resp',
]);

/** The payload with its error made safe to show, or the same payload when it is safe already. */
export const withSanitisedMessages = (payload: JsonObject, sanitise: Sanitise): JsonObject =>
  mappedMembers(payload, (value, key) => {
    if (messageFields.has(key)) return fit(value, sanitise);
    return key === 'response' && isObject(value) ? withSanitisedMessages(value, sanitise) : value;
  });

/** Sanitises every string, and replaces values under redacted keys: some upstreams quote the whole request. */
function fit(value: Json, sanitise: Sanitise): Json {
  if (isString(value)) return sanitise(value);
  if (isArray(value)) return mappedItems(value, (inner) => fit(inner, sanitise));
  if (!isObject(value)) return value;
  return mappedMembers(value, (inner, key) => (kindOf(key) === 'redacted' ? marker : fit(inner, sanitise)));
}
