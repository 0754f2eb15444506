import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { quantilesOf, shareBps, usageOf } from '../../../domain/reports/overview.ts';
import { hourStarts, lastHours } from '../../../domain/reports/report-window.ts';

describe('the hours of the overview', () => {
  it.each([
    ['2028-03-01T00:00:00.000Z', '2028-02-29T01:00:00.000Z', '2028-03-01T01:00:00.000Z'],
    ['2028-03-01T12:59:59.999Z', '2028-02-29T13:00:00.000Z', '2028-03-01T13:00:00.000Z'],
  ])('at %s begin at %s and end before %s', (now, from, until) => {
    const window = lastHours(new Date(now));
    expect(window).toEqual({ from: new Date(from), until: new Date(until) });
    expect(hourStarts(window)).toHaveLength(24);
  });
});

describe('the spend of an hour', () => {
  it('is zero without a row, and the total is the sum of all hours', () => {
    const window = lastHours(new Date('2028-03-01T12:30:00Z'));
    const starts = hourStarts(window);
    const spends = [
      { hourStart: starts[3]!, requestCount: 2, spend: 10n ** 20n },
      { hourStart: starts[23]!, requestCount: 5, spend: 1n },
    ];
    const { hours, whole } = usageOf(window, { spends, logs: [] });
    expect(hours.map(({ hourStart }) => hourStart)).toEqual(starts);
    expect(hours.map(({ requestCount, spend }) => [requestCount, spend])).toEqual(
      starts.map((_, at) => (at === 3 ? [2, 10n ** 20n] : at === 23 ? [5, 1n] : [0, 0n])),
    );
    expect(whole).toMatchObject({ requestCount: 7, spend: 10n ** 20n + 1n, loggedCount: 0 });
  });
});

describe('quantiles', () => {
  it('are actual values of all histograms together, as sorting all values would find them', () => {
    const aHistogram = fc.array(fc.tuple(fc.nat({ max: 30 }), fc.integer({ min: 1, max: 5 })), {
      maxLength: 12,
      size: 'max',
    });
    fc.assert(
      fc.property(fc.array(aHistogram, { maxLength: 4 }), (given) => {
        const all = given
          .flat()
          .flatMap(([value, count]) => Array.from({ length: count }, () => value))
          .toSorted((one, other) => one - other);
        const histograms = given.map((pairs) => ({
          values: pairs.map(([value]) => value),
          counts: pairs.map(([, count]) => count),
        }));
        expect(quantilesOf(histograms)).toEqual(
          all.length === 0
            ? undefined
            : { median: all[Math.ceil(all.length / 2) - 1], p95: all[Math.ceil(all.length * 0.95) - 1] },
        );
      }),
    );
  });
});

describe('times to the first token', () => {
  it('are given for each hour and for all hours, and are undefined if no stream had content', () => {
    const window = lastHours(new Date('2028-03-01T12:30:00Z'));
    const [first, second] = hourStarts(window);
    const logsOf = (hourStart: Date, ...values: readonly number[]) => ({
      hourStart,
      ends: [],
      latencies: { values: [9000], counts: [1] },
      firstTokens: { values, counts: values.map(() => 1) },
    });
    const logs = [logsOf(first!, 10, 20), logsOf(second!, 30)];
    const { hours, whole } = usageOf(window, { spends: [], logs });
    expect(hours.slice(0, 3).map(({ firstToken }) => firstToken)).toEqual([
      { median: 10, p95: 20 },
      { median: 30, p95: 30 },
      undefined,
    ]);
    expect(whole).toMatchObject({ firstToken: { median: 20, p95: 30 }, latency: { median: 9000 } });
    const without = usageOf(window, { spends: [], logs: [logsOf(first!)] });
    expect(without.whole.firstToken).toBeUndefined();
  });
});

describe('a request', () => {
  it.each([
    [200, undefined, []],
    [499, 'client_closed', []],
    [499, undefined, []],
    [404, 'model_not_found', ['caller']],
    [429, 'budget_exceeded', ['caller']],
    [429, 'upstream_error', ['upstream']],
    [200, 'upstream_error', []],
    [503, 'overloaded', ['gateway']],
    [418, undefined, ['caller']],
    [500, undefined, ['gateway']],
    [502, 'of another release', ['gateway']],
  ])('of status %s and error code %s is an error of the class %j', (statusCode, errorCode, classes) => {
    const hourStart = new Date('2028-03-01T12:00:00Z');
    const none = { values: [], counts: [] };
    const logs = [
      { hourStart, ends: [{ statusCode, errorCode, count: 2 }], latencies: none, firstTokens: none },
    ];
    const { whole } = usageOf(lastHours(hourStart), { spends: [], logs });
    expect(whole.loggedCount).toBe(2);
    expect(Object.entries(whole.errors).flatMap(([name, count]) => (count === 2 ? [name] : []))).toEqual(
      classes,
    );
  });
});

describe('the share of an amount in basis points', () => {
  it.each([
    [0n, 0n, undefined],
    [1n, 3n, 3333],
    [3n, 3n, 10_000],
    [9n, 3n, 30_000],
  ])('if %s of %s is spent is %s', (spent, amount, bps) => {
    expect(shareBps(spent, amount)).toBe(bps);
  });
});
