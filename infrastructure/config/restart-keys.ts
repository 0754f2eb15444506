import { isDeepStrictEqual } from 'node:util';
import type { GatewayConfig } from './config.ts';

/** The sections that contain the keys. */
type Sections = Pick<GatewayConfig, 'server' | 'database'>;

/** Only whether a listener has a certificate needs a restart; the certificate itself is reloaded. */
const isThere = (section: object | undefined): boolean => section !== undefined;

/** The keys that take effect only at startup, with their values. Every other key takes effect on reload. */
export const restartKeys = {
  'server.bind': ({ server }) => server.bind,
  'server.admin_bind': ({ server }) => server.adminBind,
  'server.tls': ({ server }) => isThere(server.tls),
  'server.admin_tls': ({ server }) => isThere(server.adminTls),
  'server.workers': ({ server }) => server.workers,
  'server.body_max_bytes': ({ server }) => server.bodyMaxBytes,
  'server.max_connections': ({ server }) => server.maxConnections,
  'server.max_in_flight': ({ server }) => server.maxInFlight,
  'server.max_in_flight_per_owner': ({ server }) => server.maxInFlightPerOwner,
  'server.max_buffered_bytes': ({ server }) => server.maxBufferedBytes,
  'server.otel_endpoint': ({ server }) => server.otel.tracesEndpoint,
  'server.otel_metrics_endpoint': ({ server }) => server.otel.metricsEndpoint,
  'server.otel_headers': ({ server }) => server.otel.headers,
  'server.otel_trace_sample_ratio': ({ server }) => server.otel.traceSampleRatio,
  'server.otel_export_interval_secs': ({ server }) => server.otel.exportIntervalSecs,
  'server.otel_bespoke_tags': ({ server }) => server.otel.bespokeTags,
  'database.url': ({ database }) => (database.kind === 'external' ? database.url : undefined),
  'database.read_url': ({ database }) => (database.kind === 'external' ? database.readUrl : undefined),
  'database.distribution': ({ database }) => database.distribution,
  'database.max_connections': ({ database }) => database.maxConnections,
} as const satisfies Readonly<Record<string, (config: Sections) => unknown>>;

/** Keys whose values in the file are not in force, because the process was started with others. */
export const changedRestartKeys = (started: Sections, taken: Sections): readonly string[] =>
  Object.entries(restartKeys)
    .filter(([, of]) => !isDeepStrictEqual(of(started), of(taken)))
    .map(([key]) => key);
