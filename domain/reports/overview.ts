import type { Picodollars } from '../money/money.ts';
import { type EndCode, isFailed } from '../shared/request-failure.ts';
import type { Window } from '../shared/window.ts';
import { hourStarts } from './report-window.ts';

/** Who caused an error: the caller (4xx), the upstream, or the gateway itself. */
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
  websocket_unsupported: 'caller',
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

/**
 * The class of a logged request's error; `undefined` when it did not fail. A row without a code that is known here,
 * such as one of another version, is classified by its status.
 */
function errorClassOf(statusCode: number, errorCode: string | undefined): ErrorClass | undefined {
  if (!isFailed(statusCode)) return undefined;
  if (errorCode !== undefined && isKnown(errorCode)) return classOf[errorCode];
  return statusCode < 500 ? 'caller' : 'gateway';
}

const isKnown = (code: string): code is keyof typeof classOf => Object.hasOwn(classOf, code);

/**
 * Quantiles of times in milliseconds: the median, and the time that 95 of 100 do not exceed. Both are times that
 * occurred.
 */
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

/** How many requests took how long: `counts[i]` of them took `values[i]` milliseconds. Each time occurs once. */
export interface TimeCounts {
  readonly values: readonly number[];
  readonly counts: readonly number[];
}

/** Logged requests that ended in the same way. */
export interface Ends {
  readonly statusCode: number;
  readonly errorCode: string | undefined;
  readonly count: number;
}

/** Request logs of an hour. */
export interface HourLogs {
  readonly hourStart: Date;
  readonly ends: readonly Ends[];
  /** Of successful requests. */
  readonly latencies: TimeCounts;
  /** Of successful requests that were streams with content. */
  readonly firstTokens: TimeCounts;
}

/** Requests and spend come from the ledger, the rest from the request logs that are still retained. */
export interface Usage {
  readonly requestCount: number;
  readonly spend: Picodollars;
  readonly loggedCount: number;
  readonly errors: Readonly<Record<ErrorClass, number>>;
  /** `undefined` when no successful request was logged. */
  readonly latency: Quantiles | undefined;
  /** `undefined` when none of them was a stream with content. */
  readonly firstToken: Quantiles | undefined;
}

export interface HourUsage extends Usage {
  readonly hourStart: Date;
}

export interface WindowFacts {
  readonly spends: readonly HourSpend[];
  readonly logs: readonly HourLogs[];
}

/** The usage of every hour of the window, also of hours without requests, and of the whole window. */
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

/** The quantiles of all values together; `undefined` when there are none. */
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

/** The share of an amount that is spent, in hundredths of a percent, rounded down; `undefined` when the amount is 0. */
export const shareBps = (spent: Picodollars, amount: Picodollars): number | undefined =>
  amount === 0n ? undefined : Number((spent * 10_000n) / amount);
