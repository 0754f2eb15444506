import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { percentText } from '../ui/amounts.ts';
import { ownerWords } from '../api/owners.ts';
import { useAddress } from '../app/address.ts';
import { BudgetBar } from '../ui/bar.tsx';
import { Drawer } from '../ui/dialog.tsx';
import { ChoiceFilter, FilterChips, TextFilter } from '../ui/filters.tsx';
import { type ListPage, NoRows, pageOf, Pager } from '../ui/list.tsx';
import { Page as Frame } from '../ui/page.tsx';
import { Empty } from '../ui/states.tsx';
import { type Column, Table } from '../ui/table.tsx';
import { Badge, Count, Dash, Money, Time } from '../ui/values.tsx';
import { EndBudget, OwnerDrawer } from './budgets/drawer.tsx';
import { isNear, keyOf, wasBlocked, type Owner, rowsOf, shareOf, useOwners } from './budgets/owners.ts';
import { SetBudget } from './budgets/set-budget.tsx';

/** Rows that are shown at once. The API returns all owners in one answer. */
const pageSize = 100;

const filterNames = { q: 'Name', kind: 'Owner', state: 'Budget' };

const states = {
  set: { label: 'With a budget', holds: ({ budget }: Owner) => budget !== null },
  none: { label: 'Without a budget', holds: ({ budget }: Owner) => budget === null },
  near: { label: '80 % spent or more', holds: isNear },
  blocked: { label: 'Hit the hard limit', holds: wasBlocked },
} as const;

const isState = (name: string): name is keyof typeof states => Object.hasOwn(states, name);

/** The budgets of all owners, and what is spent of them. */
export function Page() {
  const { filters, set } = useAddress();
  const owners = useOwners();
  const found = owners.data?.filter((owner) => isWanted(owner, filters));
  const page = pageOf(filters['page']);
  const list = found === undefined ? undefined : pageOfOwners(found, page);
  const wanted = filters['open'];
  const open = openedOf(owners.data, wanted);
  return (
    <Frame
      title="Budgets"
      facts={owners.data === undefined ? null : <Facts owners={owners.data} />}
      filters={
        <>
          <TextFilter name="q" label="Name, e-mail or id" isWide />
          <ChoiceFilter
            name="kind"
            label="Owner"
            options={[
              ['user', 'People'],
              ['team', 'Teams'],
            ]}
          />
          <ChoiceFilter
            name="state"
            label="Budget"
            options={Object.entries(states).map(([name, { label }]) => [name, label] as const)}
          />
        </>
      }
    >
      <FilterChips names={filterNames} />
      <Table
        caption="Budgets"
        columns={columns}
        rows={list?.items}
        csvRows={found}
        rowKey={keyOf}
        openKey={open === undefined ? undefined : keyOf(open)}
        onOpen={(owner) => set({ open: keyOf(owner) })}
        error={owners.error}
        again={() => void owners.refetch()}
        empty={
          <NoRows
            list={list}
            empty={<NoOwners isFiltered={owners.data !== undefined && owners.data.length > 0} />}
          />
        }
      />
      {list === undefined || (list.total <= pageSize && page === 1) ? null : <Pager list={list} />}
      {owners.data === undefined || wanted === undefined ? null : (
        <Opened key={wanted} owner={open} onClose={() => set({ open: undefined })} />
      )}
    </Frame>
  );
}

const pageOfOwners = (found: readonly Owner[], page: number): ListPage<Owner> => ({
  items: found.slice((page - 1) * pageSize, page * pageSize),
  page,
  page_size: pageSize,
  total: found.length,
  total_is_lower_bound: false,
});

/** The owner that the address opens, by kind and id, or by id alone. */
const openedOf = (owners: readonly Owner[] | undefined, wanted: string | undefined): Owner | undefined =>
  owners?.find((owner) => keyOf(owner) === wanted) ?? owners?.find(({ id }) => id === wanted);

/** The drawer of an owner with its actions, or a message that there is no such owner. */
function Opened({ owner, onClose }: { readonly owner: Owner | undefined; readonly onClose: () => void }) {
  const [act, setAct] = useState<'set' | 'end' | undefined>();
  const done = (): void => setAct(undefined);
  if (owner === undefined)
    return (
      <Drawer title="Budget" onClose={onClose}>
        <p>There is no owner with this id.</p>
      </Drawer>
    );
  return (
    <>
      <OwnerDrawer owner={owner} onSet={() => setAct('set')} onEnd={() => setAct('end')} onClose={onClose} />
      {act === 'set' ? <SetBudget owner={owner} onClose={done} /> : null}
      {act === 'end' ? <EndBudget owner={owner} onClose={done} /> : null}
    </>
  );
}

