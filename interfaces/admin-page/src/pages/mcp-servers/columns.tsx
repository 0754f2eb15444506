import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { api, read } from '../../api/client.ts';
import { gatewayNow } from '../../api/clock.ts';
import type { Column } from '../../ui/table.tsx';
import { Count } from '../../ui/values.tsx';
import { invocationQuery } from '../mcp-invocations/invocation.ts';
import { AllowedOwners, ownerText } from './allowed-owners.tsx';
import { KnownHealth } from './health.tsx';
import { authText, lastDay, type McpServer, toolsText } from './server.ts';

/** The number of recorded calls of the last day, as a link to them. */
export function LastDayCalls({ of: id }: { readonly of: string }) {
  const where = lastDay(id);
  const { data, error } = useQuery({
    queryKey: ['mcp-invocations', 'count', id],
    queryFn: ({ signal }) =>
      read(
        api.GET('/api/v1/admin/observability/mcp-invocations', {
          params: { query: { ...invocationQuery(where, gatewayNow()), page_size: 1 } },
          signal,
        }),
      ),
  });
  return (
    <Link to="/observability/mcp-invocations" search={where}>
      {data === undefined ? (
        // The link works even if the number is not known.
        <span className="muted">{error === null ? '…' : 'n/a'}</span>
      ) : (
        <>
          {data.total_is_lower_bound ? 'more than ' : ''}
          <Count of={data.total} />
        </>
      )}
    </Link>
  );
}

export const serverColumns: readonly Column<McpServer>[] = [
  {
    key: 'server',
    title: 'Server',
    cell: ({ display_name: name, server_id: id }) => (
      <>
        {name} {name === id ? null : <code className="muted">{id}</code>}
      </>
    ),
    text: ({ server_id: id }) => id,
  },
  { key: 'health', title: 'Health', cell: ({ server_id: id }) => <KnownHealth id={id} /> },
  {
    key: 'calls',
    title: 'Calls, 24 h',
    align: 'end',
    cell: ({ server_id: id }) => <LastDayCalls of={id} />,
  },
  { key: 'tools', title: 'Tools', cell: toolsText, text: toolsText },
  { key: 'auth', title: 'Authentication', cell: authText, text: authText },
  { key: 'url', title: 'URL', cell: ({ url }) => <code>{url}</code>, text: ({ url }) => url },
  {
    key: 'owners',
    title: 'May be used by',
    cell: ({ allowed_owners: owners }) => <AllowedOwners of={owners} most={3} />,
    text: ({ allowed_owners: owners }) => owners.map(ownerText).join(', '),
  },
];
