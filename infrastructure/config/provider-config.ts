import type { ProviderKind } from '../../domain/routing/model.ts';
import { hostOrUrl, httpUrl, id, toBaseUrl, withoutTrailingSlash } from './formats.ts';
import { type HeaderMap, headers } from './headers-codec.ts';
import { type Fault, object, optional, refined, required, tagged, withDefault } from './object-codecs.ts';
import {
  audienceOf,
  type CloudAAuth,
  type CloudBAuth,
  type CloudRunAuth,
  type CompatAuth,
  cloudAAuthCodec,
  cloudBAuthCodec,
  cloudRunAuthCodec,
  compatAuthCodec,
  toCloudAAuth,
  toCloudBAuth,
  toCloudRunAuth,
} from './provider-auth.ts';
import { integer, text, type TypeOf } from './scalar-codecs.ts';

// A day: no answer is worth a longer wait, and timers stay far below their limit of 24.8 days.
const waitMs = integer({ min: 1, max: 86_400_000, unit: 'ms' });

const timeoutsCodec = object({
  connect_ms: withDefault(waitMs, 5000, 'Until the connection is established, in ms.'),
  first_byte_ms: withDefault(waitMs, 120_000, 'Until the response headers arrive, in ms.'),
  idle_ms: withDefault(waitMs, 120_000, 'Between two chunks of the response, in ms.'),
  total_ms: withDefault(waitMs, 1_800_000, 'For the whole response, in ms, as far as its caller reads it.'),
});

const common = {
  id: required(id, 'Name of the provider in routes.'),
  pricing_provider_id: optional(id, 'Provider id in the price catalogue; `id` unless set.'),
  default_headers: withDefault(headers, {}, 'Headers added to every request to this provider.'),
  timeouts: withDefault(timeoutsCodec, {}, 'Timeouts, in ms.'),
};

const place = text({
  what: 'a location, such as us-east-1 or global',
  maxLength: 63,
  pattern: /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/,
});

const projectId = text({
  what: 'a project id',
  maxLength: 128,
  pattern: /^[A-Za-z0-9][A-Za-z0-9._:-]*$/,
});

const providerFields = tagged('type', 'Kind of provider.', {
  compat: {
    ...common,
    base_url: required(
      httpUrl,
      'Base URL, to which /chat/completions, /responses and /embeddings are appended.',
    ),
    auth: withDefault(compatAuthCodec, { mode: 'none' }, 'How the gateway authenticates itself.'),
  },
  cloud_run_compat: {
    ...common,
    base_url: required(
      httpUrl,
      'Base URL, to which /chat/completions, /responses and /embeddings are appended.',
    ),
    auth: withDefault(cloudRunAuthCodec, { mode: 'adc' }, 'Where the ID token comes from.'),
  },
  cloud_a_platform: {
    ...common,
    project_id: required(projectId, 'Project in which the calls are made.'),
    location: withDefault(place, 'global', 'Location of the platform.'),
    auth: withDefault(cloudAAuthCodec, { mode: 'adc' }, 'Where the access token comes from.'),
    api_host: optional(
      hostOrUrl,
      'Replaces the API host, for private endpoints and tests: a host, or a URL with its scheme.',
    ),
  },
  cloud_b_platform: {
    ...common,
    region: required(place, 'Region of the platform; requests are signed for it.'),
    auth: withDefault(cloudBAuthCodec, { mode: 'default_chain' }, 'Where the signing credentials come from.'),
    runtime_endpoint_url: optional(httpUrl, 'Replaces the runtime host, for private endpoints and tests.'),
    endpointb_endpoint_url: optional(
      httpUrl,
      'Replaces the endpointb host, for private endpoints and tests.',
    ),
  },
} satisfies Record<ProviderKind, object>);

type ProviderWire = TypeOf<typeof providerFields>;

export const providerCodec = refined(providerFields, (provider) => [
  ...missingAudience(provider),
  ...replacedAuth(provider),
]);

const missingAudience = (provider: ProviderWire): readonly Fault[] =>
  provider.type === 'cloud_run_compat' &&
  provider.auth.mode !== 'bearer' &&
  audienceOf(provider.auth, provider.base_url) === undefined
    ? [{ at: ['auth', 'audience'], message: 'is required when base_url is not https' }]
    : [];

function replacedAuth(provider: ProviderWire): readonly Fault[] {
  const own = authHeadersOf(provider);
  return Object.keys(provider.default_headers)
    .filter((name) => own.includes(name.toLowerCase()))
    .map((name) => ({ at: ['default_headers', name], message: 'would replace what `auth` sends' }));
}

