import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { readPerson } from '../../api/owners.ts';
import { Badge, Id } from '../../ui/values.tsx';
import type { AdminEvent } from './events.ts';

/** Who made the change: a person, by name if they still exist. Without an actor it was the command line. */
export const Actor = ({ of: { actor_user_id: id, admin_token_id: token } }: { readonly of: AdminEvent }) =>
  id === null ? (
    <span className="muted">command line</span>
  ) : (
    <span className="row badges">
      <Person id={id} />
      {token === null ? null : <Badge tone="plain">API token</Badge>}
    </span>
  );

function Person({ id }: { readonly id: string }) {
  const person = useQuery({
    queryKey: ['people', 'name', id],
    queryFn: ({ signal }) => readPerson(id, signal),
    staleTime: 300_000,
    retry: false,
  });
  return (
    <Link to="/people" search={{ open: id }} title={id}>
      {person.data === undefined ? <Id of={id} /> : person.data.name}
    </Link>
  );
}
