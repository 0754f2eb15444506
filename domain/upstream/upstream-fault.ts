import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { edited, marker } from '../text/text-edits.ts';
import { urlEdits } from '../text/urls.ts';
import { type GatewayError, overloaded, type UpstreamLabels } from '../shared/gateway-error.ts';
import { isAbsent, isObject, type Json, type JsonObject, parseJson } from '../shared/json.ts';
import { maxErrorMessageChars, maxSecretChars, maxUpstreamErrorBytes } from '../shared/limits.ts';
import { headerPrefix } from '../limits/limit-headers.ts';
import type { Ending } from '../shared/stream-machine.ts';

/** What went wrong between the gateway and an upstream, in the executor's terms. */
export type UpstreamFault = Fault & {
  /** Usage despite the fault, in the terms of the upstream's family: it may be billed. */
  readonly usage?: Json;
};

type Fault =
  /** The upstream refused, with a status of its own. */
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
  /** The connection could not be made, or it broke. */
  | { readonly kind: 'transport'; readonly faultCode?: string; readonly status?: number }
  /** The process has no memory left in its budget for the answer. */
  | { readonly kind: 'no_room' }
  /** The upstream answered 2xx with something other than what was requested. */
  | {
      readonly kind: 'protocol';
      readonly message: string;
      readonly status?: number;
      readonly labels?: UpstreamLabels;
    };

/** 400, 404, 408, 413, 422 and 429 keep their status, because the caller can act on them. */
export const keptStatuses: ReadonlySet<number> = new Set([400, 404, 408, 413, 422, 429]);

/**
 * 401 and 403 become 502, because they concern the gateway's own credentials. So does every other 4xx and 3xx. 503 and
 * 529 become 503, other 5xx 502 (rules 35.1, 35.2, 35.3, 35.4, 35.5).
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

/** Timeouts are 504, transport and protocol faults 502. An answer without room is not the upstream's fault. */
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

/** What is known about a failure besides its message. */
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

/** The usage that a failed answer reports, if any. */
export const used = (usage: Json | undefined): Pick<UpstreamFault, 'usage'> =>
  isAbsent(usage) ? {} : { usage };

/** The labels, if any. */
export const labelled = (labels: UpstreamLabels | undefined): { readonly labels?: UpstreamLabels } =>
  labels === undefined ? {} : { labels };

/** Statuses about the gateway's own key. They lose the upstream's error type: callers would relate it to theirs. */
const ours: ReadonlySet<number> = new Set([401, 403]);

function withoutType(labels: UpstreamLabels | undefined): UpstreamLabels | undefined {
  if (labels?.messagesType === undefined) return labels;
  const { messagesType: _, ...rest } = labels;
  return rest;
}

/** The error of an upstream of another family, whose types are not those of the messages API (rule 35.13). */
export function withoutMessagesType(error: GatewayError): GatewayError {
  const { upstream } = error;
  return upstream?.labels === undefined
    ? error
    : { ...error, upstream: { ...upstream, ...labelled(withoutType(upstream.labels)) } };
}

/**
 * Whether an upstream refuses the gateway's credentials as such. 403 means that they are valid and allow too little,
 * except where platform B says otherwise (rule 21.8).
 */
export const refusesCredentials = (fault: UpstreamFault): boolean =>
  fault.kind === 'status' &&
  (fault.status === 401 || (fault.status === 403 && invalidCredentials.has(fault.labels?.code)));

/** https://docs.aws.amazon.com/bedrock/latest/APIReference/CommonErrors.html */
const invalidCredentials: ReadonlySet<string | undefined> = new Set([
  'ExpiredTokenException',
  'InvalidClientTokenId',
  'UnrecognizedClientException',
]);

/** A fault in a stream that had already begun. Its status is only for the logs. */
export const streamFailure = (message: string, status = 502, labels?: UpstreamLabels): GatewayError =>
  failed(status, message, { labels });

/** The error for a stream that ended too early: the fault that broke it, or that the upstream ended it. */
export const prematureEnd = (ending: Ending): GatewayError =>
  ending.kind === 'fault'
    ? failed(ending.status ?? 502, ending.reason, ending)
    : streamFailure('The upstream ended its stream before the answer was complete.');

/** Parses a whole answer, which must be an object in every family. */
export function answerObject(text: string): Either<UpstreamFault, JsonObject> {
  const value = parseJson(text);
  return isObject(value)
    ? E.right(value)
    : protocolFault('The upstream answered with something that is not a JSON object.');
}

/** An answer other than what was requested, with the upstream's message or the gateway's, and its usage. */
export const protocolFault = (
  description: string | Pick<Extract<Fault, { kind: 'protocol' }>, 'message' | 'labels'>,
  usage?: Json,
): Either<UpstreamFault, never> =>
  E.left({
    kind: 'protocol',
    ...(typeof description === 'string' ? { message: description } : description),
    ...used(usage),
  });

/** A fault after the head of an answer carries the answer's status, because the upstream did answer. */
export const answeredWith = (status: number, fault: UpstreamFault): UpstreamFault =>
  fault.kind === 'status' || fault.kind === 'no_room' ? fault : { ...fault, status };

/** These headers pass, and only on errors (rule 35.9). */
const passesOnError = (header: string): boolean =>
  header === 'retry-after' ||
  header === 'retry-after-ms' ||
  Object.values(headerPrefix).some((prefix) => header.startsWith(prefix));

/** `retry-after` by RFC 9110: seconds or a date. Clients that read it also accept fractions of a second. */
const retryAfter = /^(?:\d+(?:\.\d+)?|[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT)$/;

/** The headers of an upstream's refusal that pass. A header with something to hide does not (rule 35.9). */
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
 * An upstream's message made safe to keep and to show: URLs lose their query, fragment and userinfo, configured
 * credentials are replaced, and the length is bounded.
 */
export const sanitiseMessage = (message: string, secrets: readonly string[]): string =>
  boundedMessage(sanitised(message, secrets));

/**
 * A message of bounded length, and valid Unicode: some clients cannot parse an answer with half a character. Truncation
 * comes last: what must be hidden has to be whole to be found.
 */
export const boundedMessage = (text: string): string =>
  (text.length > maxErrorMessageChars ? `${text.slice(0, maxErrorMessageChars - 1)}…` : text).toWellFormed();

/**
 * The start of an upstream's message of any length, made safe by `fit`. The message is truncated first, which may leave
 * part of a secret at the cut, so the end of the result is dropped.
 */
export function sanitisedStart(words: string, fit: (words: string) => string): string {
  if (words.length <= maxUpstreamErrorBytes) return fit(words);
  const start = fit(words.slice(0, maxUpstreamErrorBytes));
  return `${start.slice(0, Math.max(0, start.length - maxSecretChars))}…`;
}

/** {@link sanitiseMessage} without the length bound, for text that is searched further. */
export function sanitised(message: string, secrets: readonly string[]): string {
  let text = message;
  // Longer secrets first: one may begin with a shorter one, and nothing of it may remain.
  for (const secret of secrets.toSorted((a, b) => b.length - a.length))
    text = text.replaceAll(secret, marker);
  return edited(text, urlEdits(text));
}
