import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { grouped } from '../ui/amounts.ts';
import { api, type QueryOf, read } from '../api/client.ts';
import { type ApiKey, ownerChoice, ownerKinds, ownerWords } from '../api/owners.ts';
import { kindPaths } from '../api/search.ts';
import { type Filters, useAddress } from '../app/address.ts';
import { filtersNamed, wordOf } from '../app/words.ts';
import { ChoiceFilter, FilterChips, TextFilter } from '../ui/filters.tsx';
import { ListTable, useList } from '../ui/list.tsx';
import { Page as Frame } from '../ui/page.tsx';
import type { Column } from '../ui/table.tsx';
import { Id, Time } from '../ui/values.tsx';
import { CreateKey, type OwnerDraft } from './keys/create-key.tsx';
import { KeyDrawer } from './keys/key-drawer.tsx';
import { KeyBadge, keyState, modelsHint, modelsText } from './keys/key-state.tsx';
import { nameColumn, NoOwners, Total } from './owners/list-parts.tsx';
import { SecretShown, type ShownKey } from './keys/secret-shown.tsx';

const filterNames = { owner_kind: 'Kind of owner', owner_id: 'Owner id', name: 'Name', status: 'Status' };

const statuses = ['active', 'revoked', 'expired'] as const;

/** API keys: their owners, what they may do, and everything from creation to revocation. */
export function Page() {
  const { filters, set } = useAddress();
  const [isCreating, setCreating] = useState(false);
  const [shown, setShown] = useState<{ readonly title: string; readonly key: ShownKey }>();
  const asked = filtersNamed(filters, filterNames);
  const list = useList(['keys', 'list', asked], (page, signal) =>
    read(api.GET('/api/v1/admin/api-keys', { params: { query: { ...askedBy(asked), page } }, signal })),
  );
  const open = filters['open'];
  return (
    <Frame
      title="Keys"
      facts={<Total of={list} one="key" many="keys" />}
      actions={
        <button type="button" className="button primary" onClick={() => setCreating(true)}>
          New key
        </button>
      }
      filters={<KeyFilters />}
    >
      <FilterChips names={filterNames} />
      <ListTable
        caption="Keys"
        columns={columns}
        list={list}
        rowKey={(key) => key.api_key_id}
        onOpen={(key) => set({ open: key.api_key_id })}
        openKey={open}
        empty={
          <NoOwners
            isFiltered={Object.keys(asked).length > 0}
            many="keys"
            line="npx gateway keys create --name laptop --owner user:ada@example.com"
          />
        }
      />
      {open === undefined ? null : (
        <KeyDrawer
          id={open}
          onRotated={(key) => setShown({ title: `The new secret of “${key.name}”`, key })}
          onClose={() => set({ open: undefined })}
        />
      )}
      {isCreating ? (
        <CreateKey
          owner={ownerIn(filters)}
          onMade={(key) => {
            setCreating(false);
            setShown({ title: `Key “${key.name}” was created`, key });
          }}
          onClose={() => setCreating(false)}
        />
      ) : null}
      {shown === undefined ? null : (
        <SecretShown title={shown.title} shown={shown.key} onClose={() => setShown(undefined)} />
      )}
    </Frame>
  );
}

/** The query of the API for these filters. */
function askedBy({ owner_kind: kind, status, ...texts }: Filters): QueryOf<'/api/v1/admin/api-keys'> {
  const ownerKind = wordOf('owner_kind', ownerKinds, kind);
  const isOf = wordOf('status', statuses, status);
  return {
    ...texts,
    ...(ownerKind === undefined ? {} : { owner_kind: ownerKind }),
    ...(isOf === undefined ? {} : { status: isOf }),
  };
}

/** In a list of one owner's keys, a new key is for that owner. */
function ownerIn(filters: Filters): OwnerDraft {
  const kind = ownerKinds.find((each) => each === filters['owner_kind']) ?? 'user';
  const id = filters['owner_id'];
  return {
    kind,
    chosen: id === undefined ? undefined : ownerChoice(id, `This ${ownerWords[kind]}`, id),
  };
}

const KeyFilters = () => (
  <>
    <TextFilter name="name" label="Name" />
    <ChoiceFilter name="status" label="Status" options={statuses.map((each) => [each, each])} />
    <ChoiceFilter
      name="owner_kind"
      label="Kind of owner"
      options={ownerKinds.map((each) => [each, ownerWords[each]])}
    />
    <TextFilter name="owner_id" label="Owner id" isWide />
  </>
);

const columns: readonly Column<ApiKey>[] = [
  nameColumn,
  { key: 'status', title: 'Status', cell: (key) => <KeyBadge of={key} />, text: keyState },
  {
    key: 'public_id',
    title: 'Public id',
    cell: (key) => <Id of={key.public_id} />,
    text: (key) => key.public_id,
  },
  {
    key: 'owner',
    title: 'Owner',
    cell: (key) => (
      <>
        <Link to={kindPaths[key.owner_kind]} search={{ open: key.owner_id }}>
          {key.owner_name}
        </Link>{' '}
        <span className="muted">{ownerWords[key.owner_kind]}</span>
      </>
    ),
    text: (key) => key.owner_name,
  },
  {
    key: 'models',
    title: 'Models',
    cell: ({ allowed_models: allowed }) => (
      <span title={modelsHint(allowed)}>
        {allowed.length === 0
          ? 'all'
          : allowed.length <= 2
            ? allowed.join(', ')
            : `${grouped(allowed.length)} models`}
      </span>
    ),
    text: (key) => modelsText(key.allowed_models),
  },
  {
    key: 'expires',
    title: 'Expires',
    cell: (key) =>
      key.expires_at === null ? <span className="muted">never</span> : <Time at={key.expires_at} />,
    text: (key) => key.expires_at,
  },
  {
    key: 'last_used',
    title: 'Last used',
    cell: (key) => key.last_used_on ?? <span className="muted">never</span>,
    text: (key) => key.last_used_on,
  },
  {
    key: 'created_by',
    title: 'Creator',
    cell: (key) =>
      key.created_by === null ? (
        <span className="muted">{key.from_config ? 'the file' : 'command line'}</span>
      ) : (
        <Link to="/people" search={{ open: key.created_by.user_id }}>
          {key.created_by.name}
        </Link>
      ),
    text: (key) => key.created_by?.name,
  },
  {
    key: 'created',
    title: 'Created',
    cell: (key) => <Time at={key.created_at} />,
    text: (key) => key.created_at,
    hidden: true,
  },
];
