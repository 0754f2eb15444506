import { isSecretHeader } from '../../domain/payload/secret-headers.ts';
import type { GatewayConfig } from './config.ts';
import { overPlainHttp } from './lint-transport.ts';
import { isForeignPlainHttp } from './private-hosts.ts';
import { type Finding, finding } from './problem.ts';

/** Settings of the telemetry export that are probably not intended. */
export function collectorNotes({ server: { otel } }: GatewayConfig): readonly Finding[] {
  const keys = { otel_endpoint: otel.tracesEndpoint, otel_metrics_endpoint: otel.metricsEndpoint };
  const set = Object.entries(keys).flatMap(([key, url]) => (url === undefined ? [] : [{ key, url }]));
  // Metrics go to the endpoint of traces when they have none of their own.
  const own = set.filter(({ url }, at) => set.findIndex((each) => each.url === url) === at);
  const sent = Object.keys(otel.headers).filter(isSecretHeader).join(', ');
  return own.flatMap(({ key, url }) => [
    ...(sent !== '' && isForeignPlainHttp(url)
      ? [finding(['server', key], `sends ${sent} ${overPlainHttp}`)]
      : []),
    ...(signalPath.test(url) ? [finding(['server', key], signalIsAppended)] : []),
  ]);
}

/** Collectors are often given by the URL of one signal, as in `OTEL_EXPORTER_OTLP_METRICS_ENDPOINT`. */
const signalPath = /\/v1\/(?:traces|metrics|logs)$/;

const signalIsAppended =
  'ends with the path of a signal: /v1/traces and /v1/metrics are appended, so leave it out';
