import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { HrTime } from '@opentelemetry/api';
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-http';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import {
  detectResources,
  envDetector,
  type Resource,
  resourceFromAttributes,
} from '@opentelemetry/resources';
import {
  MeterProvider,
  type MetricProducer,
  PeriodicExportingMetricReader,
  type PushMetricExporter,
} from '@opentelemetry/sdk-metrics';
import { BatchSpanProcessor, type SpanExporter } from '@opentelemetry/sdk-trace';
import type { OtelConfig } from '../config/server-config.ts';
import { type Log, requestLog } from '../logging.ts';
import { metricData } from './metric-data.ts';
import type { MetricName } from './metric-table.ts';
import type { TelemetryExport } from './open.ts';
import { ProcessMetrics } from './process-metrics.ts';
import { RequestMetrics } from './request-metrics.ts';
import { hrTime, Tracer } from './request-spans.ts';
import { telemetryTo } from './request-telemetry.ts';
import type { AnyPoint } from './instruments.ts';
import { toldOnce } from './export-log.ts';

/** An export, its repetitions included, may take this long: what a collector that is up never needs. */
const exportTimeoutMs = 5000;
/** The last export may take this long: that of a collector that is down, and no more of the shutdown's time. */
const flushMs = 6000;
/** Spans that wait: two seconds of a busy process with every request sampled. Beyond it they are dropped, and counted. */
const maxQueuedSpans = 8192;
const spanDelayMs = 2000;

/** Exports by OTLP over HTTP, in the background. */
export function exportTelemetry(
  otel: OtelConfig & { readonly metricsEndpoint: string },
  log: Log,
): TelemetryExport {
  const resource = ownResource();
  const requests = new RequestMetrics(otel.bespokeTags);
  const ofProcess = new ProcessMetrics();
  const meters = new MeterProvider({
    resource,
    readers: [
      new PeriodicExportingMetricReader({
        exporter: metricExporter(otel.metricsEndpoint, log),
        exportIntervalMillis: otel.exportIntervalSecs * 1000,
        metricProducers: [producer(resource, () => [...requests.collect(), ...ofProcess.collect()])],
      }),
    ],
  });
  const spans =
    otel.tracesEndpoint === undefined
      ? undefined
      : new BatchSpanProcessor({
          exporter: spanExporter(otel.tracesEndpoint, log),
          maxQueueSize: maxQueuedSpans,
          scheduledDelayMillis: spanDelayMs,
          exportTimeoutMillis: exportTimeoutMs,
          selfObsMeterProvider: meters,
        });
  const tracer =
    spans === undefined
      ? undefined
      : new Tracer({ ratio: otel.traceSampleRatio, processor: spans, resource });
  return {
    telemetry: telemetryTo({
      log: requestLog(log),
      metrics: requests,
      ...(tracer === undefined ? {} : { tracer }),
    }),
    watch: (parts) => ofProcess.watch(parts),
    close: async () => {
      // What could not be sent was told of.
      const sent = Promise.allSettled([spans?.shutdown(), meters.shutdown()]);
      await Promise.race([sent, sleep(flushMs, undefined, { ref: false })]);
      ofProcess.close();
    },
  };
}

/** Who sends this: one process. What operators say of it in the environment, as with any such program, is added. */
function ownResource(): Resource {
  const manifest = path.join(import.meta.dirname, '..', '..', 'package.json');
  const { version } = JSON.parse(readFileSync(manifest, 'utf8')) as { readonly version: string };
  return resourceFromAttributes({
    'service.name': 'model-gateway',
    'service.version': version,
    'service.instance.id': randomUUID(),
  }).merge(detectResources({ detectors: [envDetector] }));
}

function metricExporter(endpoint: string, log: Log): PushMetricExporter {
  const url = `${endpoint}/v1/metrics`;
  const exporter = new OTLPMetricExporter({ url, timeoutMillis: exportTimeoutMs });
  return {
    ...toldOnce(exporter, 'metrics', url, log),
    forceFlush: () => exporter.forceFlush(),
    shutdown: () => exporter.shutdown(),
  };
}

function spanExporter(endpoint: string, log: Log): SpanExporter {
  const url = `${endpoint}/v1/traces`;
  const exporter = new OTLPTraceExporter({ url, timeoutMillis: exportTimeoutMs });
  return { ...toldOnce(exporter, 'traces', url, log), shutdown: () => exporter.shutdown() };
}

type Collected = readonly { readonly name: MetricName; readonly points: readonly AnyPoint[] }[];

/** The SDK's own instruments look their labels up by a text made of them, at each recording: too dear for requests. */
function producer(resource: Resource, collect: () => Collected): MetricProducer {
  const from = now();
  return {
    collect: async () => {
      const times = { from, to: now() };
      const metrics = collect()
        .filter(({ points }) => points.length > 0)
        .map(({ name, points }) => metricData(name, points, times));
      return {
        resourceMetrics: { resource, scopeMetrics: [{ scope: { name: 'model-gateway' }, metrics }] },
        errors: [],
      };
    },
  };
}

const now = (): HrTime => hrTime(Date.now());
