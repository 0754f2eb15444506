import type { GatewayConfig } from './config.ts';
import type { ModelConfig } from './model-config.ts';
import type { BudgetConfig } from './owner-config.ts';
import { type Finding, finding } from './problem.ts';
import type { ProviderConfig } from './provider-config.ts';

/** Settings that are valid, but do not do what they seem to. */
export const misunderstood = (config: GatewayConfig): readonly Finding[] => [
  ...pageBelowPath(config),
  ...config.providers.flatMap(callInBaseUrl),
  ...config.models.flatMap(withoutRoute),
  ...config.teams.flatMap(({ budget }, at) => zoneWithoutEffect('teams', at, budget)),
  ...config.users.flatMap(({ budget }, at) => zoneWithoutEffect('users', at, budget)),
];

/** The page requires that it is served from the root of its host. */
function pageBelowPath({ server: { publicBaseUrl } }: GatewayConfig): readonly Finding[] {
  const path = publicBaseUrl === undefined ? '/' : new URL(publicBaseUrl).pathname;
  return path === '/'
    ? []
    : [
        finding(
          ['server', 'public_base_url'],
          `has the path ${path}, below which the admin page and its API do not work: give them a host of their own`,
        ),
      ];
}

/** Providers often document the URL of a whole call. */
const callPath = /\/(?:chat\/completions|responses|embeddings)$/;

function callInBaseUrl(provider: ProviderConfig, at: number): readonly Finding[] {
  if (provider.kind !== 'compat' && provider.kind !== 'cloud_run_compat') return [];
  const [path] = callPath.exec(provider.baseUrl) ?? [];
  return path === undefined
    ? []
    : [finding(['providers', at, 'base_url'], `ends with ${path}, which is appended to it: leave it out`)];
}

/** A model may wait for a route that is disabled, but not for one that is not there. */
const withoutRoute = ({ routes }: ModelConfig, at: number): readonly Finding[] =>
  routes.length > 0
    ? []
    : [finding(['models', at, 'routes'], 'is empty: requests for the model get 503 no_routes_available')];

const zoneWithoutEffect = (
  list: 'teams' | 'users',
  at: number,
  budget: BudgetConfig | undefined,
): readonly Finding[] =>
  budget === undefined || budget.timezone === 'UTC'
    ? []
    : [
        finding(
          [list, at, 'budget', 'timezone'],
          `is ${budget.timezone}, but has no effect: the windows of all budgets begin at 00:00 UTC`,
        ),
      ];