function isWanted(owner: Owner, filters: Readonly<Record<string, string>>): boolean {
  const text = (filters['q'] ?? '').trim().toLowerCase();
  const { state } = filters;
  const texts = [owner.name, owner.id, owner.email ?? ''];
  return (
    (filters['kind'] === undefined || owner.kind === filters['kind']) &&
    (state === undefined || (isState(state) && states[state].holds(owner))) &&
    texts.some((each) => each.toLowerCase().includes(text))
  );
}

function Facts({ owners }: { readonly owners: readonly Owner[] }) {
  const counted = (state: keyof typeof states): number => owners.filter(states[state].holds).length;
  return (
    <>
      <Count of={owners.length} /> {owners.length === 1 ? 'owner' : 'owners'},{' '}
      <Link to="/budgets" search={{ state: 'set' }}>
        <Count of={counted('set')} /> with a budget
      </Link>
      ,{' '}
      <Link to="/budgets" search={{ state: 'near' }}>
        <Count of={counted('near')} /> at 80 % or above
      </Link>
      ,{' '}
      <Link to="/budgets" search={{ state: 'blocked' }}>
        <Count of={counted('blocked')} /> hit the hard limit
      </Link>
      .
    </>
  );
}

const NoOwners = ({ isFiltered }: { readonly isFiltered: boolean }) =>
  isFiltered ? (
    <Empty title="No owner matches">
      <p>Remove a filter.</p>
    </Empty>
  ) : (
    <Empty title="There are no owners yet">
      <p>
        Budgets belong to people and teams. Create a person or team under <Link to="/people">People</Link> or{' '}
        <Link to="/teams">Teams</Link>, or in the configuration file:
      </p>
      <pre>
        {
          'teams:\n  - { id: search, name: Search, budget: { cadence: monthly, amount_10000: 500000, hard_limit: true } }'
        }
      </pre>
    </Empty>
  );

const columns: readonly Column<Owner>[] = [
  {
    key: 'owner',
    title: 'Owner',
    cell: ({ name, active }) => (
      <>
        {name} {active ? null : <Badge tone="plain">deactivated</Badge>}
      </>
    ),
    text: ({ name }) => name,
  },
  {
    key: 'email',
    title: 'E-mail',
    hidden: true,
    cell: ({ email }) => email ?? <Dash />,
    text: ({ email }) => email,
  },
  {
    key: 'kind',
    title: 'Kind',
    cell: ({ kind }) => ownerWords[kind],
    text: ({ kind }) => kind,
  },
  {
    key: 'spent',
    title: 'Spent of it',
    cell: ({ budget, current_window: window, name }) =>
      budget === null ? (
        <Dash />
      ) : (
        <BudgetBar
          spendUsd={window.spend_usd}
          amountUsd={budget.amount_usd}
          isHard={budget.hard_limit}
          label={name}
        />
      ),
    text: (owner) => {
      const share = shareOf(owner);
      return share === undefined ? null : percentText(share);
    },
  },
  {
    key: 'spend',
    title: 'Spend',
    align: 'end',
    cell: (owner) => (
      <Link to="/observability/request-logs" search={rowsOf(owner)}>
        <Money usd={owner.current_window.spend_usd} />
      </Link>
    ),
    text: ({ current_window: window }) => window.spend_usd,
  },
  {
    key: 'amount',
    title: 'Amount',
    align: 'end',
    cell: ({ budget }) => (budget === null ? <Dash /> : <Money usd={budget.amount_usd} />),
    text: ({ budget }) => budget?.amount_usd,
  },
  {
    key: 'window',
    title: 'Window, ends (UTC)',
    cell: ({ budget, current_window: { end } }) => (
      <>
        {budget === null ? <span className="muted">month</span> : budget.cadence}{' '}
        <span className="muted">
          <Time at={end} dateOnly />
        </span>
      </>
    ),
    text: ({ budget, current_window: { end } }) => `${budget?.cadence ?? 'month'}, ${end}`,
  },
  {
    key: 'limit',
    title: 'Limit',
    cell: ({ budget }) => (budget === null ? <Dash /> : budget.hard_limit ? 'hard' : 'soft'),
    text: ({ budget }) => (budget === null ? null : budget.hard_limit ? 'hard' : 'soft'),
  },
  {
    key: 'blocked',
    title: 'Blocked answers, cost',
    align: 'end',
    cell: ({ current_window: { blocked_answers: blocked } }) =>
      blocked.count === 0 ? (
        <Dash />
      ) : (
        <>
          <Count of={blocked.count} />, <Money usd={blocked.cost_usd} />
        </>
      ),
    text: ({ current_window: { blocked_answers: blocked } }) => `${blocked.count}, ${blocked.cost_usd} USD`,
  },
];
