import { type UseQueryResult, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { ApiError } from '../../api/client.ts';
import { Drawer } from '../../ui/dialog.tsx';
import { Loaded } from '../../ui/loaded.tsx';
import { Pair } from '../../ui/pair.tsx';
import { Part } from '../../ui/part.tsx';
import { Empty } from '../../ui/states.tsx';
import { Count, Duration, Time } from '../../ui/values.tsx';
import { WholeId } from '../owners/parts.tsx';
import { AllowedOwners } from './allowed-owners.tsx';
import { LastDayCalls } from './columns.tsx';
import { Connect } from './connect.tsx';
import { HealthBadge } from './health.tsx';
import { type ServerDetail, askedServer, authText, type McpServer, transportText } from './server.ts';
import { Tools, toolsCount } from './tools.tsx';

/** A configured server. Opening this asks it for its health and its tools. */
export function ServerDrawer({
  id,
  listed,
  onClose,
}: {
  readonly id: string;
  /** The server from the list, which is shown until it has answered. */
  readonly listed: McpServer | undefined;
  readonly onClose: () => void;
}) {
  const asked = useQuery({ ...askedServer(id), refetchOnMount: 'always', refetchOnWindowFocus: false });
  const isGone = asked.error instanceof ApiError && asked.error.status === 404;
  const server = isGone ? undefined : (asked.data ?? listed);
  return (
    <Drawer title={`MCP server ${server?.display_name ?? id}`} onClose={onClose}>
      <div className="stack detail">
        {isGone ? (
          <Empty title={`MCP server ${id} is not in the configuration`}>
            <p>
              <Link to="/observability/mcp-invocations" search={{ server_id: id }}>
                Its logged calls
              </Link>
            </p>
          </Empty>
        ) : (
          <Health asked={asked} />
        )}
        {server === undefined ? null : <Configured server={server} />}
        {isGone || asked.data?.healthy !== true ? null : (
          <Part title={toolsCount(asked.data.tools)}>
            <Tools of={asked.data} />
          </Part>
        )}
        {server === undefined ? null : (
          <Part title="How to connect">
            <Connect key={server.server_id} id={server.server_id} />
          </Part>
        )}
      </div>
    </Drawer>
  );
}

const Health = ({ asked }: { readonly asked: UseQueryResult<ServerDetail> }) => (
  <Part title="Health">
    <Loaded query={asked} what="the answer of the server">
      {(server) => (
        <>
          <div className="row gap" role="status">
            <HealthBadge of={server} />
            {server.error_message}
            <span className="muted">
              {server.healthy ? 'answered in' : 'after'} <Duration ms={server.latency_ms} />
              {server.protocol_version === null ? '' : `, revision ${server.protocol_version}`}, at{' '}
              <Time at={new Date(asked.dataUpdatedAt).toISOString()} /> UTC
            </span>
          </div>
          <div className="actions">
            <button
              type="button"
              className="button"
              onClick={() => void asked.refetch({ cancelRefetch: false })}
            >
              {asked.isFetching ? 'Checking the server…' : 'Check again'}
            </button>
          </div>
        </>
      )}
    </Loaded>
  </Part>
);

const Configured = ({ server }: { readonly server: McpServer }) => (
  <Part title="In the configuration file">
    <dl className="pairs">
      <Pair name="Id">
        <WholeId of={server.server_id} />
      </Pair>
      <Pair name="URL" isBroad>
        <code>{server.url}</code>
      </Pair>
      <Pair name="Transport">{transportText(server)}</Pair>
      <Pair name="Authentication of the gateway">{authText(server)}</Pair>
      <Pair name="May be used by" isBroad>
        <AllowedOwners of={server.allowed_owners} most={200} />
        {server.allowed_owners.some(({ owner_kind: kind }) => kind === 'team') ? (
          <p className="muted">A team: its own keys, those of its members and of its service accounts.</p>
        ) : null}
      </Pair>
      <Pair name="Allowed tools">{server.allowed_tools?.join(', ') ?? 'all'}</Pair>
      <Pair name="Denied tools">
        {server.denied_tools.length === 0 ? 'none' : server.denied_tools.join(', ')}
      </Pair>
      <Pair name="Timeout">
        <Duration ms={server.timeout_ms} />
      </Pair>
      <Pair name="Largest message">
        <Count of={server.max_result_bytes} /> bytes
      </Pair>
      <Pair name="Calls, last 24 hours">
        <LastDayCalls of={server.server_id} />
      </Pair>
    </dl>
    <nav className="row gap" aria-label="Calls of this server">
      <Link to="/observability/mcp-invocations" search={{ server_id: server.server_id }}>
        All its calls
      </Link>
      <Link
        to="/observability/mcp-invocations"
        search={{ server_id: server.server_id, policy_result: 'denied' }}
      >
        Denied calls
      </Link>
    </nav>
  </Part>
);
