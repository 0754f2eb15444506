import { type Capabilities, noCapabilities, permissive } from '../../../domain/routing/capabilities.ts';
import type { ApiFamily, Route, FamilySupport } from '../../../domain/routing/model.ts';
import { embeddingModel } from '../../../domain/embeddings/embedding-models.ts';
import { isArray, isString, type JsonObject, without } from '../../../domain/shared/json.ts';
import type { CloudAProvider } from '../../config/provider-config.ts';
import { googleAccessTokens } from '../auth/google-tokens.ts';
import type {
  Dialect,
  Endpoint,
  FanOutDialect,
  ProviderContext,
  ProviderImplementation,
} from '../provider.ts';
import { messagesDialects } from '../messages-body/dialect.ts';
import { rawPredictRules, toolSearch, webSearch } from '../messages-body/rules.ts';
import { pathSegment } from '../wire/path-segment.ts';
import { countGenerateContent } from './count-tokens.ts';
import { textEmbeddings } from './embeddings.ts';
import { generateContent, type PlatformAccess } from './generate-content.ts';
import { namespace } from './generate-content-signatures.ts';
import { publishedBy } from './publishers.ts';

type RouteOfPlatform = Pick<Route, 'upstreamModel'>;

/** One kind of models: its name, what it takes, and a dialect for each family that it takes. */
interface ModelKind {
  readonly name: string;
  readonly capabilities: Capabilities;
  readonly takes: Partial<Record<ApiFamily, FamilySupport>>;
  readonly dialects: (
    platform: PlatformAccess,
    context: ProviderContext,
  ) => Partial<Record<ApiFamily, Dialect | FanOutDialect>>;
}

/** Google-published models: chat completions with all their features. */
const generation: ModelKind = {
  name: 'A generation model',
  capabilities: { ...permissive, responses: false, embeddings: false },
  takes: { chat_completions: 'translated', count_tokens: 'translated' },
  dialects: (platform, context) => ({
    chat_completions: generateContent(platform, context),
    count_tokens: countGenerateContent(platform, context),
  }),
};

/** The four text-embedding models. */
const embedding: ModelKind = {
  name: 'A text-embedding model',
  capabilities: { ...noCapabilities, embeddings: true },
  takes: { embeddings: 'translated' },
  dialects: (platform, context) => ({ embeddings: textEmbeddings(platform, context) }),
};

/** Betas that the count rejects, though its models take them: https://github.com/BerriAI/litellm/pull/39597 */
const uncounted: ReadonlySet<unknown> = new Set([toolSearch, webSearch]);

function withCountedBetas(body: JsonObject): JsonObject {
  const { anthropic_beta: betas } = body;
  if (!isArray(betas)) return body;
  const counted = betas.filter((beta) => !uncounted.has(beta));
  return counted.length === 0 ? without(body, 'anthropic_beta') : { ...body, anthropic_beta: counted };
}

/** Models of the messages family: chat completions and messages; image and document blocks are unsupported. */
const messagesBody: ModelKind = {
  name: 'A messages model',
  capabilities: { ...permissive, responses: false, embeddings: false, vision: false },
  takes: { chat_completions: 'translated', messages: 'translated', count_tokens: 'translated' },
  dialects: ({ basePath, defaultHeaders }, context) =>
    messagesDialects(
      {
        rules: rawPredictRules,
        namespace,
        streams: true,
        counts: {
          // https://cloud.google.com/vertex-ai/generative-ai/docs/partner-models/claude/count-tokens
          path: () => `${basePath}/publishers/anthropic/models/count-tokens:rawPredict`,
          request: (body, { route }) => ({
            ...withCountedBetas(body),
            model: publishedBy('anthropic', route),
          }),
          field: 'input_tokens',
        },
        path: ({ route, stream }) =>
          `${basePath}/publishers/anthropic/models/${pathSegment(publishedBy('anthropic', route) ?? '')}:` +
          (stream ? 'streamRawPredict' : 'rawPredict'),
        headers: {},
        defaultHeaders,
      },
      context,
    ),
};

const modelKinds = { generation, embedding, messagesBody } as const;

/** The kind of a route's model; `undefined` if this platform has no such model. */
function modelKindOf(route: RouteOfPlatform): keyof typeof modelKinds | undefined {
  if (embeddingModel(route.upstreamModel) !== undefined) return 'embedding';
  if (publishedBy('anthropic', route) !== undefined) return 'messagesBody';
  return publishedBy('google', route) === undefined ? undefined : 'generation';
}

/** Managed-cloud model platform A: the dialect depends on the kind of the model. */
export const cloudA: ProviderImplementation<CloudAProvider> = {
  supports: (route) => {
    const kind = modelKindOf(route);
    return kind === undefined ? noCapabilities : modelKinds[kind].capabilities;
  },
  whatServes: (route) => {
    const kind = modelKindOf(route);
    return `${kind === undefined ? 'A model that it does not know' : modelKinds[kind].name} on \`cloud_a_platform\``;
  },
  placesOf: ({ api_host: apiHost, location }) => [
    apiHost ?? ownHost(isString(location) ? location : 'global'),
  ],
  takes: (route, family) => {
    const kind = modelKindOf(route);
    return kind === undefined ? undefined : modelKinds[kind].takes[family];
  },
  connect: (config, context) => {
    const { projectId, location, defaultHeaders } = config;
    const basePath = `/v1/projects/${pathSegment(projectId)}/locations/${pathSegment(location)}`;
    const platform = { basePath, defaultHeaders };
    const dialects = {
      generation: generation.dialects(platform, context),
      embedding: embedding.dialects(platform, context),
      messagesBody: messagesBody.dialects(platform, context),
    };
    const authenticate = googleAccessTokens(config.auth, context);
    const endpoint: Endpoint = { baseUrl: baseUrl(config), authenticate };
    return {
      endpoints: [endpoint],
      speak: ({ route, family }) => {
        const kind = modelKindOf(route);
        const dialect = kind === undefined ? undefined : dialects[kind][family];
        return dialect === undefined ? undefined : { endpoint, dialect };
      },
    };
  },
};

/** Locations that span several regions. Their hosts are named differently. */
const multiRegions: ReadonlySet<string> = new Set(['us', 'eu']);

/** The platform's own host for a location. */
function ownHost(location: string): string {
  if (multiRegions.has(location)) return `https://aiplatform.${location}.rep.googleapis.com`;
  return `https://${location === 'global' ? '' : `${location}-`}aiplatform.googleapis.com`;
}

/** The platform's host for its location, or the host or URL that is configured instead. */
function baseUrl({ location, apiHost }: Pick<CloudAProvider, 'location' | 'apiHost'>): URL {
  const place = apiHost ?? ownHost(location);
  return new URL(/^https?:\/\//i.test(place) ? place : `https://${place}`);
}
