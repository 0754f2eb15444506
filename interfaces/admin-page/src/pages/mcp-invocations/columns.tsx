import { Link } from '@tanstack/react-router';
import { ownerWords } from '../../api/owners.ts';
import type { Column } from '../../ui/table.tsx';
import { McpServerLink } from '../../ui/things.tsx';
import { Badge, Dash, Duration, Id, Time } from '../../ui/values.tsx';
import type { McpInvocation } from './invocation.ts';

export function CallStatus({ of: call }: { readonly of: Pick<McpInvocation, 'status' | 'error_code'> }) {
  const words = call.status.replaceAll('_', ' ');
  return (
    <Badge tone={toneOf(call)}>
      {call.error_code === null || call.error_code === call.status ? words : `${words}: ${call.error_code}`}
    </Badge>
  );
}

function toneOf({
  status,
  error_code: code,
}: Pick<McpInvocation, 'status' | 'error_code'>): 'good' | 'warn' | 'bad' | 'plain' {
  if (status === 'success') return 'good';
  if (code !== null && nobodysFault.has(code)) return 'plain';
  return ['unauthorized', 'policy_denied', 'invalid_request'].includes(status) ? 'warn' : 'bad';
}

/** The caller disconnected, or fetches the rest of the answer later. */
const nobodysFault: ReadonlySet<string> = new Set(['cancelled', 'client_closed', 'left_to_resume']);

export const PolicyBadge = ({ of: call }: { readonly of: Pick<McpInvocation, 'policy_result'> }) => (
  <Badge
    tone={call.policy_result === 'allowed' ? 'good' : call.policy_result === 'denied' ? 'warn' : 'plain'}
  >
    {call.policy_result.replaceAll('_', ' ')}
  </Badge>
);

/** The id of the owner of a call; `undefined` when the credential was unknown. */
const ownerIdOf = (call: McpInvocation): string | undefined => call.team_id ?? call.user_id ?? undefined;

export const invocationColumns: readonly Column<McpInvocation>[] = [
  {
    key: 'time',
    title: 'Time (UTC)',
    cell: (call) => <Time at={call.occurred_at} />,
    text: (call) => call.occurred_at,
  },
  {
    key: 'status',
    title: 'Status',
    cell: (call) => <CallStatus of={call} />,
    text: (call) => [call.status, call.error_code].filter((text) => text !== null).join(': '),
  },
  {
    key: 'policy',
    title: 'Policy',
    cell: (call) => <PolicyBadge of={call} />,
    text: (call) => call.policy_result,
  },
  {
    key: 'server',
    title: 'Server',
    cell: (call) => <McpServerLink id={call.server_id}>{call.server_display_name}</McpServerLink>,
    text: (call) => call.server_id,
  },
  {
    key: 'tool',
    title: 'Tool',
    cell: (call) => <span title={call.tool_id}>{call.tool_display_name ?? call.tool_id}</span>,
    text: (call) => call.tool_id,
  },
  {
    key: 'latency',
    title: 'Latency',
    align: 'end',
    cell: (call) => <Duration ms={call.latency_ms} />,
    text: (call) => call.latency_ms,
  },
  {
    key: 'owner',
    title: 'Owner',
    cell: (call) =>
      ownerIdOf(call) === undefined ? (
        <Dash />
      ) : (
        <>
          {call.owner_kind === null ? 'owner' : ownerWords[call.owner_kind]} <Id of={ownerIdOf(call)} />
        </>
      ),
    text: ownerIdOf,
  },
  {
    key: 'request',
    title: 'Request id',
    cell: (call) => (
      <Link to="/observability/request-logs" search={{ request_id: call.request_id }}>
        <Id of={call.request_id} />
      </Link>
    ),
    text: (call) => call.request_id,
  },
];
