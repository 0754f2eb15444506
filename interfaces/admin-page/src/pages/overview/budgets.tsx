import { Link } from '@tanstack/react-router';
import { BudgetBar } from '../../ui/bar.tsx';
import { ownerColumn } from '../../ui/columns.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { inLedger, ofOwner, ofWindow, RequestsLink } from '../../ui/things.tsx';
import { Count, Money, Time } from '../../ui/values.tsx';
import type { Overview } from './overview-data.ts';

type Standing = Overview['budgets']['items'][number];

const columns: readonly Column<Standing>[] = [
  ownerColumn,
  {
    key: 'share',
    title: 'Spent',
    cell: (of) => (
      <BudgetBar
        spendUsd={of.spend_usd}
        amountUsd={of.amount_usd}
        isHard={of.hard_limit}
        label={of.owner_name}
      />
    ),
  },
  {
    key: 'spend',
    title: 'Spend',
    align: 'end',
    cell: (of) => (
      <RequestsLink where={{ ...ofOwner(of), ...ofWindow(of), ...inLedger }}>
        <Money usd={of.spend_usd} />
      </RequestsLink>
    ),
    text: (of) => of.spend_usd,
  },
  {
    key: 'amount',
    title: 'Budget',
    align: 'end',
    cell: (of) => (
      <Link to="/budgets" search={{ open: of.owner_id }}>
        <Money usd={of.amount_usd} />
      </Link>
    ),
    text: (of) => of.amount_usd,
  },
  {
    key: 'end',
    title: 'Window ends (UTC)',
    cell: (of) => <Time at={of.window_end} />,
    text: (of) => of.window_end,
  },
];

/** The ten budgets that are nearest to their amount in the current window. */
export const NearestBudgets = ({ budgets }: { readonly budgets: Overview['budgets'] }) => (
  <div className="whole">
    <Table
      tools={
        <h2>
          Budgets closest to their amount{' '}
          <Link to="/budgets">
            All <Count of={budgets.total} />
          </Link>
        </h2>
      }
      caption="Nearest budgets"
      columns={columns}
      rows={budgets.items}
      rowKey={({ owner_kind: kind, owner_id: id }) => `${kind} ${id}`}
      empty={
        <p className="muted">
          No budget is set. <Link to="/budgets">Set one</Link>
        </p>
      }
    />
  </div>
);
