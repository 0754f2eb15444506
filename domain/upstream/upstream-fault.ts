import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { edited, marker } from '../payload/text-edits.ts';
import { urlEdits, withoutSecretParts } from '../payload/urls.ts';
import type { GatewayError } from '../shared/gateway-error.ts';
import { isObject, isString, type Json, type JsonObject, parseJson } from '../shared/json.ts';
import { maxErrorMessageChars, maxSecretChars, maxUpstreamErrorBytes } from '../shared/limits.ts';
import type { Ending } from '../shared/stream-machine.ts';

/** What went wrong between the gateway and an upstream, in the executor's words. */
export type UpstreamFault =
  /** The upstream refused with a status of its own; `message` is the upstream's own one, if it gave any. */
  | {
      readonly kind: 'status';
      readonly status: number;
      readonly message: string | undefined;
      readonly headers: Readonly<Record<string, string>>;
    }
  | { readonly kind: 'timeout'; readonly phase: 'connect' | 'first_byte' | 'idle' | 'total' }
  /** The connection could not be made or broke. */
  | { readonly kind: 'transport' }
  /** The upstream answered 2xx with something that is not what was asked for. */
  | { readonly kind: 'protocol'; readonly message: string; readonly status?: number };

/** 400, 404, 408, 413, 422, 429 keep their status: the caller can act on them. */
const kept: ReadonlySet<number> = new Set([400, 404, 408, 413, 422, 429]);

/**
 * 401 and 403 become 502 (they are ours), as do every other 4xx and 3xx; 503 and 529 become 503,
 * other 5xx 502 (CONTRACT §4).
 */
export function callerStatus(upstreamStatus: number): number {
  if (kept.has(upstreamStatus)) return upstreamStatus;
  return upstreamStatus === 503 || upstreamStatus === 529 ? 503 : 502;
}

const phaseWords = {
  connect: 'did not accept a connection in time',
  first_byte: 'did not begin to answer in time',
  idle: 'went silent for too long',
  total: 'did not finish in time',
} as const;

/** Time-outs are 504, transport and protocol faults 502. */
export function upstreamError(fault: UpstreamFault): GatewayError {
  switch (fault.kind) {
    case 'status':
      return {
        code: 'upstream_error',
        message: fault.message ?? `The upstream answered with status ${fault.status}.`,
        upstream: {
          status: callerStatus(fault.status),
          upstreamStatus: fault.status,
          headers: fault.headers,
        },
      };
    case 'timeout':
      return failed(504, `The upstream ${phaseWords[fault.phase]}.`);
    case 'transport':
      return failed(502, 'The connection to the upstream could not be made, or it broke.');
    case 'protocol':
      return failed(502, fault.message, fault.status);
  }
}

const failed = (status: number, message: string, upstreamStatus?: number): GatewayError => ({
  code: 'upstream_error',
  message,
  upstream: { status, ...(upstreamStatus === undefined ? {} : { upstreamStatus }) },
});

/** A fault found in a stream that had already begun; its status is for the logs. */
export const streamFailure = (message: string, status = 502): GatewayError => failed(status, message);

/** What ended a stream before its answer was complete: the fault that broke it, or the upstream itself. */
export const prematureEnd = (ending: Ending): GatewayError =>
  ending.kind === 'fault'
    ? streamFailure(ending.reason, ending.status)
    : streamFailure('The upstream ended its stream before the answer was complete.');

/** The object that a whole answer must be, whatever its family. */
export function answerObject(text: string): Either<UpstreamFault, JsonObject> {
  const value = parseJson(text);
  return isObject(value)
    ? E.right(value)
    : E.left({
        kind: 'protocol',
        message: 'The upstream answered with something that is not a JSON object.',
      });
}

/** Only on errors do these headers pass (CONTRACT §4). */
export const passesOnError = (header: string): boolean =>
  header === 'retry-after' ||
  header === 'retry-after-ms' ||
  header.startsWith('x-ratelimit-') ||
  header.startsWith('anthropic-ratelimit-');

/**
 * The upstream's own message, out of the envelopes in use: `{error: {message}}`, `{error: "…"}`, `{message}`,
 * `{detail}`, and the first of an array of such objects. Never the raw body.
 */
export function upstreamMessage(body: Json | undefined): string | undefined {
  const object = Array.isArray(body) ? (body as readonly Json[])[0] : body;
  if (!isObject(object)) return undefined;
  const error = object['error'];
  const candidates = [
    isObject(error) ? error['message'] : error,
    object['message'],
    object['detail'],
    object['Message'],
  ];
  return candidates.find((each): each is string => isString(each) && each !== '');
}

/**
 * An upstream's words made fit to keep and to show: URL queries and userinfo are taken out, configured
 * credentials are replaced, and the length is bounded.
 */
export const sanitiseMessage = (message: string, secrets: readonly string[]): string =>
  boundedMessage(sanitised(message, secrets));

/** It is cut off last: what must not be told is to be whole where it is looked for. */
export const boundedMessage = (text: string): string =>
  text.length > maxErrorMessageChars ? `${text.slice(0, maxErrorMessageChars - 1)}…` : text;

/**
 * The start of words that may be as long as an upstream likes, made fit by `fit`. They are cut off before, and half of
 * what must not be told may stand there: what is near the cut is left out.
 */
export function fitStart(words: string, fit: (words: string) => string): string {
  if (words.length <= maxUpstreamErrorBytes) return fit(words);
  const start = fit(words.slice(0, maxUpstreamErrorBytes));
  return `${start.slice(0, Math.max(0, start.length - maxSecretChars))}…`;
}

/** {@link sanitiseMessage} without its bound, for words in which more is still to be looked for. */
export function sanitised(message: string, secrets: readonly string[]): string {
  let text = message;
  // A longer one first: it may begin with a shorter one, and nothing of it may stay.
  for (const secret of secrets.toSorted((a, b) => b.length - a.length))
    text = text.replaceAll(secret, marker);
  return edited(text, urlEdits(text));
}

/** Keeps scheme, host, port and path; the query becomes a marker; userinfo and fragment go. */
export function sanitiseUrl(url: string): string {
  const at = url.indexOf('://');
  return at < 0 ? url : url.slice(0, at) + withoutSecretParts(url.slice(at));
}
