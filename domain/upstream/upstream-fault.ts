import type { GatewayError } from '../shared/gateway-error.ts';
import { isObject, isString, type Json } from '../shared/json.ts';
import { maxErrorMessageChars } from '../shared/limits.ts';

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

/** Stands where something was that must not be kept or shown. */
export const marker = '[REDACTED]';

/**
 * An upstream's words made fit to keep and to show: URL queries and userinfo are taken out, configured
 * credentials are replaced, and the length is bounded.
 */
export function sanitiseMessage(message: string, secrets: readonly string[]): string {
  let text = message;
  // A longer one first: it may begin with a shorter one, and nothing of it may stay.
  for (const secret of secrets.toSorted((a, b) => b.length - a.length))
    text = text.replaceAll(secret, marker);
  text = sanitiseUrlsIn(text);
  return text.length > maxErrorMessageChars ? `${text.slice(0, maxErrorMessageChars - 1)}…` : text;
}

/**
 * The text with the URLs in it made fit: each keeps scheme, host, port and path. JSON inside a text may spell their
 * `://` as `:\/\/`. Linear, whatever a caller makes an upstream say.
 */
export function sanitiseUrlsIn(text: string): string {
  const parts: string[] = [];
  let done = 0;
  urlStart.lastIndex = 0;
  for (let start = urlStart.exec(text); start !== null; start = urlStart.exec(text)) {
    const end = urlEnd(text, start.index, urlStart.lastIndex);
    parts.push(text.slice(done, start.index), withoutSecretParts(text.slice(start.index, end)));
    done = end;
    urlStart.lastIndex = end;
  }
  return parts.length === 0 ? text : parts.join('') + text.slice(done);
}

const urlStart = /:\\*\/\\*\//g;
const urlTail = /[^\s"<>]*/y;
const quotedScheme = /'[a-z][a-z0-9+.-]{0,31}$/i;
const innerApostrophe = /'[\w%&=]/y;

/** An apostrophe may be part of a query; one that closes a quoted URL is not. */
function urlEnd(text: string, start: number, from: number): number {
  urlTail.lastIndex = from;
  urlTail.test(text);
  const end = urlTail.lastIndex;
  if (!quotedScheme.test(text.slice(Math.max(0, start - 33), start))) return end;
  for (let at = text.indexOf("'", from); at >= 0 && at < end; at = text.indexOf("'", at + 1)) {
    innerApostrophe.lastIndex = at;
    if (!innerApostrophe.test(text)) return at === from ? end : at;
  }
  return end;
}

/** Keeps scheme, host, port and path; the query becomes a marker; userinfo and fragment go. */
export function sanitiseUrl(url: string): string {
  const at = url.indexOf('://');
  return at < 0 ? url : url.slice(0, at) + withoutSecretParts(url.slice(at));
}

/** A URL, or one from its `://` on; a path may hold a URL of its own. */
export function withoutSecretParts(tail: string): string {
  const end = tail.search(/[?#]/);
  const shown = (end < 0 ? tail : tail.slice(0, end)).replace(/(:\\*\/\\*\/)[^/]*@/g, '$1');
  if (end < 0) return shown;
  return (tail[end] === '?' ? `${shown}?${marker}` : shown) + closingBackslashes(tail);
}

/** Backslashes at the end escape the quote after it: they are no part of the URL. */
function closingBackslashes(tail: string): string {
  let end = tail.length;
  while (tail[end - 1] === '\\') end -= 1;
  return tail.slice(end);
}
