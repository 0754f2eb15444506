import * as E from 'fp-ts/lib/Either.js';
import type { ListedInvocation, McpInvocations } from '../../../application/ports/mcp-invocations.ts';
import { invocationStatuses, policyResults } from '../../../domain/mcp/invocation.ts';
import type { Owner } from '../../../domain/identity/caller.ts';
import type { JsonObject } from '../../../domain/shared/json.ts';
import type { AdminRoute } from './admin-route.ts';
import { detailRoute } from './detail-route.ts';
import { type AdminData, nullIfMissing, storedJsonText } from './json-text.ts';
import { presentPage } from './page-body.ts';
import { optionalInput } from './inputs.ts';
import { instantParam, oneOf, readPage, requestIdText, sha256, nameParam, uuid } from './query.ts';

export interface McpRoutePorts {
  readonly mcpInvocations: McpInvocations;
}

const root = '/api/v1/admin/observability/mcp-invocations';

const listShape = {
  mcp_tool_invocation_id: uuid,
  request_id: requestIdText,
  request_id_sha256: sha256,
  request_log_id: uuid,
  api_key_id: uuid,
  user_id: uuid,
  team_id: nameParam,
  server_id: nameParam,
  tool_id: nameParam,
  status: optionalInput(oneOf(invocationStatuses)),
  policy_result: optionalInput(oneOf(policyResults)),
  from: instantParam,
  to: instantParam,
};

/** Per-tool invocation rows. */
export const mcpRoutes = ({ mcpInvocations }: McpRoutePorts): readonly AdminRoute[] => [
  {
    method: 'GET',
    path: root,
    handle: async ({ query }) => {
      const ask = readPage(query, listShape);
      if (E.isLeft(ask)) return ask;
      const { page, pageSize, ...asked } = ask.right;
      const filter = {
        invocationId: asked.mcp_tool_invocation_id,
        requestId: asked.request_id,
        longRequestIdSha256: asked.request_id_sha256,
        requestLogId: asked.request_log_id,
        apiKeyId: asked.api_key_id,
        userId: asked.user_id,
        teamId: asked.team_id,
        serverId: asked.server_id,
        toolId: asked.tool_id,
        status: asked.status,
        policyResult: asked.policy_result,
        from: asked.from,
        until: asked.to,
      };
      const found = await mcpInvocations.page(filter, { page, pageSize });
      return E.right(presentPage({ page, pageSize }, found, presentInvocation));
    },
  },
  detailRoute({
    root,
    param: 'mcp_tool_invocation_id',
    what: 'MCP invocation',
    find: (id) => mcpInvocations.find(id),
    present: presentInvocation,
  }),
];

const presentInvocation = (found: ListedInvocation): AdminData => ({
  mcp_tool_invocation_id: found.invocationId,
  request_id: found.requestId,
  request_log_id: nullIfMissing(found.requestLogId),
  api_key_id: nullIfMissing(found.apiKeyId),
  ...ownerFields(found.owner),
  server_id: found.server.id,
  server_display_name: nullIfMissing(found.server.displayName),
  tool_id: found.tool.id,
  tool_display_name: nullIfMissing(found.tool.displayName),
  status: found.status,
  policy_result: found.policyResult,
  latency_ms: found.latencyMs,
  error_code: nullIfMissing(found.errorCode),
  arguments_json: storedJsonText(found.arguments),
  result_json: storedJsonText(found.result),
  arguments_truncated: found.argumentsTruncated,
  result_truncated: found.resultTruncated,
  occurred_at: found.occurredAt.toISOString(),
});

const ownerFields = (owner: Owner | undefined): JsonObject => ({
  user_id: owner?.kind === 'user' ? owner.userId : null,
  team_id: owner?.kind === 'team' ? owner.teamId : null,
  owner_kind: owner?.kind ?? null,
});
