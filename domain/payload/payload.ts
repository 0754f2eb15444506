import type { Json, JsonObject } from '../shared/json.ts';
import { capped } from './cap.ts';
import { glance } from './glance.ts';
import { utf8Bytes } from './printed-size.ts';
import { redacted, type RedactionRules } from './redact.ts';
import { redactedAcross } from './redact-stream.ts';
import { mayHoldSecret, noSecrets } from './secrets.ts';
import type { HeldEvents } from './stream-payload.ts';
import { withoutBulk } from './truncate.ts';
import { holdable, type PayloadHeaders, wrapRequest, wrapResponse, wrapStream } from './wrap.ts';

/** A payload as it is stored. */
export interface StoredPayload {
  /** Its JSON as printed: at most as many bytes of UTF-8 as the policy says. */
  readonly text: string;
  /** Something of it was cut off: a bulky field, events of a stream, bytes over the cap. */
  readonly truncated: boolean;
}

export const redactedRequest = (
  headers: PayloadHeaders,
  body: Json | undefined,
  rules: RedactionRules,
  requestMaxBytes: number,
): StoredPayload => stored(wrapRequest(headers, body), rules, requestMaxBytes);

export const redactedResponse = (
  body: Json | undefined,
  rules: RedactionRules,
  responseMaxBytes: number,
): StoredPayload => stored(wrapResponse(body), rules, responseMaxBytes);

/** How a stream ended: what it said was used, and the error that the caller was told. */
export interface StreamOutcome {
  readonly usage: Json | undefined;
  readonly error: Json | undefined;
}

export function redactedStream(
  { events, truncated }: HeldEvents,
  { usage, error }: StreamOutcome,
  rules: RedactionRules,
  responseMaxBytes: number,
): StoredPayload {
  const payload = wrapStream(redactedAcross(events, rules.secrets), usage, error);
  const { text, truncated: more } = stored(payload, rules, responseMaxBytes);
  return { text, truncated: truncated || more };
}

/**
 * Payload processing order: (1) wrap the payload; (2) apply built-in and admin redaction; (3) shape-preserving
 * truncation of known bulky fields; (4) final byte cap.
 */
export const stored = (wrapped: JsonObject, rules: RedactionRules, maxBytes: number): StoredPayload =>
  asPrinted(wrapped, rules, maxBytes) ?? processed(wrapped, rules, maxBytes);

function processed(wrapped: JsonObject, rules: RedactionRules, maxBytes: number): StoredPayload {
  const { value, truncated } = holdable(wrapped);
  const clean = redacted(value, rules);
  const slim = withoutBulk(clean);
  const json = capped(slim, maxBytes);
  return { text: JSON.stringify(json), truncated: truncated || slim !== clean || json !== slim };
}

/**
 * The same as {@link processed} for nearly every payload, of which only headers are to be changed; whether a secret
 * stands in it, and whether it is within the cap, is told by its print. Undefined: it is another one.
 */
function asPrinted(wrapped: JsonObject, rules: RedactionRules, maxBytes: number): StoredPayload | undefined {
  const { headers, ...others } = wrapped;
  const isPlain = glance(rules.paths, maxBytes);
  for (const key in others) if (!isPlain(key, others[key] ?? null)) return undefined;
  const clean =
    headers === undefined ? {} : redacted({ headers }, { paths: rules.paths, secrets: noSecrets });
  const slim = withoutBulk(clean);
  const text = JSON.stringify({ ...slim, ...others });
  if (mayHoldSecret(text, rules.secrets) || utf8Bytes(text, maxBytes) > maxBytes) return undefined;
  return { text, truncated: slim !== clean };
}
