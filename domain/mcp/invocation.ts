/** How a tool call ended. */
export const invocationStatuses = [
  'success',
  'unauthorized',
  'policy_denied',
  'upstream_error',
  'gateway_error',
  'timeout',
  'invalid_request',
] as const;
export type InvocationStatus = (typeof invocationStatuses)[number];

/** The result of the authorization policy for a call. */
export const policyResults = ['allowed', 'denied', 'not_evaluated'] as const;
export type PolicyResult = (typeof policyResults)[number];

/** An MCP server, or one of its tools: its stable external id, and its own display name. */
export interface McpName {
  readonly id: string;
  readonly displayName: string | undefined;
}
