import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import type { FinishedRequest } from '../../application/ports/telemetry.ts';
import { type ErrorCode, type Outcome, outcomeOf } from '../../domain/shared/gateway-error.ts';
import {
  BoundedValues,
  LabelSet,
  LabelSets,
  other,
  overflowing,
} from '../../infrastructure/telemetry/bounded-labels.ts';
import { labelTable } from '../../infrastructure/telemetry/label-table.ts';
import { metricTable, requestMetrics } from '../../infrastructure/telemetry/metric-table.ts';
import { RequestMetrics } from '../../infrastructure/telemetry/request-metrics.ts';
import { telemetryTo } from '../../infrastructure/telemetry/request-telemetry.ts';
import { maxPoints, Histogram, Counter } from '../../infrastructure/telemetry/instruments.ts';
import { finished, resolvedRoute } from '../support/finished-request.ts';

const word = fc.string({ minLength: 1, maxLength: 12 });

describe('bounded values', () => {
  it('always keep the first values up to the limit, and replace the rest with `other`', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 20 }),
        fc.array(word, { maxLength: 60, size: 'max' }),
        (max, values) => {
          const bounded = new BoundedValues(max);
          const named = values.map((value) => bounded.named(value));
          const first = [...new Set(values)].slice(0, max);
          expect(named).toEqual(values.map((value) => (first.includes(value) ? value : other)));
        },
      ),
    );
  });
});

describe('label sets', () => {
  const names = ['model', 'tag'];
  const values = fc.array(fc.tuple(word, fc.option(word, { nil: undefined })), {
    maxLength: 80,
    size: 'max',
  });

  it('are always the same object for the same values, and never more than the limit', () => {
    fc.assert(
      fc.property(values, (all) => {
        const sets = new LabelSets(names, ['tag'], { foldFrom: 5, max: 10 });
        const seen = all.map((each) => sets.of(each));
        expect(all.map((each) => sets.of(each))).toEqual(seen);
        expect(new Set(seen.filter((set) => set !== overflowing)).size).toBeLessThanOrEqual(10);
        all.forEach(([model, tag], at) => {
          const { labels } = seen[at] ?? overflowing;
          const exact = tag === undefined ? { model } : { model, tag };
          const folded = tag === undefined ? { model } : { model, tag: other };
          expect([exact, folded, overflowing.labels]).toContainEqual(labels);
        });
      }),
    );
  });

  it('are not the same for other values with the same letters', () => {
    const sets = new LabelSets(names, [], { foldFrom: 5, max: 10 });
    expect([sets.of(['ab', 'c']).labels, sets.of(['a', 'bc']).labels]).toEqual([
      { model: 'ab', tag: 'c' },
      { model: 'a', tag: 'bc' },
    ]);
  });

  it('replace tags with `other` first, and use the overflow set only when the limit is reached', () => {
    const sets = new LabelSets(names, ['tag'], { foldFrom: 2, max: 3 });
    const labels = [
      ['a', '1'],
      ['b', '2'],
      ['c', '3'],
      ['c', '4'],
      ['d', '5'],
      ['a', '1'],
    ].map((each) => sets.of(each).labels);
    expect(labels).toEqual([
      { model: 'a', tag: '1' },
      { model: 'b', tag: '2' },
      { model: 'c', tag: other },
      { model: 'c', tag: other },
      { 'otel.metric.overflow': true },
      { model: 'a', tag: '1' },
    ]);
  });
});

describe('counters and histograms', () => {
  const sets = Array.from({ length: maxPoints + 500 }, (_, at) => new LabelSet({ at: String(at) }));

  it('add everything beyond their limit to one overflow point', () => {
    const counter = new Counter<number>();
    const money = new Counter<bigint>();
    const histogram = new Histogram([1]);
    for (const set of sets) {
      counter.add(set, 2);
      money.add(set, 3n);
      histogram.record(set, 1);
    }
    const points = counter.points((sum) => sum);
    expect(points).toHaveLength(maxPoints + 1);
    expect(points.at(-1)).toEqual({ labels: overflowing.labels, value: 1000 });
    expect(money.points(Number).at(-1)).toEqual({ labels: overflowing.labels, value: 1500 });
    expect(histogram.points()).toHaveLength(maxPoints + 1);
    expect(histogram.points().at(-1)?.value).toMatchObject({ count: 500, counts: [500, 0] });
  });

  it('count each value of a histogram in the first bucket whose upper bound it does not exceed', () => {
    const bounds = [0.5, 1, 10];
    fc.assert(
      fc.property(fc.array(fc.double({ min: 0, max: 20, noNaN: true }), { minLength: 1 }), (values) => {
        const histogram = new Histogram(bounds);
        const labels = new LabelSet({});
        for (const value of values) histogram.record(labels, value);
        const within = (from: number, to: number) => values.filter((v) => v > from && v <= to).length;
        const [point] = histogram.points();
        expect(point?.value).toMatchObject({
          counts: [within(-1, 0.5), within(0.5, 1), within(1, 10), within(10, 20)],
          count: values.length,
          min: Math.min(...values),
          max: Math.max(...values),
        });
        expect(point?.value.sum).toBeCloseTo(values.reduce((a, b) => a + b, 0));
      }),
    );
  });

  it('add up money exactly', () => {
    fc.assert(
      fc.property(fc.array(fc.bigInt({ min: 0n, max: 10n ** 30n }), { minLength: 1 }), (amounts) => {
        const money = new Counter<bigint>();
        const labels = new LabelSet({});
        for (const amount of amounts) money.add(labels, amount);
        const [point] = money.points((sum) => Number(sum - amounts.reduce((a, b) => a + b, 0n)));
        expect(point?.value).toBe(0);
      }),
    );
  });
});

