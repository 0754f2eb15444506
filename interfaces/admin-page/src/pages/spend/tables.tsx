import type { paths } from '../../api/api.d.ts';
import { BoundedTable } from '../../ui/bounded-table.tsx';
import { modelColumn, ownerColumn, requestsColumn, spendColumn } from '../../ui/columns.tsx';
import type { Column } from '../../ui/table.tsx';
import { ofOwner } from '../../ui/things.tsx';
import { Badge, Count } from '../../ui/values.tsx';

type Report =
  paths['/api/v1/admin/spend/report']['get']['responses'][200]['content']['application/json']['data'];
type Tally = Report['totals'];

/** Why requests cost nothing, and how many did; hidden where there are seldom any. */
const tallyColumns = <R extends Tally>(
  where: (row: R) => Readonly<Record<string, string>>,
): readonly Column<R>[] => [
  spendColumn,
  requestsColumn(({ request_count: count }) => count, where),
  {
    key: 'priced',
    title: 'Priced',
    align: 'end',
    cell: (row) => <Count of={row.priced_count} />,
    text: (row) => row.priced_count,
  },
  {
    key: 'unpriced',
    title: 'No price',
    align: 'end',
    cell: (row) =>
      row.unpriced_count === 0 ? (
        <Count of={0} />
      ) : (
        <Badge tone="warn">
          <Count of={row.unpriced_count} />
        </Badge>
      ),
    text: (row) => row.unpriced_count,
  },
  {
    key: 'missing',
    title: 'No usage told',
    align: 'end',
    cell: (row) => <Count of={row.usage_missing_count} />,
    text: (row) => row.usage_missing_count,
  },
  {
    key: 'estimated',
    title: 'Estimated',
    align: 'end',
    hidden: true,
    cell: (row) => <Count of={row.legacy_estimated_count} />,
    text: (row) => row.legacy_estimated_count,
  },
];

const windowOf = (report: Report) => ({ from: report.window_start, to: report.window_end });

export function OwnerTable({ report }: { readonly report: Report }) {
  const columns: readonly Column<Report['owners'][number]>[] = [
    ownerColumn,
    {
      key: 'kind',
      title: 'Kind',
      cell: ({ owner_kind: kind }) => (kind === 'user' ? 'Person' : 'Team'),
      text: ({ owner_kind: kind }) => kind,
    },
    ...tallyColumns<Report['owners'][number]>((owner) => ({ ...ofOwner(owner), ...windowOf(report) })),
  ];
  return (
    <BoundedTable
      tools={<h2>Owners</h2>}
      caption="Spend by owner"
      columns={columns}
      rows={report.owners}
      rowKey={({ owner_kind: kind, owner_id: id }) => `${kind} ${id}`}
      empty={<p className="muted">Nobody sent a request in this time.</p>}
    />
  );
}

export function ModelTable({ report }: { readonly report: Report }) {
  const columns: readonly Column<Report['models'][number]>[] = [
    modelColumn,
    ...tallyColumns<Report['models'][number]>(({ model_key: model }) => ({
      model_key: model,
      ...windowOf(report),
    })),
  ];
  return (
    <BoundedTable
      tools={<h2>Models</h2>}
      caption="Spend by model"
      columns={columns}
      rows={report.models}
      rowKey={({ model_key: model }) => model}
      empty={<p className="muted">No model was asked in this time.</p>}
    />
  );
}
