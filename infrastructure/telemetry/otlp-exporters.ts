import {
  AggregationTemporalityPreference,
  OTLPMetricExporter,
} from '@opentelemetry/exporter-metrics-otlp-http';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import type { PushMetricExporter, ResourceMetrics } from '@opentelemetry/sdk-metrics';
import type { SpanExporter } from '@opentelemetry/sdk-trace';
import type { Log } from '../logging.ts';
import { requestsUntil } from '../requests-until.ts';
import { type Exporter, loggingChanges, timedOut } from './export-log.ts';

/** The longest that an export takes, including its retries. A working collector never needs as long. */
export const exportTimeoutMs = 5000;

export interface OtlpTarget {
  /** The base URL; the path of the signal is appended. */
  readonly endpoint: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Exports metrics with OTLP over HTTP, only those of the named scopes, as libraries may have metrics of their own. */
export function metricExporter(
  { endpoint, headers }: OtlpTarget,
  scopes: readonly string[],
  log: Log,
): PushMetricExporter {
  const url = `${endpoint}/v1/metrics`;
  const exporter = new OTLPMetricExporter({
    url,
    headers: { ...headers },
    timeoutMillis: exportTimeoutMs,
    temporalityPreference: AggregationTemporalityPreference.CUMULATIVE,
  });
  const logged = loggingChanges(endingInTime(exporter), 'metrics', url, log);
  return {
    export: (metrics, done) => logged.export(onlyOf(scopes, metrics), done),
    forceFlush: () => exporter.forceFlush(),
    shutdown: () => exporter.shutdown(),
  };
}

const onlyOf = (scopes: readonly string[], { resource, scopeMetrics }: ResourceMetrics): ResourceMetrics => ({
  resource,
  scopeMetrics: scopeMetrics.filter(({ scope }) => scopes.includes(scope.name)),
});

/** Exports spans with OTLP over HTTP. */
export function spanExporter({ endpoint, headers }: OtlpTarget, log: Log): SpanExporter {
  const url = `${endpoint}/v1/traces`;
  const exporter = new OTLPTraceExporter({ url, headers: { ...headers }, timeoutMillis: exportTimeoutMs });
  return {
    ...loggingChanges(endingInTime(exporter), 'traces', url, log),
    shutdown: () => exporter.shutdown(),
  };
}

/**
 * The SDK's timeout is that of a silence: while a collector sends a byte now and then, exports would stay open until
 * there are thirty. So each ends when its time is over, and has failed, whatever part of its answer came (rule 25.14).
 */
const endingInTime = <Items>(exporter: Exporter<Items>): Exporter<Items> => ({
  export: (items, done) => {
    const deadline = AbortSignal.timeout(exportTimeoutMs);
    requestsUntil(deadline, () =>
      exporter.export(items, (result) => done(deadline.aborted ? timedOut : result)),
    );
  },
});