const outcomes = [...new Set<Outcome>(['success', 'client_closed', ...Object.values(outcomeOf)])];
const codes = [undefined, ...(Object.keys(outcomeOf) as ErrorCode[])];

/** A request in which every label has a value of its own. */
const hostile = (at: number): { request: FinishedRequest; userAgent: string } => ({
  userAgent: `agent-${at}/1.${at}`,
  request: finished({
    requestId: `request-${at}`,
    outcome: outcomes[at % outcomes.length] ?? 'success',
    errorCode: codes[at % codes.length],
    modelKey: `model-${at}`,
    resolved: resolvedRoute({ provider: `provider-${at}`, upstreamModel: `upstream-${at}` }),
    tags: {
      service: `service-${at}`,
      component: `component-${at * 7}`,
      env: `env-${at * 13}`,
      bespoke: [
        { key: 'tenant', value: `tenant-${at}` },
        { key: 'unasked', value: `unasked-${at}` },
      ],
    },
  }),
});

describe('10,000 requests with different models, tags and user agents', () => {
  const metrics = new RequestMetrics(['tenant']);
  const telemetry = telemetryTo({ log: () => undefined, metrics });
  for (let at = 0; at < 10_000; at += 1) {
    const { request, userAgent } = hostile(at);
    const observed = telemetry.begin({ family: request.family, scheme: 'http', userAgent, traceContext: {} });
    const { resolved } = request;
    if (resolved === undefined) throw new Error('every one has a route');
    observed.upstream(resolved).ended(
      {
        attemptNumber: 1,
        providerKey: resolved.provider.id,
        upstreamModel: resolved.route.upstreamModel,
        status: 'success',
        statusCode: 200,
        errorCode: undefined,
        errorDetail: undefined,
        stream: false,
        startedAt: 0,
        completedAt: 1,
      },
      { usage: request.usage, usageUnusable: false, invokedToolCount: 0 },
      undefined,
    );
    observed.finished(request);
    observed.over(200);
  }
  const collected = metrics.collect();

  it('leave no metric with more points than its limit', () => {
    expect(collected.map(({ name }) => name).sort()).toEqual(Object.keys(requestMetrics).sort());
    for (const { name, points } of collected)
      expect([name, points.length <= maxPoints + 1]).toEqual([name, true]);
  });

  it('leave no label with more values than the table allows, and no label that is not in it', () => {
    const values = new Map<string, Set<unknown>>();
    const unlisted = new Set<string>();
    for (const { name, points } of collected) {
      const listed: readonly string[] = [...metricTable[name].labels, 'caller_tag.tenant'];
      for (const { labels } of points)
        for (const [label, value] of Object.entries(labels)) {
          if (!listed.includes(label)) unlisted.add(label);
          values.set(label, (values.get(label) ?? new Set()).add(value));
        }
    }
    expect([...unlisted]).toEqual(['otel.metric.overflow']);
    for (const [label, { size }] of values) {
      const bound = label in labelTable ? labelTable[label as keyof typeof labelTable].bound : 101;
      expect([label, size <= bound]).toEqual([label, true]);
    }
    expect(values.get('caller_service')?.size).toBe(101);
    expect(values.get('caller_tag.tenant')?.size).toBe(101);
    expect([...(values.get('agent_harness_key') ?? [])]).toEqual(['other']);
  });

  it('are all counted, also those whose labels were replaced with `other`', () => {
    const total = (metric: string): number =>
      collected
        .filter(({ name }) => name === metric)
        .flatMap(({ points }) => points.map(({ value }) => (typeof value === 'number' ? value : value.count)))
        .reduce((sum, value) => sum + value, 0);
    for (const metric of [
      'gateway.requests',
      'gateway.request.outcomes',
      'gateway.request.duration',
      'gen_ai.client.operation.duration',
      'gen_ai.server.request.duration',
    ])
      expect([metric, total(metric)]).toEqual([metric, 10_000]);
    expect(total('gateway.tokens')).toBe(10_000 * 30);
    expect(total('gateway.spend')).toBeCloseTo(10_000 * 0.0000135);
  });
});
