import type { GatewayError, UpstreamLabels } from '../shared/gateway-error.ts';
import {
  isArray,
  isObject,
  isString,
  type Json,
  type JsonObject,
  membersOf,
  numberOf,
  objectsOf,
} from '../shared/json.ts';
import { labelled, streamFailure } from './upstream-fault.ts';

/** An upstream's own message and labels for its failure, safe to show. */
export interface ReportedFailure {
  readonly message: string;
  readonly labels?: UpstreamLabels;
}

/** Makes words of an upstream safe to show to callers and to log. */
export type Sanitise = (words: string) => string;

/** What a body says about a failure. `otherwise` is the message when the body has none. */
export function upstreamFailure(
  body: Json | undefined,
  otherwise: string,
  sanitise: Sanitise,
): ReportedFailure {
  const words = upstreamMessage(body);
  const labels = upstreamLabels(body, sanitise);
  return { message: words === undefined ? otherwise : sanitise(words), ...labelled(labels) };
}

/** An event that is not an object. Google's APIs put their errors into a list, and some upstreams send it as an event. */
export const malformedEvent = (event: Json | undefined, sanitise: Sanitise): ReportedFailure =>
  upstreamFailure(event, 'The upstream sent a malformed event.', sanitise);

/** A failure that the upstream reported in a stream that had already begun. */
export const failureInStream = ({ message, labels }: ReportedFailure, status?: number): GatewayError =>
  streamFailure(message, status, labels);

/**
 * The upstream's own message, from any envelope in use: `{error: {message}}`; `{message}`, where `error` beside it is
 * only the status in words; `{error: "…"}`; `{detail}` with text, an envelope or the errors of fields; `{message}` with
 * the same; `{Message}`; `{msg}`; `{originalMessage}`; `{response: {error}}`; `{base_resp: {status_msg}}`; the first of
 * `{errors}`, which may have a `description` instead, or those by field, `{errors: {field: ["…"]}}`; `{text,
 * error_code}`; the first of `{messages, httpStatus}`; any of these in `{error}`; `{title, status}`; and the first item
 * of an array where one of these is expected. Never the raw body.
 */
export function upstreamMessage(body: Json | undefined): string | undefined {
  for (const { error: errors, message, detail, Message, msg, originalMessage } of envelopesOf(body)) {
    const error = firstOf(errors);
    const candidates = [
      isObject(error) ? error['message'] : undefined,
      message,
      error,
      isArray(detail) ? fieldErrors(detail) : detail,
      Message,
      msg,
      originalMessage,
    ];
    const found = candidates.find((each): each is string => isString(each) && each !== '');
    if (found !== undefined) return found;
  }
  return undefined;
}

/**
 * The upstream's names for its failure. Only short identifiers without anything to hide are taken. Numbers are not:
 * they say no more than the status does.
 */
