import {
  isArray,
  isObject,
  isString,
  type Json,
  type JsonObject,
  numberOf,
  parseExact,
} from '../shared/json.ts';
import { upstreamMessage } from '../upstream/upstream-fault.ts';

/** The upstream's own words for a failure: of an `error` event, of a failed response, of any envelope in use. */
export function failureMessage(payload: JsonObject): string {
  const { response } = payload;
  const inside = isObject(response) ? upstreamMessage({ error: response['error'] ?? null }) : undefined;
  return upstreamMessage(payload) ?? inside ?? 'The upstream reported an error.';
}

type Sanitise = (message: string) => string;

/**
 * The payload with its words for the failure made fit to show, every digit kept; undefined when they are fit as they
 * are. It walks the payload: one that nests without a bound must be turned away before.
 */
export function sanitisedFailure(
  payload: JsonObject,
  text: string,
  sanitise: Sanitise,
): JsonObject | undefined {
  let unfit = false;
  fitPayload(payload, (words) => {
    const clean = sanitise(words);
    unfit ||= clean !== words;
    return clean;
  });
  return unfit ? fitPayload(parseExact(text) as JsonObject, sanitise) : undefined;
}

/** Where upstreams put their words, in the event and in its response; nothing else in either is an error's. */
const wordsIn: ReadonlySet<string> = new Set(['error', 'message', 'detail', 'Message']);

const fitPayload = (payload: JsonObject, sanitise: Sanitise): JsonObject =>
  withMembers(payload, (value, key) => {
    if (wordsIn.has(key)) return fit(value, sanitise);
    return key === 'response' && isObject(value) ? fitPayload(value, sanitise) : value;
  });

/** Every text in it: some upstreams quote the whole body of another one. */
function fit(value: Json | undefined, sanitise: Sanitise): Json | undefined {
  if (isString(value)) return sanitise(value);
  if (isArray(value)) return value.map((inner) => fit(inner, sanitise) ?? null);
  const isNumber = numberOf(value) !== undefined;
  return isObject(value) && !isNumber ? withMembers(value, (inner) => fit(inner, sanitise)) : value;
}

const withMembers = (
  object: JsonObject,
  change: (value: Json | undefined, key: string) => Json | undefined,
): JsonObject => Object.fromEntries(Object.entries(object).map(([key, value]) => [key, change(value, key)]));
