import { Link } from '@tanstack/react-router';
import { modelColumn, ownerColumn, requestsColumn, spendColumn } from '../../ui/columns.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { ofOwner } from '../../ui/things.tsx';
import { type Overview, windowOf } from './overview-data.ts';

const spentColumns = <R extends Pick<Overview['today'], 'spend_usd' | 'request_count'>>(
  where: (row: R) => Readonly<Record<string, string>>,
): readonly Column<R>[] => [requestsColumn(({ request_count: count }) => count, where), spendColumn];

/** The models and the owners with the highest spend of the 24 hours. */
export function Top({ of }: { readonly of: Overview }) {
  const window = windowOf(of);
  const models: readonly Column<Overview['top_models'][number]>[] = [
    modelColumn,
    ...spentColumns<Overview['top_models'][number]>(({ model_key }) => ({ model_key, ...window })),
  ];
  const owners: readonly Column<Overview['top_owners'][number]>[] = [
    ownerColumn,
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
