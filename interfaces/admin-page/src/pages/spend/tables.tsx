import { ownerWords } from '../../api/owners.ts';
import { BoundedTable } from '../../ui/bounded-table.tsx';
import { modelColumn, ownerColumn, ownerIdColumn, requestsColumn, spendColumn } from '../../ui/columns.tsx';
import type { Column } from '../../ui/table.tsx';
import { inLedger, ofOwner, ofWindow } from '../../ui/things.tsx';
import { Badge } from '../../ui/values.tsx';
import { Priced, type PricingState, type SpendReport } from './priced.tsx';
import { ofOwners } from './window.ts';

type Tally = SpendReport['totals'];

/** The number in this state, as a link to them. */
const pricedColumn = <R,>(
  state: PricingState,
  key: string,
  title: string,
  countOf: (row: R) => number,
  where: (row: R) => Readonly<Record<string, string>>,
): Column<R> => ({
  key,
  title,
  align: 'end',
  cell: (row) => <Priced state={state} of={countOf(row)} where={where(row)} />,
  text: countOf,
});

/** How many requests cost nothing, and why. Rare states are hidden. */
const tallyColumns = <R extends Tally>(
  where: (row: R) => Readonly<Record<string, string>>,
): readonly Column<R>[] => [
  spendColumn,
  requestsColumn(
    ({ request_count: count }) => count,
    (row) => ({ ...where(row), ...inLedger }),
  ),
  pricedColumn('priced', 'priced', 'Priced', ({ priced_count: count }) => count, where),
  {
    ...pricedColumn<R>('unpriced', 'unpriced', 'No price', ({ unpriced_count: count }) => count, where),
    cell: (row) => {
      const count = <Priced state="unpriced" of={row.unpriced_count} where={where(row)} />;
      return row.unpriced_count === 0 ? count : <Badge tone="warn">{count}</Badge>;
    },
  },
  pricedColumn('usage_missing', 'missing', 'No usage', ({ usage_missing_count: count }) => count, where),
  {
    ...pricedColumn<R>(
      'legacy_estimated',
      'estimated',
      'Estimated',
      ({ legacy_estimated_count: count }) => count,
      where,
    ),
    hidden: true,
  },
];

export function OwnerTable({ report }: { readonly report: SpendReport }) {
  const columns: readonly Column<SpendReport['owners'][number]>[] = [
    ownerColumn,
    {
      key: 'kind',
      title: 'Kind',
      cell: ({ owner_kind: kind }) => ownerWords[kind],
      text: ({ owner_kind: kind }) => kind,
    },
    ...tallyColumns<SpendReport['owners'][number]>((owner) => ({ ...ofOwner(owner), ...ofWindow(report) })),
    ownerIdColumn,
  ];
  return (
    <BoundedTable
      tools={<h2>Owners</h2>}
      caption="Spend by owner"
      columns={columns}
      rows={report.owners}
      rowKey={({ owner_kind: kind, owner_id: id }) => `${kind} ${id}`}
      empty={<p className="muted">Nobody sent a request in this period.</p>}
    />
  );
}

export function ModelTable({ report }: { readonly report: SpendReport }) {
  const columns: readonly Column<SpendReport['models'][number]>[] = [
    modelColumn,
    ...tallyColumns<SpendReport['models'][number]>(({ model_key: model }) => ({
      model_key: model,
      ...ofOwners(report),
      ...ofWindow(report),
    })),
  ];
  return (
    <BoundedTable
      tools={<h2>Models</h2>}
      caption="Spend by model"
      columns={columns}
      rows={report.models}
      rowKey={({ model_key: model }) => model}
      empty={<p className="muted">No model was used in this period.</p>}
    />
  );
}
