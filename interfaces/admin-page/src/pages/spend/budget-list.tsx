import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { api, type Got, read } from '../../api/client.ts';
import { BoundedTable } from '../../ui/bounded-table.tsx';
import { BudgetBar } from '../../ui/bar.tsx';
import { shareBps } from '../../ui/amounts.ts';
import { ownerColumn } from '../../ui/columns.tsx';
import type { Column } from '../../ui/table.tsx';
import { Empty } from '../../ui/states.tsx';
import { inLedger, ofOwner, RequestsLink } from '../../ui/things.tsx';
import { Count, Money, Time } from '../../ui/values.tsx';

interface Standing {
  readonly owner_kind: 'user' | 'team';
  readonly owner_id: string;
  readonly owner_name: string;
  readonly amount: string;
  readonly hard: boolean;
  readonly cadence: string;
  readonly window: { readonly start: string; readonly end: string };
  readonly spend: string;
  readonly blocked: number;
  readonly share: number;
}

const columns: readonly Column<Standing>[] = [
  ownerColumn,
  {
    key: 'share',
    title: 'Spent',
    cell: (of) => <BudgetBar spendUsd={of.spend} amountUsd={of.amount} label={of.owner_name} />,
  },
  {
    key: 'spend',
    title: 'Spend',
    align: 'end',
    cell: (of) => (
      <RequestsLink where={{ ...ofOwner(of), ...inLedger, from: of.window.start, to: of.window.end }}>
        <Money usd={of.spend} />
      </RequestsLink>
    ),
    text: ({ spend }) => spend,
  },
  {
    key: 'amount',
    title: 'Budget',
    align: 'end',
    cell: (of) => (
      <Link to="/budgets" search={{ open: of.owner_id }}>
        <Money usd={of.amount} />
      </Link>
    ),
    text: ({ amount }) => amount,
  },
  {
    key: 'limit',
    title: 'Limit',
    cell: ({ cadence, hard }) => `${cadence}, ${hard ? 'hard' : 'soft'}`,
    text: ({ cadence, hard }) => `${cadence} ${hard ? 'hard' : 'soft'}`,
  },
  {
    key: 'end',
    title: 'Window ends (UTC)',
    cell: ({ window }) => <Time at={window.end} />,
    text: ({ window }) => window.end,
  },
  {
    key: 'blocked',
    title: 'Blocked answers',
    align: 'end',
    cell: ({ blocked }) => <Count of={blocked} />,
    text: ({ blocked }) => blocked,
  },
];

/** Every budget in force, the one that is nearest to its amount first. */
export function BudgetList({ kind }: { readonly kind: string }) {
  const budgets = useQuery({
    queryKey: ['budgets', 'report'],
    queryFn: ({ signal }) => read(api.GET('/api/v1/admin/spend/budgets', { signal })),
  });
  const rows = budgets.data === undefined ? undefined : standings(budgets.data, kind);
  return (
    <BoundedTable
      tools={<h2>Budgets</h2>}
      caption="Spend against budgets"
      columns={columns}
      rows={rows}
      rowKey={({ owner_kind, owner_id }) => `${owner_kind} ${owner_id}`}
      error={budgets.error}
      again={() => void budgets.refetch()}
      empty={
        <Empty title="No budget is set">
          <p>
            A budget of a person or a team says how much may be spent in a day, a week or a month, and warns
            when 20 % are left. <Link to="/budgets">Set one</Link>
          </p>
        </Empty>
      }
    />
  );
}

type Budgets = Got<'/api/v1/admin/spend/budgets'>;

function standings({ users, teams }: Budgets, kind: string): readonly Standing[] {
  const found = [
    ...users.map((user) => ({ ...user, owner_kind: 'user' as const, owner_id: user.user_id })),
    ...teams.map((team) => ({ ...team, owner_kind: 'team' as const, owner_id: team.team_id })),
  ];
  return found
    .filter(({ owner_kind: its }) => kind === 'all' || its === kind)
    .flatMap(({ owner_kind, owner_id, name, budget, current_window: window }): readonly Standing[] =>
      budget === null
        ? []
        : [
            {
              owner_kind,
              owner_id,
              owner_name: name,
              amount: budget.amount_usd,
              hard: budget.hard_limit,
              cadence: budget.cadence,
              window,
              spend: window.spend_usd,
              blocked: window.blocked_answers.count,
              // An amount of 0 refuses everything: it is as full as can be.
              share: shareBps(window.spend_usd, budget.amount_usd) ?? Number.POSITIVE_INFINITY,
            },
          ],
    )
    .toSorted((one, other) => other.share - one.share || (one.owner_name < other.owner_name ? -1 : 1));
}
