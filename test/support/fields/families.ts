import type { UpstreamBody } from '../../../domain/compatibility/upstream-bodies.ts';
import type { ApiFamily } from '../../../domain/routing/model.ts';
import { routes, type SpokenRoute, serves, spokenRoute } from '../growth/routes.ts';
import { chatFields } from './chat.ts';
import { embeddingsFields } from './embeddings.ts';
import type { KnownField } from './known-fields.ts';
import { messagesFields } from './messages.ts';
import { responsesFields } from './responses.ts';

/** Tokens are counted for messages bodies. */
export type FieldFamily = Exclude<ApiFamily, 'count_tokens'>;

/** Every request field that the public API of a family documents. */
export const knownFields: Readonly<Record<FieldFamily, readonly KnownField[]>> = {
  chat_completions: chatFields,
  messages: messagesFields,
  responses: responsesFields,
  embeddings: embeddingsFields,
};

/** The body that goes upstream on a route. */
const bodies: Readonly<Record<string, UpstreamBody>> = {
  compat: 'chat_completions',
  cloud_run_compat: 'chat_completions',
  'cloud_a_platform google': 'generate_content',
  'cloud_a_platform google, of budgets': 'generate_content',
  'cloud_a_platform anthropic': 'raw_predict',
  'cloud_a_platform anthropic, latest': 'raw_predict',
  'cloud_a_platform anthropic, before 4.5': 'raw_predict',
  'cloud_a_platform embeddings': 'text_embeddings',
  'cloud_a_platform embeddings, embedContent': 'text_embeddings',
  runtime_unified: 'converse',
  'runtime_unified, latest': 'converse',
  'runtime_unified, gpt-oss': 'converse',
  'runtime_unified, nova-2': 'converse',
  'runtime_unified, mistral': 'converse',
  runtime_messages: 'invoke',
  runtime_chat: 'chat_completions',
  endpointb_responses: 'responses',
  endpointb_chat: 'chat_completions',
  endpointb_messages: 'endpointb_messages',
  'endpointb_messages, latest': 'endpointb_messages',
  'runtime_messages, latest': 'invoke',
};

const latest = 'claude-opus-4-7';

/** The name contains the style. */
function ofPlatformB(name: string, upstreamModel: string): SpokenRoute {
  const [api_style = ''] = name.split(',');
  return spokenRoute(name, 'cloud_b_platform', upstreamModel, { cloud_b: { api_style } });
}

/** The same dialects for models for which they write another body. */
const more: readonly SpokenRoute[] = [
  spokenRoute('cloud_a_platform google, of budgets', 'cloud_a_platform', 'google/gemini-2.5-flash'),
  spokenRoute('cloud_a_platform anthropic, latest', 'cloud_a_platform', `anthropic/${latest}`),
  spokenRoute(
    'cloud_a_platform anthropic, before 4.5',
    'cloud_a_platform',
    'anthropic/claude-sonnet-4@20250514',
  ),
  spokenRoute('cloud_a_platform embeddings, embedContent', 'cloud_a_platform', 'google/gemini-embedding-2'),
  ofPlatformB('runtime_unified, latest', `anthropic.${latest}`),
  ofPlatformB('runtime_unified, gpt-oss', 'openai.gpt-oss-120b-1:0'),
  ofPlatformB('runtime_unified, nova-2', 'amazon.nova-2-lite-v1:0'),
  ofPlatformB('runtime_unified, mistral', 'mistral.mistral-large-2407-v1:0'),
  ofPlatformB('runtime_messages, latest', `anthropic.${latest}`),
  ofPlatformB('endpointb_messages, latest', `anthropic.${latest}`),
];

/** A family on a route that serves it, and its body on that route. */
export interface Path {
  readonly family: FieldFamily;
  readonly route: SpokenRoute;
  readonly body: UpstreamBody;
}

function bodyOf(route: SpokenRoute, family: FieldFamily): UpstreamBody {
  const body = bodies[route.name];
  if (body === undefined)
    throw new Error(
      `\`bodies\` in test/support/fields/families.ts does not say what the body of ${route.name} is`,
    );
  return body === 'chat_completions' && family === 'responses' ? 'responses' : body;
}

/**
 * Every family on every kind of route that serves it; embeddings are sent unchanged to chat-style upstreams.
 */
export const paths: readonly Path[] = (Object.keys(knownFields) as FieldFamily[]).flatMap((family) =>
  [...routes, ...more]
    .filter((route) => serves(route, family))
    .map((route) => ({ family, route, body: bodyOf(route, family) })),
);
