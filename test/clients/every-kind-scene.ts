import { startService } from '../support/platform-a.ts';
import { startServerless } from '../support/platform-a.ts';
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

/** An OpenAI-compatible host that knows the marks of prompt caching. */
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

/** A style of platform B whose upstreams know the marks, or who need a limit of the route's. */
const fitted = (route: PlatformRoute): PlatformRoute =>
  route.id === invoked.id ? { ...route, route: { ...route.route, default_max_tokens: 4000 } } : route;

/** A route of every kind: two chat-style hosts, two publishers on platform A, and six styles of platform B. */
export const everyKind: readonly PlatformRoute[] = [
  compat,
  serverless,
  google,
  claude,
  ...stylesOfB.map(fitted),
];

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
