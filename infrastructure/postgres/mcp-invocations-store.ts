import * as t from 'io-ts';
import { type DatabasePool, type FragmentSqlToken, sql } from 'slonik';
import type {
  InvocationFilter,
  ListedInvocation,
  McpInvocations,
} from '../../application/ports/mcp-invocations.ts';
import type { Owner } from '../../domain/identity/caller.ts';
import type { McpName } from '../../domain/mcp/invocation.ts';
import { timestamp, orUndefined } from './codecs.ts';
import { all, asRange, leading, type ListCondition } from './list-conditions.ts';
import { row } from './pool.ts';
import { pageOf, readList, type TimeList, totalOf } from './time-list.ts';

const text = orUndefined(t.string);

const invocationRow = t.type({
  mcp_tool_invocation_id: t.string,
  request_id: t.string,
  request_log_id: text,
  api_key_id: text,
  user_id: text,
  team_id: text,
  server_id: t.string,
  server_display_name: text,
  tool_id: t.string,
  tool_display_name: text,
  status: t.keyof({
    success: null,
    unauthorized: null,
    policy_denied: null,
    upstream_error: null,
    gateway_error: null,
    timeout: null,
    invalid_request: null,
  }),
  policy_result: t.keyof({ allowed: null, denied: null, not_evaluated: null }),
  latency_ms: t.number,
  error_code: text,
  arguments: text,
  result: text,
  arguments_truncated: t.boolean,
  result_truncated: t.boolean,
  occurred_at: timestamp,
});

const invocationColumns = sql.fragment`
  i.mcp_tool_invocation_id, i.request_id, i.request_log_id, i.api_key_id, i.user_id, i.team_id, i.server_id,
  i.server_display_name, i.tool_id, i.tool_display_name, i.status, i.policy_result, i.latency_ms, i.error_code,
  i.arguments_json::text as arguments, i.result_json::text as result, i.arguments_truncated, i.result_truncated,
  i.occurred_at
`;

/** Recorded invocations, newest first. */
export const mcpInvocationsStore = (pool: DatabasePool): McpInvocations => ({
  page: (filter, page) =>
    readList(pool, async (connection) => {
      const list = listOf(filter);
      const total = await totalOf(connection, list, filter);
      const rows = await connection.any(sql.type(row(invocationRow))`
        select ${invocationColumns}
        from (${pageOf(list, filter, page)}) page join mcp_tool_invocations i on i.mcp_tool_invocation_id = page.id
        order by page.occurred_at desc, page.id desc
      `);
      return { items: rows.map(listedInvocation), ...total };
    }),
  find: async (invocationId) => {
    const found = await pool.maybeOne(sql.type(row(invocationRow))`
      select ${invocationColumns} from mcp_tool_invocations i where i.mcp_tool_invocation_id = ${invocationId}
    `);
    return found === null ? undefined : listedInvocation(found);
  },
});

type Column = readonly [name: Exclude<keyof InvocationFilter, 'from' | 'until'>, column: FragmentSqlToken];

/** The columns that a filter may name, the most selective first: the first one asked for leads. */
const columns: readonly Column[] = [
  ['invocationId', sql.fragment`i.mcp_tool_invocation_id`],
  ['requestLogId', sql.fragment`i.request_log_id`],
  ['requestId', sql.fragment`i.request_id`],
  ['longRequestIdSha256', sql.fragment`long_request_id_sha256(i.request_id)`],
  ['apiKeyId', sql.fragment`i.api_key_id`],
  ['userId', sql.fragment`i.user_id`],
  ['teamId', sql.fragment`i.team_id`],
  ['toolId', sql.fragment`i.tool_id`],
  ['serverId', sql.fragment`i.server_id`],
  ['status', sql.fragment`i.status`],
  ['policyResult', sql.fragment`i.policy_result`],
];

/** The values of nearly every row, which the indexes of these two columns leave out. */
const usual: InvocationFilter = { status: 'success', policyResult: 'allowed' };

const ofInvocations = { time: sql.fragment`i.occurred_at`, key: sql.fragment`i.mcp_tool_invocation_id` };

function listOf(filter: InvocationFilter): TimeList {
  const { lead, others } = leading(
    columns.flatMap(([name, column]) => {
      const value = filter[name];
      return value === undefined ? [] : [{ column, value, indexed: indexedAs(name, value) }];
    }),
  );
  const rest = others.map(({ column, value }) => asRange(column, value));
  const rows = sql.fragment`mcp_tool_invocations i where ${all(lead === undefined ? rest : [lead, ...rest])}`;
  return lead === undefined
    ? { ...ofInvocations, by: 'time', rows }
    : { ...ofInvocations, by: 'bucket', bucket: sql.fragment`i.list_bucket`, counted: rows, rows };
}

function indexedAs(name: Column[0], value: string): ListCondition['indexed'] {
  if (name === 'requestId') return 'hash';
  return usual[name] === value ? 'nothing' : 'value';
}

type InvocationRow = t.TypeOf<typeof invocationRow>;

const listedInvocation = (found: InvocationRow): ListedInvocation => ({
  invocationId: found.mcp_tool_invocation_id,
  requestId: found.request_id,
  requestLogId: found.request_log_id,
  apiKeyId: found.api_key_id,
  owner: ownerIn(found),
  server: named(found.server_id, found.server_display_name),
  tool: named(found.tool_id, found.tool_display_name),
  status: found.status,
  policyResult: found.policy_result,
  latencyMs: found.latency_ms,
  errorCode: found.error_code,
  arguments: found.arguments,
  result: found.result,
  argumentsTruncated: found.arguments_truncated,
  resultTruncated: found.result_truncated,
  occurredAt: found.occurred_at,
});

function ownerIn({ user_id, team_id }: InvocationRow): Owner | undefined {
  if (user_id !== undefined) return { kind: 'user', userId: user_id };
  return team_id === undefined ? undefined : { kind: 'team', teamId: team_id };
}

const named = (id: string, displayName: string | undefined): McpName => ({ id, displayName });
