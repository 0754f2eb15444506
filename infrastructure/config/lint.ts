import { canMatch } from '../../domain/payload/redaction-paths.ts';
import { payloadRoots } from '../../domain/payload/wrap.ts';
import { type Capability, capabilities } from '../../domain/routing/capabilities.ts';
import type { ProviderKind } from '../../domain/routing/model.ts';
import { deepMerge, isObject, membersOf } from '../../domain/shared/json.ts';
import type { GatewayConfig } from './config.ts';
import type { PlainDatabaseHosts } from './database-urls.ts';
import { collectorNotes } from './lint-collector.ts';
import { misunderstood } from './lint-misunderstood.ts';
import { transportFindings } from './lint-transport.ts';
import type { LoadedConfig } from './load.ts';
import type { RouteConfig } from './model-config.ts';
import type { KeyOwnerConfig } from './owner-config.ts';
import { type ConfigProblem, type Finding, finding, type Path, sorted } from './problem.ts';
import { isChatStyleKind, type ProviderConfig } from './provider-config.ts';

/** What a lint needs to know that is not in the file. */
export interface LintKnowledge {
  readonly hasPrice: (pricingProviderId: string, upstreamModel: string) => boolean;
  readonly canServe: (kind: ProviderKind, route: RouteConfig, capability: Capability) => boolean;
  readonly plainHosts: PlainDatabaseHosts;
}

interface PlacedRoute {
  readonly modelId: string;
  readonly route: RouteConfig;
  readonly provider: ProviderConfig;
  readonly path: Path;
  /** Capabilities that the file explicitly sets to true. */
  readonly claimed: readonly Capability[];
}

/** Warnings about settings that are valid but probably not intended. They never keep a gateway from starting. */
export function lintConfig(loaded: LoadedConfig, knowledge: LintKnowledge): readonly ConfigProblem[] {
  const routes = placedRoutes(loaded);
  const hasPrice = pricedBy(loaded.config, knowledge);
  const reaching = hardOwnersReaching(loaded.config);
  const findings = [
    ...(loaded.saysNothing
      ? [finding([], 'is empty: applying it would remove everything that earlier files configured')]
      : []),
    ...routes.flatMap((each) => unpriced(each, hasPrice)),
    ...routes.flatMap((each) => overclaimed(each, knowledge)),
    ...routes.flatMap((each) => withoutStreamUsage(each, reaching)),
    ...routes.flatMap(withoutRouterPolicy),
    ...routes.flatMap((each) => ofNoPublisher(each, knowledge)),
    ...hardBudgetNotes(loaded.config, routes, reaching),
    ...transportFindings(loaded.config, knowledge.plainHosts),
    ...pathsWithoutMatch(loaded.config),
    ...misunderstood(loaded.config),
    ...collectorNotes(loaded.config),
    ...openToAnybody(loaded.config),
    ...loaded.inlineSecrets.map((path) =>
      finding(path, 'is a secret written into the file: write ${NAME} instead'),
    ),
  ];
  return sorted(findings.map((each) => loaded.place(each)));
}

function placedRoutes({ config, persistable }: LoadedConfig): readonly PlacedRoute[] {
  const providers = new Map(config.providers.map((provider) => [provider.id, provider]));
  return config.models.flatMap(({ id, routes }, model) =>
    routes.flatMap((route, index) => {
      const provider = providers.get(route.provider);
      const written = persistable.models[model]?.routes[index];
      const named = isObject(written) && isObject(written['capabilities']) ? written['capabilities'] : {};
      const claimed = capabilities.filter((name) => route.capabilities[name] && Object.hasOwn(named, name));
      const path = ['models', model, 'routes', index];
      return provider === undefined ? [] : [{ modelId: id, route, provider, path, claimed }];
    }),
  );
}

/** Whether there is a price, in the catalogue or in the file itself. */
function pricedBy(
  { pricing }: GatewayConfig,
  { hasPrice }: Pick<LintKnowledge, 'hasPrice'>,
): LintKnowledge['hasPrice'] {
  const pair = (...names: Parameters<LintKnowledge['hasPrice']>): string => JSON.stringify(names);
  const overridden = new Set(
    pricing.overrides.map((price) => pair(price.pricingProviderId, price.upstreamModel)),
  );
  return (...names) => overridden.has(pair(...names)) || hasPrice(...names);
}

