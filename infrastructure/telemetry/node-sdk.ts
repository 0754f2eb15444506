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

/** The most time that the shutdown takes: a collector that is down must not use up the time of the process's end. */
const shutdownMs = 6000;
/** The most spans that wait: two seconds of a busy process with every request sampled. Beyond it they are dropped, and counted. */
const maxQueuedSpans = 8192;
const spanDelayMs = 2000;

/** The scope of the SDK's metrics of its span queue. */
const spanQueueScope = '@opentelemetry/sdk-trace';

/** The settings of an export: metrics have an endpoint whenever anything is exported. */
export type Otel = OtelConfig & { readonly metricsEndpoint: string };

/** Starts the OpenTelemetry SDK, which exports by OTLP over HTTP in the background. */
export function exportTelemetry(otel: Otel, log: Log): TelemetryExport {
  const instance = randomUUID();
  // Whoever is alerted to an instance finds its process by this line alone.
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
      // What could not be sent has been logged.
      await Promise.race([
        Promise.allSettled([sdk.shutdown()]),
        sleep(shutdownMs, undefined, { ref: false }),
      ]);
      ofProcess.close();
    },
  };
}

/**
 * Settings are arguments, and the caller hides the environment's `OTEL_*`: some of those have no argument that overrides
 * them (`OTEL_SDK_DISABLED`), and what is exported must be what the file says.
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
    // The spans of requests come to the processor whole. Those that libraries begin by the API must not be exported:
    // the database library's hold SQL and error messages.
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

/** The SDK registers its providers only where there are none: what a preloaded module has registered goes first. */
function releaseGlobals(): void {
  for (const api of [context, propagation, trace, metrics, logs]) api.disable();
}

/** What is exported comes from this one process. Nothing is detected: the collector may add where it runs. */
function ownResource(instance: string): Resource {
  return resourceFromAttributes({
    'service.name': 'model-gateway',
    'service.version': releaseVersion(),
    'service.instance.id': instance,
  });
}

/**
 * The gateway's metrics, beside the SDK's. Its instruments are not used, as each recording would look its data point up
 * by a text made of the labels: with some fifteen recordings a request, that costs ten times as much as these do.
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
