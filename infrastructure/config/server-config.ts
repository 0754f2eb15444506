import { isUniversalTag } from '../../domain/request-log/caller-tags.ts';
import { maxBespokeTags, maxTagKeyChars } from '../../domain/shared/limits.ts';
import {
  bindAddress,
  addressBlock,
  email,
  httpUrl,
  origin,
  wholeSecret,
  refuseControls,
  toBaseUrl,
} from './formats.ts';
import { type BindConfig, tlsCodec, type TlsConfig, toBind, toTls } from './listener-config.ts';
import { type HeaderMap, headers } from './headers-codec.ts';
import { list, object, optional, refined, required, withDefault } from './object-codecs.ts';
import { boolean, integer, number, text, type TypeOf } from './scalar-codecs.ts';

/** More processes than any machine that this runs on has cores. */
export const maxWorkers = 256;

/** An hour: the longest wait that makes sense for any interval of the service. */
const hourSecs = 3600;

const tagKey = text({
  what: 'a tag key: a-z, then a-z 0-9 . _ -',
  maxLength: maxTagKeyChars,
  pattern: /^[a-z][a-z0-9._-]*$/,
  refuse: (key) => (isUniversalTag(key) ? 'is not a bespoke tag: it is always a label' : undefined),
});

const serverFields = object({
  bind: withDefault(bindAddress, '127.0.0.1:8080', 'Address to listen on, host:port.'),
  admin_bind: optional(
    bindAddress,
    'Address of a separate listener for the admin API and its page, host:port; bind then answers 404 for them.',
  ),
  tls: optional(tlsCodec, 'Certificate with which the listeners serve https; plain http unless set.'),
  admin_tls: optional(tlsCodec, 'Separate certificate for admin_bind; that of tls unless set.'),
  public_base_url: optional(
    httpUrl,
    'URL under which people reach the admin page: links in mails, Secure cookies, the origin check of the admin API.',
  ),
  workers: withDefault(integer({ min: 1, max: maxWorkers }), 1, 'Processes that share the port.'),
  // A body becomes one string; 256 MiB stays below the longest one that the runtime supports.
  body_max_bytes: withDefault(
    integer({ min: 1, max: 268_435_456, unit: 'bytes' }),
    33_554_432,
    'Largest request body, in bytes; a larger one gets 413 request_too_large.',
  ),
  // As many as the largest possible body has bytes, which is more than it can have values.
  body_max_values: withDefault(
    integer({ min: 1, max: 268_435_456 }),
    1_000_000,
    'Most JSON values in a request body; a body with more gets 400 invalid_request.',
  ),
  max_connections: withDefault(
    integer({ min: 1, max: 1_000_000 }),
    16_384,
    'Concurrent connections at each address; further ones are closed on arrival.',
  ),
  max_in_flight: withDefault(
    integer({ min: 1, max: 1_000_000 }),
    2000,
    'Concurrent requests; further ones get 503 overloaded with Retry-After.',
  ),
  max_in_flight_per_owner: optional(
    integer({ min: 1, max: 1_000_000 }),
    'Concurrent requests of one owner; further ones get 429 too_many_requests with Retry-After. A quarter of max_in_flight unless set.',
  ),
  // One TiB: more memory than a machine gives to one service.
  max_buffered_bytes: withDefault(
    integer({ min: 1, max: 1_099_511_627_776, unit: 'bytes' }),
    536_870_912,
    'Bytes buffered for request bodies (as parsed, not as sent), whole answers, drains, payloads and unfinished stream events; beyond it requests get 503 overloaded with Retry-After.',
  ),
  cors_origins: withDefault(
    list(origin, 256),
    [],
    'Origins of browser apps that may call the public API; none unless set, and never the admin API.',
  ),
  stream_keepalive_secs: withDefault(
    integer({ min: 0, max: hourSecs, unit: 'seconds' }),
    15,
    'Idle time after which a stream is sent a comment (messages family: a ping event), in seconds; 0 turns it off.',
  ),
  shutdown_grace_secs: withDefault(
    integer({ min: 0, max: hourSecs, unit: 'seconds' }),
    30,
    'Time that streams in flight get to finish after SIGTERM, in seconds.',
  ),
  trusted_proxies: withDefault(
    list(addressBlock, 256),
    [],
    'Addresses or CIDR blocks of proxies whose forwarding headers are trusted.',
  ),
  otel_endpoint: optional(
    httpUrl,
    'OTLP base URL; /v1/traces and /v1/metrics are appended. Without it nothing is exported.',
  ),
  otel_metrics_endpoint: optional(httpUrl, 'OTLP base URL for metrics; otel_endpoint unless set.'),
  otel_headers: withDefault(
    headers,
    {},
    'Headers for the collector, such as its credentials: {authorization: "${COLLECTOR_AUTHORIZATION}"}.',
  ),
  otel_trace_sample_ratio: withDefault(
    number({ min: 0, max: 1 }),
    1,
    'Share of traces that are sampled, parent-based; metrics are never sampled.',
  ),
  otel_export_interval_secs: withDefault(
    integer({ min: 1, max: hourSecs, unit: 'seconds' }),
    30,
    'Interval between two exports of metrics, in seconds.',
  ),
  otel_bespoke_tags: withDefault(
    list(tagKey, maxBespokeTags),
    [],
    'Keys of bespoke caller tags that become metric labels, as caller_tag.KEY; service, component and env always are.',
  ),
});

