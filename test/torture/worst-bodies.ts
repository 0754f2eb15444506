import type { ProviderKind } from '../../domain/routing/model.ts';
import {
  maxAnswerValues,
  maxEventLoopBodyBytes,
  maxEventLoopValues,
  maxMcpRequestBytes,
  maxUpstreamBodyBytes,
} from '../../domain/shared/limits.ts';
import type { ConfigFile } from '../support/gateway.ts';

/** Just below `server.body_max_bytes` and `server.body_max_values`, with room for the rest of the body. */
const bytes = 32 * 1024 * 1024 - 2048;
const values = 1_000_000 - 100;

/** The content that a body repeats: as often as the limits allow, or a given number of times. */
interface Shape {
  /** A message's content, or an embedding's input. */
  readonly text?: () => string;
  /** Short messages, or short inputs. */
  readonly messages?: number;
  /** Tools of the smallest kind. */
  readonly tools?: number;
  /** JSON for a field that no rule reads. */
  readonly metadata?: () => string;
}

const often = (piece: string, over = values): string => {
  const count = Math.min(over, Math.floor(bytes / (piece.length + 1)));
  return `[${`${piece},`.repeat(count - 1)}${piece}]`;
};

const filled = (piece: string, most = bytes): string =>
  `"${piece.repeat(Math.floor(most / piece.length) - 100)}"`;

export const shapes = {
  'one text': { text: () => filled('a') },
  'line breaks': { text: () => filled('\\n') },
  quotes: { text: () => filled('\\"') },
  'JSON in a text': { text: () => filled('{\\"a\\":1},') },
  'URLs in a text': { text: () => filled('https://h/p?q=1 ') },
  'letters beyond ASCII': { text: () => `"${'é'.repeat(bytes / 2 - 100)}"` },
  blanks: { metadata: () => `${' '.repeat(bytes - 1000)}1` },
  'empty objects': { metadata: () => often('{}') },
  numbers: { metadata: () => often('0.1234567890123456789012345678') },
  texts: { metadata: () => often(`"${'a'.repeat(28)}"`) },
  members: {
    metadata: () =>
      `{${Array.from({ length: 480_000 }, (_, index) => `"k${index}":"${'v'.repeat(50)}"`).join(',')}}`,
  },
  messages: { messages: 300_000 },
  tools: { tools: 140_000 },
  'here, texts': { metadata: () => often(`"${'a'.repeat(45)}"`, maxEventLoopValues - 20) },
  'here, JSON in a text': { text: () => filled('{\\"a\\":1},', maxEventLoopBodyBytes) },
  'here, messages': { messages: 6600 },
  'nothing else': {},
  'empty objects over the bound': { metadata: () => often('{}', 10_000_000) },
} as const satisfies Record<string, Shape>;

const repeated = (count: number, piece: string): string => `[${Array(count).fill(piece).join(',')}]`;

const metadataOf = ({ metadata }: Shape): string =>
  metadata === undefined ? '' : `,"metadata":{"z":${metadata()}}`;

/** Alternating messages, which every family accepts. */
const turnsOf = ({ messages = 1, text }: Shape, assistant: string): string => {
  if (messages === 1) return `[{"role":"user","content":${text?.() ?? '"x"'}}]`;
  const user = '{"role":"user","content":"question"}';
  return `[${`${user},${assistant},`.repeat(messages / 2 - 1)}${user}]`;
};

const said = '{"role":"assistant","content":"answer"}';

const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };

/** The body of a family, the models that serve it, and the responses of its upstreams. */
export const families = {
  chat: {
    path: '/v1/chat/completions',
    models: ['compat', 'converse', 'runtime-messages', 'generate'],
    upstreamPath: /\/chat\/completions$/,
    body: (model: string, shape: Shape): string =>
      `{"model":"${model}","max_tokens":9,"messages":${turnsOf(shape, said)}` +
      (shape.tools === undefined
        ? ''
        : `,"tools":${repeated(shape.tools, '{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}')}`) +
      `${metadataOf(shape)}}`,
    answer: {
      id: 'c',
      object: 'chat.completion',
      created: 1,
      model: 'm',
      choices: [{ index: 0, message: { role: 'assistant', content: 'x' }, finish_reason: 'stop' }],
      usage,
    },
  },
  messages: {
    path: '/v1/messages',
    models: ['compat', 'converse', 'endpointb-messages'],
    upstreamPath: /\/(?:messages|invoke)$/,
    body: (model: string, shape: Shape): string =>
      `{"model":"${model}","max_tokens":9,"messages":${turnsOf(shape, said)}` +
      (shape.tools === undefined
        ? ''
        : `,"tools":${repeated(shape.tools, '{"name":"f","input_schema":{"type":"object"}}')}`) +
      `${metadataOf(shape)}}`,
    answer: {
      id: 'msg',
      type: 'message',
      role: 'assistant',
      model: 'm',
      content: [{ type: 'text', text: 'x' }],
      stop_reason: 'end_turn',
      usage: { input_tokens: 1, output_tokens: 1 },
    },
  },
  responses: {
    path: '/v1/responses',
    models: ['compat'],
    upstreamPath: /\/responses$/,
    body: (model: string, shape: Shape): string =>
      `{"model":"${model}","input":${turnsOf(shape, said)}` +
      (shape.tools === undefined
        ? ''
        : `,"tools":${repeated(shape.tools, '{"type":"function","name":"f","parameters":{"type":"object"}}')}`) +
      `${metadataOf(shape)}}`,
    answer: {
      id: 'resp_1',
      object: 'response',
      status: 'completed',
      model: 'm',
      output: [],
      usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 },
    },
  },
  embeddings: {
    path: '/v1/embeddings',
    models: ['compat'],
    upstreamPath: /\/embeddings$/,
    body: (model: string, shape: Shape): string =>
      `{"model":"${model}","input":${shape.text?.() ?? repeated(shape.messages ?? 1, '"a short input"')}${metadataOf(shape)}}`,
    answer: {
      object: 'list',
      model: 'm',
      data: [{ object: 'embedding', index: 0, embedding: [0.5] }],
      usage,
    },
  },
  converse: {
    path: '',
    models: [] as string[],
    upstreamPath: /\/converse$/,
    body: (): string => '',
    answer: {
      output: { message: { role: 'assistant', content: [{ text: 'x' }] } },
      stopReason: 'end_turn',
      usage: { inputTokens: 1, outputTokens: 1, totalTokens: 2 },
    },
  },
  generate: {
    path: '',
    models: [] as string[],
    upstreamPath: /:generateContent$/,
    body: (): string => '',
    answer: {
      candidates: [{ content: { role: 'model', parts: [{ text: 'x' }] }, finishReason: 'STOP' }],
      usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
    },
  },
} as const;

/**
 * Answers just below the limits for upstreams, by the path of the provider of their model: the embeddings of 2048 texts
 * with a number a line, one text as long as an answer may be, and as many values as it may have.
 */
export const largeAnswers = {
  '/vectors': () =>
    embeddingsOf(
      `[${Array(2048)
        .fill(`[\n${'      -0.012345678,\n'.repeat(3071)}0.5]`)
        .join()}]`,
    ),
  '/base64': () => embeddingsOf(`"${'abcd'.repeat((maxUpstreamBodyBytes - 2048) / 4)}"`),
  '/short-numbers': () => embeddingsOf(`[${'1,'.repeat(maxAnswerValues - 100)}0.5]`),
  '/empty-objects': () => embeddingsOf(`[${'{},'.repeat(maxAnswerValues - 100)}0.5]`),
  '/empty-objects-over-the-bound': () => embeddingsOf(`[${'{},'.repeat(maxUpstreamBodyBytes / 4)}0.5]`),
} as const;

