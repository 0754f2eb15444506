import { Link } from '@tanstack/react-router';
import { BoundedTable } from '../../ui/bounded-table.tsx';
import { BudgetBar } from '../../ui/bar.tsx';
import { ownerColumn } from '../../ui/columns.tsx';
import type { Column } from '../../ui/table.tsx';
import { Empty } from '../../ui/states.tsx';
import { type Owner as Named, RequestsLink } from '../../ui/things.tsx';
import { Count, Money, Time } from '../../ui/values.tsx';
import { type Budget, keyOf, type Owner, rowsOf, useOwners } from '../budgets/owners.ts';

interface Budgeted extends Owner, Named {
  readonly budget: Budget;
}

const columns: readonly Column<Budgeted>[] = [
  ownerColumn,
  {
    key: 'share',
    title: 'Spent',
    cell: ({ budget, current_window: window, name }) => (
      <BudgetBar
        spendUsd={window.spend_usd}
        amountUsd={budget.amount_usd}
        isHard={budget.hard_limit}
        label={name}
      />
    ),
  },
  {
    key: 'spend',
    title: 'Spend',
    align: 'end',
    cell: (owner) => (
      <RequestsLink where={rowsOf(owner)}>
        <Money usd={owner.current_window.spend_usd} />
      </RequestsLink>
    ),
    text: ({ current_window: window }) => window.spend_usd,
  },
  {
    key: 'amount',
    title: 'Budget',
    align: 'end',
    cell: ({ id, budget }) => (
      <Link to="/budgets" search={{ open: id }}>
        <Money usd={budget.amount_usd} />
      </Link>
    ),
    text: ({ budget }) => budget.amount_usd,
  },
  {
    key: 'limit',
    title: 'Limit',
    cell: ({ budget }) => `${budget.cadence}, ${budget.hard_limit ? 'hard' : 'soft'}`,
    text: ({ budget }) => `${budget.cadence} ${budget.hard_limit ? 'hard' : 'soft'}`,
  },
  {
    key: 'end',
    title: 'Window ends (UTC)',
    cell: ({ current_window: window }) => <Time at={window.end} />,
    text: ({ current_window: window }) => window.end,
  },
  {
    key: 'blocked',
    title: 'Blocked answers',
    align: 'end',
    cell: ({ current_window: window }) => <Count of={window.blocked_answers.count} />,
    text: ({ current_window: window }) => window.blocked_answers.count,
  },
];

/** Every budget in force, nearest to its amount first. */
export function BudgetList({ kind }: { readonly kind: string }) {
  const owners = useOwners();
  return (
    <BoundedTable
      tools={<h2>Budgets</h2>}
      caption="Spend against budgets"
      columns={columns}
      rows={owners.data?.filter((owner) => kind === 'all' || owner.kind === kind).flatMap(budgeted)}
      rowKey={keyOf}
      error={owners.error}
      again={() => void owners.refetch()}
      empty={
        <Empty title="No budget is set">
          <p>
            A budget of a person or a team says how much may be spent in a day, a week or a month, and warns
            when 20 % is left. <Link to="/budgets">Set one</Link>
          </p>
        </Empty>
      }
    />
  );
}

const budgeted = (owner: Owner): readonly Budgeted[] =>
  owner.budget === null
    ? []
    : [
        {
          ...owner,
          budget: owner.budget,
          owner_kind: owner.kind,
          owner_id: owner.id,
          owner_name: owner.name,
        },
      ];
