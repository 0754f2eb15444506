import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { api, type QueryOf, read } from '../api/client.ts';
import { ownerChoice, type ServiceAccount } from '../api/owners.ts';
import { type Filters, useAddress } from '../app/address.ts';
import { filtersNamed } from '../app/words.ts';
import { ChoiceFilter, FilterChips, TextFilter } from '../ui/filters.tsx';
import { ListTable, useList } from '../ui/list.tsx';
import { Page as Frame } from '../ui/page.tsx';
import type { Column } from '../ui/table.tsx';
import { createdColumn, nameColumn, NoOwners, stateColumn, Total } from './owners/list-parts.tsx';
import { activeIn, activeOptions } from './owners/parts.tsx';
import { ServiceAccountDrawer } from './service-accounts/account-drawer.tsx';
import { CreateServiceAccount } from './service-accounts/account-forms.tsx';

const filterNames = { name: 'Name', active: 'Active', team_id: 'Team' };

/** Service accounts: programs with keys of their own, for which a team pays. */
export function Page() {
  const { filters, set } = useAddress();
  const [isCreating, setCreating] = useState(false);
  const asked = filtersNamed(filters, filterNames);
  const list = useList(['service-accounts', 'list', asked], (page, signal) =>
    read(
      api.GET('/api/v1/admin/service-accounts', { params: { query: { ...askedBy(asked), page } }, signal }),
    ),
  );
  const open = filters['open'];
  const teamId = filters['team_id'];
  return (
    <Frame
      title="Service accounts"
      facts={<Total of={list} one="service account" many="service accounts" />}
      actions={
        <button type="button" className="button primary" onClick={() => setCreating(true)}>
          New service account
        </button>
      }
      filters={
        <>
          <TextFilter name="name" label="Name" />
          <ChoiceFilter name="active" label="State" options={activeOptions} />
          <TextFilter name="team_id" label="Team id" />
        </>
      }
    >
      <FilterChips names={filterNames} />
      <ListTable
        caption="Service accounts"
        columns={columns}
        list={list}
        rowKey={(account) => account.service_account_id}
        onOpen={(account) => set({ open: account.service_account_id })}
        openKey={open}
        empty={
          <NoOwners
            isFiltered={Object.keys(asked).length > 0}
            many="service accounts"
            line={'# gateway.yaml\nservice_accounts:\n  - id: indexer\n    name: Indexer\n    team: search'}
          />
        }
      />
      {open === undefined ? null : (
        <ServiceAccountDrawer id={open} onClose={() => set({ open: undefined })} />
      )}
      {isCreating ? (
        <CreateServiceAccount
          team={teamId === undefined ? undefined : ownerChoice(teamId, teamId, '')}
          onMade={(made) => {
            setCreating(false);
            set({ open: made.service_account_id });
          }}
          onClose={() => setCreating(false)}
        />
      ) : null}
    </Frame>
  );
}

const askedBy = ({ active, ...texts }: Filters): QueryOf<'/api/v1/admin/service-accounts'> => ({
  ...texts,
  ...activeIn(active),
});

const columns: readonly Column<ServiceAccount>[] = [
  nameColumn,
  {
    key: 'id',
    title: 'Id',
    cell: (account) => <code>{account.service_account_id}</code>,
    text: (account) => account.service_account_id,
  },
  {
    key: 'team',
    title: 'Team that pays',
    cell: (account) => (
      <Link to="/teams" search={{ open: account.team_id }}>
        {account.team_name}
      </Link>
    ),
    text: (account) => account.team_id,
  },
  stateColumn,
  createdColumn,
];
