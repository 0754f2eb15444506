/** How the call of a tool ended. */
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

/** What the authorization policy said of the call. */
export const policyResults = ['allowed', 'denied', 'not_evaluated'] as const;
export type PolicyResult = (typeof policyResults)[number];

/** An MCP server, or a tool of one: its stable external id, and what it calls itself. */
export interface McpName {
  readonly id: string;
  readonly displayName: string | undefined;
}
