import { useQuery } from '@tanstack/react-query';
import { Badge } from '../../ui/values.tsx';
import { type ServerDetail, askedServer } from './server.ts';

export const HealthBadge = ({ of: { healthy, error_code: code } }: { readonly of: ServerDetail }) =>
  healthy ? (
    <Badge tone="good">healthy</Badge>
  ) : (
    <Badge tone="bad">{(code ?? 'unhealthy').replaceAll('_', ' ')}</Badge>
  );

/** The last answer of a server. Sends nothing itself. */
export function KnownHealth({ id }: { readonly id: string }) {
  const { data, error, isFetching, dataUpdatedAt } = useQuery({ ...askedServer(id), enabled: false });
  if (isFetching) return <span className="muted">checking…</span>;
  if (error !== null) return <Badge tone="warn">could not be checked</Badge>;
  if (data === undefined) return <span className="muted">not checked yet</span>;
  return (
    <span title={`Checked at ${new Date(dataUpdatedAt).toISOString()}`}>
      <HealthBadge of={data} />
    </span>
  );
}
