import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { api, read } from '../api/client.ts';
import { gatewayNow } from '../api/clock.ts';
import { useAddress } from '../app/address.ts';
import { Drawer } from '../ui/dialog.tsx';
import { ChoiceFilter, FilterChips, MoreFilters, TextFilter } from '../ui/filters.tsx';
import { ListTable, useList } from '../ui/list.tsx';
import { Loaded } from '../ui/loaded.tsx';
import { Page as Frame } from '../ui/page.tsx';
import { Empty } from '../ui/states.tsx';
import { invocationColumns } from './mcp-invocations/columns.tsx';
import { InvocationDetail } from './mcp-invocations/detail.tsx';
import {
  invocationFilterNames,
  type McpInvocation,
  policyChoices,
  invocationQuery,
  statuses,
} from './mcp-invocations/invocation.ts';
import { loadInvocation } from './mcp-invocations/load.ts';
import { Total } from './owners/list-parts.tsx';
import { TimeFilter } from './request-logs/time-range.tsx';

const typed = [
  'request_id',
  'server_id',
  'tool_id',
  'user_id',
  'team_id',
  'api_key_id',
  'request_log_id',
  'mcp_tool_invocation_id',
  'request_id_sha256',
] as const;
const shownAlways = typed.slice(0, 4);
const onDemand = typed.slice(4);
/** These show their own faults. */
const typedFilters = [...typed, 'from', 'to'];
const wide: ReadonlySet<string> = new Set([
  'request_id',
  'user_id',
  'api_key_id',
  'request_log_id',
  'mcp_tool_invocation_id',
  'request_id_sha256',
]);

/** Calls of MCP tools, one by one. */
export function Page() {
  const { filters, set } = useAddress();
  const { page: _, open: openId, ...chosen } = filters;
  const list = useList<McpInvocation>(['mcp-invocations', chosen], (page, signal) =>
    read(
      api.GET('/api/v1/admin/observability/mcp-invocations', {
        params: { query: { ...invocationQuery(chosen, gatewayNow()), page } },
        signal,
      }),
    ),
  );
  const filter = (name: (typeof typed)[number]) => (
    <TextFilter
      key={name}
      name={name}
      label={invocationFilterNames[name]}
      error={list.error}
      isWide={wide.has(name)}
    />
  );
  return (
    <Frame
      title="MCP calls"
      facts={
        list.data === undefined ? null : (
          <>
            <Total of={list} one="call" many="calls" /> of MCP tools, newest first
          </>
        )
      }
      filters={
        <>
          <TimeFilter error={list.error} />
          <ChoiceFilter
            name="status"
            label="Status"
            options={statuses.map((each) => [each, each.replaceAll('_', ' ')] as const)}
          />
          <ChoiceFilter
            name="policy_result"
            label="Policy"
            options={policyChoices.map((each) => [each, each.replaceAll('_', ' ')] as const)}
          />
          {shownAlways.map(filter)}
          <MoreFilters names={onDemand} error={list.error}>
            {onDemand.map(filter)}
          </MoreFilters>
        </>
      }
    >
      <FilterChips names={invocationFilterNames} />
      <ListTable
        caption="MCP calls"
        columns={invocationColumns}
        list={list}
        typedFilters={typedFilters}
        rowKey={(call) => call.mcp_tool_invocation_id}
        onOpen={(call) => set({ open: call.mcp_tool_invocation_id })}
        openKey={openId}
        empty={<NoCalls isFiltered={Object.keys(chosen).length > 0} requestId={filters['request_id']} />}
      />
      {openId === undefined ? null : (
        <Drawer title="MCP call" onClose={() => set({ open: undefined })}>
          <InvocationOf id={openId} />
        </Drawer>
      )}
    </Frame>
  );
}

function InvocationOf({ id }: { readonly id: string }) {
  const found = useQuery({
    queryKey: ['mcp-invocation', id],
    queryFn: ({ signal }) => loadInvocation(id, signal),
  });
  return (
    <Loaded
      query={found}
      what="the call"
      gone={<Empty title="This call does not exist, or has been deleted" />}
    >
      {(call) => <InvocationDetail call={call} />}
    </Loaded>
  );
}

const NoCalls = ({
  isFiltered,
  requestId,
}: {
  readonly isFiltered: boolean;
  readonly requestId: string | undefined;
}) => {
  if (requestId !== undefined)
    return (
      <Empty title="This request has no MCP calls that match all filters">
        <p>
          <Link to="/observability/request-logs" search={{ request_id: requestId }}>
            The request itself
          </Link>
        </p>
      </Empty>
    );
  return isFiltered ? (
    <Empty title="No call matches all filters">
      <p>Remove a filter above, or choose a longer time range.</p>
    </Empty>
  ) : (
    <Empty title="No MCP tool has been called yet">
      <p>
        Tool calls that go through the gateway are listed here, whatever their outcome. For the servers, and
        how clients reach them, see <Link to="/mcp-servers">MCP servers</Link>.
      </p>
    </Empty>
  );
};
