import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { api, read } from '../../api/client.ts';
import type { OwnerKind } from '../../api/owners.ts';
import { Drawer } from '../../ui/dialog.tsx';
import { Loaded } from '../../ui/loaded.tsx';
import { Badge, CopyButton, Count } from '../../ui/values.tsx';
import { flagOf } from '../../app/words.ts';

export const stateText = (active: boolean): string => (active ? 'active' : 'inactive');

export const ActiveBadge = ({ is }: { readonly is: boolean }) => (
  <Badge tone={is ? 'good' : 'warn'}>{stateText(is)}</Badge>
);

export const activeOptions = [
  ['true', 'active'],
  ['false', 'inactive'],
] as const;

/** The filter `active` in the address. */
export function activeIn(text: string | undefined): { readonly active?: boolean } {
  const active = flagOf('active', text);
  return active === undefined ? {} : { active };
}

/**
 * An id with a button that copies all of it. A caller may choose ids as long as its headers, so a very long one is
 * shortened here.
 */
export const WholeId = ({ of, label }: { readonly of: string; readonly label?: string }) => (
  <>
    <code>{of.length > maxShownChars ? `${of.slice(0, maxShownChars)}…` : of}</code>{' '}
    <CopyButton text={of} label={label} />
  </>
);

const maxShownChars = 200;

/** The owner or the key that the address names. */
export function OpenedDrawer<O>({
  what,
  queryKey,
  load,
  titleOf,
  onClose,
  children,
}: {
  readonly what: string;
  readonly queryKey: readonly string[];
  readonly load: (signal: AbortSignal) => Promise<O>;
  readonly titleOf: (owner: O) => string;
  readonly onClose: () => void;
  readonly children: (owner: O) => ReactNode;
}) {
  const found = useQuery({ queryKey, queryFn: ({ signal }) => load(signal) });
  return (
    <Drawer title={found.data === undefined ? what : titleOf(found.data)} onClose={onClose}>
      <Loaded query={found} what={`the ${what.toLowerCase()}`}>
        {children}
      </Loaded>
    </Drawer>
  );
}

const isActive = { status: 'active' } as const;

/** The number of an owner's active keys, as a link to them. */
function KeyCount({ kind, id }: { readonly kind: OwnerKind; readonly id: string }) {
  const keys = useActiveKeys(kind, id);
  return (
    <Link
      to="/keys"
      search={{ owner_kind: kind, owner_id: id, ...(keys.data === undefined ? {} : isActive) }}
    >
      {keys.data === undefined ? (
        'Keys'
      ) : (
        <>
          {keys.data.total_is_lower_bound ? 'More than ' : ''}
          <Count of={keys.data.total} /> {keys.data.total === 1 ? 'active key' : 'active keys'}
        </>
      )}
    </Link>
  );
}

export const useActiveKeys = (kind: OwnerKind, id: string) =>
  useQuery({
    queryKey: ['keys', 'count', kind, id],
    queryFn: ({ signal }) =>
      read(
        api.GET('/api/v1/admin/api-keys', {
          params: { query: { owner_kind: kind, owner_id: id, ...isActive, page_size: 1 } },
          signal,
        }),
      ),
  });

const requestFilter = { user: 'user_id', team: 'team_id', service_account: 'service_account_id' } as const;

/** Links from an owner to what belongs to it. A service account's spend and budget are those of its team. */
export const OwnerLinks = ({
  kind,
  id,
  payer,
}: {
  readonly kind: OwnerKind;
  readonly id: string;
  readonly payer: { readonly kind: 'user' | 'team'; readonly id: string };
}) => (
  <nav className="row gap" aria-label="More of this owner">
    <KeyCount kind={kind} id={id} />
    <Link to="/observability/request-logs" search={{ [requestFilter[kind]]: id }}>
      Requests
    </Link>
    <Link to="/spend" search={{ owner_kind: payer.kind }}>
      {payer.kind === 'user' ? 'Spend of people' : 'Spend of teams'}
    </Link>
    <Link to="/budgets" search={{ open: `${payer.kind}:${payer.id}` }}>
      {kind === 'service_account' ? 'Budget of its team' : 'Budget'}
    </Link>
    <Link to="/audit" search={{ target_id: id }}>
      Audit
    </Link>
  </nav>
);
