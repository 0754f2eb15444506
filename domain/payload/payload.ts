import type { Json, JsonObject } from '../shared/json.ts';
import { capped } from './cap.ts';
import { redacted, type RedactionRules } from './redact.ts';
import { redactedAcross } from './redact-stream.ts';
import type { HeldEvents } from './stream-payload.ts';
import { withoutBulk } from './truncate.ts';
import { holdable, type PayloadHeaders, wrapRequest, wrapResponse, wrapStream } from './wrap.ts';

/** A payload as it is stored. */
export interface StoredPayload {
  /** Printed, it has at most as many bytes of UTF-8 as the policy says. */
  readonly json: Json;
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
  const { json, truncated: more } = stored(payload, rules, responseMaxBytes);
  return { json, truncated: truncated || more };
}

/**
 * Payload processing order: (1) wrap the payload; (2) apply built-in and admin redaction; (3) shape-preserving
 * truncation of known bulky fields; (4) final byte cap.
 */
export function stored(wrapped: JsonObject, rules: RedactionRules, maxBytes: number): StoredPayload {
  const { value, truncated } = holdable(wrapped);
  const clean = redacted(value, rules);
  const slim = withoutBulk(clean);
  const json = capped(slim, maxBytes);
  return { json, truncated: truncated || slim !== clean || json !== slim };
}
