import { isArray, isObject, isString, type Json, type JsonObject, parseExactObject } from '../shared/json.ts';
import { kindOf } from '../payload/known-fields.ts';
import { mappedItems, mappedMembers } from '../shared/changed-members.ts';
import { marker } from '../text/text-edits.ts';
import { type ReportedFailure, upstreamFailure } from '../upstream/upstream-words.ts';

type Sanitise = (message: string) => string;

/** The upstream's own words for a failure: of an `error` event, of a failed response, of any envelope in use. */
export const failedResponse = (payload: JsonObject, sanitise: Sanitise): ReportedFailure =>
  upstreamFailure(payload, 'The upstream reported an error.', sanitise);

/**
 * The payload with its words for the failure made fit to show, every digit kept; undefined when they are fit as they
 * are. It walks the payload: one that nests without a bound must be turned away before.
 */
export function sanitisedFailure(
  payload: JsonObject,
  text: string,
  sanitise: Sanitise,
): JsonObject | undefined {
  return withFitWords(payload, sanitise) === payload
    ? undefined
    : withFitWords(parseExactObject(text), sanitise);
}

/** Where upstreams put their words, in the event and in its response; nothing else in either is an error's. */
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

/** The same payload when its words for the failure are fit to show as they are. */
export const withFitWords = (payload: JsonObject, sanitise: Sanitise): JsonObject =>
  mappedMembers(payload, (value, key) => {
    if (messageFields.has(key)) return fit(value, sanitise);
    return key === 'response' && isObject(value) ? withFitWords(value, sanitise) : value;
  });

/** Every text in it, and what stands under a redacted key: some upstreams quote the whole request. */
function fit(value: Json, sanitise: Sanitise): Json {
  if (isString(value)) return sanitise(value);
  if (isArray(value)) return mappedItems(value, (inner) => fit(inner, sanitise));
  if (!isObject(value)) return value;
  return mappedMembers(value, (inner, key) => (kindOf(key) === 'redacted' ? marker : fit(inner, sanitise)));
}
