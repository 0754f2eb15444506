import { Link } from '@tanstack/react-router';
import { Fragment } from 'react';
import { grouped } from '../../ui/amounts.ts';
import { ownerWords } from '../../api/owners.ts';
import { kindPaths } from '../../api/search.ts';
import type { AllowedOwner } from './server.ts';

export const ownerText = ({ owner_kind: kind, owner }: AllowedOwner): string =>
  kind === 'everyone' ? 'every key' : `${ownerWords[kind]} ${owner}`;

/** The owners whose keys may use a server, as links: the first ones, and how many more there are. */
export function AllowedOwners({
  of: owners,
  most,
}: {
  readonly of: readonly AllowedOwner[];
  readonly most: number;
}) {
  if (owners.length === 0) return 'nobody';
  const rest = owners.length - most;
  return (
    <>
      {owners.slice(0, most).map((each, index) => (
        <Fragment key={ownerText(each)}>
          {index === 0 ? null : ', '}
          <OwnerOf owner={each} />
        </Fragment>
      ))}
      {rest > 0 ? <span className="muted"> and {grouped(rest)} more</span> : null}
    </>
  );
}

function OwnerOf({ owner }: { readonly owner: AllowedOwner }) {
  const { owner_kind: kind, owner: id } = owner;
  if (kind === 'everyone' || id === null) return ownerText(owner);
  return (
    <>
      {ownerWords[kind]}{' '}
      <Link to={kindPaths[kind]} search={kind === 'user' ? { email: id } : { open: id }}>
        {id}
      </Link>
    </>
  );
}
