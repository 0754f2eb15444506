import { useInfiniteQuery } from '@tanstack/react-query';
import { ActButton } from '../../ui/act-button.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { Badge, Dash, Money, NotAvailable, Time } from '../../ui/values.tsx';
import { budgetsKey, callsOf, keyOf, type Owner } from './owners.ts';

type Entry = Awaited<ReturnType<ReturnType<typeof callsOf>['history']>>['items'][number];

const whoText = (by: Entry['set_by'], name: string | null): string =>
  by === 'config' ? 'the configuration file' : (name ?? (by === 'admin' ? 'an admin' : 'n/a'));

const columns: readonly Column<Entry>[] = [
  {
    key: 'set',
    title: 'Set (UTC)',
    cell: ({ created_at: at }) => <Time at={at} />,
    text: ({ created_at: at }) => at,
  },
  {
    key: 'by',
    title: 'Set by',
    cell: ({ set_by: by, set_by_user_name: name }) => (by === null ? <NotAvailable /> : whoText(by, name)),
    text: ({ set_by: by, set_by_user_name: name }) => whoText(by, name),
  },
  {
    key: 'amount',
    title: 'Amount',
    align: 'end',
    cell: ({ amount_usd: usd }) => <Money usd={usd} />,
    text: ({ amount_usd: usd }) => usd,
  },
  { key: 'cadence', title: 'Window', cell: ({ cadence }) => cadence, text: ({ cadence }) => cadence },
  {
    key: 'limit',
    title: 'Limit',
    cell: ({ hard_limit: isHard }) => (isHard ? 'hard' : 'soft'),
    text: ({ hard_limit: isHard }) => (isHard ? 'hard' : 'soft'),
  },
  {
    key: 'ended',
    title: 'Ended (UTC)',
    cell: ({ deactivated_at: at }) => (at === null ? <Badge tone="good">in force</Badge> : <Time at={at} />),
    text: ({ deactivated_at: at }) => at,
  },
  {
    key: 'ended_by',
    title: 'Ended by',
    cell: ({ deactivated_at: at, deactivated_by: by, deactivated_by_user_name: name }) =>
      at === null ? <Dash /> : by === null ? <NotAvailable /> : whoText(by, name),
    text: ({ deactivated_at: at, deactivated_by: by, deactivated_by_user_name: name }) =>
      at === null ? null : whoText(by, name),
  },
];

/** Every past and current budget of an owner, newest first. */
export function History({ owner }: { readonly owner: Owner }) {
  const history = useInfiniteQuery({
    queryKey: [...budgetsKey, keyOf(owner), 'history'],
    queryFn: ({ pageParam, signal }) => callsOf(owner).history(pageParam, signal),
    initialPageParam: 1,
    getNextPageParam: ({ page, page_size: size, total }) => (page * size < total ? page + 1 : undefined),
  });
  return (
    <section className="stack" aria-label="History">
      <h3>History</h3>
      <Table
        caption={`Budgets of ${owner.name}`}
        columns={columns}
        rows={history.data?.pages.flatMap(({ items }) => items)}
        rowKey={({ budget_id: id }) => id}
        error={history.error}
        again={() => void history.refetch()}
        empty={<p className="muted">There has never been a budget.</p>}
      />
      {history.hasNextPage ? (
        <div>
          <ActButton isPending={history.isFetchingNextPage} onAct={() => void history.fetchNextPage()}>
            Show older ones
          </ActButton>
        </div>
      ) : null}
    </section>
  );
}
