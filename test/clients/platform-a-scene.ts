import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { startGoogleFakes } from '../support/google-fakes.ts';
import { projectA, startPlatformA } from '../support/platform-a.ts';
import { type PlatformRoute, platformScenario, type StartedPlatform } from './platform-scenario.ts';

export const google: PlatformRoute = {
  id: 'google',
  provider: 'a',
  upstreamModel: 'google/gemini-2.5-pro',
  streams: true,
  schemas: true,
  native: false,
  hears: 'all',
  cachedPrompt: 100,
  codes: {
    refuses: 'INVALID_ARGUMENT',
    'unknown-there': 'NOT_FOUND',
    limited: 'RESOURCE_EXHAUSTED',
    'our-fault': 'UNAUTHENTICATED',
    fails: 'INTERNAL',
    away: 'UNAVAILABLE',
    'falls-over': 'INTERNAL',
  },
};

export const newest: PlatformRoute = {
  ...google,
  id: 'newest',
  upstreamModel: 'google/gemini-3-pro-preview',
};

export const claude: PlatformRoute = {
  ...google,
  id: 'claude',
  upstreamModel: 'anthropic/claude-opus-4-6',
  native: true,
  cachedPrompt: 140,
  codes: {},
};

const model = (id: string, provider: string, upstream_model: string) => ({
  id,
  routes: [{ provider, upstream_model }],
});

export const embeddingModels = ['text-embedding-005', 'gemini-embedding-2'];
const file = path.join(tmpdir(), `platform-a-${randomUUID()}.json`);
const staleToken = 'ya29.a-token-that-has-ended-0123456789';

/** Platform A with fakes of the services that issue its tokens; providers `a`, `account` and `stale`. */
export async function startA() {
  const fakes = await startGoogleFakes();
  process.env['GCE_METADATA_HOST'] = fakes.metadataHost;
  await fakes.writeAccount(file);
  const platform = await startPlatformA(fakes);
  const provider = (id: string, auth: object) => ({
    id,
    type: 'cloud_a_platform',
    api_host: platform.url,
    ...projectA,
    auth,
  });
  return {
    fakes,
    platform,
    servers: [platform],
    providers: [
      provider('a', { mode: 'adc' }),
      provider('account', { mode: 'service_account', credentials_path: file }),
      provider('stale', { mode: 'bearer', token: staleToken }),
    ],
    secrets: () => [...fakes.tokens, staleToken, fakes.privateKey().split('\n')[1] ?? ''],
    close: async () => {
      delete process.env['GCE_METADATA_HOST'];
      await platform.close();
      await fakes.close();
      await rm(file);
    },
  } satisfies StartedPlatform & Readonly<Record<'fakes' | 'platform', unknown>>;
}

/** A gateway in front of platform A: one route to each publisher, and one to the newest generation. */
export function platformAScene() {
  let started: Awaited<ReturnType<typeof startA>>;
  const scenario = platformScenario({
    routes: [google, newest, claude],
    models: [
      ...['google', 'claude'].flatMap((id) =>
        ['account', 'stale'].map((provider) =>
          model(`${id}-by-${provider}`, provider, (id === 'google' ? google : claude).upstreamModel),
        ),
      ),
      ...embeddingModels.map((id) => model(id, 'a', `google/${id}`)),
    ],
    start: async () => {
      started = await startA();
      return started;
    },
  });
  return { scenario, fakes: () => started.fakes, platform: () => started.platform };
}
