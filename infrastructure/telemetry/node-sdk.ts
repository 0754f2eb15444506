import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { context, logs, metrics, propagation, trace } from '@opentelemetry/api';
import { millisToHrTime } from '@opentelemetry/core';
import { type Resource, resourceFromAttributes } from '@opentelemetry/resources';
import { type MetricProducer, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics';
import { NodeSDK } from '@opentelemetry/sdk-node';
import { AlwaysOffSampler } from '@opentelemetry/sdk-trace';
import { withoutVariables } from '../config/process-variables.ts';
import type { OtelConfig } from '../config/server-config.ts';
import { type Log, mcpCallLog, requestLog } from '../logging.ts';
import { releaseVersion } from '../release-version.ts';
import type { MetricPoints } from './instruments.ts';
import { MeteredBatch } from './metered-batch.ts';
import { metricData } from './metric-data.ts';
import { McpMetrics, mcpTelemetryTo } from './mcp-telemetry.ts';
import { exportTimeoutMs, metricExporter, spanExporter } from './otlp-exporters.ts';
import { ProcessMetrics } from './process-metrics.ts';
import { TraceContextPropagator } from './propagator.ts';
import { RequestMetrics } from './request-metrics.ts';
import { scope, Tracer } from './request-spans.ts';
import { telemetryTo } from './request-telemetry.ts';
import type { TelemetryExport } from './telemetry-export.ts';

/** Bounds the shutdown of telemetry: an unavailable collector must not use up the time of the process's shutdown. */
const shutdownMs = 6000;
/** Maximum of queued spans: two seconds of a busy process that samples each request. More are dropped and counted. */
const maxQueuedSpans = 8192;
const spanDelayMs = 2000;

/** The scope of the SDK's metrics of its span queue. */
const spanQueueScope = '@opentelemetry/sdk-trace';

/** The settings of an export. There is a metrics endpoint whenever anything is exported. */
export type Otel = OtelConfig & { readonly metricsEndpoint: string };

/** Starts the OpenTelemetry SDK, which exports in the background with OTLP over HTTP. */
export function exportTelemetry(otel: Otel, log: Log): TelemetryExport {
  const instance = randomUUID();
  // Only this line connects the instance that an alert names to its process.
  log.info({ instance, pid: process.pid }, 'telemetry is exported');
  const resource = ownResource(instance);
  const requests = new RequestMetrics(otel.bespokeTags);
  const calls = new McpMetrics();
  const ofProcess = new ProcessMetrics();
  const producer = metricProducer(resource, () => [
    ...requests.collect(),
    ...calls.collect(),
    ...ofProcess.collect(),
  ]);
  const { sdk, spans } = withoutVariables(/^OTEL_/i, () => startedSdk(otel, resource, producer, log));
  const traced = spans && {
    tracer: new Tracer({ ratio: otel.traceSampleRatio, processor: spans, resource }),
  };
  return {
    telemetry: telemetryTo({ log: requestLog(log), metrics: requests, ...traced }),
    mcp: mcpTelemetryTo({ log: mcpCallLog(log), metrics: calls, ...traced }),
    watch: (sources) => ofProcess.watch(sources),
    close: async () => {
      // Failures to send have been logged.
      await Promise.race([
        Promise.allSettled([sdk.shutdown()]),
        sleep(shutdownMs, undefined, { ref: false }),
      ]);
      ofProcess.close();
    },
  };
}

/**
 * Settings are passed as arguments, and the caller hides the environment's `OTEL_*` variables: no argument overrides
 * some of them (`OTEL_SDK_DISABLED`), and the export must follow the file.
 */
function startedSdk(otel: Otel, resource: Resource, producer: MetricProducer, log: Log) {
  const { headers, metricsEndpoint, tracesEndpoint } = otel;
  const spans =
    tracesEndpoint === undefined
      ? undefined
      : new MeteredBatch({
          exporter: spanExporter({ endpoint: tracesEndpoint, headers }, log),
          maxQueueSize: maxQueuedSpans,
          scheduledDelayMillis: spanDelayMs,
          exportTimeoutMillis: exportTimeoutMs,
        });
  const sdk = new NodeSDK({
    resource,
    autoDetectResources: false,
    resourceDetectors: [],
    instrumentations: [],
    textMapPropagator: new TraceContextPropagator(),
    // The processor gets the spans of requests already ended. Spans that libraries start through the API must not be
    // exported: those of the database library contain SQL and error messages.
    sampler: new AlwaysOffSampler(),
    spanProcessors: spans === undefined ? [] : [spans],
    metricReaders: [
      new PeriodicExportingMetricReader({
        exporter: metricExporter({ endpoint: metricsEndpoint, headers }, [scope.name, spanQueueScope], log),
        exportIntervalMillis: otel.exportIntervalSecs * 1000,
        metricProducers: [producer],
      }),
    ],
    views: [],
    logRecordProcessors: [],
  });
  releaseGlobals();
  sdk.start();
  spans?.begin(metrics.getMeterProvider());
  return { sdk, spans };
}

/** The SDK registers its providers only where there are none, so those of a preloaded module are removed first. */
function releaseGlobals(): void {
  for (const api of [context, propagation, trace, metrics, logs]) api.disable();
}

/** Describes this one process. Nothing is detected: the collector may add where it runs. */
function ownResource(instance: string): Resource {
  return resourceFromAttributes({
    'service.name': 'model-gateway',
    'service.version': releaseVersion(),
    'service.instance.id': instance,
  });
}

/**
 * Produces the gateway's metrics, next to the SDK's. The SDK's instruments are not used, as each recording would look
 * up its data point by a text made of the labels: with some fifteen recordings per request, that costs ten times as
 * much.
 */
function metricProducer(resource: Resource, collect: () => readonly MetricPoints[]): MetricProducer {
  const from = millisToHrTime(Date.now());
  return {
    collect: async () => {
      const interval = { from, to: millisToHrTime(Date.now()) };
      const collected = collect()
        .filter(({ points }) => points.length > 0)
        .map(({ name, points }) => metricData(name, points, interval));
      return {
        resourceMetrics: { resource, scopeMetrics: [{ scope, metrics: collected }] },
        errors: [],
      };
    },
  };
}
