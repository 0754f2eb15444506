import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { edited, marker } from '../text/text-edits.ts';
import { urlEdits } from '../text/urls.ts';
import { type GatewayError, overloaded, type UpstreamLabels } from '../shared/gateway-error.ts';
import { isAbsent, isObject, type Json, type JsonObject, parseJson } from '../shared/json.ts';
import { maxErrorMessageChars, maxSecretChars, maxUpstreamErrorBytes } from '../shared/limits.ts';
import type { Ending } from '../shared/stream-machine.ts';

/** What went wrong between the gateway and an upstream, in the executor's words. */
export type UpstreamFault = Fault & {
  /** What was used all the same, in the words of the family that the upstream speaks: it may be billed. */
  readonly usage?: Json;
};

type Fault =
  /** The upstream refused with a status of its own. */
  | {
      readonly kind: 'status';
      readonly status: number;
      readonly message: string;
      readonly headers: Readonly<Record<string, string>>;
      readonly labels?: UpstreamLabels;
    }
  | {
      readonly kind: 'timeout';
      readonly phase: 'connect' | 'first_byte' | 'idle' | 'total';
      readonly faultCode?: string;
      readonly status?: number;
    }
  /** The connection could not be made or broke. */
  | { readonly kind: 'transport'; readonly faultCode?: string; readonly status?: number }
  /** The process holds as much as it may, and the answer had no room. */
  | { readonly kind: 'no_room' }
  /** The upstream answered 2xx with something that is not what was asked for. */
  | {
      readonly kind: 'protocol';
      readonly message: string;
      readonly status?: number;
      readonly labels?: UpstreamLabels;
    };

/** 400, 404, 408, 413, 422, 429 keep their status: the caller can act on them. */
export const keptStatuses: ReadonlySet<number> = new Set([400, 404, 408, 413, 422, 429]);

/**
 * 401 and 403 become 502 (they are ours), as do every other 4xx and 3xx; 503 and 529 become 503,
 * other 5xx 502 (rules 35.1, 35.2, 35.3, 35.4, 35.5).
 */
export function callerStatus(upstreamStatus: number): number {
  if (keptStatuses.has(upstreamStatus)) return upstreamStatus;
  return upstreamStatus === 503 || upstreamStatus === 529 ? 503 : 502;
}

const phaseWords = {
  connect: 'did not accept a connection in time',
  first_byte: 'did not begin to answer in time',
  idle: 'went silent for too long',
  total: 'did not finish in time',
} as const;

/** Time-outs are 504, transport and protocol faults 502; what had no room is not the upstream's fault. */
export function upstreamError(fault: UpstreamFault): GatewayError {
  switch (fault.kind) {
    case 'status':
      return {
        code: 'upstream_error',
        message: fault.message,
        upstream: {
          status: callerStatus(fault.status),
          upstreamStatus: fault.status,
          headers: fault.headers,
          ...labelled(ours.has(fault.status) ? withoutType(fault.labels) : fault.labels),
        },
      };
    case 'timeout':
      return failed(504, `The upstream ${phaseWords[fault.phase]}.`, known(fault));
    case 'transport':
      return failed(502, 'The connection to the upstream could not be made, or it broke.', known(fault));
    case 'no_room':
      return overloaded;
    case 'protocol':
      return failed(502, fault.message, known(fault));
  }
}

/** What is known of a failure beside its words. */
interface Known {
  readonly upstreamStatus?: number | undefined;
  readonly labels?: UpstreamLabels | undefined;
  readonly faultCode?: string | undefined;
}

const known = ({ status, ...fault }: Known & { readonly status?: number }): Known => ({
  ...fault,
  upstreamStatus: status,
});

const failed = (
  status: number,
  message: string,
  { upstreamStatus, labels, faultCode }: Known,
): GatewayError => ({
  code: 'upstream_error',
  message,
  upstream: {
    status,
    ...(upstreamStatus === undefined ? {} : { upstreamStatus }),
    ...labelled(labels),
    ...(faultCode === undefined ? {} : { faultCode }),
  },
});

/** With the usage that an answer tells although it is a failure, where it does. */
export const used = (usage: Json | undefined): Pick<UpstreamFault, 'usage'> =>
  isAbsent(usage) ? {} : { usage };

/** With labels, where there are any. */
export const labelled = (labels: UpstreamLabels | undefined): { readonly labels?: UpstreamLabels } =>
  labels === undefined ? {} : { labels };

/** Statuses about the gateway's own key. They lose the upstream's type: callers would take it for their key's. */
const ours: ReadonlySet<number> = new Set([401, 403]);

function withoutType(labels: UpstreamLabels | undefined): UpstreamLabels | undefined {
  if (labels?.messagesType === undefined) return labels;
  const { messagesType: _, ...rest } = labels;
  return rest;
}

/** The error of an upstream of another family: what it calls a type is none of the messages API (rule 35.13). */
export function withoutMessagesType(error: GatewayError): GatewayError {
  const { upstream } = error;
  return upstream?.labels === undefined
    ? error
    : { ...error, upstream: { ...upstream, ...labelled(withoutType(upstream.labels)) } };
}

/** A fault found in a stream that had already begun; its status is for the logs. */
export const streamFailure = (message: string, status = 502, labels?: UpstreamLabels): GatewayError =>
  failed(status, message, { labels });

/** What ended a stream before its answer was complete: the fault that broke it, or the upstream itself. */
export const prematureEnd = (ending: Ending): GatewayError =>
  ending.kind === 'fault'
    ? failed(ending.status ?? 502, ending.reason, ending)
    : streamFailure('The upstream ended its stream before the answer was complete.');

/** The object that a whole answer must be, whatever its family. */
export function answerObject(text: string): Either<UpstreamFault, JsonObject> {
  const value = parseJson(text);
  return isObject(value)
    ? E.right(value)
    : protocolFault('The upstream answered with something that is not a JSON object.');
}

/** An answer that is not what was asked for: in the upstream's own words or the gateway's, with the usage that it tells. */
export const protocolFault = (
  told: string | Pick<Extract<Fault, { kind: 'protocol' }>, 'message' | 'labels'>,
  usage?: Json,
): Either<UpstreamFault, never> =>
  E.left({ kind: 'protocol', ...(typeof told === 'string' ? { message: told } : told), ...used(usage) });

/** A fault that comes after the head of an answer carries its status, because the upstream did answer. */
export const answeredWith = (status: number, fault: UpstreamFault): UpstreamFault =>
  fault.kind === 'status' || fault.kind === 'no_room' ? fault : { ...fault, status };

/** Only on errors do these headers pass (rule 35.9). */
const passesOnError = (header: string): boolean =>
  header === 'retry-after' ||
  header === 'retry-after-ms' ||
  header.startsWith('x-ratelimit-') ||
  header.startsWith('anthropic-ratelimit-');

/** What `retry-after` may be by RFC 9110, seconds or a date; clients that read it take fractions of a second, too. */
const retryAfter = /^(?:\d+(?:\.\d+)?|[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT)$/;

/** The headers of an upstream's refusal that pass; one in which something is to be hidden does not (rule 35.9). */
export function headersOnError(
  headers: Readonly<Record<string, string | readonly string[] | undefined>>,
  sanitise: (words: string) => string,
): Readonly<Record<string, string>> {
  const passed: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (!passesOnError(name) || value === undefined) continue;
    const text = String(value);
    if (sanitise(text) === text && (name !== 'retry-after' || retryAfter.test(text))) passed[name] = text;
  }
  return passed;
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
