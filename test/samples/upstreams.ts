import type { CallTerms } from '../../application/ports/upstream.ts';
import type { ApiFamily, Compatibility, ResolvedRoute, Route } from '../../domain/routing/model.ts';
import { cloudA } from '../../infrastructure/providers/cloud-a/index.ts';
import { cloudB } from '../../infrastructure/providers/cloud-b/index.ts';
import { compat } from '../../infrastructure/providers/compat/index.ts';
import type {
  ConnectedProvider,
  Dialect,
  FanOutDialect,
  ProviderContext,
} from '../../infrastructure/providers/provider.ts';
import { aRoute } from '../support/arbitraries/routing.ts';
import type { UpstreamName } from './sample.ts';

/** An upstream as the gateway is configured for it. */
export interface Upstream {
  readonly connected: ConnectedProvider;
  readonly resolved: ResolvedRoute;
  /** Values without a chat field, under `provider_metadata`. */
  readonly namespace: string;
}

const context: ProviderContext = {
  sanitise: (message) => message,
  digest: (text) => text,
  conceal: () => undefined,
  warn: () => undefined,
};

const base = {
  id: 'up',
  pricingProviderId: 'up',
  defaultHeaders: {},
  timeouts: { connectMs: 1, firstByteMs: 1, idleMs: 1, totalMs: 1 },
};

const connectedCompat = compat.connect(
  { ...base, kind: 'compat', baseUrl: 'https://loom.example/v1', auth: { mode: 'none' } },
  context,
);

const connectedA = cloudA.connect(
  {
    ...base,
    kind: 'cloud_a_platform',
    projectId: 'p-1',
    location: 'europe-west4',
    auth: { mode: 'bearer', token: 'token-of-the-samples' },
    apiHost: undefined,
  },
  context,
);

const connectedB = cloudB.connect(
  {
    ...base,
    kind: 'cloud_b_platform',
    region: 'us-east-1',
    auth: {
      mode: 'static_credentials',
      accessKeyId: 'AKIDSAMPLES',
      secretAccessKey: 'secret-of-the-samples',
      sessionToken: undefined,
    },
    runtimeEndpointUrl: undefined,
    endpointbEndpointUrl: undefined,
  },
  context,
);

const routeTo = (upstreamModel: string, compatibility: Compatibility = {}): Route =>
  aRoute({ upstreamModel, compatibility });

const onA = (upstreamModel: string): Upstream => ({
  connected: connectedA,
  resolved: {
    route: routeTo(upstreamModel),
    provider: { ...cloudA, id: 'up', kind: 'cloud_a_platform', pricingProviderId: 'up' },
  },
  namespace: 'cloud_a_platform',
});

const onB = (style: string, upstreamModel: string): Upstream => ({
  connected: connectedB,
  resolved: {
    route: routeTo(upstreamModel, { cloud_b: { api_style: style } }),
    provider: { ...cloudB, id: 'up', kind: 'cloud_b_platform', pricingProviderId: 'up' },
  },
  namespace: 'cloud_b_platform',
});

export const upstreams: Readonly<Record<UpstreamName, Upstream>> = {
  compat: {
    connected: connectedCompat,
    resolved: {
      route: routeTo('loom-1'),
      provider: { ...compat, id: 'up', kind: 'compat', pricingProviderId: 'up' },
    },
    namespace: 'compat',
  },
  'platform A, generation': onA('google/gemini-2.5-pro'),
  'platform A, messages': onA('anthropic/claude-opus-4-6'),
  'platform A, predict': onA('google/text-embedding-005'),
  'platform A, embed content': onA('google/gemini-embedding-2'),
  'platform B, converse': onB('runtime_unified', 'anthropic.claude-opus-4-6-v1:0'),
  'platform B, invoke': onB('runtime_messages', 'anthropic.claude-opus-4-6-v1:0'),
  'platform B, messages': onB('endpointb_messages', 'anthropic.claude-opus-4-6'),
};

/** A call to an upstream in a family; its answer is named `chatcmpl-1`. */
export const callTo = ({ resolved }: Upstream, family: ApiFamily, stream: boolean): CallTerms => ({
  route: resolved.route,
  family,
  stream,
  answer: { id: 'chatcmpl-1', model: 'asked', createdSecs: 1 },
  betas: [],
});

/** The dialect of the upstream; throws if it has none. */
export function dialectFor({ connected }: Upstream, call: CallTerms): Dialect | FanOutDialect {
  const reached = connected.speak(call);
  if (reached === undefined) throw new Error(`the upstream does not take ${call.family}`);
  return reached.dialect;
}
