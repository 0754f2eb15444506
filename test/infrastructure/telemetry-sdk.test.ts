import { registerHooks } from 'node:module';
import { afterEach, describe, expect, it } from '@jest/globals';
import { context, metrics, propagation, ROOT_CONTEXT, trace, TraceFlags } from '@opentelemetry/api';
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import type { DatabasePool, sql as Sql } from 'slonik';
import type { TraceContext } from '../../application/ports/telemetry.ts';
import { exportTelemetry, type Otel } from '../../infrastructure/telemetry/node-sdk.ts';
import type { TelemetryExport } from '../../infrastructure/telemetry/telemetry-export.ts';
import { withDatabase } from '../support/database.ts';
import { finished, resolvedRoute } from '../support/finished-request.ts';
import { memoryLog } from '../support/gateway.ts';
import { type OtlpReceiver, startOtlpReceiver } from '../support/otlp-receiver.ts';

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

const collector = async (): Promise<OtlpReceiver> => {
  const receiver = await startOtlpReceiver();
  closing.push(receiver.close);
  return receiver;
};

const otel = (url: string, over: Partial<Otel> = {}): Otel => ({
  tracesEndpoint: url,
  metricsEndpoint: url,
  headers: {},
  traceSampleRatio: 1,
  exportIntervalSecs: 3600,
  bespokeTags: [],
  ...over,
});

const parent = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16) };
const arrival = {
  family: 'chat_completions',
  scheme: 'http',
  userAgent: undefined,
  traceContext: { traceparent: `00-${parent.traceId}-${parent.spanId}-01`, tracestate: 'vendor=x' },
} as const;

/** Reports one request, from its arrival to its last byte; returns the trace context that is sent upstream. */
function serveOne({ telemetry }: TelemetryExport): TraceContext {
  const observed = telemetry.begin(arrival);
  const { traceContext } = observed.upstream(resolvedRoute());
  observed.finished(finished());
  observed.over(200);
  return traceContext;
}

const without = (fields: object, ...names: readonly string[]) =>
  Object.fromEntries(Object.entries(fields).filter(([name]) => !names.includes(name)));

/** Everything that a process exports for one request, without ids, times and measured values. */
async function exportedBy(variables: Readonly<Record<string, string>>) {
  const receiver = await collector();
  Object.assign(process.env, variables);
  try {
    const exported = exportTelemetry(otel(receiver.url), memoryLog());
    for (const [name, value] of Object.entries(variables)) expect(process.env[name]).toBe(value);
    const upstream = serveOne(exported);
    await exported.close();
    return {
      paths: receiver.requests(),
      headers: receiver.headers().map((each) => without(each, 'host', 'content-length')),
      upstream: Object.entries(upstream).map(([name, value]) => [name, value.slice(0, 35)]),
      spans: receiver.spans().map(({ name, kind, traceId, traceState, attributes, resource }) => ({
        name,
        kind,
        traceId,
        traceState,
        attributes,
        resource: without(resource, 'service.instance.id'),
      })),
      metrics: Array.from(receiver.metrics().values(), ({ name, shape, points, resource }) => ({
        name,
        shape,
        labels: points.map(({ attributes }) => without(attributes, 'otel.component.name')),
        resource: without(resource, 'service.instance.id'),
      })),
    };
  } finally {
    for (const name of Object.keys(variables)) delete process.env[name];
  }
}

