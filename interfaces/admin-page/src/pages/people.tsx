import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { api, type QueryOf, read } from '../api/client.ts';
import type { Person } from '../api/owners.ts';
import { type Filters, useAddress } from '../app/address.ts';
import { filtersNamed, wordOf } from '../app/words.ts';
import { ChoiceFilter, FilterChips, TextFilter } from '../ui/filters.tsx';
import { ListTable, useList } from '../ui/list.tsx';
import { Page as Frame } from '../ui/page.tsx';
import type { Column } from '../ui/table.tsx';
import { Id } from '../ui/values.tsx';
import { createdColumn, nameColumn, NoOwners, stateColumn, Total } from './owners/list-parts.tsx';
import { activeIn, activeOptions } from './owners/parts.tsx';
import { PersonDrawer } from './people/person-drawer.tsx';
import { CreatePerson, roles, roleWords } from './people/person-forms.tsx';

const filterNames = { email: 'E-mail', name: 'Name', active: 'Active', role: 'Role', team_id: 'Team' };

/** People: who may log in and have keys. */
export function Page() {
  const { filters, set } = useAddress();
  const [isCreating, setCreating] = useState(false);
  const asked = filtersNamed(filters, filterNames);
  const list = useList(['people', 'list', asked], (page, signal) =>
    read(api.GET('/api/v1/admin/users', { params: { query: { ...askedBy(asked), page } }, signal })),
  );
  const open = filters['open'];
  return (
    <Frame
      title="People"
      facts={<Total of={list} one="person" many="people" />}
      actions={
        <button type="button" className="button primary" onClick={() => setCreating(true)}>
          New person
        </button>
      }
      filters={
        <>
          <TextFilter name="email" label="E-mail" />
          <TextFilter name="name" label="Name" />
          <ChoiceFilter name="active" label="State" options={activeOptions} />
          <ChoiceFilter name="role" label="Role" options={roles.map((each) => [each, roleWords[each]])} />
          <TextFilter name="team_id" label="Team id" />
        </>
      }
    >
      <FilterChips names={filterNames} />
      <ListTable
        caption="People"
        columns={columns}
        list={list}
        rowKey={(person) => person.user_id}
        onOpen={(person) => set({ open: person.user_id })}
        openKey={open}
        empty={
          <NoOwners
            isFiltered={Object.keys(asked).length > 0}
            many="people"
            line="npx gateway admin create --email ada@example.com"
          />
        }
      />
      {open === undefined ? null : <PersonDrawer id={open} onClose={() => set({ open: undefined })} />}
      {isCreating ? (
        <CreatePerson
          onMade={(made) => {
            setCreating(false);
            set({ open: made.user_id });
          }}
          onClose={() => setCreating(false)}
        />
      ) : null}
    </Frame>
  );
}

function askedBy({ active, role, ...texts }: Filters): QueryOf<'/api/v1/admin/users'> {
  const wanted = wordOf('role', roles, role);
  return { ...texts, ...activeIn(active), ...(wanted === undefined ? {} : { role: wanted }) };
}

const columns: readonly Column<Person>[] = [
  nameColumn,
  { key: 'email', title: 'E-mail', cell: (person) => person.email, text: (person) => person.email },
  stateColumn,
  { key: 'role', title: 'Role', cell: (person) => roleWords[person.role], text: (person) => person.role },
  {
    key: 'logging',
    title: 'Request logging',
    cell: (person) => (person.request_logging_enabled ? 'on' : 'off'),
    text: (person) => (person.request_logging_enabled ? 'on' : 'off'),
  },
  {
    key: 'teams',
    title: 'Teams',
    cell: ({ teams }) =>
      teams.length === 0 ? (
        <span className="muted">none</span>
      ) : (
        teams.map(({ team_id: id }, index) => (
          <span key={id}>
            {index === 0 ? '' : ', '}
            <Link to="/teams" search={{ open: id }}>
              {id}
            </Link>
          </span>
        ))
      ),
    text: ({ teams }) => teams.map(({ team_id: id }) => id).join(' '),
  },
  createdColumn,
  {
    key: 'id',
    title: 'Id',
    cell: (person) => <Id of={person.user_id} />,
    text: (person) => person.user_id,
    hidden: true,
  },
];
