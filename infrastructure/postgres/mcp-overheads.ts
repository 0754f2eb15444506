import * as t from 'io-ts';
import { type CommonQueryMethods, sql } from 'slonik';
import type { McpTokenOverhead, TokenOverheadRecord } from '../../application/ports/mcp-invocations.ts';
import type { RequestId, RequestLogId } from '../../domain/request-log/request-ids.ts';
import { timestamp, orUndefined, tokenCountColumn } from './codecs.ts';
import { row } from './pool.ts';
import { storedText } from './stored-text.ts';

const overheadRow = t.type({
  request_id: t.string,
  request_log_id: orUndefined(t.string),
  server_count: t.number,
  tool_count: t.number,
  tool_definition_tokens: orUndefined(tokenCountColumn),
  tool_result_tokens: orUndefined(tokenCountColumn),
  occurred_at: timestamp,
});

/** Of several summaries of a request the last one stays. */
export async function putTokenOverhead(
  connection: CommonQueryMethods,
  record: TokenOverheadRecord,
): Promise<void> {
  await connection.query(sql.unsafe`
    insert into request_mcp_token_overheads (
      request_id, request_log_id, server_count, tool_count, tool_definition_tokens, tool_result_tokens, occurred_at
    )
    values (
      ${storedText(record.requestId)}, ${record.requestLogId ?? null}, ${record.serverCount}, ${record.toolCount},
      ${record.toolDefinitionTokens ?? null}, ${record.toolResultTokens ?? null}, gateway_now()
    )
    on conflict on constraint request_mcp_token_overheads_request_key
    do update set server_count = excluded.server_count, tool_count = excluded.tool_count,
                  tool_definition_tokens = excluded.tool_definition_tokens,
                  tool_result_tokens = excluded.tool_result_tokens, occurred_at = excluded.occurred_at
  `);
}

/** The summary of this very request, else the one of its request id alone: request ids are not unique. */
export async function findTokenOverhead(
  connection: CommonQueryMethods,
  requestId: RequestId,
  requestLogId: RequestLogId,
): Promise<McpTokenOverhead | undefined> {
  const found = await connection.maybeOne(sql.type(row(overheadRow))`
    select o.request_id, o.request_log_id, o.server_count, o.tool_count, o.tool_definition_tokens,
           o.tool_result_tokens, o.occurred_at
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
    toolDefinitionTokens: found.tool_definition_tokens,
    toolResultTokens: found.tool_result_tokens,
    occurredAt: found.occurred_at,
  };
}