describe('the export of telemetry', () => {
  const elsewhere = 'http://127.0.0.1:9';
  it.each([
    ['OTEL_SDK_DISABLED', 'true'],
    ['OTEL_TRACES_EXPORTER', 'none'],
    ['OTEL_TRACES_EXPORTER', 'console'],
    ['OTEL_METRICS_EXPORTER', 'none'],
    ['OTEL_METRICS_EXPORTER', 'prometheus'],
    ['OTEL_LOGS_EXPORTER', 'otlp'],
    ['OTEL_RESOURCE_ATTRIBUTES', 'service.version=9,place=canary'],
    ['OTEL_SERVICE_NAME', 'canary'],
    ['OTEL_NODE_RESOURCE_DETECTORS', 'all'],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', elsewhere],
    ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', elsewhere],
    ['OTEL_EXPORTER_OTLP_METRICS_ENDPOINT', elsewhere],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'x-canary=1'],
    ['OTEL_EXPORTER_OTLP_TRACES_HEADERS', 'x-canary=1'],
    ['OTEL_EXPORTER_OTLP_METRICS_HEADERS', 'x-canary=1'],
    ['OTEL_EXPORTER_OTLP_COMPRESSION', 'gzip'],
    ['OTEL_EXPORTER_OTLP_PROTOCOL', 'grpc'],
    ['OTEL_EXPORTER_OTLP_TIMEOUT', '1'],
    ['OTEL_EXPORTER_OTLP_CERTIFICATE', '/nowhere'],
    ['OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE', 'delta'],
    ['OTEL_TRACES_SAMPLER', 'always_on'],
    ['OTEL_PROPAGATORS', 'b3,baggage'],
    ['OTEL_ATTRIBUTE_COUNT_LIMIT', '1'],
    ['OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT', '1'],
    ['OTEL_BSP_MAX_QUEUE_SIZE', '1'],
    ['OTEL_METRIC_EXPORT_TIMEOUT', '1'],
    ['OTEL_NODE_EXPERIMENTAL_SDK_METRICS', 'true'],
    ['OTEL_CONFIG_FILE', '/nowhere'],
  ])('is not changed by the environment variable %s=%s', async (name, value) => {
    expect(await exportedBy({ [name]: value })).toEqual(await exportedBy({}));
  });

  it('contains nothing that was detected about the machine', async () => {
    const { spans, metrics: exported } = await exportedBy({});
    const resource = { 'service.name': 'model-gateway', 'service.version': expect.any(String) };
    expect(spans).toHaveLength(1);
    expect(exported.length).toBeGreaterThan(10);
    for (const each of [...spans, ...exported]) expect(each.resource).toEqual(resource);
  });

  it('contains an instance id that the process makes and logs', async () => {
    const receiver = await collector();
    const log = memoryLog();
    const exported = exportTelemetry(otel(receiver.url), log);
    serveOne(exported);
    await exported.close();
    const [span] = receiver.spans();
    const instance = span?.resource['service.instance.id'];
    expect(log.lines[0]).toEqual({
      level: 'info',
      fields: { instance: expect.any(String), pid: process.pid },
      message: 'telemetry is exported',
    });
    expect(log.lines[0]?.fields).toMatchObject({ instance });
  });
});

describe('the configuration of telemetry', () => {
  it('sets the headers that the collector receives', async () => {
    const receiver = await collector();
    const headers = { authorization: 'Bearer for-the-collector', 'X-Tenant': 'platform' };
    const exported = exportTelemetry(otel(receiver.url, { headers }), memoryLog());
    serveOne(exported);
    await exported.close();
    expect(receiver.headers()).toHaveLength(2);
    for (const each of receiver.headers())
      expect(each).toMatchObject({
        authorization: 'Bearer for-the-collector',
        'x-tenant': 'platform',
        'content-type': 'application/json',
      });
  });
});

describe('the last export, when telemetry is closed,', () => {
  it('of metrics is waited for where the collector of traces rejects its export', async () => {
    const [traces, slow] = [await collector(), await collector()];
    traces.be('refuses');
    slow.be('takes it late');
    const exported = exportTelemetry(otel(traces.url, { metricsEndpoint: slow.url }), memoryLog());
    serveOne(exported);
    await exported.close();
    expect(traces.requests()).toEqual({ '/v1/traces': 1 });
    expect(slow.metrics().get('gateway.requests')?.points).toHaveLength(1);
  });

  it('contains the spans and metrics from before it, and nothing is exported after it', async () => {
    const receiver = await collector();
    const exported = exportTelemetry(otel(receiver.url), memoryLog());
    serveOne(exported);
    await exported.close();
    serveOne(exported);
    await exported.close();
    expect(receiver.requests()).toEqual({ '/v1/traces': 1, '/v1/metrics': 1 });
    expect(receiver.spans()).toHaveLength(1);
  });
});

const database = withDatabase();

/** Loads the database library, which takes its tracers from what is registered at that time, and opens a pool. */
type Opened = () => Promise<{ readonly pool: DatabasePool; readonly sql: typeof Sql }>;

