import type { ServerResponse } from 'node:http';
import { headerPrefix } from '../../domain/limits/limit-headers.ts';
import { type ErrorCode, errorStatus, type GatewayError } from '../../domain/shared/gateway-error.ts';
import type { JsonObject } from '../../domain/shared/json.ts';
import { idHeaders, type RequestContext } from './request-context.ts';
import { sendJson } from './send-json.ts';

/** The wire format of an error: the envelope of OpenAI or of the messages API. */
export type Envelope = 'openai' | 'messages';

/** `error.type` of the OpenAI envelope (rule 34.1). */
const typeOf = {
  missing_api_key: 'authentication_error',
  invalid_api_key: 'authentication_error',
  session_required: 'authentication_error',
  invalid_credentials: 'authentication_error',
  second_factor_required: 'authentication_error',
  enrolment_required: 'permission_error',
  admin_required: 'permission_error',
  cross_origin: 'permission_error',
  too_many_attempts: 'rate_limit_error',
  model_not_granted: 'permission_error',
  not_found: 'not_found_error',
  model_not_found: 'not_found_error',
  method_not_allowed: 'invalid_request_error',
  websocket_unsupported: 'invalid_request_error',
  duplicate_request_id: 'invalid_request_error',
  conflict: 'invalid_request_error',
  request_too_large: 'invalid_request_error',
  invalid_request: 'invalid_request_error',
  thread_unsupported_request: 'invalid_request_error',
  not_supported: 'invalid_request_error',
  budget_exceeded: 'insufficient_quota',
  too_many_requests: 'rate_limit_error',
  rate_limited: 'rate_limit_error',
  no_routes_available: 'routing_error',
  overloaded: 'overloaded_error',
  store_unavailable: 'overloaded_error',
  shutting_down: 'overloaded_error',
  sign_in_unavailable: 'overloaded_error',
  upstream_error: 'upstream_error',
  internal_error: 'internal_error',
} as const satisfies Record<ErrorCode, string>;

/** `error.type` in the vocabulary of the messages API. For `upstream_error` the status decides. */
const messagesTypeOf: Readonly<Record<ErrorCode, string>> = {
  ...typeOf,
  request_too_large: 'request_too_large',
  not_supported: 'not_found_error',
  budget_exceeded: 'rate_limit_error',
  no_routes_available: 'api_error',
  upstream_error: 'api_error',
  internal_error: 'api_error',
};

/** The possible values of `error.type`, per envelope. */
export const errorTypes: Readonly<Record<Envelope, readonly string[]>> = {
  openai: [...new Set(Object.values(typeOf))],
  messages: [...new Set(Object.values(messagesTypeOf))],
};

const messagesTypeByStatus: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  422: 'invalid_request_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
};

/** An upstream that speaks the messages API names the type itself. */
const messagesType = (error: GatewayError): string =>
  error.upstream?.labels?.messagesType ??
  (error.code === 'upstream_error' ? messagesTypeByStatus[errorStatus(error)] : undefined) ??
  messagesTypeOf[error.code];

/** Details of internal errors are not exposed. */
const publicMessage = ({ code, message }: GatewayError): string =>
  code === 'internal_error' ? 'The gateway failed to handle the request.' : message;

type OpenAiError = {
  readonly error: JsonObject & {
    readonly message: string;
    readonly param: string | null;
    readonly code: string;
  };
};

/**
 * `{error: {message, type, param, code}}`, with real nulls. `type` is the gateway's own; `code` and `param` are the
 * upstream's if it sent them, because callers act on codes such as `context_length_exceeded`.
 */
export function openAiError(error: GatewayError): OpenAiError {
  const labels = error.upstream?.labels;
  return {
    error: {
      message: publicMessage(error),
      type: typeOf[error.code],
      param: error.param ?? labels?.param ?? null,
      code: labels?.code ?? error.code,
    },
  };
}

/** `{type: "error", error: {type, message, details: {error_code}}, request_id}`. */
export const messagesError = (
  error: GatewayError,
  requestId: string,
  type: string = messagesType(error),
): JsonObject => ({
  type: 'error',
  error: {
    type,
    message: publicMessage(error),
    details: { error_code: error.code },
  },
  request_id: requestId,
});

/** Statuses that the same request would get again. */
const finalStatuses: ReadonlySet<number> = new Set([400, 401, 403, 404, 405, 409, 413, 415]);

/** What clients act on without reading the body: the gateway's own code, whether to retry, and when. */
export function errorHeaders(error: GatewayError, status = errorStatus(error)): Record<string, string> {
  const headers: Record<string, string> = { ...error.upstream?.headers, 'x-gateway-error': error.code };
  if (error.retryAfterSecs !== undefined) headers['retry-after'] = String(error.retryAfterSecs);
  if (error.budgetResetsAt !== undefined) headers['x-gateway-budget-resets-at'] = error.budgetResetsAt;
  if (error.code === 'budget_exceeded' || finalStatuses.has(status)) headers['x-should-retry'] = 'false';
  return headers;
}

/**
 * {@link messagesError} within a stream. Agents that read `overloaded_error` there retry without end, and each attempt
 * costs money; `api_error` stops them. A caller that was cut off by a shutdown may retry.
 */
export function messagesErrorInStream(error: GatewayError, requestId: string): JsonObject {
  const type = messagesType(error);
  const ends = type === 'overloaded_error' && error.code !== 'shutting_down';
  return messagesError(error, requestId, ends ? 'api_error' : type);
}

/**
 * Closes the connection after the answer to a body that is too large: its unread rest would be taken for the next
 * request.
 */
export const connectionHeaders = ({ code }: GatewayError): Record<string, string> =>
  code === 'request_too_large' ? { connection: 'close' } : {};

/** Answers with an error. Does nothing when the caller has disconnected or an answer has begun. */
export function sendError(
  context: RequestContext,
  envelope: Envelope,
  error: GatewayError,
  extra: Readonly<Record<string, string>> = {},
): void {
  const { res, requestId } = context;
  if (res.headersSent || res.destroyed) return;
  const body = JSON.stringify(envelope === 'openai' ? openAiError(error) : messagesError(error, requestId));
  const headers = { ...errorHeaders(error), ...extra, ...idHeaders(context) };
  sendJson(res, errorStatus(error), withoutOthersLimits(res, headers), body);
}

/**
 * If the answer carries the gateway's own rate limit headers, an upstream's headers with the same prefix are left out.
 */
function withoutOthersLimits(
  res: Pick<ServerResponse, 'getHeaderNames'>,
  headers: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const own = res.getHeaderNames();
  const prefixes = Object.values(headerPrefix).filter((prefix) =>
    own.some((name) => name.startsWith(prefix)),
  );
  if (prefixes.length === 0) return headers;
  return Object.fromEntries(
    Object.entries(headers).filter(([name]) => !prefixes.some((prefix) => name.startsWith(prefix))),
  );
}
