import { Link } from '@tanstack/react-router';
import { type Column, Table } from '../../ui/table.tsx';
import { ModelLink, ofOwner, OwnerLink, RequestsLink } from '../../ui/things.tsx';
import { Count, Money } from '../../ui/values.tsx';
import { type Overview, windowOf } from './overview-data.ts';

type Spent = Pick<Overview['today'], 'spend_usd' | 'request_count'>;

const spentColumns = <R extends Spent>(
  where: (row: R) => Readonly<Record<string, string>>,
): readonly Column<R>[] => [
  {
    key: 'requests',
    title: 'Requests',
    align: 'end',
    cell: (row) => (
      <RequestsLink where={where(row)}>
        <Count of={row.request_count} />
      </RequestsLink>
    ),
    text: (row) => row.request_count,
  },
  {
    key: 'spend',
    title: 'Spend',
    align: 'end',
    cell: (row) => <Money usd={row.spend_usd} />,
    text: (row) => row.spend_usd,
  },
];

/** The models and the owners with the highest spend of the 24 hours. */
export function Top({ of }: { readonly of: Overview }) {
  const window = windowOf(of);
  const models: readonly Column<Overview['top_models'][number]>[] = [
    {
      key: 'model',
      title: 'Model',
      cell: ({ model_key: model }) => <ModelLink model={model} />,
      text: ({ model_key: model }) => model,
    },
    ...spentColumns<Overview['top_models'][number]>(({ model_key }) => ({ model_key, ...window })),
  ];
  const owners: readonly Column<Overview['top_owners'][number]>[] = [
    {
      key: 'owner',
      title: 'Owner',
      cell: (owner) => <OwnerLink owner={owner} />,
      text: (owner) => owner.owner_name,
    },
    ...spentColumns<Overview['top_owners'][number]>((owner) => ({ ...ofOwner(owner), ...window })),
  ];
  const none = <p className="muted">No request in the last 24 hours.</p>;
  return (
    <>
      <Table
        tools={
          <h2>
            Top models{' '}
            <Link to="/spend" search={{ by: 'model' }}>
              All
            </Link>
          </h2>
        }
        caption="Top models"
        columns={models}
        rows={of.top_models}
        rowKey={({ model_key: model }) => model}
        empty={none}
      />
      <Table
        tools={
          <h2>
            Top owners <Link to="/spend">All</Link>
          </h2>
        }
        caption="Top owners"
        columns={owners}
        rows={of.top_owners}
        rowKey={({ owner_kind: kind, owner_id: id }) => `${kind} ${id}`}
        empty={none}
      />
    </>
  );
}
