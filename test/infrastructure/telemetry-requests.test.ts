import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import * as fc from 'fast-check';
import * as E from 'fp-ts/lib/Either.js';
import { type HrTime, propagation } from '@opentelemetry/api';
import { resourceFromAttributes } from '@opentelemetry/resources';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import type { FinishedRequest } from '../../application/ports/telemetry.ts';
import type { Attempt } from '../../domain/request-log/request-log.ts';
import { clientClosed } from '../../domain/shared/request-failure.ts';
import { hasContent } from '../../domain/upstream/first-content.ts';
import { nothingObserved } from '../../domain/upstream/observation.ts';
import { upstreamError } from '../../domain/upstream/upstream-fault.ts';
import { providerNameOf } from '../../infrastructure/telemetry/gen-ai.ts';
import { TraceContextPropagator } from '../../infrastructure/telemetry/propagator.ts';
import { RequestMetrics } from '../../infrastructure/telemetry/request-metrics.ts';
import { Tracer } from '../../infrastructure/telemetry/request-spans.ts';
import { telemetryTo } from '../../infrastructure/telemetry/request-telemetry.ts';
import { loggingChanges } from '../../infrastructure/telemetry/export-log.ts';
import { finished, resolvedRoute } from '../support/finished-request.ts';
import { memoryLog } from '../support/gateway.ts';

// As the SDK does when it starts.
beforeAll(() => {
  propagation.disable();
  propagation.setGlobalPropagator(new TraceContextPropagator());
});
afterAll(() => propagation.disable());
afterEach(() => void jest.restoreAllMocks());

const arrival = {
  family: 'chat_completions',
  scheme: 'http',
  userAgent: undefined,
  traceContext: {},
} as const;

const attempt = (): Attempt => ({
  attemptNumber: 1,
  providerKey: 'up',
  upstreamModel: 'm',
  status: 'success',
  statusCode: 200,
  errorCode: undefined,
  errorDetail: undefined,
  stream: true,
  startedAt: 0,
  completedAt: 1,
});

function tracing(ratio: number) {
  const spans: ReadableSpan[] = [];
  const tracer = new Tracer({
    ratio,
    processor: { onEnd: (span) => void spans.push(span) },
    resource: resourceFromAttributes({}),
  });
  return { tracer, spans };
}