export function upstreamLabels(body: Json | undefined, sanitise: Sanitise): UpstreamLabels | undefined {
  const envelopes = envelopesOf(body);
  const named = envelopes.flatMap((each) => (isObject(each['error']) ? [each['error'], each] : [each]));
  const first = (values: readonly (Json | undefined)[]): string | undefined =>
    values.find((value): value is string => isLabel(value, sanitise));
  const code = first([
    ...named.map((each) => each['code']),
    ...named.map((each) => each['error_code']),
    ...named.map(({ __type: type }) => (isString(type) ? type.replace(/^.*#/, '') : undefined)),
    ...named.map(({ details }) => (isObject(details) ? details['error_code'] : undefined)),
    ...named.map(canonicalCode),
  ]);
  const param = first([
    ...named.map((each) => each['param']),
    ...envelopes.map(({ detail }) => placeOf(objectsOf(detail)[0])),
  ]);
  const messagesType = first(
    envelopes.map(({ type, error }) => (type === 'error' && isObject(error) ? error['type'] : undefined)),
  );
  if (code === undefined && param === undefined && messagesType === undefined) return undefined;
  return {
    ...(code === undefined ? {} : { code }),
    ...(param === undefined ? {} : { param }),
    ...(messagesType === undefined ? {} : { messagesType }),
  };
}

/** The labels of a failure that is reported by a code alone, as in event streams and headers. */
export const codeLabels = (
  code: string | undefined,
  sanitise: Sanitise,
): { readonly labels?: UpstreamLabels } =>
  code !== undefined && isLabel(code, sanitise) ? { labels: { code } } : {};

/**
 * How long a refusal asks to wait, in whole seconds, as in `retry-after`. Google's APIs say so only in the body, as a
 * `google.rpc.RetryInfo` among the details of the error (rule 35.37).
 */
export function askedWait(body: Json | undefined): string | undefined {
  const { details } = membersOf(membersOf(firstOf(body))['error']);
  const { retryDelay } = membersOf(objectsOf(details).find((each) => each['@type'] === retryInfo));
  const seconds = isString(retryDelay) ? duration.exec(retryDelay)?.[1] : undefined;
  return seconds === undefined ? undefined : String(Math.ceil(Number(seconds)));
}

const retryInfo = 'type.googleapis.com/google.rpc.RetryInfo';
/** A duration as protocol buffers write it in JSON, not negative. */
const duration = /^(\d{1,9}(?:\.\d{1,9})?)s$/;

/** The form of a short identifier (rule 35.11). */
const identifier = /^[A-Za-z0-9_.-]{1,64}$/;

/** Whether a value is a short identifier with nothing to hide. */
const isLabel = (value: Json | undefined, sanitise: Sanitise): boolean =>
  isString(value) && identifier.test(value) && sanitise(value) === value;

const canonical = /^[A-Z][A-Z_]*$/;

/** One of `google.rpc.Code`, in `status` beside a numeric `code`. Without the number, `status` may mean success. */
const canonicalCode = ({ code, status }: JsonObject): Json | undefined =>
  numberOf(code) !== undefined && isString(status) && canonical.test(status) ? status : undefined;

const firstOf = (value: Json | undefined): Json | undefined => (isArray(value) ? value[0] : value);

/** The objects that may contain a message, the likeliest first: the body, and what its members contain. */
function envelopesOf(body: Json | undefined): readonly JsonObject[] {
  const object = firstOf(body);
  if (!isObject(object)) return [];
  const { detail, message, response, errors } = object;
  const error = firstOf(object['error']);
  return [
    object,
    ...(isObject(error) ? [error] : []),
    ...[detail, message].filter(isObject),
    ...(isArray(message) ? [{ detail: message }] : []),
    ...(isObject(response) ? [{ error: response['error'] ?? null }] : []),
    ...(isArray(errors) ? firstError(errors) : []),
    ...[errors, membersOf(error)['errors']]
      .filter(isObject)
      .map((named) => ({ message: errorsByField(named) })),
    ...refusalsIn(object),
    // https://www.rfc-editor.org/rfc/rfc9457, when there is no detail.
    ...(numberOf(object['status']) === undefined ? [] : [{ message: object['title'] ?? null }]),
  ];
}

/** Writer's API calls the message `description` (https://dev.writer.com/api-reference/error-codes). */
const firstError = ([first = null]: readonly Json[]): readonly JsonObject[] => [
  { error: first },
  { message: membersOf(first)['description'] ?? null },
];

/** Statuses in numbers. Zero is success, and the text beside it is not a failure. */
function refusalsIn(body: JsonObject): readonly JsonObject[] {
  const { base_resp: status, error_code: code, text, httpStatus, messages } = body;
  const refused = isObject(status) && numberOf(status['status_code']) !== 0;
  return [
    ...(refused ? [{ message: status['status_msg'] ?? null }] : []),
    // https://github.com/lm-sys/FastChat
    ...((numberOf(code) ?? 0) === 0 ? [] : [{ message: text ?? null }]),
    // IONOS: https://github.com/infiniflow/ragflow/issues/5783
    ...(numberOf(httpStatus) === undefined ? [] : objectsOf(messages).slice(0, 1)),
  ];
}

/** Field errors that one message lists. */
const maxFieldErrors = 3;

/** Turns `{errors: {model: ["…"]}}` of Rails, Laravel and ASP.NET into `model: …`, with the first error of each field. */
const errorsByField = (errors: JsonObject): string =>
  Object.entries(errors)
    .flatMap(([field, all]) => {
      const error = firstOf(all);
      return isString(error) && error !== '' ? [`${field}: ${error}`] : [];
    })
    .slice(0, maxFieldErrors)
    .join('; ');

/** Turns `{detail: [{loc: ["body", "messages", 0], msg}]}` into `messages.0: …`. */
function fieldErrors(detail: readonly Json[]): string | undefined {
  const errors: string[] = [];
  for (const field of objectsOf(detail)) {
    const { msg } = field;
    const place = placeOf(field);
    if (isString(msg) && msg !== '') errors.push(place === undefined ? msg : `${place}: ${msg}`);
    if (errors.length === maxFieldErrors) break;
  }
  return errors.length === 0 ? undefined : errors.join('; ');
}

/** The path of a field, with its steps joined by dots. */
function placeOf(field: JsonObject | undefined): string | undefined {
  const loc = field?.['loc'];
  if (!isArray(loc)) return undefined;
  const steps = loc
    .map((step) => (isString(step) ? step : numberOf(step)?.toString()))
    .filter((step) => step !== undefined);
  const inside = steps[0] === 'body' ? steps.slice(1) : steps;
  return inside.length === 0 ? undefined : inside.join('.');
}
