import { grouped } from '../../ui/amounts.ts';
import type { Column } from '../../ui/table.tsx';
import { RequestsLink } from '../../ui/things.tsx';
import type { LastDay } from './models.ts';

const counted = (count: number, isAtLeast: boolean): string =>
  `${isAtLeast ? 'at least ' : ''}${grouped(count)}`;

/** The number of requests in the last day, as a link to them. */
export const Requests = ({
  day,
  search,
}: {
  readonly day: LastDay;
  readonly search: Readonly<Record<string, string>>;
}) => (
  <RequestsLink where={{ ...search, from: day.since }}>
    {counted(day.requests, day.is_lower_bound)}
  </RequestsLink>
);

/** The errors among them: “3, 1.2 %”. */
export function Errors({
  day,
  search,
}: {
  readonly day: LastDay;
  readonly search: Readonly<Record<string, string>>;
}) {
  if (day.errors === 0) return <span className="number">0</span>;
  const percent = day.requests === 0 ? '' : `, ${((100 * day.errors) / day.requests).toFixed(1)} %`;
  return (
    <span className="number">
      <RequestsLink where={{ ...search, failed: 'true', from: day.since }}>
        {counted(day.errors, day.is_lower_bound)}
      </RequestsLink>
      {percent}
    </span>
  );
}

/** Requests and errors of the last day. */
export const lastDayColumns = <R extends { readonly last_day: LastDay }>(
  /** Filters for the list of requests. */
  where: (row: R) => Readonly<Record<string, string>>,
): readonly Column<R>[] => [
  {
    key: 'requests',
    title: 'Requests, 24 h',
    align: 'end',
    cell: (row) => <Requests day={row.last_day} search={where(row)} />,
    text: ({ last_day: { requests } }) => requests,
  },
  {
    key: 'errors',
    title: 'Errors, 24 h',
    align: 'end',
    cell: (row) => <Errors day={row.last_day} search={where(row)} />,
    text: ({ last_day: { errors } }) => errors,
  },
];
