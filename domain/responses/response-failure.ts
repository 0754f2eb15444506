import { isArray, isObject, isString, type Json, type JsonObject, parseExact } from '../shared/json.ts';
import { upstreamMessage } from '../upstream/upstream-fault.ts';

/** The upstream's own words for a failure: of an `error` event, of a failed response, of any envelope in use. */
export function failureMessage(payload: JsonObject): string {
  const { response } = payload;
  const inside = isObject(response) ? upstreamMessage({ error: response['error'] ?? null }) : undefined;
  return upstreamMessage(payload) ?? inside ?? 'The upstream reported an error.';
}

/**
 * The payload with its words for the failure made fit to show, every digit kept; undefined when they are fit as they
 * are. It walks the payload: one that nests without a bound must be turned away before.
 */
export function sanitisedFailure(
  payload: JsonObject,
  text: string,
  sanitise: (message: string) => string,
): JsonObject | undefined {
  return cleaned(payload, sanitise) === payload
    ? undefined
    : cleaned(parseExact(text) as JsonObject, sanitise);
}

/** Where upstreams put such words, beside the protocol's own places too. */
const wordsIn = ['error', 'message', 'detail', 'Message'] as const;

/** The same object when nothing in it had to be changed. What is no error of the response stays as it is. */
function cleaned(payload: JsonObject, sanitise: (message: string) => string): JsonObject {
  let clean = payload;
  const put = (key: string, value: Json | undefined): void => {
    if (value !== clean[key]) clean = { ...clean, [key]: value };
  };
  for (const key of wordsIn) put(key, cleanStrings(payload[key], sanitise));
  const { response } = payload;
  if (isObject(response)) put('response', cleaned(response, sanitise));
  return clean;
}

function cleanStrings(value: Json | undefined, sanitise: (message: string) => string): Json | undefined {
  if (isString(value)) return sanitise(value);
  if (isArray(value)) return TODO;
  return value;
}
