import type { ProviderKind } from '../../domain/routing/model.ts';
import { startServerless, startService } from '../support/platform-a.ts';
import { claude, google, startA } from './platform-a-scene.ts';
import { startB, stylesOfB, invoked } from './platform-b-scene.ts';
import {
  chatStyleCodes,
  type PlatformRoute,
  platformScenario,
  type StartedPlatform,
} from './platform-scenario.ts';

const key = 'the-key-of-a-compatible-host-0123456789';
const audience = 'https://svc-x.a.run.app';

/** An OpenAI-compatible host that supports the marks of prompt caching. */
const compat: PlatformRoute = {
  id: 'compat',
  provider: 'compat',
  upstreamModel: 'served-model',
  route: { compatibility: { compat: { supports_stream_usage: true, cache_control: true } } },
  streams: true,
  schemas: true,
  native: false,
  hears: 'last',
  cachedPrompt: 100,
  codes: chatStyleCodes,
};

const serverless: PlatformRoute = { ...compat, id: 'serverless', provider: 'run' };

/** A style of platform B; the route of `invoked` has a default token limit, since its upstream needs one. */
const fitted = (route: PlatformRoute): PlatformRoute =>
  route.id === invoked.id ? { ...route, route: { ...route.route, default_max_tokens: 4000 } } : route;

/** A route to everything with a format of its own: each publisher of platform A, each style of platform B. */
const routesTo: Readonly<Record<ProviderKind, readonly PlatformRoute[]>> = {
  compat: [compat],
  cloud_run_compat: [serverless],
  cloud_a_platform: [google, claude],
  cloud_b_platform: stylesOfB.map(fitted),
};

export const everyKind: readonly PlatformRoute[] = Object.values(routesTo).flat();

/** A gateway in front of all platforms at once. */
export function everyKindScene() {
  return platformScenario({
    routes: everyKind,
    start: async (): Promise<StartedPlatform> => {
      const [a, b] = [await startA(), await startB()];
      const host = await startService((token) => token === key);
      const run = await startServerless(a.fakes, audience);
      return {
        servers: [host, run, ...a.servers, ...b.servers],
        providers: [
          { id: 'compat', type: 'compat', base_url: `${host.url}/v1`, auth: { mode: 'bearer', token: key } },
          { id: 'run', type: 'cloud_run_compat', base_url: `${run.url}/v1`, auth: { mode: 'adc', audience } },
          ...a.providers,
          ...b.providers,
        ],
        secrets: () => [key, ...a.secrets(), ...b.secrets()],
        close: async () => {
          await run.close();
          await host.close();
          await b.close();
          await a.close();
        },
      };
    },
  });
}
