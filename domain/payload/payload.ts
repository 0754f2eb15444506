import type { Json } from '../shared/json.ts';
import { capped } from './cap.ts';
import { fitsIn, leastChars } from '../text/printed-size.ts';
import { redacted, type RedactionRules } from './redact.ts';
import { redactedAcross } from './redact-stream.ts';
import { escapedAlphanumeric, mayHoldSecret, noSecrets, type Secrets } from './secrets.ts';
import type { CapturedEvents } from './stream-payload.ts';
import { withoutBulk } from './truncate.ts';
import {
  type PayloadHeaders,
  wrappable,
  wrappableValue,
  wrapRequest,
  wrapResponse,
  wrapStream,
} from './wrap.ts';
import { changedMembers, Members, printed, type Written } from '../text/written.ts';

/** A payload as it is stored. */
export interface StoredPayload {
  /**
   * JSON text with at most as many bytes of UTF-8 as the policy allows. Unless the cap applied, whatever no rule
   * changed is as it came.
   */
  readonly text: string;
  /** Something was truncated: a bulky field, events of a stream, or bytes over the cap. */
  readonly truncated: boolean;
}

/** A caller's body as it came. */
export interface BodyText {
  readonly text: string;
  /** The body was parsed, so it is known to be JSON. */
  readonly isParsed: boolean;
}

export function redactedRequest(
  headers: PayloadHeaders,
  body: BodyText | undefined,
  rules: RedactionRules,
  requestMaxBytes: number,
): StoredPayload {
  const { value, truncated } = wrappable(body?.text, body?.isParsed === true);
  return stored(wrapRequest(headers, value), truncated, rules, requestMaxBytes);
}

/** `body` is the JSON text of the answer. */
export function redactedResponse(
  body: string | undefined,
  rules: RedactionRules,
  responseMaxBytes: number,
): StoredPayload {
  const { value, truncated } = wrappable(body, true);
  return stored(wrapResponse(value), truncated, rules, responseMaxBytes);
}

/** How a stream ended: the usage that it reported, and the error that the caller received. */
export interface StreamOutcome {
  readonly usage: Json | undefined;
  readonly error: Json | undefined;
}

export function redactedStream(
  { events, truncated, isCut }: CapturedEvents,
  { usage, error }: StreamOutcome,
  rules: RedactionRules,
  responseMaxBytes: number,
): StoredPayload {
  const read = events.map((event) => wrappable(event, true, 'events'));
  const clean = redactedAcross(
    read.map(({ value }) => value),
    rules.secrets,
    isCut,
  );
  const payload = wrapStream(clean, wrappableValue(usage), wrappableValue(error));
  return stored(payload, truncated || read.some((each) => each.truncated), rules, responseMaxBytes);
}

/**
 * Payload processing order: (1) wrap the payload; (2) apply built-in and admin redaction; (3) shape-preserving
 * truncation of known bulky fields; (4) final byte cap. `truncated` says that something was already truncated before.
 */
export function stored(
  wrapped: Members,
  truncated: boolean,
  rules: RedactionRules,
  maxBytes: number,
): StoredPayload {
  const clean = redactedParts(wrapped, rules);
  const slim = withoutBulk(clean);
  const isTruncated = truncated || slim !== clean;
  if (leastChars(slim, maxBytes) <= maxBytes) {
    const text = printed(slim, 'as it came');
    if (fitsIn(text, maxBytes)) return { text, truncated: isTruncated };
  }
  const fitted = capped(slim, maxBytes);
  return { text: printed(fitted, 'tight'), truncated: isTruncated || fitted !== slim };
}

/**
 * Whether a part may contain a secret. A part without a span always may, above all the headers: they are few and short,
 * so an extra search would cost more than it saves.
 */
function mayHold(part: Written, secrets: Secrets): boolean {
  if (part instanceof Members && part.span === undefined) return true;
  const text = printed(part, 'as it came');
  const hasNumbers = !(part instanceof Members) || part.span?.source.hasNumbers !== false;
  return mayHoldSecret(text, secrets) || (hasNumbers && escapedAlphanumeric.test(text));
}

/** A search over the whole part nearly always finds no secret; its strings are then not searched one by one. */
const redactedParts = (wrapped: Members, rules: RedactionRules): Members =>
  changedMembers(wrapped, (part, key) => {
    const secrets = mayHold(part, rules.secrets) ? rules.secrets : noSecrets;
    const alone = new Members([key], [part]);
    const clean = redacted(alone, { paths: rules.paths, secrets });
    return clean === alone ? part : (clean.values[0] ?? null);
  });
