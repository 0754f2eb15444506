import type { JsonObject } from '../shared/json.ts';
import type { InvocationStatus } from './invocation.ts';
import type { McpId } from './message-id.ts';

/** An error in a call of an MCP server, as callers and records see it. */
export interface McpError {
  readonly code: McpErrorCode;
  /** Safe to show to callers: it contains no secret. */
  readonly message: string;
}

interface ErrorTerms {
  /**
   * The HTTP status. `answer` stands for the status of an answer, whose JSON-RPC error the client raises for this one
   * call.
   */
  readonly status: number | 'answer';
  /** The code of the JSON-RPC error. */
  readonly rpcCode: number;
  /** The status in the record of the call. */
  readonly recorded: InvocationStatus;
}

/** A call whose caller stopped waiting is recorded like one that ran into a timeout. */
const nobodyWaited = 'timeout';

/** The closed list of errors of the MCP endpoint, and how each is reported. */
export const mcpErrors = {
  missing_api_key: { status: 401, rpcCode: -32_000, recorded: 'unauthorized' },
  invalid_api_key: { status: 401, rpcCode: -32_000, recorded: 'unauthorized' },
  cross_origin: { status: 403, rpcCode: -32_000, recorded: 'invalid_request' },
  not_acceptable: { status: 406, rpcCode: -32_000, recorded: 'invalid_request' },
  parse_error: { status: 400, rpcCode: -32_700, recorded: 'invalid_request' },
  invalid_request: { status: 400, rpcCode: -32_600, recorded: 'invalid_request' },
  batch_not_supported: { status: 400, rpcCode: -32_600, recorded: 'invalid_request' },
  request_too_large: { status: 413, rpcCode: -32_600, recorded: 'invalid_request' },
  holds_api_key: { status: 'answer', rpcCode: -32_600, recorded: 'invalid_request' },
  header_mismatch: { status: 400, rpcCode: -32_020, recorded: 'invalid_request' },
  // Not -32022: a client that gets it takes the server for one without sessions, and begins none (rule 54.48).
  unsupported_revision: { status: 400, rpcCode: -32_601, recorded: 'invalid_request' },
  unknown_server: { status: 404, rpcCode: -32_000, recorded: 'invalid_request' },
  unknown_tool: { status: 'answer', rpcCode: -32_602, recorded: 'invalid_request' },
  unknown_resource: { status: 'answer', rpcCode: -32_002, recorded: 'invalid_request' },
  unknown_method: { status: 'answer', rpcCode: -32_601, recorded: 'invalid_request' },
  session_not_found: { status: 404, rpcCode: -32_001, recorded: 'invalid_request' },
  no_stream: { status: 405, rpcCode: -32_000, recorded: 'invalid_request' },
  server_not_allowed: { status: 403, rpcCode: -32_000, recorded: 'policy_denied' },
  tool_not_allowed: { status: 'answer', rpcCode: -32_602, recorded: 'policy_denied' },
  too_many_requests: { status: 429, rpcCode: -32_000, recorded: 'gateway_error' },
  overloaded: { status: 503, rpcCode: -32_000, recorded: 'gateway_error' },
  store_unavailable: { status: 503, rpcCode: -32_000, recorded: 'gateway_error' },
  shutting_down: { status: 'answer', rpcCode: -32_603, recorded: 'gateway_error' },
  internal_error: { status: 500, rpcCode: -32_603, recorded: 'gateway_error' },
  timeout: { status: 'answer', rpcCode: -32_001, recorded: 'timeout' },
  cancelled: { status: 'answer', rpcCode: -32_603, recorded: nobodyWaited },
  client_closed: { status: 'answer', rpcCode: -32_603, recorded: nobodyWaited },
  upstream_unreachable: { status: 'answer', rpcCode: -32_603, recorded: 'upstream_error' },
  upstream_unauthorized: { status: 'answer', rpcCode: -32_603, recorded: 'upstream_error' },
  upstream_protocol: { status: 'answer', rpcCode: -32_603, recorded: 'upstream_error' },
  upstream_failed: { status: 'answer', rpcCode: -32_603, recorded: 'upstream_error' },
  left_to_resume: { status: 'answer', rpcCode: -32_603, recorded: nobodyWaited },
  result_too_large: { status: 'answer', rpcCode: -32_603, recorded: 'upstream_error' },
} as const satisfies Record<string, ErrorTerms>;

export type McpErrorCode = keyof typeof mcpErrors;

/** The HTTP status of an error. A failed call gets an answer only when there is a request to answer. */
export function mcpErrorStatus({ code }: McpError, id: McpId | undefined): number {
  const { status } = mcpErrors[code];
  if (status !== 'answer') return status;
  if (id !== undefined) return 200;
  return code === 'timeout' ? 504 : 502;
}

/** The JSON-RPC error; its `data` has the gateway's own error code. */
export const mcpErrorMessage = ({ code, message }: McpError, id: McpId | undefined): JsonObject => ({
  jsonrpc: '2.0',
  id: id ?? null,
  error: { code: mcpErrors[code].rpcCode, message, data: { error_code: code } },
});

export const notAuthorized: McpError = {
  code: 'upstream_unauthorized',
  message: 'The server does not accept the credentials of the gateway.',
};

/** Clients then begin another session. */
export const sessionEnded: McpError = {
  code: 'session_not_found',
  message: 'The server has ended this session.',
};

/** When `server.max_buffered_bytes` is exceeded. */
export const noRoom: McpError = {
  code: 'overloaded',
  message: 'The gateway is handling as much as it can hold; try again.',
};
