import { Link } from '@tanstack/react-router';
import type { LastDay } from './models.ts';

const counted = (count: number, isAtLeast: boolean): string =>
  `${isAtLeast ? 'at least ' : ''}${count.toLocaleString('en')}`;

/** Requests of the last day, as a link to them. */
export const Requests = ({
  day,
  search,
}: {
  readonly day: LastDay;
  readonly search: Readonly<Record<string, string>>;
}) => (
  <Link to="/observability/request-logs" search={{ ...search, from: day.since }} className="number">
    {counted(day.requests, day.is_lower_bound)}
  </Link>
);

/** Errors among them: “3, 1.2 %”. */
export function Errors({ day }: { readonly day: LastDay }) {
  if (day.errors === 0) return <span className="number">0</span>;
  const percent = day.requests === 0 ? '' : `, ${((100 * day.errors) / day.requests).toFixed(1)} %`;
  return (
    <span className="number">
      {counted(day.errors, day.is_lower_bound)}
      {percent}
    </span>
  );
}
