import { id, upstreamModel } from './formats.ts';
import { list, object, required, withDefault } from './object-codecs.ts';
import { scheduleFault } from './purge-schedule.ts';
import { boolean, choice, integer, text, type TypeOf } from './scalar-codecs.ts';
import { pricePerToken } from '../../domain/money/money.ts';

const captureModes = ['disabled', 'summary_only', 'redacted_payloads'] as const;
const retentions = ['1d', '3d', '7d'] as const;

/** `*` is a wildcard only as a whole segment. Inside a segment it would not match what its author meant. */
const redactionPath = text({
  what: 'object keys separated by dots; * stands for one whole key',
  maxLength: 512,
  pattern: /^(\*|[^.*]+)(\.(\*|[^.*]+))*$/,
});

// 16 MiB: a page could not show a larger row of the log.
const payloadBytes = integer({ min: 1, max: 16_777_216, unit: 'bytes' });

const payloadsCodec = object({
  capture_mode: withDefault(
    choice(captureModes),
    'redacted_payloads',
    'What is stored of a request: nothing, its summary row, or also its redacted bodies. Records of MCP calls are always stored, but contain arguments and results only with redacted_payloads.',
  ),
  request_max_bytes: withDefault(payloadBytes, 65_536, 'Stored bytes of a request, after redaction.'),
  response_max_bytes: withDefault(payloadBytes, 65_536, 'Stored bytes of a response, after redaction.'),
  stream_max_events: withDefault(
    integer({ min: 1, max: 100_000 }),
    128,
    'Stored events of a stream; the others are still read for usage and errors.',
  ),
  redaction_paths: withDefault(
    list(redactionPath, 1000),
    [],
    'Additional paths to redact, from the root of the wrapped payload, such as body.metadata.*.',
  ),
});

const purgeCodec = object({
  enabled: withDefault(boolean, false, 'Whether old request logs are deleted.'),
  retention: withDefault(choice(retentions), '7d', 'Age at which a request log is deleted.'),
  schedule: withDefault(
    text({ what: 'a cron line', maxLength: 128, refuse: scheduleFault }),
    '0 0 * * *',
    'When to purge: 5 cron fields in UTC, not more often than daily.',
  ),
});

export const requestLoggingCodec = object({
  payloads: withDefault(payloadsCodec, {}, 'What request logs contain.'),
  purge: withDefault(purgeCodec, {}, 'How long request logs are kept.'),
});

export const accountingCodec = object({
  duplicate_request_ids: withDefault(
    choice(['allow', 'reject']),
    'allow',
    'For a request id seen before: allow serves the request without a second ledger row; reject answers 409 without calling the provider.',
  ),
  after_block: withDefault(
    choice(['as_specified', 'close_window']),
    'as_specified',
    'After a cost that did not fit its hard budget: close_window refuses further requests of the owner until the window ends.',
  ),
  drain_on_disconnect: withDefault(
    choice(['never', 'hard_budget', 'always']),
    'hard_budget',
    'Whether an upstream stream is drained after the caller disconnected, so that its usage is known.',
  ),
  drain_timeout_secs: withDefault(
    integer({ min: 1, max: 3600, unit: 'seconds' }),
    30,
    'Longest drain after the caller disconnected, in seconds.',
  ),
  max_drains: withDefault(integer({ min: 0, max: 100_000 }), 200, 'Concurrent drains.'),
});

const decimalPrice = text({
  what: 'decimal USD per million tokens with at most 6 decimals, such as "0.15"',
  maxLength: 19,
  pattern: /^\d{1,12}(\.\d{1,6})?$/,
  refuse: (value) => (pricePerToken(value) === undefined ? 'must be a decimal price' : undefined),
  orNumber: true,
});

const overrideCodec = object({
  provider: required(id, "A provider's pricing_provider_id."),
  model: required(upstreamModel, 'The exact upstream_model that the price is for.'),
  input_usd_per_million: required(decimalPrice, 'USD per million prompt tokens, as decimal text.'),
  output_usd_per_million: required(decimalPrice, 'USD per million completion tokens, as decimal text.'),
});

export const pricingCodec = object({
  overrides: withDefault(
    list(overrideCodec, 10_000),
    [],
    'Prices that take precedence over the bundled catalogue, matched by the exact pair of provider and model.',
  ),
});

export interface RequestLoggingConfig {
  readonly payloads: {
    readonly captureMode: (typeof captureModes)[number];
    readonly requestMaxBytes: number;
    readonly responseMaxBytes: number;
    readonly streamMaxEvents: number;
    readonly redactionPaths: readonly string[];
  };
  readonly purge: {
    readonly enabled: boolean;
    readonly retention: (typeof retentions)[number];
    /** 5-field cron line, UTC. */
    readonly schedule: string;
  };
}

export interface AccountingConfig {
  readonly duplicateRequestIds: 'allow' | 'reject';
  readonly afterBlock: 'as_specified' | 'close_window';
  readonly drainOnDisconnect: 'never' | 'hard_budget' | 'always';
  readonly drainTimeoutSecs: number;
  readonly maxDrains: number;
}

/** A price from the file: decimal text, USD per million tokens. */
export interface PriceOverride {
  readonly pricingProviderId: string;
  readonly upstreamModel: string;
  readonly inputUsdPerMillion: string;
  readonly outputUsdPerMillion: string;
}

export interface PricingConfig {
  readonly overrides: readonly PriceOverride[];
}

export const toRequestLogging = ({
  payloads,
  purge,
}: TypeOf<typeof requestLoggingCodec>): RequestLoggingConfig => ({
  payloads: {
    captureMode: payloads.capture_mode,
    requestMaxBytes: payloads.request_max_bytes,
    responseMaxBytes: payloads.response_max_bytes,
    streamMaxEvents: payloads.stream_max_events,
    redactionPaths: payloads.redaction_paths,
  },
  purge,
});

export const toAccounting = (wire: TypeOf<typeof accountingCodec>): AccountingConfig => ({
  duplicateRequestIds: wire.duplicate_request_ids,
  afterBlock: wire.after_block,
  drainOnDisconnect: wire.drain_on_disconnect,
  drainTimeoutSecs: wire.drain_timeout_secs,
  maxDrains: wire.max_drains,
});

export const toPricing = ({ overrides }: TypeOf<typeof pricingCodec>): PricingConfig => ({
  overrides: overrides.map((price) => ({
    pricingProviderId: price.provider,
    upstreamModel: price.model,
    inputUsdPerMillion: price.input_usd_per_million,
    outputUsdPerMillion: price.output_usd_per_million,
  })),
});
