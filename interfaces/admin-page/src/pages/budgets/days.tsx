import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { grouped, picoOf, usdText } from '../../ui/amounts.ts';
import { Loaded } from '../../ui/loaded.tsx';
import { Count, Dash, Money, shortUsd } from '../../ui/values.tsx';
import { Table, type Column } from '../../ui/table.tsx';
import { budgetsKey, callsOf, keyOf, type Owner } from './owners.ts';

type Day = Awaited<ReturnType<ReturnType<typeof callsOf>['days']>>['days'][number];

const spans = [7, 30, 92] as const;

const columns: readonly Column<Day>[] = [
  { key: 'day', title: 'Day (UTC)', cell: ({ day }) => day, text: ({ day }) => day },
  {
    key: 'requests',
    title: 'Requests',
    align: 'end',
    cell: ({ request_count: count }) => <Count of={count} />,
    text: ({ request_count: count }) => count,
  },
  {
    key: 'spend',
    title: 'Spend',
    align: 'end',
    cell: ({ spend_usd: usd }) => <Money usd={usd} />,
    text: ({ spend_usd: usd }) => usd,
  },
  {
    key: 'blocked',
    title: 'Blocked answers',
    align: 'end',
    cell: ({ blocked_answers: { count } }) => (count === 0 ? <Dash /> : <Count of={count} />),
    text: ({ blocked_answers: { count } }) => count,
  },
  {
    key: 'cost',
    title: 'Their cost',
    align: 'end',
    cell: ({ blocked_answers: { count, cost_usd: usd } }) => (count === 0 ? <Dash /> : <Money usd={usd} />),
    text: ({ blocked_answers: { cost_usd: usd } }) => usd,
  },
];

/** Spend by day, as bars and as an equivalent table. */
export function SpendByDay({ owner }: { readonly owner: Owner }) {
  const [span, setSpan] = useState<number>(30);
  const days = useQuery({
    queryKey: [...budgetsKey, keyOf(owner), 'days', span],
    queryFn: ({ signal }) => callsOf(owner).days(span, signal),
  });
  return (
    <section className="stack" aria-label="Spend by day">
      <div className="row">
        <h3>Spend by day</h3>
        <span className="spring" />
        <label className="row">
          <span className="muted">Days</span>
          <select value={span} onChange={({ target }) => setSpan(Number(target.value))}>
            {spans.map((each) => (
              <option key={each} value={each}>
                {each}
              </option>
            ))}
          </select>
        </label>
      </div>
      <div className="day-bars-room">
        <Loaded query={days} what="the days">
          {(found) => <Bars days={found.days} />}
        </Loaded>
      </div>
      {days.data === undefined ? null : (
        <details>
          <summary>Show as a table</summary>
          <Table
            caption={`Spend of ${owner.name} by day`}
            columns={columns}
            rows={days.data.days.toReversed()}
            rowKey={({ day }) => day}
            empty={null}
          />
        </details>
      )}
    </section>
  );
}

const height = 120;

function Bars({ days }: { readonly days: readonly Day[] }) {
  const most = days.reduce((most, { spend_usd: usd }) => (picoOf(usd) > most ? picoOf(usd) : most), 0n);
  const top = days.find(({ spend_usd: usd }) => picoOf(usd) === most);
  const step = 100 / days.length;
  return (
    <figure className="day-bars">
      <svg
        width="100%"
        height={height}
        role="img"
        aria-label={
          most === 0n
            ? `Nothing was spent in ${days.length} days`
            : `Spend of ${days.length} days; the most was ${usdText(top?.spend_usd ?? '0')} on ${top?.day}`
        }
      >
        {days.map((each, index) => {
          // Only the height is a fraction; money stays exact.
          const part = most === 0n ? 0 : Number((picoOf(each.spend_usd) * 10_000n) / most) / 10_000;
          const isBlocked = each.blocked_answers.count > 0;
          const drawn = each.spend_usd === '0' ? 1 : Math.max(2, part * (height - 12));
          return (
            <g key={each.day}>
              <title>
                {each.day}: {usdText(each.spend_usd)}, {grouped(each.request_count)} requests
                {isBlocked
                  ? `, ${grouped(each.blocked_answers.count)} blocked answers of ${usdText(each.blocked_answers.cost_usd)}`
                  : ''}
              </title>
              <rect x={`${index * step}%`} y={0} width={`${step}%`} height={height} className="day-room" />
              <rect
                x={`${(index + 0.1) * step}%`}
                y={height - drawn}
                width={`${step * 0.8}%`}
                height={drawn}
                className="day-bar"
              />
              {isBlocked ? (
                <text x={`${(index + 0.5) * step}%`} y={height - drawn - 3} className="day-mark">
                  ×
                </text>
              ) : null}
            </g>
          );
        })}
      </svg>
      <figcaption className="row muted">
        <span>{days[0]?.day}</span>
        <span className="spring" />
        <span>
          {most === 0n ? 'nothing spent' : `most: ${shortUsd(top?.spend_usd ?? '0')} USD`}
          {days.some(({ blocked_answers: { count } }) => count > 0) ? '; × an answer was blocked' : ''}
        </span>
        <span className="spring" />
        <span>{days.at(-1)?.day}</span>
      </figcaption>
    </figure>
  );
}
