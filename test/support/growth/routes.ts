import type { UpstreamCall } from '../../../application/ports/upstream.ts';
import { type ApiStyle, apiStyleNames } from '../../../domain/compatibility/cloud-b-style.ts';
import { permissive } from '../../../domain/routing/capabilities.ts';
import type {
  ApiFamily,
  Compatibility,
  ProviderKind,
  ResolvedRoute,
  Route,
} from '../../../domain/routing/model.ts';
import type { JsonObject } from '../../../domain/shared/json.ts';
import type { ProviderConfig } from '../../../infrastructure/config/provider-config.ts';
import type { ProviderContext, CalledUpstream } from '../../../infrastructure/providers/provider.ts';
import { connectedProvider, implementations } from '../../../infrastructure/providers/registry.ts';
import { textDigest } from '../../../infrastructure/text-digest.ts';

/** A resolved route to one kind of upstream, and its dialects. */
export interface SpokenRoute {
  readonly name: string;
  readonly resolved: ResolvedRoute;
  readonly speak: (call: UpstreamCall) => CalledUpstream | undefined;
}

const base = {
  id: 'up',
  pricingProviderId: 'up',
  defaultHeaders: {},
  timeouts: { connectMs: 1, firstByteMs: 1, idleMs: 1, totalMs: 1 },
} as const;

const configs: { readonly [Kind in ProviderKind]: ProviderConfig<Kind> } = {
  compat: { ...base, kind: 'compat', baseUrl: 'http://127.0.0.1:1/v1', auth: { mode: 'none' } },
  cloud_run_compat: {
    ...base,
    kind: 'cloud_run_compat',
    baseUrl: 'http://127.0.0.1:1/v1',
    auth: { mode: 'bearer', token: 't', header: 'authorization' },
  },
  cloud_a_platform: {
    ...base,
    kind: 'cloud_a_platform',
    projectId: 'p',
    location: 'global',
    auth: { mode: 'bearer', token: 't' },
    apiHost: undefined,
  },
  cloud_b_platform: {
    ...base,
    kind: 'cloud_b_platform',
    region: 'us-east-1',
    auth: { mode: 'static_credentials', accessKeyId: 'a', secretAccessKey: 's', sessionToken: undefined },
    runtimeEndpointUrl: undefined,
    endpointbEndpointUrl: undefined,
  },
};

const context: ProviderContext = {
  sanitise: (message) => message,
  digest: textDigest,
  conceal: () => undefined,
  warn: () => undefined,
};

/** A route of a provider kind, with this upstream model name. */
export function spokenRoute(
  name: string,
  kind: ProviderKind,
  upstreamModel: string,
  compatibility: Compatibility = {},
): SpokenRoute {
  const { supports, takes } = implementations[kind];
  const route: Route = {
    routeId: 'r',
    provider: 'up',
    upstreamModel,
    priority: 1,
    enabled: true,
    capabilities: permissive,
    compatibility,
    extraHeaders: {},
    extraBody: { metadata: { tier: 'a' } },
  };
  const provider = { id: 'up', kind, pricingProviderId: 'up', supports, takes };
  return { name, resolved: { route, provider }, speak: connectedProvider(configs[kind], context).speak };
}

const claude = 'anthropic.claude-sonnet-4-5';

const platformB = (api_style: ApiStyle): SpokenRoute =>
  spokenRoute(api_style, 'cloud_b_platform', claude, {
    cloud_b: { api_style, openai_base_path: '/openai/v1' },
  });

/** Edits that visit the whole body. */
const edits: JsonObject = { developer_role: 'system', empty_tools: 'preserve_with_tool_history' };

/** Every dialect of each provider kind. */
const routesTo: Readonly<Record<ProviderKind, readonly SpokenRoute[]>> = {
  compat: [spokenRoute('compat', 'compat', 'm', { compat: edits })],
  cloud_run_compat: [spokenRoute('cloud_run_compat', 'cloud_run_compat', 'm')],
  cloud_a_platform: [
    spokenRoute('cloud_a_platform google', 'cloud_a_platform', 'google/gemini-3-pro'),
    spokenRoute('cloud_a_platform anthropic', 'cloud_a_platform', 'anthropic/claude-sonnet-4-5'),
    spokenRoute('cloud_a_platform embeddings', 'cloud_a_platform', 'google/text-embedding-005'),
  ],
  cloud_b_platform: apiStyleNames.map(platformB),
};

export const routes: readonly SpokenRoute[] = Object.values(routesTo).flat();

/** Whether a route serves a family, also by translation. */
export const serves = ({ resolved: { provider, route } }: SpokenRoute, family: ApiFamily): boolean =>
  provider.takes(route, family) !== undefined ||
  (family === 'messages' && provider.takes(route, 'chat_completions') !== undefined);

/** The routes that serve a family. */
export const routesOf = (family: ApiFamily): readonly SpokenRoute[] =>
  routes.filter((route) => serves(route, family));

/** Routes whose bodies are written by the functions of `compat`: one shape of body shows that. */
export const writtenAsCompat: ReadonlySet<string> = new Set([
  'cloud_run_compat',
  'runtime_chat',
  'endpointb_chat',
]);

/** A call of a family, as written for the upstream. */
export const callOf = (
  { resolved }: SpokenRoute,
  family: ApiFamily,
  body: string,
  stream: boolean,
): UpstreamCall => ({
  route: resolved.route,
  family,
  stream,
  body,
  answer: { id: 'chatcmpl-1', model: 'asked', createdSecs: 1 },
  betas: [],
});