const embeddingsOf = (embedding: string): string =>
  `{"object":"list","model":"m","data":[{"object":"embedding","index":0,"embedding":${embedding}}],` +
  `"usage":${JSON.stringify(usage)}}`;

interface Upstream {
  readonly provider: object;
  /** Models by their ids, each with its one route. */
  readonly models: Readonly<Record<string, object>>;
}

const styled = (api_style: string, capabilities: object = {}): object => ({
  upstream_model: 'anthropic.claude-haiku-4-5',
  capabilities: { responses: false, json_schema: false, embeddings: false, ...capabilities },
  compatibility: { cloud_b: { api_style } },
});

/** An upstream of each kind, and its models with separate body formats. */
const upstreamsAt = (url: string): Readonly<Record<ProviderKind, Upstream>> => ({
  compat: {
    provider: { base_url: url, auth: { mode: 'bearer', token: 'upstream-token-0123456789' } },
    models: { compat: { upstream_model: 'm' } },
  },
  // Its bodies are written by the same functions as those of `compat`.
  cloud_run_compat: {
    provider: { base_url: url, auth: { mode: 'bearer', token: 'identity-token-0123456789' } },
    models: {},
  },
  cloud_a_platform: {
    provider: {
      project_id: 'p',
      auth: { mode: 'bearer', token: 'access-token-0123456789' },
      api_host: url,
    },
    models: {
      generate: {
        upstream_model: 'google/gemini-2.5-flash',
        capabilities: { responses: false, embeddings: false },
      },
    },
  },
  cloud_b_platform: {
    provider: {
      region: 'us-east-1',
      auth: {
        mode: 'static_credentials',
        access_key_id: 'AKIDEXAMPLE000000000',
        secret_access_key: 'an-example-secret-of-forty-characters-00',
      },
      runtime_endpoint_url: url,
      endpointb_endpoint_url: url,
    },
    models: {
      converse: styled('runtime_unified'),
      'runtime-messages': styled('runtime_messages', { stream: false }),
      'endpointb-messages': styled('endpointb_messages'),
    },
  },
});

/** The configuration of a gateway with default limits, in front of every kind of upstream. */
export function bodiesConfig(
  upstreamUrl: string,
  key: string,
): { readonly config: ConfigFile; readonly models: readonly string[] } {
  const upstreams = Object.entries(upstreamsAt(upstreamUrl));
  const large = Object.keys(largeAnswers);
  const models = [
    ...upstreams.flatMap(([provider, { models: routes }]) =>
      Object.entries(routes).map(([id, route]) => ({ id, routes: [{ provider, ...route }] })),
    ),
    ...large.map((at) => ({ id: at.slice(1), routes: [{ provider: at.slice(1), upstream_model: 'm' }] })),
  ];
  return {
    models: models.map(({ id }) => id),
    config: {
      server: { bind: '127.0.0.1:0' },
      providers: [
        ...upstreams.map(([kind, { provider }]) => ({ id: kind, type: kind, ...provider })),
        ...large.map((at) => ({
          id: at.slice(1),
          type: 'compat',
          base_url: `${upstreamUrl}${at}`,
          auth: { mode: 'none' },
        })),
      ],
      models,
      mcp_servers: [
        {
          id: 'tools',
          display_name: 'Tools',
          url: `${upstreamUrl}/mcp`,
          transport: 'streamable_http',
          auth: { mode: 'none' },
          allowed_owners: ['*'],
          allowed_tools: ['give_*', 'take', 'tool_*'],
          max_result_bytes: maxMcpRequestBytes,
        },
      ],
      teams: [{ id: 'platform', name: 'Platform' }],
      users: [{ email: 'a@example.com', name: 'A' }],
      api_keys: [{ name: 'dev', owner: 'user:a@example.com', value: key }],
    },
  };
}