/** Request headers, in lower case, that this provider's authentication sets. */
export function authHeadersOf(provider: ProviderWire): readonly string[] {
  switch (provider.type) {
    case 'compat':
      if (provider.auth.mode === 'none') return [];
      return [provider.auth.mode === 'bearer' ? 'authorization' : provider.auth.name.toLowerCase()];
    case 'cloud_run_compat':
      return [provider.auth.auth_header.replaceAll('_', '-')];
    case 'cloud_a_platform':
      return ['authorization'];
    case 'cloud_b_platform':
      return ['authorization', 'x-amz-content-sha256', 'x-amz-date', 'x-amz-security-token'];
  }
}

/** Whether all upstreams of a kind speak the chat-style API. On platform B it depends on the route. */
export const isChatStyleKind = {
  compat: true,
  cloud_run_compat: true,
  cloud_a_platform: false,
  cloud_b_platform: false,
} as const satisfies Record<ProviderKind, boolean>;

/** Timeouts, in milliseconds. */
export interface Timeouts {
  readonly connectMs: number;
  readonly firstByteMs: number;
  readonly idleMs: number;
  readonly totalMs: number;
}

interface ProviderBase {
  readonly id: string;
  /** How the gateway authenticates itself; `none` where it need not. */
  readonly auth: { readonly mode: string };
  /** The first half of the pair that identifies a price. */
  readonly pricingProviderId: string;
  readonly defaultHeaders: HeaderMap;
  readonly timeouts: Timeouts;
}

export interface CompatProvider extends ProviderBase {
  readonly kind: 'compat';
  /** Without a trailing slash, like every URL below. */
  readonly baseUrl: string;
  readonly auth: CompatAuth;
}

export interface CloudRunProvider extends ProviderBase {
  readonly kind: 'cloud_run_compat';
  readonly baseUrl: string;
  readonly auth: CloudRunAuth;
}

export interface CloudAProvider extends ProviderBase {
  readonly kind: 'cloud_a_platform';
  readonly projectId: string;
  readonly location: string;
  readonly auth: CloudAAuth;
  /** A host, or a URL with its scheme; `undefined` for the platform's own. */
  readonly apiHost: string | undefined;
}

export interface CloudBProvider extends ProviderBase {
  readonly kind: 'cloud_b_platform';
  readonly region: string;
  readonly auth: CloudBAuth;
  readonly runtimeEndpointUrl: string | undefined;
  readonly endpointbEndpointUrl: string | undefined;
}

/** The configuration of each kind. */
interface ProviderConfigs {
  readonly compat: CompatProvider;
  readonly cloud_run_compat: CloudRunProvider;
  readonly cloud_a_platform: CloudAProvider;
  readonly cloud_b_platform: CloudBProvider;
}

/** The configuration of a kind; without a kind, that of any. */
export type ProviderConfig<Kind extends ProviderKind = ProviderKind> = {
  [K in Kind]: { readonly kind: K } & ProviderConfigs[K];
}[Kind];

const toBase = (wire: ProviderWire): Omit<ProviderBase, 'auth'> => ({
  id: wire.id,
  pricingProviderId: wire.pricing_provider_id ?? wire.id,
  defaultHeaders: wire.default_headers,
  timeouts: {
    connectMs: wire.timeouts.connect_ms,
    firstByteMs: wire.timeouts.first_byte_ms,
    idleMs: wire.timeouts.idle_ms,
    totalMs: wire.timeouts.total_ms,
  },
});

export function toProvider(wire: ProviderWire): ProviderConfig {
  const base = toBase(wire);
  switch (wire.type) {
    case 'compat':
      return { ...base, kind: wire.type, baseUrl: withoutTrailingSlash(wire.base_url), auth: wire.auth };
    case 'cloud_run_compat':
      return {
        ...base,
        kind: wire.type,
        baseUrl: withoutTrailingSlash(wire.base_url),
        auth: toCloudRunAuth(wire.auth, wire.base_url),
      };
    case 'cloud_a_platform':
      return {
        ...base,
        kind: wire.type,
        projectId: wire.project_id,
        location: wire.location,
        auth: toCloudAAuth(wire.auth),
        apiHost: toBaseUrl(wire.api_host),
      };
    case 'cloud_b_platform':
      return {
        ...base,
        kind: wire.type,
        region: wire.region,
        auth: toCloudBAuth(wire.auth),
        runtimeEndpointUrl: toBaseUrl(wire.runtime_endpoint_url),
        endpointbEndpointUrl: toBaseUrl(wire.endpointb_endpoint_url),
      };
  }
}
