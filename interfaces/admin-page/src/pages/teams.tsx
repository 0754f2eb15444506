import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { api, type QueryOf, read } from '../api/client.ts';
import type { Team } from '../api/owners.ts';
import { type Filters, useAddress } from '../app/address.ts';
import { filtersNamed } from '../app/words.ts';
import { ChoiceFilter, FilterChips, TextFilter } from '../ui/filters.tsx';
import { ListTable, useList } from '../ui/list.tsx';
import { Page as Frame } from '../ui/page.tsx';
import type { Column } from '../ui/table.tsx';
import { Count } from '../ui/values.tsx';
import { createdColumn, nameColumn, NoOwners, stateColumn, Total } from './owners/list-parts.tsx';
import { activeIn, activeOptions } from './owners/parts.tsx';
import { TeamDrawer } from './teams/team-drawer.tsx';
import { CreateTeam } from './teams/team-forms.tsx';

const filterNames = { name: 'Name', active: 'Active' };

/** Teams: who pays together, and their members. */
export function Page() {
  const { filters, set } = useAddress();
  const [isCreating, setCreating] = useState(false);
  const asked = filtersNamed(filters, filterNames);
  const list = useList(['teams', 'list', asked], (page, signal) =>
    read(api.GET('/api/v1/admin/teams', { params: { query: { ...askedBy(asked), page } }, signal })),
  );
  const open = filters['open'];
  return (
    <Frame
      title="Teams"
      facts={<Total of={list} one="team" many="teams" />}
      actions={
        <button type="button" className="button primary" onClick={() => setCreating(true)}>
          New team
        </button>
      }
      filters={
        <>
          <TextFilter name="name" label="Name" />
          <ChoiceFilter name="active" label="State" options={activeOptions} />
        </>
      }
    >
      <FilterChips names={filterNames} />
      <ListTable
        caption="Teams"
        columns={columns}
        list={list}
        rowKey={(team) => team.team_id}
        onOpen={(team) => set({ open: team.team_id })}
        openKey={open}
        empty={
          <NoOwners
            isFiltered={Object.keys(asked).length > 0}
            many="teams"
            line={'# gateway.yaml\nteams:\n  - id: search\n    name: Search'}
          />
        }
      />
      {open === undefined ? null : <TeamDrawer id={open} onClose={() => set({ open: undefined })} />}
      {isCreating ? (
        <CreateTeam
          onMade={(made) => {
            setCreating(false);
            set({ open: made.team_id });
          }}
          onClose={() => setCreating(false)}
        />
      ) : null}
    </Frame>
  );
}

const askedBy = ({ active, ...texts }: Filters): QueryOf<'/api/v1/admin/teams'> => ({
  ...texts,
  ...activeIn(active),
});

const columns: readonly Column<Team>[] = [
  nameColumn,
  { key: 'id', title: 'Id', cell: (team) => <code>{team.team_id}</code>, text: (team) => team.team_id },
  stateColumn,
  {
    key: 'members',
    title: 'Members',
    align: 'end',
    cell: (team) => (
      <Link to="/people" search={{ team_id: team.team_id }}>
        <Count of={team.member_count} />
      </Link>
    ),
    text: (team) => team.member_count,
  },
  createdColumn,
];