describe('the outcome of a request', () => {
  it('is reported once, in the log, in metrics and in spans; later outcomes are ignored', () => {
    const outcomes = fc.constantFrom('success', 'client_closed', 'internal_error' as const);
    fc.assert(
      fc.property(fc.array(outcomes, { minLength: 1, maxLength: 5 }), ([first, ...rest]) => {
        const log: FinishedRequest[] = [];
        const metrics = new RequestMetrics([]);
        const { tracer, spans } = tracing(1);
        const observed = telemetryTo({ log: (request) => void log.push(request), metrics, tracer }).begin(
          arrival,
        );
        for (const outcome of [first, ...rest])
          observed.finished(finished({ outcome: outcome ?? 'success' }));
        observed.over(200);
        expect(log.map(({ outcome }) => outcome)).toEqual([first]);
        const points = metrics.collect().find(({ name }) => name === 'gateway.request.outcomes')?.points;
        expect(points).toMatchObject([{ labels: { outcome: first }, value: 1 }]);
        expect(spans.map(({ attributes }) => attributes['gateway.outcome'])).toEqual([first]);
      }),
    );
  });

  it('is logged with the trace id of the request, which is the caller’s or a new one', () => {
    const traces: (string | undefined)[] = [];
    const log = (_request: FinishedRequest, traceId: string | undefined): void => void traces.push(traceId);
    const traceContext = { traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-00` };
    telemetryTo({ log }).begin(arrival).finished(finished());
    telemetryTo({ log })
      .begin({ ...arrival, traceContext })
      .finished(finished());
    const { tracer, spans } = tracing(0);
    telemetryTo({ log, tracer }).begin(arrival).finished(finished());
    expect(traces).toEqual([undefined, 'a'.repeat(32), expect.stringMatching(/^[0-9a-f]{32}$/)]);
    expect(spans).toEqual([]);
  });
});

describe('spans', () => {
  const ids = fc.stringMatching(/^[0-9a-f]{32}$/).filter((id) => !/^0+$/.test(id));
  const spanIds = fc.stringMatching(/^[0-9a-f]{16}$/).filter((id) => !/^0+$/.test(id));

  it('have the scheme of the caller’s connection, and the fault of the connection to the upstream', () => {
    const { tracer, spans } = tracing(1);
    const observed = telemetryTo({ log: () => undefined, tracer }).begin({ ...arrival, scheme: 'https' });
    const failure = upstreamError({ kind: 'transport', faultCode: 'ECONNRESET' });
    observed.upstream(resolvedRoute()).ended(attempt(), nothingObserved, failure);
    observed.finished(finished());
    observed.over(502);
    expect(spans.map(({ attributes }) => attributes)).toMatchObject([
      { 'gateway.upstream_fault': 'ECONNRESET', 'error.type': 'upstream_error' },
      { 'url.scheme': 'https' },
    ]);
  });

  it('are recorded for all sampled parents and for no other, whatever the ratio', () => {
    fc.assert(
      fc.property(
        ids,
        spanIds,
        fc.integer({ min: 0, max: 255 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (traceId, parent, flags, ratio) => {
          const { tracer, spans } = tracing(ratio);
          const traceparent = `00-${traceId}-${parent}-${flags.toString(16).padStart(2, '0')}`;
          const traceContext = { traceparent, tracestate: 'v=1' };
          const observed = telemetryTo({ log: () => undefined, tracer }).begin({ ...arrival, traceContext });
          const upstream = observed.upstream(resolvedRoute());
          upstream.ended(attempt(), nothingObserved, undefined);
          observed.finished(finished());
          observed.over(200);
          if ((flags & 1) === 0) {
            expect(spans).toEqual([]);
            expect(upstream.traceContext).toEqual(traceContext);
            return;
          }
          const [client, server] = spans;
          expect(spans.map((span) => span.spanContext().traceId)).toEqual([traceId, traceId]);
          expect(server?.parentSpanContext).toMatchObject({ spanId: parent, isRemote: true });
          expect(client?.parentSpanContext?.spanId).toBe(server?.spanContext().spanId);
          expect(upstream.traceContext).toEqual({
            traceparent: `00-${traceId}-${client?.spanContext().spanId}-0${flags & 3}`,
            tracestate: 'v=1',
          });
        },
      ),
    );
  });

  it('are recorded for about the share of new traces that the ratio sets', () => {
    for (const ratio of [0, 0.1, 0.9, 1]) {
      const { tracer } = tracing(ratio);
      const sampled = Array.from({ length: 4000 }, () => tracer.begin({})).filter(({ spans }) => spans);
      expect(Math.abs(sampled.length / 4000 - ratio)).toBeLessThan(ratio % 1 === 0 ? 1e-9 : 0.03);
    }
  });

  it('have the time of day as start and end, and the duration of what they measure', async () => {
    const { tracer, spans } = tracing(1);
    const from = Date.now();
    const observed = telemetryTo({ log: () => undefined, tracer }).begin(arrival);
    await observed.during('admission', async () => {
      await sleep(30);
      return E.right(1);
    });
    const msOf = ([seconds, nanos]: HrTime): number => seconds * 1000 + nanos / 1e6;
    const [start, end, took] = spans.flatMap((span) =>
      [span.startTime, span.endTime, span.duration].map(msOf),
    );
    expect(start).toBeGreaterThan(from - 20);
    expect(end).toBeLessThan(Date.now() + 20);
    expect(took).toBeGreaterThan(25);
    expect(Math.abs((end ?? 0) - (start ?? 0) - (took ?? 0))).toBeLessThan(1);
  });

  it('of a failed step have an error status and the error code', async () => {
    const { tracer, spans } = tracing(1);
    const observed = telemetryTo({ log: () => undefined, tracer }).begin(arrival);
    await observed.during('admission', async () => E.right(1));
    await observed.during('settlement', async () => E.left({ code: 'store_unavailable', message: '' }));
    expect(spans.map(({ name, status, attributes }) => [name, status.code, attributes])).toEqual([
      ['admission', 0, {}],
      ['settlement', 2, { 'error.type': 'store_unavailable' }],
    ]);
  });
});

describe('the metrics of requests and upstream calls', () => {
  const usage = { promptTokens: 5, completionTokens: 3, totalTokens: 20 };
  const pointsOf = (metrics: RequestMetrics, metric: string) =>
    metrics
      .collect()
      .filter(({ name }) => name === metric)
      .flatMap(({ points }) => points);

  const labelsOf = (metrics: RequestMetrics, metric: string) =>
    pointsOf(metrics, metric).map(({ labels }) => labels);
  const soon = { request: 3, firstToken: undefined, afterFirst: undefined };

  it('count output tokens as they are billed: all tokens but those of the prompt', () => {
    const metrics = new RequestMetrics([]);
    const observed = telemetryTo({ log: () => undefined, metrics }).begin(arrival);
    observed
      .upstream(resolvedRoute())
      .ended(attempt(), { usage, usageUnusable: false, invokedToolCount: 0 }, undefined);
    expect(pointsOf(metrics, 'gen_ai.client.token.usage').map(({ value }) => value)).toMatchObject([
      { sum: 5 },
      { sum: 15 },
    ]);
  });

  it('are in seconds: from the arrival or the start of the call to the first content and to the end', () => {
    let now = 1000;
    jest.spyOn(performance, 'now').mockImplementation(() => now);
    const after = (ms: number, happens: () => void): void => {
      now += ms;
      happens();
    };
    const metrics = new RequestMetrics([]);
    const { tracer, spans } = tracing(1);
    const observed = telemetryTo({ log: () => undefined, metrics, tracer }).begin(arrival);
    now += 100;
    const call = observed.upstream(resolvedRoute());
    after(400, () => call.firstContent());
    after(50, () => call.firstContent());
    after(950, () => call.ended(attempt(), nothingObserved, undefined));
    after(2000, () => observed.finished(finished({ stream: true, usage: { ...usage, totalTokens: 8 } })));
    observed.over(200);
    const sums = metrics
      .collect()
      .flatMap(({ name, points }) =>
        points.map(({ value }) => [name, typeof value === 'number' ? value : value.sum] as const),
      );
    expect(Object.fromEntries(sums)).toMatchObject({
      'gateway.request.duration': 3.5,
      'gen_ai.server.request.duration': 3.5,
      'gen_ai.server.time_to_first_token': 0.5,
      'gen_ai.server.time_per_output_token': 0.5,
      'gen_ai.client.operation.duration': 1.4,
    });
    expect(spans).toMatchObject([
      { attributes: { 'gen_ai.response.time_to_first_chunk': 0.4 }, duration: [1, 400_000_000] },
      { duration: [3, 500_000_000] },
    ]);
  });

  it('divide the time after the first token by the number of tokens after it', () => {
    const metrics = new RequestMetrics([]);
    metrics.finished(finished({ stream: true, usage: { ...usage, totalTokens: 8 } }), 'other', {
      request: 3,
      firstToken: 1,
      afterFirst: 1.5,
    });
    expect(pointsOf(metrics, 'gen_ai.server.time_to_first_token')).toMatchObject([{ value: { sum: 1 } }]);
    expect(pointsOf(metrics, 'gen_ai.server.time_per_output_token')).toMatchObject([
      { value: { sum: 0.75 } },
    ]);
  });

  it.each<[string, Partial<FinishedRequest>]>([
    ['a failure', { outcome: 'upstream_error', errorCode: 'upstream_error' }],
    ['no usage', { usage: undefined }],
    ['a single token', { usage: { promptTokens: 1, completionTokens: 1, totalTokens: 2 } }],
  ])('have no time per output token for %s', (_what, over) => {
    const metrics = new RequestMetrics([]);
    metrics.finished(finished(over), 'other', { request: 3, firstToken: 1, afterFirst: 1 });
    expect(pointsOf(metrics, 'gen_ai.server.time_per_output_token')).toEqual([]);
  });

  it('count a client disconnect where an upstream was called, and only there', () => {
    const metrics = new RequestMetrics([]);
    for (const attemptStatus of ['success', 'stream_error', undefined] as const)
      metrics.finished(finished({ outcome: 'client_closed', attemptStatus }), 'other', {
        request: 3,
        firstToken: undefined,
        afterFirst: undefined,
      });
    expect(pointsOf(metrics, 'gateway.client_disconnects')).toMatchObject([
      { labels: { upstream: 'drained' }, value: 1 },
      { labels: { upstream: 'lost' }, value: 1 },
    ]);
    expect(pointsOf(metrics, 'gateway.client_disconnects')).toHaveLength(2);
  });

  it('count no output tokens for embeddings, which have none', () => {
    const metrics = new RequestMetrics([]);
    const call = {
      family: 'embeddings',
      resolved: resolvedRoute(),
      attempt: attempt(),
      usage,
      faultCode: undefined,
      errorType: undefined,
    } as const;
    metrics.called(call, 1);
    metrics.finished(finished({ family: 'embeddings' }), 'other', soon);
    expect(labelsOf(metrics, 'gen_ai.client.token.usage')).toMatchObject([{ 'gen_ai.token.type': 'input' }]);
    expect(labelsOf(metrics, 'gateway.tokens')).toMatchObject([{ token_type: 'input' }]);
  });

  it('have no GenAI duration and no invoked tools for a request without a route', () => {
    const metrics = new RequestMetrics([]);
    const refused = { outcome: 'invalid_request', errorCode: 'invalid_request' } as const;
    metrics.finished(
      finished({ ...refused, resolved: undefined, attemptStatus: undefined, modelKey: undefined }),
      'other',
      soon,
    );
    metrics.finished(finished({ ...refused, resolved: undefined, attemptStatus: undefined }), 'other', soon);
    for (const none of ['gen_ai.server.request.duration', 'gateway.request.tools.invoked'])
      expect(pointsOf(metrics, none)).toEqual([]);
    expect(labelsOf(metrics, 'gateway.requests')).toMatchObject([
      { model_key: 'other', provider_key: 'other' },
      { model_key: 'fast', provider_key: 'other' },
    ]);
  });

  it('label a failed request with its error code, and count a duplicate', () => {
    const metrics = new RequestMetrics([]);
    metrics.finished(finished({ outcome: 'upstream_error', errorCode: 'upstream_error' }), 'other', soon);
    expect(labelsOf(metrics, 'gen_ai.server.request.duration')).toMatchObject([
      { 'error.type': 'upstream_error' },
    ]);
    expect(pointsOf(metrics, 'gateway.duplicates')).toEqual([]);
    metrics.finished(finished({ settled: 'duplicate' }), 'other', soon);
    expect(pointsOf(metrics, 'gateway.duplicates')).toMatchObject([{ value: 1 }]);
  });

  it.each([
    ['cloud_a_platform', 'gcp.vertex_ai'],
    ['cloud_b_platform', 'aws.bedrock'],
    ['compat', 'mine'],
    ['cloud_run_compat', 'mine'],
  ] as const)('name a provider of kind %s %s', (kind, name) => {
    expect(providerNameOf({ kind, pricingProviderId: 'mine' })).toBe(name);
  });

  it('label a failed call with the upstream’s status, as a timeout, or else with the error code', () => {
    const metrics = new RequestMetrics([]);
    const resolved = resolvedRoute();
    const faults = [
      { kind: 'status', status: 429, message: 'no', headers: {} },
      { kind: 'timeout', phase: 'first_byte' },
      { kind: 'transport' },
      { kind: 'protocol', message: 'no', status: 200 },
    ] as const;
    for (const failure of [undefined, ...faults.map(upstreamError), clientClosed])
      telemetryTo({ log: () => undefined, metrics })
        .begin(arrival)
        .upstream(resolved)
        .ended(attempt(), nothingObserved, failure);
    expect(
      pointsOf(metrics, 'gen_ai.client.operation.duration').map(({ labels, value }) => [
        labels['error.type'],
        typeof value === 'number' ? value : value.count,
      ]),
    ).toEqual([
      [undefined, 1],
      ['429', 1],
      ['timeout', 1],
      ['upstream_error', 2],
      ['client_closed', 1],
    ]);
  });
});

describe('the first token of a stream', () => {
  const delta = (members: object) => ({ choices: [{ index: 0, delta: members }] });
  it.each([
    ['chat_completions', delta({ content: 'a' }), true],
    ['chat_completions', delta({ role: 'assistant', content: '' }), false],
    ['chat_completions', delta({ role: 'assistant', content: null, tool_calls: [] }), false],
    ['chat_completions', delta({ tool_calls: [{ index: 0 }] }), true],
    ['chat_completions', delta({ reasoning_content: 'hm' }), true],
    ['chat_completions', { choices: [{ index: 0, message: { role: 'assistant', content: 'a' } }] }, true],
    ['chat_completions', { choices: [{ index: 0, message: { role: 'assistant', content: '' } }] }, false],
    ['chat_completions', { choices: [], usage: {} }, false],
    ['chat_completions', { choices: null }, false],
    ['messages', { type: 'content_block_delta' }, true],
    ['messages', { type: 'content_block_start' }, false],
    ['responses', { type: 'response.output_text.delta' }, true],
    ['responses', { type: 'response.created' }, false],
    ['embeddings', { data: [] }, false],
  ] as const)('is in a chunk of %s %j: %p', (family, chunk, is) => {
    expect(hasContent(family, chunk as never)).toBe(is);
  });
});

describe('a failure to export telemetry', () => {
  it('is logged when it begins and when it is over, whatever the sequence of exports', () => {
    fc.assert(
      fc.property(fc.array(fc.boolean()), (works) => {
        const log = memoryLog();
        let next = 0;
        const exporter = {
          export: (_items: string, done: (result: { code: number; error?: Error }) => void): void => {
            const error = Object.assign(new Error('it may quote an answer'), { code: 'ECONNREFUSED' });
            done(works[next] === true ? { code: 0 } : { code: 1, error });
            next += 1;
          },
        };
        const logged = loggingChanges(exporter, 'traces', 'http://collector:4318/v1/traces', log);
        const results: number[] = [];
        for (const _each of works) logged.export('items', ({ code }) => void results.push(code));
        expect(results).toEqual(works.map((worked) => (worked ? 0 : 1)));
        const changes = works.filter((worked, at) => worked !== (works[at - 1] ?? true));
        expect(log.lines.map(({ level }) => level)).toEqual(
          changes.map((worked) => (worked ? 'info' : 'warn')),
        );
        for (const { level, fields } of log.lines) {
          const about = { signal: 'traces', endpoint: 'http://collector:4318/v1/traces' };
          expect(fields).toEqual(level === 'warn' ? { ...about, error: 'ECONNREFUSED' } : about);
        }
      }),
    );
  });
});