/** Port 0 is any free port, so two equal addresses with it do not conflict. */
const isOneOfMany = (bind: string): boolean => toBind(bind).port === 0;

export const serverCodec = refined(serverFields, (server) => {
  const { bind, admin_bind: adminBind, admin_tls: adminTls } = server;
  const faults = [
    [
      server.max_buffered_bytes < server.body_max_bytes,
      'max_buffered_bytes',
      'must not be smaller than body_max_bytes: one body has to fit',
    ],
    [
      adminBind === bind && !isOneOfMany(bind),
      'admin_bind',
      'must be another address than bind: leave it out for one listener',
    ],
    [
      adminTls !== undefined && adminBind === undefined,
      'admin_tls',
      'needs admin_bind: the one listener has the certificate of tls',
    ],
  ] as const;
  return faults.flatMap(([wrong, key, message]) => (wrong ? [{ at: [key], message }] : []));
});

const smtpCodec = refined(
  object({
    host: required(
      text({ what: 'a host name or address', maxLength: 253, pattern: /^[A-Za-z0-9.:-]+$/ }),
      'SMTP server.',
    ),
    port: withDefault(integer({ min: 1, max: 65_535 }), 587, 'Port of the SMTP server.'),
    starttls: withDefault(
      boolean,
      true,
      'Whether the connection must be upgraded to TLS before anything is sent.',
    ),
    username: optional(
      text({ what: 'a user name', maxLength: 256, refuse: refuseControls }),
      'User name; needs `password` as well.',
    ),
    password: optional(
      text({ what: 'a password', maxLength: 1024, secret: wholeSecret, refuse: refuseControls }),
      'Password of `username`, as ${NAME}.',
    ),
  }),
  ({ username, password }) =>
    (username === undefined) === (password === undefined)
      ? []
      : [{ at: [], message: 'needs both `username` and `password`, or neither' }],
);

/** The port on which TLS starts before any SMTP command. */
export const implicitTlsPort = 465;

export const mailCodec = object({
  from: required(email, 'Sender address of the mails.'),
  smtp: required(smtpCodec, 'How mails are sent.'),
});

export const budgetAlertsCodec = object({
  poll_interval_secs: withDefault(
    integer({ min: 1, max: hourSecs, unit: 'seconds' }),
    30,
    'Interval between two polls for alerts to mail, in seconds.',
  ),
  // Each mail is claimed just before it is sent, so a large batch only makes a round longer.
  batch_size: withDefault(integer({ min: 1, max: 1000 }), 25, 'Most alerts that one poll takes.'),
});

