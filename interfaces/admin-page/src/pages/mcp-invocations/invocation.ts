import type { ResponseData, QueryOf } from '../../api/client.ts';
import type { Filters } from '../../app/address.ts';
import { wordOf } from '../../app/words.ts';
import { instantsOf } from '../request-logs/ranges.ts';

export type McpInvocation = ResponseData<'/api/v1/admin/observability/mcp-invocations'>['items'][number];
type Query = QueryOf<'/api/v1/admin/observability/mcp-invocations'>;

export const statuses = [
  'success',
  'unauthorized',
  'policy_denied',
  'upstream_error',
  'gateway_error',
  'timeout',
  'invalid_request',
] as const satisfies readonly Query['status'][];
export const policyChoices = [
  'allowed',
  'denied',
  'not_evaluated',
] as const satisfies readonly Query['policy_result'][];

/** Every filter of MCP calls: the name in the API and the address, and the name for people. */
export const invocationFilterNames = {
  request_id: 'Request id',
  request_id_sha256: 'SHA-256 of a long request id',
  request_log_id: 'Request log id',
  mcp_tool_invocation_id: 'Call id',
  api_key_id: 'Key id',
  user_id: 'Person id',
  team_id: 'Team id',
  server_id: 'Server id',
  tool_id: 'Tool id',
  status: 'Status',
  policy_result: 'Policy',
} as const;

/** The query of the API; `now` in milliseconds since the epoch. An unknown status is rejected. */
export function invocationQuery(filters: Filters, now: number): Query {
  const status = wordOf('status', statuses, filters['status']);
  const policyResult = wordOf('policy_result', policyChoices, filters['policy_result']);
  return {
    ...textQuery(filters),
    ...(status === undefined ? {} : { status }),
    ...(policyResult === undefined ? {} : { policy_result: policyResult }),
    ...instantsOf(filters, now),
  };
}

const others: ReadonlySet<string> = new Set(['status', 'policy_result']);

const textQuery = (filters: Filters): Omit<Query, 'status' | 'policy_result' | 'page' | 'page_size'> =>
  Object.fromEntries(
    Object.entries(filters).filter(
      ([name]) => Object.hasOwn(invocationFilterNames, name) && !others.has(name),
    ),
  );
