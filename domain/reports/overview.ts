import type { Picodollars } from '../money/money.ts';
import { type EndCode, isFailed } from '../shared/request-failure.ts';
import type { Window } from '../shared/window.ts';
import { hourStarts } from './report-window.ts';

/** Whose doing an error is: the caller's (4xx), the upstream's, or the gateway's own. */
type ErrorClass = 'caller' | 'upstream' | 'gateway';

const classOf = {
  missing_api_key: 'caller',
  invalid_api_key: 'caller',
  session_required: 'caller',
  invalid_credentials: 'caller',
  second_factor_required: 'caller',
  enrolment_required: 'caller',
  admin_required: 'caller',
  cross_origin: 'caller',
  too_many_attempts: 'caller',
  model_not_granted: 'caller',
  not_found: 'caller',
  model_not_found: 'caller',
  method_not_allowed: 'caller',
  duplicate_request_id: 'caller',
  conflict: 'caller',
  request_too_large: 'caller',
  invalid_request: 'caller',
  thread_unsupported_request: 'caller',
  not_supported: 'caller',
  budget_exceeded: 'caller',
  too_many_requests: 'caller',
  rate_limited: 'caller',
  no_routes_available: 'gateway',
  overloaded: 'gateway',
  store_unavailable: 'gateway',
  shutting_down: 'gateway',
  sign_in_unavailable: 'gateway',
  internal_error: 'gateway',
  upstream_error: 'upstream',
} as const satisfies Record<Exclude<EndCode, 'client_closed'>, ErrorClass>;

/** The class of a logged request; undefined: it was no error. Rows without a code, of another time, go by their status. */
function errorClassOf(statusCode: number, errorCode: string | undefined): ErrorClass | undefined {
  if (!isFailed(statusCode)) return undefined;
  if (errorCode !== undefined && isKnown(errorCode)) return classOf[errorCode];
  return statusCode < 500 ? 'caller' : 'gateway';
}

const isKnown = (code: string): code is keyof typeof classOf => Object.hasOwn(classOf, code);

/** Of values in milliseconds: the one in the middle, and the one that 95 of 100 do not exceed; both are real values. */
export interface Quantiles {
  readonly median: number;
  readonly p95: number;
}

/** Ledger rows of an hour. */
export interface HourSpend {
  readonly hourStart: Date;
  readonly requestCount: number;
  readonly spend: Picodollars;
}

/** How many of the requests took so many milliseconds; each time stands once. */
export interface TimeCounts {
  readonly values: readonly number[];
  readonly counts: readonly number[];
}

/** Logged requests that ended alike. */
export interface Ends {
  readonly statusCode: number;
  readonly errorCode: string | undefined;
  readonly count: number;
}

/** Request logs of an hour. */
export interface HourLogs {
  readonly hourStart: Date;
  readonly ends: readonly Ends[];
  /** Of requests that ended well. */
  readonly latencies: TimeCounts;
  /** Of those of them that were streams with content. */
  readonly firstTokens: TimeCounts;
}

/** Requests and spend are of the ledger, the rest of the request logs as retained. */
export interface Usage {
  readonly requestCount: number;
  readonly spend: Picodollars;
  readonly loggedCount: number;
  readonly errors: Readonly<Record<ErrorClass, number>>;
  /** Undefined where no request that ended well was logged. */
  readonly latency: Quantiles | undefined;
  /** Undefined where none of them was a stream with content. */
  readonly firstToken: Quantiles | undefined;
}

export interface HourUsage extends Usage {
  readonly hourStart: Date;
}

export interface WindowFacts {
  readonly spends: readonly HourSpend[];
  readonly logs: readonly HourLogs[];
}

/** Every hour of the window, none left out, and the whole of it. */
export function usageOf(
  window: Window,
  { spends, logs }: WindowFacts,
): { readonly hours: readonly HourUsage[]; readonly whole: Usage } {
  const spendOf = new Map(spends.map((each) => [each.hourStart.getTime(), each]));
  const logsOf = new Map(logs.map((each) => [each.hourStart.getTime(), each]));
  const hours = hourStarts(window).map((hourStart): HourUsage => {
    const spent = spendOf.get(hourStart.getTime());
    const log = logsOf.get(hourStart.getTime());
    return {
      hourStart,
      requestCount: spent?.requestCount ?? 0,
      spend: spent?.spend ?? 0n,
      ...logged(log === undefined ? [] : [log]),
    };
  });
  const whole = {
    requestCount: hours.reduce((sum, each) => sum + each.requestCount, 0),
    spend: hours.reduce((sum, each) => sum + each.spend, 0n),
    ...logged(logs),
  };
  return { hours, whole };
}

function logged(logs: readonly HourLogs[]): Pick<Usage, 'loggedCount' | 'errors' | 'latency' | 'firstToken'> {
  const errors = { caller: 0, upstream: 0, gateway: 0 };
  let loggedCount = 0;
  for (const { statusCode, errorCode, count } of logs.flatMap(({ ends }) => ends)) {
    loggedCount += count;
    const kind = errorClassOf(statusCode, errorCode);
    if (kind !== undefined) errors[kind] += count;
  }
  return {
    loggedCount,
    errors,
    latency: quantilesOf(logs.map(({ latencies }) => latencies)),
    firstToken: quantilesOf(logs.map(({ firstTokens }) => firstTokens)),
  };
}

/** Of all values together; undefined where there are none. */
export function quantilesOf(histograms: readonly TimeCounts[]): Quantiles | undefined {
  const countOf = new Map<number, number>();
  let total = 0;
  for (const { values, counts } of histograms)
    values.forEach((value, index) => {
      const count = counts[index] ?? 0;
      countOf.set(value, (countOf.get(value) ?? 0) + count);
      total += count;
    });
  const sorted = Int32Array.from(countOf.keys()).toSorted();
  const valueAt = (rank: number): number => {
    let passed = 0;
    return sorted.find((value) => (passed += countOf.get(value) ?? 0) >= rank) ?? 0;
  };
  if (total === 0) return undefined;
  return { median: valueAt(Math.ceil(total / 2)), p95: valueAt(Math.ceil((total * 95) / 100)) };
}

/** What of an amount is spent, in hundredths of a percent, rounded down; undefined: nothing may be spent. */
export const shareBps = (spent: Picodollars, amount: Picodollars): number | undefined =>
  amount === 0n ? undefined : Number((spent * 10_000n) / amount);
