import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { grouped, usdText } from '../../ui/amounts.ts';
import { CountedRequests, ofWindow, RequestsLink } from '../../ui/things.tsx';
import { Count, Duration, durationText, Money } from '../../ui/values.tsx';
import { HourBars } from './hour-bars.tsx';
import { errorsOf, type Hour, hourText, ledgerWindowOf, type Overview } from './overview-data.ts';

/** Spend, requests, errors and latencies: for all 24 hours, and hour by hour. */
export function Figures({ of }: { readonly of: Overview }) {
  const { last_day: day, today } = of;
  const last = of.hours.at(-1);
  const barsOf = (height: (hour: Hour) => number | undefined, text: (hour: Hour) => string) =>
    of.hours.map((hour) => ({
      key: hour.hour_start,
      height: height(hour),
      text: `${hourText(hour)} UTC: ${text(hour)}`,
    }));
  return (
    <section className="figures" aria-label="Figures of the day">
      <Figure
        title="Spend today (UTC)"
        value={
          <Link to="/spend">
            <Money usd={today.spend_usd} />
          </Link>
        }
        more={
          <>
            <Money usd={day.spend_usd} /> in 24 hours
          </>
        }
        label="Spend in each of the last 24 hours"
        bars={barsOf(
          ({ spend_usd: usd }) => Number(usd),
          ({ spend_usd: usd }) => usdText(usd),
        )}
      />
      <Figure
        title="Requests"
        value={<CountedRequests of={day.request_count} where={ledgerWindowOf(of)} />}
        more={
          <>
            <Count of={last?.request_count} /> in this hour, <Count of={today.request_count} /> today
            {day.logged_count <= day.request_count ? null : (
              <>
                ;{' '}
                <RequestsLink where={ofWindow(of)}>
                  <Count of={day.logged_count} /> logged
                </RequestsLink>
                , with those that failed
              </>
            )}
          </>
        }
        label="Requests in each of the last 24 hours"
        bars={barsOf(
          ({ request_count: count }) => count,
          ({ request_count: count }) => `${grouped(count)} requests`,
        )}
      />
      <Figure
        title="Errors"
        value={
          <RequestsLink where={{ ...ofWindow(of), failed: 'true' }}>
            <Count of={errorsOf(day)} />
          </RequestsLink>
        }
        more={
          <>
            <Count of={day.errors.caller} /> by callers, <Count of={day.errors.upstream} /> upstream,{' '}
            <Count of={day.errors.gateway} /> of the gateway
          </>
        }
        label="Errors in each of the last 24 hours"
        isBad
        bars={barsOf(
          errorsOf,
          (hour) => `${grouped(errorsOf(hour))} errors of ${grouped(hour.logged_count)} logged`,
        )}
      />
      <Times title="Latency" of={of} measure="latency_ms" barsOf={barsOf} />
      <Times title="First token" of={of} measure="first_token_ms" barsOf={barsOf} />
    </section>
  );
}

type Bars = (
  height: (hour: Hour) => number | undefined,
  text: (hour: Hour) => string,
) => Parameters<typeof HourBars>[0]['bars'];

/** The median and the 95th percentile. */
function Times({
  title,
  of,
  measure: key,
  barsOf,
}: {
  readonly title: string;
  readonly of: Overview;
  readonly measure: 'latency_ms' | 'first_token_ms';
  readonly barsOf: Bars;
}) {
  const whole = of.last_day[key];
  const last = of.hours.at(-1)?.[key];
  return (
    <Figure
      title={`${title}, median`}
      value={<Duration ms={whole?.median} />}
      more={
        whole === null ? (
          'Not measured in 24 hours'
        ) : (
          <>
            95 % within <Duration ms={whole.p95} />, <Duration ms={last?.median} /> in this hour
          </>
        )
      }
      label={`${title}, the median of each of the last 24 hours`}
      bars={barsOf(
        (hour) => hour[key]?.median,
        ({ [key]: found }) =>
          found === null
            ? 'not measured'
            : `median ${durationText(found.median)}, 95 % within ${durationText(found.p95)}`,
      )}
    />
  );
}

const Figure = ({
  title,
  value,
  more,
  label,
  bars,
  isBad = false,
}: {
  readonly title: string;
  readonly value: ReactNode;
  readonly more: ReactNode;
  readonly label: string;
  readonly bars: Parameters<typeof HourBars>[0]['bars'];
  readonly isBad?: boolean;
}) => (
  <div className={isBad ? 'figure bad' : 'figure'}>
    <h2>{title}</h2>
    <p className="figure-value">{value}</p>
    <p className="muted">{more}</p>
    <HourBars label={label} bars={bars} />
  </div>
);
