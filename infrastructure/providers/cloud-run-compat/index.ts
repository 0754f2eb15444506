import { permissive } from '../../../domain/routing/capabilities.ts';
import type { CloudRunProvider } from '../../config/provider-config.ts';
import { googleIdTokens } from '../auth/google-tokens.ts';
import { chatStyleProvider, takesChatStyle } from '../compat/index.ts';
import type { ProviderImplementation } from '../provider.ts';

/** The generic upstream on a managed-cloud serverless service, with ID-token authentication. */
export const cloudRunCompat: ProviderImplementation<CloudRunProvider> = {
  supports: () => permissive,
  takes: takesChatStyle,
  connect: (config, context) =>
    chatStyleProvider(
      config,
      { baseUrl: new URL(config.baseUrl), authenticate: googleIdTokens(config.auth, context) },
      context,
    ),
};
