import { apiStyles, styleProblems } from '../../domain/compatibility/cloud-b-style.ts';
import { routerProblems } from '../../domain/compatibility/router-preferences.ts';
import type { routeCodec } from './model-config.ts';
import { type Finding, finding, type Path } from './problem.ts';
import { authHeadersOf, isChatStyleKind, type providerCodec } from './provider-config.ts';
import type { TypeOf } from './scalar-codecs.ts';

type RouteWire = TypeOf<typeof routeCodec>;
type ProviderWire = TypeOf<typeof providerCodec>;

/** A rule between a route and the provider that it names; `path` is the route's. */
type RouteRule = (route: RouteWire, provider: ProviderWire, path: Path) => readonly Finding[];

/** Headers that carry the credential of some provider. */
const credentialHeaders = ['authorization', 'x-api-key', 'api-key', 'x-goog-api-key', 'anthropic-api-key'];

/**
 * `extra_headers` never replace authentication. Where the ID token has a header of its own, `Authorization` belongs to
 * the application, and a route may set it.
 */
const authenticationStays: RouteRule = (route, provider, path) => {
  const own = authHeadersOf(provider);
  const free =
    provider.type === 'cloud_run_compat' && !own.includes('authorization') ? 'authorization' : undefined;
  return Object.keys(route.extra_headers)
    .filter((name) => own.includes(name.toLowerCase()) || credentialHeaders.includes(name.toLowerCase()))
    .filter((name) => name.toLowerCase() !== free)
    .map((name) =>
      finding(
        [...path, 'extra_headers', name],
        'would replace authentication, which belongs to the provider',
      ),
    );
};

/**
 * Styles of platform B that the chat-style blocks apply to. `compat` affects responses requests by its `empty_tools`;
 * `router` is part of chat-completions bodies only.
 */
const stylesOf = {
  compat: ['runtime_chat', 'endpointb_chat', 'endpointb_responses'],
  router: ['runtime_chat', 'endpointb_chat'],
} as const;

/** Blocks for chat-style upstreams need a route to such an upstream; elsewhere they would silently do nothing. */
const blocksReachTheUpstream: RouteRule = ({ compatibility }, { type }, path) => {
  if (isChatStyleKind[type]) return [];
  const style = type === 'cloud_b_platform' ? compatibility.cloud_b?.api_style : undefined;
  return (['compat', 'router'] as const)
    .filter((block) => compatibility[block] !== undefined)
    .filter((block) => !stylesOf[block].some((each) => each === style))
    .map((block) =>
      finding(
        [...path, 'compatibility', block],
        `is for chat-style upstreams and would do nothing on ${style ?? type}`,
      ),
    );
};

/** The policy by itself: no empty values, duplicate slugs, or contradictory `only`/`ignore` entries. */
const routerPolicyIsSound: RouteRule = ({ compatibility: { router } }, _, path) =>
  router === undefined
    ? []
    : routerProblems(router.provider).map((problem) =>
        finding([...path, 'compatibility', 'router', 'provider', ...problem.path], problem.message),
      );

/** A raw `provider` would be merged over the policy, so that the block would not describe what is sent. */
const routerPolicyIsAlone: RouteRule = (route, _, path) =>
  route.compatibility.router !== undefined && Object.hasOwn(route.extra_body, 'provider')
    ? [
        finding(
          [...path, 'extra_body', 'provider'],
          'conflicts with compatibility.router.provider: keep one of them',
        ),
      ]
    : [];

/** On platform A only Google's models read media; elsewhere the block would silently do nothing. */
const bucketsAreRead: RouteRule = ({ compatibility, upstream_model }, { type }, path) => {
  if (compatibility.cloud_a === undefined) return [];
  const at = [...path, 'compatibility', 'cloud_a'];
  if (type !== 'cloud_a_platform') return [finding(at, `is for platform A and would do nothing on ${type}`)];
  return upstream_model.startsWith('google/')
    ? []
    : [finding(at, 'is for google/… models, the only ones that read media, and would do nothing here')];
};

/** A route to platform B selects an API, and claims only the capabilities of that API. */
const cloudBStyleIsSound: RouteRule = ({ compatibility, capabilities }, { type }, path) => {
  const block = compatibility.cloud_b;
  const at = [...path, 'compatibility', 'cloud_b'];
  if (type !== 'cloud_b_platform')
    return block === undefined ? [] : [finding(at, `is for platform B and would do nothing on ${type}`)];
  if (block === undefined) return [finding(at, 'is required: platform B needs an explicit api_style')];
  const { needsBasePath } = apiStyles[block.api_style];
  return [
    ...(needsBasePath && block.openai_base_path === undefined
      ? [finding([...at, 'openai_base_path'], `is required for ${block.api_style}, such as /openai/v1`)]
      : []),
    ...styleProblems(block.api_style, capabilities).map(([name, reason]) =>
      finding([...path, 'capabilities', name], reason),
    ),
  ];
};

/** Styles that write messages bodies and therefore follow a tier. */
const tierStyles = ['runtime_unified', 'runtime_messages', 'endpointb_messages'] as const;

/** Settings for a model's thinking need a style that writes it; elsewhere they would silently do nothing. */
const thinkingIsWritten: RouteRule = ({ compatibility: { cloud_b: block } }, _, path) => {
  if (block === undefined) return [];
  const { api_style: style, model_tier: tier, effort_placement: placement } = block;
  const at = [...path, 'compatibility', 'cloud_b'];
  const unified = style === 'runtime_unified';
  return [
    ...(tier !== undefined && !tierStyles.some((each) => each === style)
      ? [
          finding(
            [...at, 'model_tier'],
            `is for styles that write messages bodies and would do nothing on ${style}`,
          ),
        ]
      : []),
    ...(tier === 'none' && style.endsWith('_messages')
      ? [finding([...at, 'model_tier'], `cannot be none on ${style}, which serves only the messages family`)]
      : []),
    ...(placement !== undefined && !unified
      ? [finding([...at, 'effort_placement'], `is for runtime_unified and would do nothing on ${style}`)]
      : []),
  ];
};

export const routeRules: readonly RouteRule[] = [
  authenticationStays,
  blocksReachTheUpstream,
  routerPolicyIsSound,
  routerPolicyIsAlone,
  bucketsAreRead,
  cloudBStyleIsSound,
  thinkingIsWritten,
];