function unpriced(
  { route, provider, path }: PlacedRoute,
  hasPrice: LintKnowledge['hasPrice'],
): readonly Finding[] {
  const { pricingProviderId } = provider;
  const { upstreamModel } = route;
  return !route.enabled || hasPrice(pricingProviderId, upstreamModel)
    ? []
    : [
        finding(
          [...path, 'upstream_model'],
          `has no price for the exact pair (${pricingProviderId}, ${upstreamModel}): its requests are unpriced and never count toward budgets`,
        ),
      ];
}

const overclaimed = (
  { route, provider, path, claimed }: PlacedRoute,
  { canServe }: LintKnowledge,
): readonly Finding[] =>
  claimed
    .filter((capability) => !canServe(provider.kind, route, capability))
    .map((capability) =>
      finding(
        [...path, 'capabilities', capability],
        `is true, but ${provider.kind} cannot serve it for this model: such requests are refused`,
      ),
    );

/** On platform B the route's `api_style` decides. */
const isChatStyle = ({ compatibility }: RouteConfig, { kind }: ProviderConfig): boolean => {
  if (kind !== 'cloud_b_platform') return isChatStyleKind[kind];
  const style = compatibility.cloud_b?.['api_style'];
  return style === 'runtime_chat' || style === 'endpointb_chat';
};

const ofNoPublisher = (
  { route, provider, path }: PlacedRoute,
  { canServe }: LintKnowledge,
): readonly Finding[] =>
  route.enabled &&
  provider.kind === 'cloud_a_platform' &&
  !capabilities.some((capability) => canServe(provider.kind, route, capability))
    ? [
        finding(
          [...path, 'upstream_model'],
          'is neither google/… nor anthropic/…, which are the only models of cloud_a_platform: such requests are refused',
        ),
      ]
    : [];

/** A chat stream of a chat-style upstream reports usage only when asked to. */
function withoutStreamUsage(
  { modelId, route, provider, path }: PlacedRoute,
  reaching: Reaching,
): readonly Finding[] {
  const streams = route.enabled && route.capabilities.chat_completions && route.capabilities.stream;
  // `extra_body` overrides the block.
  const byBlock = {
    stream_options: { include_usage: route.compatibility.compat?.['supports_stream_usage'] === true },
  };
  const sent = membersOf(deepMerge(byBlock, route.extraBody)['stream_options']);
  const requestsUsage = sent['include_usage'] === true;
  const owners = isChatStyle(route, provider) && streams && !requestsUsage ? reaching(modelId) : [];
  return owners.length === 0
    ? []
    : [
        finding(
          path,
          `streams report no usage (supports_stream_usage is not true, or extra_body overrides it), so they never count toward the hard budgets of owners that can call it: ${listed(owners)}`,
        ),
      ];
}

/** The router policy is part of chat-completions bodies; requests of other families bypass it (rule 4.15). */
const withoutRouterPolicy = ({ route, path }: PlacedRoute): readonly Finding[] =>
  (route.enabled && route.compatibility.router !== undefined ? (['responses', 'embeddings'] as const) : [])
    .filter((family) => route.capabilities[family])
    .map((family) =>
      finding(
        [...path, 'compatibility', 'router'],
        `does not reach ${family} requests: set capabilities.${family} to false if the policy must hold`,
      ),
    );

/** The most names in one message, which people read. */
const maxNames = 3;

const listed = (names: readonly string[]): string =>
  names.length <= maxNames
    ? names.join(', ')
    : `${names.slice(0, maxNames).join(', ')} and ${names.length - maxNames} more`;

/** Owners with a hard budget who can reach a model, by a key of the file or by one that is yet to be created. */
type Reaching = (modelId: string) => readonly string[];

