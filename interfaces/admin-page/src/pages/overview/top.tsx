import { Link } from '@tanstack/react-router';
import { modelColumn, ownerColumn, requestsColumn, spendColumn } from '../../ui/columns.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { inLedger, ofOwner } from '../../ui/things.tsx';
import { ofDay } from '../spend/window.ts';
import type { Overview } from './overview-data.ts';

const spentColumns = <R extends Pick<Overview['today'], 'spend_usd' | 'request_count'>>(
  where: (row: R) => Readonly<Record<string, string>>,
): readonly Column<R>[] => [requestsColumn(({ request_count: count }) => count, where), spendColumn];

/** The models and the owners with the highest spend in the UTC day. */
export function Top({ of }: { readonly of: Overview }) {
  const day = { ...ofDay(of.today.day), ...inLedger };
  const models: readonly Column<Overview['top_models'][number]>[] = [
    modelColumn,
    ...spentColumns<Overview['top_models'][number]>(({ model_key }) => ({ model_key, ...day })),
  ];
  const owners: readonly Column<Overview['top_owners'][number]>[] = [
    ownerColumn,
    ...spentColumns<Overview['top_owners'][number]>((owner) => ({ ...ofOwner(owner), ...day })),
  ];
  const none = <p className="muted">No request today (UTC).</p>;
  return (
    <>
      <Table
        tools={
          <h2>
            Top models today (UTC){' '}
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
            Top owners today (UTC) <Link to="/spend">All</Link>
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
