import { type ErrorCode, errorStatus, type GatewayError } from '../../domain/shared/gateway-error.ts';
import type { JsonObject } from '../../domain/shared/json.ts';
import { idHeaders, type RequestContext } from './request-context.ts';
import { sendJson } from './send-json.ts';

/** Whose words an error is told in: the OpenAI envelope, or that of the messages API. */
export type Envelope = 'openai' | 'messages';

/** `error.type` of the OpenAI envelope (CONTRACT §4). */
const typeOf = {
  missing_api_key: 'authentication_error',
  invalid_api_key: 'authentication_error',
  session_required: 'authentication_error',
  invalid_credentials: 'authentication_error',
  admin_required: 'permission_error',
  cross_origin: 'permission_error',
  too_many_attempts: 'rate_limit_error',
  model_not_granted: 'permission_error',
  not_found: 'not_found_error',
  model_not_found: 'not_found_error',
  method_not_allowed: 'invalid_request_error',
  duplicate_request_id: 'invalid_request_error',
  conflict: 'invalid_request_error',
  request_too_large: 'invalid_request_error',
  invalid_request: 'invalid_request_error',
  thread_unsupported_request: 'invalid_request_error',
  not_supported: 'invalid_request_error',
  budget_exceeded: 'budget_error',
  too_many_requests: 'rate_limit_error',
  no_routes_available: 'routing_error',
  overloaded: 'overloaded_error',
  store_unavailable: 'overloaded_error',
  shutting_down: 'overloaded_error',
  upstream_error: 'upstream_error',
  internal_error: 'internal_error',
} as const satisfies Record<ErrorCode, string>;

/** `error.type` in the messages-API vocabulary; `upstream_error` goes by its status. */
const messagesTypeOf: Readonly<Record<ErrorCode, string>> = {
  ...typeOf,
  method_not_allowed: 'invalid_request_error',
  request_too_large: 'request_too_large',
  not_supported: 'not_found_error',
  budget_exceeded: 'rate_limit_error',
  no_routes_available: 'api_error',
  upstream_error: 'api_error',
  internal_error: 'api_error',
};

const messagesTypeByStatus: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  422: 'invalid_request_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
};

const messagesType = (error: GatewayError): string =>
  (error.code === 'upstream_error' ? messagesTypeByStatus[errorStatus(error)] : undefined) ??
  messagesTypeOf[error.code];

/** What went wrong inside stays inside. */
const publicMessage = ({ code, message }: GatewayError): string =>
  code === 'internal_error' ? 'The gateway failed to handle the request.' : message;

/** `{error: {message, type, param, code}}`, with real nulls. */
export const openAiError = (
  error: GatewayError,
): { readonly error: JsonObject & { readonly message: string; readonly param: string | null } } => ({
  error: {
    message: publicMessage(error),
    type: typeOf[error.code],
    param: error.param ?? null,
    code: error.code,
  },
});

/** `{type: "error", error: {type, message, details: {error_code}}, request_id}`. */
export const messagesError = (
  error: GatewayError,
  requestId: string,
  type = messagesType(error),
): JsonObject => ({
  type: 'error',
  error: {
    type,
    message: publicMessage(error),
    details: { error_code: error.code },
  },
  request_id: requestId,
});

function errorHeaders(error: GatewayError): Record<string, string> {
  const headers: Record<string, string> = { ...error.upstream?.headers };
  if (error.retryAfterSecs !== undefined) headers['retry-after'] = String(error.retryAfterSecs);
  if (error.code === 'budget_exceeded') headers['x-should-retry'] = 'false';
  return headers;
}

/** Answers with an error; nothing when the caller has gone or an answer is under way. */
export function sendError(
  context: RequestContext,
  envelope: Envelope,
  error: GatewayError,
  extra: Readonly<Record<string, string>> = {},
): void {
  const { res, requestId } = context;
  if (res.headersSent || res.destroyed) return;
  const body = JSON.stringify(envelope === 'openai' ? openAiError(error) : messagesError(error, requestId));
  sendJson(res, errorStatus(error), { ...errorHeaders(error), ...extra, ...idHeaders(context) }, body);
}
