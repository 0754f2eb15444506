import { api, read } from '../api/client.ts';
import { useAddress } from '../app/address.ts';
import { Drawer } from '../ui/dialog.tsx';
import { ListTable, Opened, useList, useOpened } from '../ui/list.tsx';
import { Page as Frame } from '../ui/page.tsx';
import { Empty } from '../ui/states.tsx';
import { ownerColumn } from '../ui/columns.tsx';
import type { Column } from '../ui/table.tsx';
import { RequestsLink } from '../ui/things.tsx';
import { Money, Time } from '../ui/values.tsx';
import { AlertDetail, Mails } from './alerts/detail.tsx';
import { type Alert, requestsThen } from './alerts/window.ts';
import { Total } from './owners/list-parts.tsx';

const columns: readonly Column<Alert>[] = [
  {
    key: 'at',
    title: 'Raised (UTC)',
    cell: (alert) => <Time at={alert.created_at} />,
    text: (alert) => alert.created_at,
  },
  ownerColumn,
  { key: 'cadence', title: 'Budget', cell: (alert) => alert.cadence, text: (alert) => alert.cadence },
  {
    key: 'spend',
    title: 'Spent at that time',
    align: 'end',
    cell: (alert) => (
      <RequestsLink where={requestsThen(alert)}>
        <Money usd={alert.spend_after_usd} />
      </RequestsLink>
    ),
    text: (alert) => alert.spend_after_usd,
  },
  {
    key: 'left',
    title: 'Left at that time',
    align: 'end',
    cell: (alert) => <Money usd={alert.remaining_usd} />,
    text: (alert) => alert.remaining_usd,
  },
  {
    key: 'end',
    title: 'Window ends (UTC)',
    cell: (alert) => <Time at={alert.window_end} />,
    text: (alert) => alert.window_end,
  },
  {
    key: 'mails',
    title: 'Mails',
    cell: (alert) => <Mails deliveries={alert.deliveries} />,
    text: ({ deliveries }) =>
      deliveries.map((each) => `${each.recipient ?? 'nobody'}: ${each.delivery_status}`).join('; '),
  },
];

/** Budgets with 20 % or less left, and the mails about them. */
export function Page() {
  const { filters, set } = useAddress();
  const alerts = useList(['budget-alerts'], (page, signal) =>
    read(api.GET('/api/v1/admin/spend/budget-alerts', { params: { query: { page } }, signal })),
  );
  const open = filters['open'];
  const opened = useOpened(
    alerts,
    open,
    ({ budget_alert_id: id }) => id,
    'budget-alerts',
    (id, signal) =>
      read(
        api.GET('/api/v1/admin/spend/budget-alerts', { params: { query: { budget_alert_id: id } }, signal }),
      ),
  );
  const shown = opened.row;
  return (
    <Frame
      title="Alerts"
      facts={
        alerts.data === undefined ? undefined : (
          <>
            <Total of={alerts} one="alert" many="alerts" />. One is created when 20 % or less of a budget is
            left, once per window.
          </>
        )
      }
    >
      <ListTable
        caption="Alerts"
        columns={columns}
        list={alerts}
        rowKey={({ budget_alert_id: id }) => id}
        onOpen={({ budget_alert_id: id }) => set({ open: id })}
        openKey={open}
        empty={
          <Empty title="No budget has come near its amount">
            <p>An alert is created, and mails are sent, when 20 % or less of a budget is left.</p>
          </Empty>
        }
      />
      {open === undefined ? null : (
        <Drawer
          title={shown === undefined ? 'Alert' : `Alert of ${shown.owner_name}`}
          onClose={() => set({ open: undefined })}
        >
          <Opened opened={opened} what="alert">
            {(alert) => <AlertDetail alert={alert} />}
          </Opened>
        </Drawer>
      )}
    </Frame>
  );
}
