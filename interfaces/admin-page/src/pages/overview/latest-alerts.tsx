import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { api, read } from '../../api/client.ts';
import { ownerColumn } from '../../ui/columns.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { Money, Time } from '../../ui/values.tsx';
import { Mails } from '../alerts/detail.tsx';
import type { Alert } from '../alerts/window.ts';

const columns: readonly Column<Alert>[] = [
  {
    key: 'at',
    title: 'Raised (UTC)',
    cell: (alert) => (
      <Link to="/alerts" search={{ open: alert.budget_alert_id }}>
        <Time at={alert.created_at} />
      </Link>
    ),
    text: (alert) => alert.created_at,
  },
  ownerColumn,
  {
    key: 'left',
    title: 'Left at that time',
    align: 'end',
    cell: (alert) => <Money usd={alert.remaining_usd} />,
    text: (alert) => alert.remaining_usd,
  },
  {
    key: 'mails',
    title: 'Mails',
    cell: (alert) => <Mails deliveries={alert.deliveries} />,
    text: ({ deliveries }) => deliveries.map((each) => each.delivery_status).join(' '),
  },
];

/** The five newest alerts. */
export function LatestAlerts() {
  const { data, error, refetch } = useQuery({
    queryKey: ['budget-alerts', 'latest'],
    queryFn: ({ signal }) =>
      read(api.GET('/api/v1/admin/spend/budget-alerts', { params: { query: { page_size: 5 } }, signal })),
    refetchInterval: 30_000,
  });
  return (
    <div className="whole">
      <Table
        tools={
          <h2>
            Latest alerts <Link to="/alerts">All</Link>
          </h2>
        }
        caption="Latest alerts"
        columns={columns}
        rows={data?.items}
        rowKey={({ budget_alert_id: id }) => id}
        error={error}
        again={() => void refetch()}
        empty={<p className="muted">No budget has come near its amount.</p>}
      />
    </div>
  );
}