/** The listener, its bounds and the telemetry export. */
export interface ServerConfig {
  readonly bind: BindConfig;
  /** Where the admin API and its page are served, instead of at `bind`. */
  readonly adminBind: BindConfig | undefined;
  readonly tls: TlsConfig | undefined;
  /** The certificate of `adminBind`, if it differs from that of `tls`. */
  readonly adminTls: TlsConfig | undefined;
  readonly publicBaseUrl: string | undefined;
  readonly workers: number;
  readonly bodyMaxBytes: number;
  readonly bodyMaxValues: number;
  readonly maxConnections: number;
  readonly maxInFlight: number;
  readonly maxInFlightPerOwner: number;
  readonly maxBufferedBytes: number;
  /** Exact origins, or `*` for any. */
  readonly corsOrigins: readonly string[];
  /** 0 turns it off. */
  readonly streamKeepaliveSecs: number;
  readonly shutdownGraceSecs: number;
  readonly trustedProxies: readonly string[];
  readonly otel: OtelConfig;
}

/** Base URLs; `undefined` turns that export off. */
export interface OtelConfig {
  readonly tracesEndpoint: string | undefined;
  readonly metricsEndpoint: string | undefined;
  /** Sent with each export of either kind. */
  readonly headers: HeaderMap;
  /** 0 … 1. */
  readonly traceSampleRatio: number;
  readonly exportIntervalSecs: number;
  /** Keys of bespoke caller tags that become labels of metrics. */
  readonly bespokeTags: readonly string[];
}

export interface MailConfig {
  readonly from: string;
  readonly smtp: {
    readonly host: string;
    readonly port: number;
    readonly starttls: boolean;
    readonly credentials: { readonly username: string; readonly password: string } | undefined;
  };
}

export interface BudgetAlertsConfig {
  readonly pollIntervalSecs: number;
  readonly batchSize: number;
}

export const toServer = (wire: TypeOf<typeof serverCodec>): ServerConfig => ({
  bind: toBind(wire.bind),
  adminBind: wire.admin_bind === undefined ? undefined : toBind(wire.admin_bind),
  tls: wire.tls === undefined ? undefined : toTls(wire.tls),
  adminTls: wire.admin_tls === undefined ? undefined : toTls(wire.admin_tls),
  publicBaseUrl: toBaseUrl(wire.public_base_url),
  workers: wire.workers,
  bodyMaxBytes: wire.body_max_bytes,
  bodyMaxValues: wire.body_max_values,
  maxConnections: wire.max_connections,
  maxInFlight: wire.max_in_flight,
  maxInFlightPerOwner: wire.max_in_flight_per_owner ?? Math.ceil(wire.max_in_flight / 4),
  maxBufferedBytes: wire.max_buffered_bytes,
  corsOrigins: wire.cors_origins,
  streamKeepaliveSecs: wire.stream_keepalive_secs,
  shutdownGraceSecs: wire.shutdown_grace_secs,
  trustedProxies: wire.trusted_proxies,
  otel: {
    tracesEndpoint: toBaseUrl(wire.otel_endpoint),
    metricsEndpoint: toBaseUrl(wire.otel_metrics_endpoint ?? wire.otel_endpoint),
    headers: wire.otel_headers,
    traceSampleRatio: wire.otel_trace_sample_ratio,
    exportIntervalSecs: wire.otel_export_interval_secs,
    bespokeTags: [...new Set(wire.otel_bespoke_tags)],
  },
});

export const toMail = ({ from, smtp }: TypeOf<typeof mailCodec>): MailConfig => ({
  from,
  smtp: {
    host: smtp.host,
    port: smtp.port,
    starttls: smtp.starttls,
    credentials:
      smtp.username === undefined || smtp.password === undefined
        ? undefined
        : { username: smtp.username, password: smtp.password },
  },
});

export const toBudgetAlerts = (wire: TypeOf<typeof budgetAlertsCodec>): BudgetAlertsConfig => ({
  pollIntervalSecs: wire.poll_interval_secs,
  batchSize: wire.batch_size,
});
