import { chatStyleModel, startPlatformB } from '../support/platform-b.ts';
import {
  chatStyleCodes,
  type PlatformRoute,
  platformScenario,
  type StartedPlatform,
} from './platform-scenario.ts';

const region = 'us-east-1';
const basePath = '/openai/v1';

/** The signers that the platform accepts: a role with a session, and a user without one. */
export const role = {
  accessKeyId: 'AKIAPLATFORMB0000001',
  secret: 'a-secret-access-key-of-the-role-0123456789',
  token: 'a-session-token-of-the-role-0123456789==',
};
const person = { accessKeyId: 'AKIAPLATFORMB0000002', secret: 'a-secret-access-key-of-the-person-01234' };

const variables = {
  AWS_ACCESS_KEY_ID: role.accessKeyId,
  AWS_SECRET_ACCESS_KEY: role.secret,
  AWS_SESSION_TOKEN: role.token,
};

const capabilities = { responses: false, json_schema: false, embeddings: false };
const styled = (api_style: string, more: object = {}, lacks: object = capabilities) => ({
  capabilities: lacks,
  compatibility: {
    cloud_b: { api_style, ...more },
    // Messages callers cannot request usage from a chat-style upstream, so the route does.
    ...(api_style.endsWith('_chat') ? { compat: { supports_stream_usage: true } } : {}),
  },
});

export const unified: PlatformRoute = {
  id: 'unified',
  provider: 'b',
  upstreamModel: 'us.anthropic.claude-opus-4-6-v1:0',
  route: styled('runtime_unified'),
  streams: true,
  schemas: false,
  native: false,
  hears: 'all',
  cachedPrompt: 140,
  codes: { 'falls-over': 'modelStreamErrorException' },
};

export const invoked: PlatformRoute = {
  ...unified,
  id: 'invoked',
  codes: {},
  route: styled('runtime_messages', {}, { ...capabilities, stream: false }),
  streams: false,
  native: true,
};

export const endpointbMessages: PlatformRoute = {
  ...unified,
  id: 'endpointb-messages',
  codes: {},
  upstreamModel: 'anthropic.claude-opus-4-6',
  route: styled('endpointb_messages'),
  native: true,
};

export const runtimeChat: PlatformRoute = {
  ...unified,
  id: 'runtime-chat',
  upstreamModel: chatStyleModel,
  route: styled('runtime_chat', { openai_base_path: basePath }),
  hears: 'last',
  cachedPrompt: 100,
  codes: chatStyleCodes,
};

export const endpointbChat: PlatformRoute = {
  ...runtimeChat,
  id: 'endpointb-chat',
  provider: 'person',
  route: styled('endpointb_chat', { openai_base_path: basePath }),
};

export const endpointbResponses: PlatformRoute = {
  ...runtimeChat,
  id: 'endpointb-responses',
  route: styled(
    'endpointb_responses',
    { openai_base_path: basePath },
    { chat_completions: false, embeddings: false },
  ),
  schemas: true,
};

/** A route of each of the six styles. */
export const stylesOfB = [
  unified,
  invoked,
  endpointbMessages,
  runtimeChat,
  endpointbChat,
  endpointbResponses,
];

/** The wrong signing settings of each provider that the platform refuses. */
const wrongSigners = {
  forged: { secret_access_key: 'another-secret-access-key-0123456789abcdef', session_token: role.token },
  ended: { secret_access_key: role.secret, session_token: 'a-session-token-that-has-ended-0123456789==' },
  unknown: {
    access_key_id: 'AKIAPLATFORMB0000009',
    secret_access_key: 'nobodys-secret-access-key-0123456789',
  },
  astray: { secret_access_key: role.secret, session_token: role.token },
} as const;

/** An inference profile, given only by its ARN. */
export const profile =
  'arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-opus-4-6-v1:0';

/** Models whose tool call ids are accepted by some styles only, or only by their own. */
export const oddIds = {
  'unified-odd': [unified, 'functions.weather:0'],
  'runtime-chat-odd': [runtimeChat, 'call|weather 0'],
} as const;

/** Platform B with two valid signers, the providers `b` and `person`, and the wrong signers. */
export async function startB() {
  const platform = await startPlatformB({ region, basePath, signers: [role, person] });
  Object.assign(process.env, variables);
  const provider = (id: string, auth: object, more: object = {}) => ({
    id,
    type: 'cloud_b_platform',
    region,
    runtime_endpoint_url: platform.runtime.url,
    endpointb_endpoint_url: platform.endpointb.url,
    auth,
    ...more,
  });
  const mode = 'static_credentials';
  const wrong = Object.entries(wrongSigners).map(([id, auth]) =>
    provider(
      id,
      { mode, access_key_id: role.accessKeyId, ...auth },
      id === 'astray' ? { region: 'eu-west-1' } : {},
    ),
  );
  const known = { access_key_id: person.accessKeyId, secret_access_key: person.secret };
  return {
    platform,
    servers: [platform.runtime, platform.endpointb],
    providers: [provider('b', { mode: 'default_chain' }), provider('person', { mode, ...known }), ...wrong],
    secrets: () => [
      role.secret,
      role.token,
      person.secret,
      ...Object.values(wrongSigners).map(({ secret_access_key }) => secret_access_key),
      wrongSigners.ended.session_token,
    ],
    close: async () => {
      for (const name of Object.keys(variables)) delete process.env[name];
      await platform.close();
    },
  } satisfies StartedPlatform & Readonly<Record<'platform', unknown>>;
}

/** A gateway in front of platform B, with a route of every style; `<style>-by-<signer>` are signed wrongly. */
export function platformBScene() {
  let started: Awaited<ReturnType<typeof startB>>;
  const scenario = platformScenario({
    routes: stylesOfB,
    models: [
      ...[unified, endpointbMessages].flatMap(({ id, upstreamModel, route }) =>
        Object.keys(wrongSigners).map((provider) => ({
          id: `${id}-by-${provider}`,
          routes: [{ provider, upstream_model: upstreamModel, ...route }],
        })),
      ),
      ...[unified, invoked].map(({ id, route }) => ({
        id: `${id}-profile`,
        routes: [{ provider: 'b', upstream_model: profile, ...route }],
      })),
      ...Object.entries(oddIds).map(([id, [{ upstreamModel, route }, toolId]]) => ({
        id,
        routes: [
          {
            provider: 'b',
            upstream_model: upstreamModel,
            extra_headers: { 'x-simulate': `tools&tool-id=${toolId}` },
            ...route,
          },
        ],
      })),
    ],
    start: async () => {
      started = await startB();
      return started;
    },
  });
  return { scenario, platform: () => started.platform };
}