const tracingPool: Opened = async () => {
  const { createPool, sql } = await import('slonik');
  return { sql, pool: await createPool(database.url(), { tracing: true, queryRetryLimit: 0 }) };
};

const gatewaysPool: Opened = async () => {
  const [{ sql }, { openPool }] = await Promise.all([
    import('slonik'),
    import('../../infrastructure/postgres/pool.ts'),
  ]);
  return { sql, pool: await openPool(database.url(), 1) };
};

let loaded = 0;

/** Loads the database library, and the gateway's modules that use it, again. */
async function loadedAnew(open: Opened): ReturnType<Opened> {
  loaded += 1;
  const hooks = registerHooks({
    resolve: (specifier, at, next) => {
      const found = next(specifier, at);
      return /\/(?:@?slonik|infrastructure\/postgres)\//.test(found.url)
        ? { ...found, url: `${found.url}?loaded=${loaded}` }
        : found;
    },
  });
  try {
    return await open();
  } finally {
    hooks.deregister();
  }
}

/** Runs two statements as parts of a sampled trace; the second fails. */
async function runStatements(open: Opened): Promise<void> {
  const { pool, sql } = await loadedAnew(open);
  pool.on('error', () => undefined);
  const sampled = { ...parent, traceFlags: TraceFlags.SAMPLED, isRemote: true };
  await context.with(trace.setSpanContext(ROOT_CONTEXT, sampled), async () => {
    await pool.query(sql.unsafe`select 'canary-in-a-statement'`);
    await expect(pool.query(sql.unsafe`select 'canary-in-an-error'::int`)).rejects.toThrow();
  });
  await pool.end();
}

/** The spans of these statements that a provider which records everything gets. */
async function recordedOf(open: Opened): Promise<readonly unknown[]> {
  const exporter = new InMemorySpanExporter();
  trace.disable();
  trace.setGlobalTracerProvider(
    new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] }),
  );
  await runStatements(open);
  trace.disable();
  return exporter.getFinishedSpans().map(({ name, attributes, status, events }) => ({
    name,
    attributes,
    status,
    events,
  }));
}

describe('libraries that use the API of OpenTelemetry', () => {
  it('can record SQL and error messages in spans, as the database library does', async () => {
    const text = JSON.stringify(await recordedOf(tracingPool));
    expect(text).toContain('canary-in-a-statement');
    expect(text).toContain('canary-in-an-error');
  });

  it('record no statement of the gateway’s own pool', async () => {
    expect(await recordedOf(gatewaysPool)).toEqual([]);
  });

  it('get a provider that records nothing of theirs: only the gateway’s spans and metrics are exported', async () => {
    const receiver = await collector();
    const exported = exportTelemetry(otel(receiver.url), memoryLog());
    const span = trace.getTracer('a-library').startSpan('canary-span');
    // This is the SDK's provider: without one, the context would not be valid.
    expect([trace.isSpanContextValid(span.spanContext()), span.isRecording()]).toEqual([true, false]);
    span.end();
    metrics.getMeter('a-library').createCounter('canary-counter').add(1);
    await runStatements(tracingPool);
    serveOne(exported);
    await exported.close();
    expect(receiver.spans().map(({ name }) => name)).toEqual(['POST /v1/chat/completions']);
    expect(receiver.text()).toContain('"gateway.requests"');
    expect(receiver.text()).toContain('otel.sdk.processor.span.queue.size');
    for (const text of ['canary', 'slonik', 'select', 'a-library'])
      expect([text, receiver.text().includes(text)]).toEqual([text, false]);
  });

  it('do not disable the SDK by what they registered before it', async () => {
    propagation.disable();
    propagation.setGlobalPropagator({ inject: () => undefined, extract: (at) => at, fields: () => [] });
    const receiver = await collector();
    const exported = exportTelemetry(otel(receiver.url), memoryLog());
    const upstream = serveOne(exported);
    await exported.close();
    const [span] = receiver.spans();
    expect(span).toMatchObject({ traceId: parent.traceId, parentSpanId: parent.spanId });
    expect(upstream['traceparent']).toMatch(new RegExp(`^00-${parent.traceId}-\\w{16}-01$`));
  });
});
