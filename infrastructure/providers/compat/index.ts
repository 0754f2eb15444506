import { permissive } from '../../../domain/routing/capabilities.ts';
import type { ApiFamily } from '../../../domain/routing/model.ts';
import type { CompatProvider } from '../../config/provider-config.ts';
import { configuredHeader } from '../auth/configured-header.ts';
import { type ChatStyle, chatDialect, embeddingsDialect, responsesDialect } from '../chat-style/dialects.ts';
import type {
  ConnectedProvider,
  Dialect,
  Endpoint,
  ProviderContext,
  ProviderImplementation,
} from '../provider.ts';

const namespace = 'compat';

/** Pass-through. Messages are translated to chat. Tokens are not counted, because these APIs have no such endpoint. */
export const takesChatStyle: ProviderImplementation<CompatProvider>['takes'] = (_, family) =>
  family === 'messages' || family === 'count_tokens' ? undefined : 'as_written';

/** A generic upstream that speaks the common chat-style API. */
export const compat: ProviderImplementation<CompatProvider> = {
  supports: () => permissive,
  takes: takesChatStyle,
  connect: (config, context) =>
    chatStyleProvider(
      config,
      { baseUrl: new URL(config.baseUrl), authenticate: configuredHeader(config.auth) },
      context,
    ),
};

/** The generic upstream at any endpoint, whatever its authentication. */
export function chatStyleProvider(
  { defaultHeaders }: Pick<CompatProvider, 'defaultHeaders'>,
  endpoint: Endpoint,
  context: ProviderContext,
): ConnectedProvider {
  const style: ChatStyle = { basePath: '', defaultHeaders, namespace };
  const dialects: Partial<Record<ApiFamily, Dialect>> = {
    chat_completions: chatDialect(style, context),
    responses: responsesDialect(style, context),
    embeddings: embeddingsDialect(style, context),
  };
  return {
    endpoints: [endpoint],
    speak: ({ family }) => {
      const dialect = dialects[family];
      return dialect === undefined ? undefined : { endpoint, dialect };
    },
  };
}
