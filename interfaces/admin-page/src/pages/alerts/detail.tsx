import { Link } from '@tanstack/react-router';
import { Pair } from '../../ui/pair.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { OwnerLink, RequestsLink } from '../../ui/things.tsx';
import { Badge, Dash, Id, Money, Time } from '../../ui/values.tsx';
import { type Alert, windowRequests } from './window.ts';

type Delivery = Alert['deliveries'][number];
type Status = Delivery['delivery_status'];

const tones = { pending: 'plain', sending: 'plain', sent: 'good', failed: 'bad' } as const satisfies Record<
  Status,
  string
>;
const order: readonly Status[] = ['failed', 'sending', 'pending', 'sent'];

/** “1 failed, 2 sent”: the worst first. */
export function Mails({ deliveries }: { readonly deliveries: readonly Delivery[] }) {
  if (deliveries.length === 0) return <Dash />;
  const counts = order.map((status) => ({
    status,
    count: deliveries.filter((each) => each.delivery_status === status).length,
  }));
  return (
    <span className="row badges">
      {counts
        .filter(({ count }) => count > 0)
        .map(({ status, count }) => (
          <Badge key={status} tone={tones[status]}>
            {count} {status}
          </Badge>
        ))}
    </span>
  );
}

/** What to do about a mail that was not sent, if the reason is one of the gateway's own. */
const advice: Readonly<Record<string, string>> = {
  mail_not_configured: 'Add a mail section to the configuration; the next alert will then be sent.',
  no_recipient: 'There is no active recipient. Give the team an active owner or admin.',
  dispatcher_died:
    'A replica stopped while it was sending this mail. It may have arrived: ask the recipient.',
};

const columns: readonly Column<Delivery>[] = [
  {
    key: 'recipient',
    title: 'To',
    cell: ({ recipient }) => recipient ?? <span className="muted">nobody</span>,
    text: ({ recipient }) => recipient,
  },
  {
    key: 'status',
    title: 'State',
    cell: ({ delivery_status: status }) => <Badge tone={tones[status]}>{status}</Badge>,
    text: ({ delivery_status: status }) => status,
  },
  {
    key: 'attempted',
    title: 'Tried (UTC)',
    cell: ({ attempted_at: at }) => <Time at={at} />,
    text: ({ attempted_at: at }) => at,
  },
  {
    key: 'sent',
    title: 'Sent (UTC)',
    cell: ({ sent_at: at }) => <Time at={at} />,
    text: ({ sent_at: at }) => at,
  },
  {
    key: 'reason',
    title: 'Why it failed',
    cell: ({ failure_reason: reason }) =>
      reason === null ? (
        <Dash />
      ) : (
        <span className="reason">
          <code>{reason}</code> {advice[reason]}
        </span>
      ),
    text: ({ failure_reason: reason }) => reason,
  },
];

export const AlertDetail = ({ alert }: { readonly alert: Alert }) => (
  <>
    <dl className="pairs">
      <Pair name="Owner">
        <OwnerLink owner={alert} />
      </Pair>
      <Pair name="Budget">
        {alert.cadence},{' '}
        <Link to="/budgets" search={{ open: alert.owner_id }}>
          open the budget
        </Link>
      </Pair>
      <Pair name="Raised (UTC)">
        <Time at={alert.created_at} />
      </Pair>
      <Pair name="Window (UTC)">
        <Time at={alert.window_start} /> to <Time at={alert.window_end} />
      </Pair>
      <Pair name="Spent before and after the request that crossed the threshold">
        <Money usd={alert.spend_before_usd} />, <Money usd={alert.spend_after_usd} />
      </Pair>
      <Pair name="Left at that time">
        <Money usd={alert.remaining_usd} /> (alert at {alert.threshold_bps / 100} % left)
      </Pair>
      <Pair name="Requests">
        <RequestsLink where={windowRequests(alert)}>Requests in the window</RequestsLink>
      </Pair>
      <Pair name="Alert id" isBroad>
        <Id of={alert.budget_alert_id} short={false} />
      </Pair>
    </dl>
    <Table
      caption="Mails of the alert"
      columns={columns}
      rows={alert.deliveries}
      rowKey={({ recipient, channel }) => `${channel} ${recipient ?? ''}`}
      empty={<p className="muted">No mail was queued.</p>}
    />
    <p className="muted">Each mail is tried once and never retried, so that nobody gets it twice.</p>
  </>
);
