import {
  type ApiStyle,
  apiStyles,
  cloudBBlock,
  styleCapabilities,
  type StyleRules,
} from '../../../domain/compatibility/cloud-b-style.ts';
import { noCapabilities } from '../../../domain/routing/capabilities.ts';
import type { ApiFamily, Route } from '../../../domain/routing/model.ts';
import { isString } from '../../../domain/shared/json.ts';
import type { CloudBProvider } from '../../config/provider-config.ts';
import { requestSigning } from '../auth/sigv4.ts';
import { chatDialect } from '../chat-style/dialects.ts';
import { messagesDialects } from '../messages-body/dialect.ts';
import { endpointbRules, invokeRules } from '../messages-body/rules.ts';
import type {
  AnswerHeaders,
  Dialect,
  Endpoint,
  ProviderContext,
  ProviderImplementation,
} from '../provider.ts';
import { pathSegment } from '../wire/path-segment.ts';
import { countInvoke, countUnified } from './count-tokens.ts';
import { countedModel } from './counted-model.ts';
import { endpointbResponses } from './endpointb-responses.ts';
import { namespace } from './unified-metadata.ts';
import { unified } from './unified.ts';

/** Managed-cloud model platform B: the route's `api_style` selects the dialect. */
export const cloudB: ProviderImplementation<CloudBProvider> = {
  supports: ({ compatibility }) => {
    const block = cloudBBlock(compatibility);
    return block === undefined ? noCapabilities : styleCapabilities(block.style);
  },
  whatServes: ({ compatibility }) => {
    const style = cloudBBlock(compatibility)?.style;
    return style === undefined ? 'A route without an `api_style`' : `The \`api_style\` \`${style}\``;
  },
  placesOf: ({ runtime_endpoint_url: runtime, endpointb_endpoint_url: endpointb, region }) => [
    runtime ?? ownHost('runtime', isString(region) ? region : ''),
    endpointb ?? ownHost('endpointb', isString(region) ? region : ''),
  ],
  takes: (route, family) => {
    const block = cloudBBlock(route.compatibility);
    if (block === undefined) return undefined;
    const { host, takes } = rulesOf(block.style);
    const uncounted = family === 'count_tokens' && host === 'runtime' && countedModel(route) === undefined;
    return uncounted ? undefined : takes[family];
  },
  connect: (config, context) => {
    const endpoints = {
      runtime: endpoint(config, 'runtime', context),
      endpointb: endpoint(config, 'endpointb', context),
    };
    const speakers = dialectsOf(config, context);
    return {
      endpoints: Object.values(endpoints),
      speak: ({ route, family }) => {
        const block = cloudBBlock(route.compatibility);
        if (block === undefined) return undefined;
        const dialect = speakers[block.style](block.basePath)[family];
        return dialect === undefined
          ? undefined
          : { endpoint: endpoints[rulesOf(block.style).host], dialect };
      },
      errorCode,
    };
  },
};

/** The name of an exception. Text after a colon is not part of it. */
const errorCode = ({ 'x-amzn-errortype': type }: AnswerHeaders): string | undefined =>
  String(type ?? '').split(':')[0];

const rulesOf = (style: ApiStyle): StyleRules => apiStyles[style];

type Dialects = Partial<Record<ApiFamily, Dialect>>;

/** The dialects of each style, below its base path. */
function dialectsOf(
  { defaultHeaders }: CloudBProvider,
  context: ProviderContext,
): Readonly<Record<ApiStyle, (basePath: string) => Dialects>> {
  const converse: Dialects = {
    chat_completions: unified(defaultHeaders, context),
    count_tokens: countUnified(defaultHeaders, context),
  };
  const invoke: Dialects = messagesDialects(
    {
      rules: invokeRules,
      namespace,
      streams: false,
      counts: countInvoke,
      path: ({ route }) => `${modelPath(route)}/invoke`,
      headers: {},
      defaultHeaders,
    },
    context,
  );
  const messages: Dialects = messagesDialects(
    {
      rules: endpointbRules,
      namespace,
      streams: true,
      counts: {
        path: () => '/anthropic/v1/messages/count_tokens',
        request: (body) => body,
        field: 'input_tokens',
      },
      path: () => '/anthropic/v1/messages',
      headers: { 'anthropic-version': '2023-06-01' },
      defaultHeaders,
    },
    context,
  );
  const chat = (basePath: string): Dialects => ({
    chat_completions: chatDialect({ basePath, defaultHeaders, namespace }, context),
  });
  return {
    runtime_unified: () => converse,
    runtime_messages: () => invoke,
    runtime_chat: chat,
    endpointb_responses: (basePath) => ({
      responses: endpointbResponses({ basePath, defaultHeaders, namespace }, context),
    }),
    endpointb_chat: chat,
    endpointb_messages: () => messages,
  };
}

/** Takes any model id, including ARNs, colons and slashes. */
const modelPath = ({ upstreamModel }: Pick<Route, 'upstreamModel'>): string =>
  `/model/${pathSegment(upstreamModel)}`;

/** The platform's own host for a region. Regions of the European sovereign cloud have a separate domain. */
const ownHost = (host: StyleRules['host'], region: string): string =>
  host === 'runtime'
    ? `https://bedrock-runtime.${region}.amazonaws.${region.startsWith('eusc-') ? 'eu' : 'com'}`
    : `https://bedrock-mantle.${region}.api.aws`;

/** The runtime styles use one host and signing service name, the endpointb styles another. */
function endpoint(
  { region, auth, runtimeEndpointUrl, endpointbEndpointUrl }: CloudBProvider,
  host: StyleRules['host'],
  context: ProviderContext,
): Endpoint {
  const runtime = host === 'runtime';
  const baseUrl = new URL((runtime ? runtimeEndpointUrl : endpointbEndpointUrl) ?? ownHost(host, region));
  const service = runtime ? 'bedrock' : 'bedrock-mantle';
  return { baseUrl, authenticate: requestSigning({ region, service, auth, baseUrl }, context) };
}
