import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { grouped } from '../../ui/amounts.ts';
import { api, read } from '../../api/client.ts';
import { Loaded } from '../../ui/loaded.tsx';
import { Part } from '../../ui/part.tsx';
import { Duration } from '../../ui/values.tsx';
import { CallStatus } from '../mcp-invocations/columns.tsx';
import type { McpInvocation } from '../mcp-invocations/invocation.ts';

const list = '/observability/mcp-invocations';
const shown = 20;

/** The MCP tool calls of a request, newest first. */
export function McpCalls({ of: requestLogId }: { readonly of: string }) {
  const found = useQuery({
    queryKey: ['mcp-invocations', 'of-request', requestLogId],
    queryFn: ({ signal }) =>
      read(
        api.GET('/api/v1/admin/observability/mcp-invocations', {
          params: { query: { request_log_id: requestLogId, page_size: shown } },
          signal,
        }),
      ),
  });
  return (
    <Part title="MCP calls of this request">
      <Loaded query={found} what="the MCP calls">
        {({ items, total }) =>
          items.length === 0 ? (
            <p className="muted">None is known.</p>
          ) : (
            <>
              <ul className="stack tight">
                {items.map((call) => (
                  <Call key={call.mcp_tool_invocation_id} call={call} requestLogId={requestLogId} />
                ))}
              </ul>
              {total > items.length ? (
                <Link to={list} search={{ request_log_id: requestLogId }}>
                  All {grouped(total)}
                </Link>
              ) : null}
            </>
          )
        }
      </Loaded>
    </Part>
  );
}

const Call = ({ call, requestLogId }: { readonly call: McpInvocation; readonly requestLogId: string }) => (
  <li className="row">
    <CallStatus of={call} />
    <Link to={list} search={{ request_log_id: requestLogId, open: call.mcp_tool_invocation_id }}>
      {call.server_display_name ?? call.server_id} → {call.tool_display_name ?? call.tool_id}
    </Link>
    <Duration ms={call.latency_ms} />
  </li>
);