/** Companies list thousands of owners and keys, so each is visited once, not once per model. */
function hardOwnersReaching(config: GatewayConfig): Reaching {
  const all = hardOwners(config);
  const withKeys = new Set<string>();
  const ofAnyModel = new Set<string>();
  const ofModel = new Map<string, Set<string>>();
  const payerOf = payersOf(config);
  for (const { owner, allowedModels } of config.apiKeys) {
    const payer = payerOf(owner);
    withKeys.add(payer);
    if (allowedModels.length === 0) ofAnyModel.add(payer);
    for (const model of allowedModels) {
      const owners = ofModel.get(model) ?? new Set();
      ofModel.set(model, owners.add(payer));
    }
  }
  const reachesAny = (owner: string): boolean => !withKeys.has(owner) || ofAnyModel.has(owner);
  const everywhere = all.filter(reachesAny);
  return (modelId) => {
    const some = ofModel.get(modelId);
    return some === undefined ? everywhere : all.filter((owner) => some.has(owner) || reachesAny(owner));
  };
}

const hardOwners = (config: GatewayConfig): readonly string[] => [
  ...config.users.filter(({ budget }) => budget?.hardLimit).map(({ email }) => `user:${email}`),
  ...config.teams.filter(({ budget }) => budget?.hardLimit).map(({ id }) => `team:${id}`),
];

/** A service account's spend belongs to its team. */
function payersOf({ serviceAccounts }: GatewayConfig): (owner: KeyOwnerConfig) => string {
  const teams = new Map(serviceAccounts.map(({ id, team }) => [id, team]));
  return (owner) => {
    if (owner.kind === 'user') return `user:${owner.email}`;
    return `team:${owner.kind === 'team' ? owner.id : (teams.get(owner.id) ?? '')}`;
  };
}

/** Anybody can have an account at a public provider. */
const openToAnybody = ({ adminAuth: { oidc } }: GatewayConfig): readonly Finding[] =>
  oidc?.createUsers === true && oidc.allowedEmailDomains.length === 0
    ? [
        finding(
          ['admin_auth', 'oidc', 'create_users'],
          'is true without allowed_email_domains: anyone with an account at the provider becomes a user here',
        ),
      ]
    : [];

/** A path begins at the root of a wrapped payload; one that begins elsewhere redacts nothing. */
const pathsWithoutMatch = ({ requestLogging: { payloads } }: GatewayConfig): readonly Finding[] =>
  payloads.redactionPaths.flatMap((redactionPath, index) =>
    canMatch(redactionPath)
      ? []
      : [
          finding(
            ['request_logging', 'payloads', 'redaction_paths', index],
            `matches nothing: a path starts at the root of a payload (${payloadRoots.join(', ')}, or *); one for a field of a body starts with body`,
          ),
        ],
  );

/** Specified behaviour by which spend can exceed a hard budget; each has a stricter setting. */
function hardBudgetNotes(
  config: GatewayConfig,
  routes: readonly PlacedRoute[],
  reaching: Reaching,
): readonly Finding[] {
  const owners = hardOwners(config);
  if (owners.length === 0) return [];
  const under = `under the hard budgets of ${listed(owners)}`;
  const { duplicateRequestIds, afterBlock } = config.accounting;
  return [
    ...(duplicateRequestIds === 'allow'
      ? [
          finding(
            ['accounting', 'duplicate_request_ids'],
            `is allow: a caller that repeats its x-request-id is served without a ledger row ${under}; reject answers 409`,
          ),
        ]
      : []),
    ...(afterBlock === 'as_specified'
      ? [
          finding(
            ['accounting', 'after_block'],
            `is as_specified: an owner just below the amount can repeat calls whose cost is blocked ${under}${readBeforeBlocked(routes, reaching)}; close_window stops that after the first`,
          ),
        ]
      : []),
  ];
}

/** A streamed answer reaches its caller before its cost is known; only its end is held back. */
function readBeforeBlocked(routes: readonly PlacedRoute[], reaching: Reaching): string {
  const streamed = routes.filter(
    ({ route }) =>
      route.enabled &&
      route.capabilities.stream &&
      (route.capabilities.chat_completions || route.capabilities.responses),
  );
  // Most models are reached by the same owners, who share one list, so that it is read once.
  const lists = new Set(streamed.map(({ modelId }) => reaching(modelId)));
  const owners = [...new Set([...lists].flat())];
  return owners.length === 0
    ? ''
    : ` (streams, which ${listed(owners)} can call, have been read in full by then)`;
}
