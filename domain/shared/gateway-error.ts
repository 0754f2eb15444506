import type { Measure, SubjectKind } from './rate-limit-names.ts';

/** The closed list of error codes (rule 34.29). */
export type ErrorCode =
  | 'missing_api_key'
  | 'invalid_api_key'
  | 'session_required'
  | 'invalid_credentials'
  | 'second_factor_required'
  | 'enrolment_required'
  | 'admin_required'
  | 'cross_origin'
  | 'too_many_attempts'
  | 'model_not_granted'
  | 'not_found'
  | 'model_not_found'
  | 'method_not_allowed'
  | 'websocket_unsupported'
  | 'duplicate_request_id'
  | 'conflict'
  | 'request_too_large'
  | 'invalid_request'
  | 'thread_unsupported_request'
  | 'not_supported'
  | 'budget_exceeded'
  | 'too_many_requests'
  | 'rate_limited'
  | 'no_routes_available'
  | 'overloaded'
  | 'store_unavailable'
  | 'shutting_down'
  | 'sign_in_unavailable'
  | 'upstream_error'
  | 'internal_error';

/** How a request ended. Exactly one outcome label is emitted per request. */
export type Outcome =
  | 'success'
  | 'client_closed'
  | 'unauthenticated'
  | 'forbidden'
  | 'not_found'
  | 'invalid_request'
  | 'budget_error'
  | 'no_routes_available'
  | 'overloaded'
  | 'interrupted'
  | 'upstream_error'
  | 'internal_error';

/**
 * An expected failure, as a value. `message` is safe for callers and logs: no secret, no raw upstream body. `param`
 * names the field or header at fault.
 */
export interface GatewayError {
  readonly code: ErrorCode;
  readonly message: string;
  readonly param?: string;
  /** Seconds, for `Retry-After`. */
  readonly retryAfterSecs?: number;
  /** For `budget_exceeded`: when the budget's window ends, as RFC 3339. */
  readonly budgetResetsAt?: string;
  /** For `rate_limited`: whose limit was reached, and what it counts. */
  readonly rateLimit?: { readonly subjectKind: SubjectKind; readonly measure: Measure };
  /** For `upstream_error`: the status for the caller, and the upstream headers that are passed on. */
  readonly upstream?: UpstreamRefusal;
}

/** An error with this code only: a port whose type names it returns no other. */
export type CodedError<Code extends ErrorCode> = GatewayError & { readonly code: Code };

export interface UpstreamRefusal {
  /** The HTTP status for the caller (rules 35.1, 35.2, 35.3, 35.4, 35.5, 35.6, 35.7). */
  readonly status: number;
  /** The status that the upstream answered with; absent when it did not answer. */
  readonly upstreamStatus?: number;
  /** `retry-after` and rate-limit headers, with names in lower case. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly labels?: UpstreamLabels;
  /** The runtime's code for the connection fault, such as `ECONNREFUSED`: for operators, never for callers. */
  readonly faultCode?: string;
}

/** The upstream's own short identifiers for its failure. Callers act on some; logs keep the gateway's own code. */
export interface UpstreamLabels {
  readonly code?: string;
  readonly param?: string;
  /** `error.type` from an upstream that speaks the messages API. */
  readonly messagesType?: string;
}

export const outcomeOf = {
  missing_api_key: 'unauthenticated',
  invalid_api_key: 'unauthenticated',
  session_required: 'unauthenticated',
  invalid_credentials: 'unauthenticated',
  second_factor_required: 'unauthenticated',
  enrolment_required: 'forbidden',
  admin_required: 'forbidden',
  cross_origin: 'forbidden',
  too_many_attempts: 'forbidden',
  model_not_granted: 'forbidden',
  not_found: 'not_found',
  model_not_found: 'not_found',
  method_not_allowed: 'invalid_request',
  websocket_unsupported: 'invalid_request',
  duplicate_request_id: 'invalid_request',
  conflict: 'invalid_request',
  request_too_large: 'invalid_request',
  invalid_request: 'invalid_request',
  thread_unsupported_request: 'invalid_request',
  not_supported: 'invalid_request',
  budget_exceeded: 'budget_error',
  too_many_requests: 'overloaded',
  rate_limited: 'overloaded',
  no_routes_available: 'no_routes_available',
  overloaded: 'overloaded',
  store_unavailable: 'overloaded',
  shutting_down: 'interrupted',
  sign_in_unavailable: 'overloaded',
  upstream_error: 'upstream_error',
  internal_error: 'internal_error',
} as const satisfies Record<ErrorCode, Outcome>;

/** The HTTP status of each code; `upstream_error` carries its own in `upstream.status`. */
export const statusOf = {
  missing_api_key: 401,
  invalid_api_key: 401,
  session_required: 401,
  invalid_credentials: 401,
  second_factor_required: 401,
  enrolment_required: 403,
  admin_required: 403,
  cross_origin: 403,
  too_many_attempts: 429,
  model_not_granted: 403,
  not_found: 404,
  model_not_found: 404,
  method_not_allowed: 405,
  websocket_unsupported: 426,
  duplicate_request_id: 409,
  conflict: 409,
  request_too_large: 413,
  invalid_request: 400,
  thread_unsupported_request: 400,
  not_supported: 404,
  budget_exceeded: 429,
  too_many_requests: 429,
  rate_limited: 429,
  no_routes_available: 503,
  overloaded: 503,
  store_unavailable: 503,
  shutting_down: 503,
  sign_in_unavailable: 503,
  upstream_error: 502,
  internal_error: 500,
} as const satisfies Record<ErrorCode, number>;

export const errorStatus = (error: GatewayError): number => error.upstream?.status ?? statusOf[error.code];

export const invalidRequest = (message: string, param?: string): GatewayError => ({
  code: 'invalid_request',
  message,
  ...(param === undefined ? {} : { param }),
});

/** Over `server.max_in_flight` or `server.max_buffered_bytes`. */
export const overloaded: GatewayError = {
  code: 'overloaded',
  message: 'The gateway is handling as much as it can hold; try again.',
  retryAfterSecs: 1,
};

/** Over `server.max_in_flight_per_owner`. */
export const tooManyRequests: GatewayError = {
  code: 'too_many_requests',
  message: 'As many requests as one owner may have at once are in flight; try again.',
  retryAfterSecs: 1,
};

/** The database is unreachable: nothing is sent upstream, and the caller may retry. */
export const storeUnavailable = (): CodedError<'store_unavailable'> => ({
  code: 'store_unavailable',
  message: 'The gateway cannot reach its database; the request was not completed.',
  retryAfterSecs: 5,
});

/** The gateway shut down before the answer was complete and broke it off. This is not the caller's fault. */
export const shuttingDown = (): CodedError<'shutting_down'> => ({
  code: 'shutting_down',
  message: 'The gateway is shutting down and has cut this answer off; try again.',
  retryAfterSecs: 1,
});
