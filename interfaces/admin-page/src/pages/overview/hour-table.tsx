import { Icon } from '../../ui/icons.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { RequestsLink } from '../../ui/things.tsx';
import { Count, Duration, Money } from '../../ui/values.tsx';
import { type Hour, hourText, ofHour, type Overview } from './overview-data.ts';

const number = (key: string, title: string, of: (hour: Hour) => number): Column<Hour> => ({
  key,
  title,
  align: 'end',
  cell: (hour) => <Count of={of(hour)} />,
  text: of,
});

const time = (key: string, title: string, of: (hour: Hour) => number | undefined): Column<Hour> => ({
  key,
  title,
  align: 'end',
  cell: (hour) => <Duration ms={of(hour)} />,
  text: (hour) => of(hour) ?? 'n/a',
});

const columns: readonly Column<Hour>[] = [
  {
    key: 'hour',
    title: 'Hour (UTC)',
    cell: (hour) => <RequestsLink where={ofHour(hour)}>{hourText(hour)}</RequestsLink>,
    text: ({ hour_start: start }) => start,
  },
  number('requests', 'Requests', ({ request_count: count }) => count),
  {
    key: 'spend',
    title: 'Spend',
    align: 'end',
    cell: ({ spend_usd: usd }) => <Money usd={usd} />,
    text: ({ spend_usd: usd }) => usd,
  },
  number('caller', 'Errors of callers', ({ errors }) => errors.caller),
  number('upstream', 'Errors upstream', ({ errors }) => errors.upstream),
  number('gateway', 'Errors of the gateway', ({ errors }) => errors.gateway),
  time('median', 'Latency, median', ({ latency_ms: found }) => found?.median),
  time('p95', 'Latency, 95 %', ({ latency_ms: found }) => found?.p95),
  time('first', 'First token, median', ({ first_token_ms: found }) => found?.median),
  time('first95', 'First token, 95 %', ({ first_token_ms: found }) => found?.p95),
];

/** The exact numbers of the small bars, newest hour first. */
export const HourTable = ({ of }: { readonly of: Overview }) => (
  <details className="same">
    <summary>
      <Icon name="columns" /> The 24 hours as a table
    </summary>
    <Table
      caption="The last 24 hours"
      columns={columns}
      rows={of.hours.toReversed()}
      rowKey={({ hour_start: start }) => start}
      empty={null}
    />
  </details>
);
