import * as t from 'io-ts';
import { type CommonQueryMethods, type DatabasePool, sql } from 'slonik';
import type {
  McpOverheads,
  McpTokenOverhead,
  TokenOverheadRecord,
} from '../../application/ports/mcp-invocations.ts';
import type { RequestId, RequestLogId } from '../../domain/request-log/request-ids.ts';
import { timestamp, orUndefined, tokenCountColumn } from './codecs.ts';
import { row } from './pool.ts';
import { storedJson } from './stored-text.ts';
import { withinTime } from './within-time.ts';
import { type WriteBehindQueue, writeBehindQueue } from './write-behind-queue.ts';

const overheadRow = t.type({
  request_id: t.string,
  request_log_id: orUndefined(t.string),
  server_count: t.number,
  tool_count: t.number,
  tool_definition_bytes: orUndefined(tokenCountColumn),
  tool_definition_tokens: orUndefined(tokenCountColumn),
  tool_result_tokens: orUndefined(tokenCountColumn),
  occurred_at: timestamp,
});

export type OverheadWriter = McpOverheads & Pick<WriteBehindQueue<TokenOverheadRecord>, 'close'>;

/** Writes summaries behind the answers. */
export const tokenOverheads = (pool: DatabasePool, onFault: (error: unknown) => void): OverheadWriter =>
  writeBehindQueue<TokenOverheadRecord>(
    ({ requestId, requestLogId }) => [requestId, requestLogId],
    (records) => putTokenOverheads(pool, records),
    onFault,
  );

/** Of several summaries of a request, the last one stays. */
async function putTokenOverheads(pool: DatabasePool, records: readonly TokenOverheadRecord[]): Promise<void> {
  const rows = records.map((record) => ({
    request_id: record.requestId,
    request_log_id: record.requestLogId ?? null,
    server_count: record.serverCount,
    tool_count: record.toolCount,
    tool_definition_bytes: record.toolDefinitionBytes ?? null,
    tool_definition_tokens: record.toolDefinitionTokens ?? null,
    tool_result_tokens: record.toolResultTokens ?? null,
  }));
  const statement = sql.unsafe`
    insert into request_mcp_token_overheads (
      request_id, request_log_id, server_count, tool_count, tool_definition_bytes, tool_definition_tokens,
      tool_result_tokens, occurred_at
    )
    select o.*, gateway_now() from json_to_recordset(${storedJson(rows)}::json) o(
      request_id text, request_log_id uuid, server_count integer, tool_count integer, tool_definition_bytes bigint,
      tool_definition_tokens bigint, tool_result_tokens bigint)
    on conflict on constraint request_mcp_token_overheads_request_key
    do update set server_count = excluded.server_count, tool_count = excluded.tool_count,
                  tool_definition_bytes = excluded.tool_definition_bytes,
                  tool_definition_tokens = excluded.tool_definition_tokens,
                  tool_result_tokens = excluded.tool_result_tokens, occurred_at = excluded.occurred_at
  `;
  await withinTime(pool, (connection) => connection.query(statement));
}

/** The summary of this very request, or else one that has only its request id: request ids are not unique. */
export async function findTokenOverhead(
  connection: CommonQueryMethods,
  requestId: RequestId,
  requestLogId: RequestLogId,
): Promise<McpTokenOverhead | undefined> {
  const found = await connection.maybeOne(sql.type(row(overheadRow))`
    select o.request_id, o.request_log_id, o.server_count, o.tool_count, o.tool_definition_bytes,
           o.tool_definition_tokens, o.tool_result_tokens, o.occurred_at
    from request_mcp_token_overheads o
    where o.request_log_id = ${requestLogId}
       or o.request_log_id is null and o.request_id_sha256 = request_digest(${requestId})
    order by o.request_log_id nulls last, o.occurred_at desc limit 1
  `);
  if (found === null) return undefined;
  return {
    requestId: found.request_id,
    requestLogId: found.request_log_id,
    serverCount: found.server_count,
    toolCount: found.tool_count,
    toolDefinitionBytes: found.tool_definition_bytes,
    toolDefinitionTokens: found.tool_definition_tokens,
    toolResultTokens: found.tool_result_tokens,
    occurredAt: found.occurred_at,
  };
}
