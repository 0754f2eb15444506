import { expect } from '@jest/globals';
import type { ConfigFile } from '../support/gateway.ts';
import { signatureFault } from '../support/signature-verifier.ts';
import { type Answer, type Ask, rehearsal, replayConfig, usdPerMillion } from './rehearsal.ts';

/** A route of platform A or B, and the paths of its requests. */
export interface PlatformModel {
  readonly id: string;
  readonly provider: 'a' | 'b';
  readonly upstreamModel: string;
  /** The `api_style` of a route to platform B. */
  readonly style?: string;
  readonly capabilities?: Readonly<Record<string, boolean>>;
  /** The upstream's path for a whole answer and for a stream. */
  readonly paths: readonly [whole: string, stream: string];
}

const project = '/v1/projects/p-1/locations/europe-west4/publishers';

/** A model on platform A, below its publisher. */
export function onPlatformA(
  upstreamModel: string,
  [whole, stream]: readonly [string, string],
): Omit<PlatformModel, 'id'> {
  const [publisher, name] = upstreamModel.split('/') as [string, string];
  const path = `${project}/${publisher}/models/${name}`;
  return { provider: 'a', upstreamModel, paths: [`${path}:${whole}`, `${path}:${stream}`] };
}

/** The path before that of a family, in the chat-style styles. */
const basePath = '/openai/v1';

const runtime =
  (whole: string, stream: string) =>
  (upstreamModel: string): PlatformModel['paths'] => {
    const path = `/runtime/model/${encodeURIComponent(upstreamModel)}`;
    return [`${path}/${whole}`, `${path}/${stream}`];
  };

const same = (path: string) => (): PlatformModel['paths'] => [path, path];

interface Style {
  readonly paths: (upstreamModel: string) => PlatformModel['paths'];
  /** Capabilities that its routes must not enable, in addition to those that no route of the platform may. */
  readonly lacks?: readonly string[];
}

/** The paths of each style. */
const styles = {
  runtime_unified: { paths: runtime('converse', 'converse-stream') },
  runtime_messages: { paths: runtime('invoke', 'none'), lacks: ['stream'] },
  runtime_chat: { paths: same(`/runtime${basePath}/chat/completions`) },
  endpointb_responses: { paths: same(`/endpointb${basePath}/responses`), lacks: ['chat_completions'] },
  endpointb_chat: { paths: same(`/endpointb${basePath}/chat/completions`) },
  endpointb_messages: { paths: same('/endpointb/anthropic/v1/messages') },
} as const satisfies Record<string, Style>;

export type StyleOfB = keyof typeof styles;

/** A model on platform B. */
export function onPlatformB(style: StyleOfB, upstreamModel: string): Omit<PlatformModel, 'id'> {
  const { paths, lacks = [] }: Style = styles[style];
  const own = style === 'endpointb_responses' ? [] : ['responses', 'json_schema'];
  const capabilities = Object.fromEntries([...lacks, ...own, 'embeddings'].map((name) => [name, false]));
  return { provider: 'b', upstreamModel, style, capabilities, paths: paths(upstreamModel) };
}

const token = 'token-of-the-platform-0123456789';
const keys = { access_key_id: 'AKIDREHEARSAL', secret_access_key: 'secret-of-the-rehearsal-0123456789' };

/** Both platforms behind one upstream, whose path distinguishes the hosts of platform B. */
const providersAt = (upstreamUrl: string): readonly object[] => {
  const { origin } = new URL(upstreamUrl);
  return [
    {
      id: 'a',
      type: 'cloud_a_platform',
      project_id: 'p-1',
      location: 'europe-west4',
      api_host: origin,
      auth: { mode: 'bearer', token },
    },
    {
      id: 'b',
      type: 'cloud_b_platform',
      region: 'us-east-1',
      auth: { mode: 'static_credentials', ...keys },
      runtime_endpoint_url: `${origin}/runtime`,
      endpointb_endpoint_url: `${origin}/endpointb`,
    },
  ];
};

export const platformConfig = (
  upstreamUrl: string,
  key: string,
  models: readonly PlatformModel[],
): ConfigFile => ({
  ...replayConfig(upstreamUrl, key, []),
  providers: providersAt(upstreamUrl),
  models: models.map(({ id, provider, upstreamModel, style, capabilities = {} }) => ({
    id,
    routes: [
      {
        provider,
        upstream_model: upstreamModel,
        capabilities,
        compatibility: style === undefined ? {} : { cloud_b: blockOf(style) },
      },
    ],
  })),
  pricing: {
    overrides: [
      ...new Map(models.map((model) => [`${model.provider} ${model.upstreamModel}`, model])).values(),
    ].map(({ provider, upstreamModel }) => ({
      provider,
      model: upstreamModel,
      input_usd_per_million: usdPerMillion.input,
      output_usd_per_million: usdPerMillion.output,
    })),
  },
});

const blockOf = (style: string): object => ({
  api_style: style,
  ...(['runtime_chat', 'endpointb_chat', 'endpointb_responses'].includes(style)
    ? { openai_base_path: basePath }
    : {}),
});

/** A gateway in front of both platforms, for the calling suite. */
export const platformRehearsal = (models: readonly PlatformModel[]) =>
  rehearsal(
    (url, key) => platformConfig(url, key, models),
    ({ model, stream }: Ask) => {
      const [whole, streamed] = models.find(({ id }) => id === model)?.paths ?? ['', ''];
      return stream ? streamed : whole;
    },
  );

/** The request has the credentials of the platform: a token, or the signature for the service of the host. */
export function expectCredentials({ upstream }: Answer, { provider }: PlatformModel): void {
  const { headers, path, text } = upstream!;
  if (provider === 'a') {
    expect(headers['authorization']).toBe(`Bearer ${token}`);
    return;
  }
  const request = {
    method: 'POST',
    target: path,
    rawHeaders: Object.entries(headers).flatMap(([name, value]) => [name, String(value)]),
    body: Buffer.from(text),
  };
  const fault = signatureFault(request, {
    region: 'us-east-1',
    service: path.startsWith('/runtime/') ? 'bedrock' : 'bedrock-mantle',
    secretOf: (id) => (id === keys.access_key_id ? { secret: keys.secret_access_key } : undefined),
  });
  expect(fault).toBeUndefined();
}
