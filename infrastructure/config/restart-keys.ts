import { isDeepStrictEqual } from 'node:util';
import type { GatewayConfig } from './config.ts';

/** The sections that they are in. */
type Sections = Pick<GatewayConfig, 'server' | 'database'>;

/** Of a listener it is for the start whether it has a certificate; which one is looked at again. */
const isThere = (section: object | undefined): boolean => section !== undefined;

/** The keys that a start alone takes up, with what each comes to. Every other key is in force after a reload. */
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

/** Keys that are not in force as the file has them, since the process started with others. */
export const awaitingRestart = (started: Sections, taken: Sections): readonly string[] =>
  Object.entries(restartKeys)
    .filter(([, of]) => !isDeepStrictEqual(of(started), of(taken)))
    .map(([key]) => key);
