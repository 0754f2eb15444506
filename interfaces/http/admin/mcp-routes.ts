import * as E from 'fp-ts/lib/Either.js';
import type * as t from 'io-ts';
import type { ListedInvocation, McpInvocations } from '../../../application/ports/mcp-invocations.ts';
import type { Owner } from '../../../domain/identity/caller.ts';
import { invocationStatuses, policyResults } from '../../../domain/mcp/invocation.ts';
import { type AdminRoute, listRoute } from './admin-route.ts';
import {
  countValue,
  flagValue,
  instantValue,
  orNull,
  objectOf,
  jsonValue,
  textValue,
  uuidValue,
  choiceValue,
} from '../answers.ts';
import { detailRoute } from './detail-route.ts';
import { choiceInput, optionalInput } from './inputs.ts';
import { storedJsonText } from '../json-text.ts';
import { instantParam, nameParam, requestIdText, sha256, uuid } from './query.ts';

export interface McpRoutePorts {
  readonly mcpInvocations: McpInvocations;
}

const root = '/api/v1/admin/observability/mcp-invocations';

const filters = {
  mcp_tool_invocation_id: uuid,
  request_id: requestIdText,
  request_id_sha256: sha256,
  request_log_id: uuid,
  api_key_id: uuid,
  user_id: uuid,
  team_id: nameParam,
  server_id: nameParam,
  tool_id: nameParam,
  status: optionalInput(choiceInput(invocationStatuses)),
  policy_result: optionalInput(choiceInput(policyResults)),
  from: instantParam,
  to: instantParam,
};

const invocation = objectOf({
  mcp_tool_invocation_id: uuidValue,
  request_id: textValue,
  request_log_id: orNull(uuidValue),
  api_key_id: orNull(uuidValue),
  user_id: orNull(uuidValue),
  team_id: orNull(textValue),
  owner_kind: orNull(choiceValue(['user', 'team'])),
  server_id: textValue,
  server_display_name: orNull(textValue),
  tool_id: textValue,
  tool_display_name: orNull(textValue),
  status: choiceValue(invocationStatuses),
  policy_result: choiceValue(policyResults),
  latency_ms: countValue,
  error_code: orNull(textValue),
  arguments_json: orNull(jsonValue),
  result_json: orNull(jsonValue),
  arguments_truncated: flagValue,
  result_truncated: flagValue,
  occurred_at: instantValue,
});

/** Rows of tool invocations. */
export const mcpRoutes = ({ mcpInvocations }: McpRoutePorts): readonly AdminRoute[] => [
  listRoute({
    fromReplica: true,
    path: root,
    summary: 'MCP tool invocations, newest first.',
    query: filters,
    item: invocation,
    find: async (asked, page) => {
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
      return E.right(await mcpInvocations.page(filter, page));
    },
    present: presentInvocation,
  }),
  detailRoute({
    fromReplica: true,
    root,
    param: 'mcp_tool_invocation_id',
    what: 'MCP invocation',
    summary: 'One MCP tool invocation.',
    answer: invocation,
    find: (id) => mcpInvocations.find(id),
    present: presentInvocation,
  }),
];

function presentInvocation(found: ListedInvocation): t.TypeOf<typeof invocation> {
  return {
    mcp_tool_invocation_id: found.invocationId,
    request_id: found.requestId,
    request_log_id: found.requestLogId ?? null,
    api_key_id: found.apiKeyId ?? null,
    ...ownerFields(found.owner),
    server_id: found.server.id,
    server_display_name: found.server.displayName ?? null,
    tool_id: found.tool.id,
    tool_display_name: found.tool.displayName ?? null,
    status: found.status,
    policy_result: found.policyResult,
    latency_ms: found.latencyMs,
    error_code: found.errorCode ?? null,
    arguments_json: storedJsonText(found.arguments),
    result_json: storedJsonText(found.result),
    arguments_truncated: found.argumentsTruncated,
    result_truncated: found.resultTruncated,
    occurred_at: found.occurredAt.toISOString(),
  };
}

const ownerFields = (owner: Owner | undefined) => ({
  user_id: owner?.kind === 'user' ? owner.userId : null,
  team_id: owner?.kind === 'team' ? owner.teamId : null,
  owner_kind: owner?.kind ?? null,
});
