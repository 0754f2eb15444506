import type { ProviderConfig } from '../../infrastructure/config/provider-config.ts';

/** Platform B as the configuration has it, for work that sends nothing. */
export const platformBConfig: ProviderConfig = {
  id: 'up',
  kind: 'cloud_b_platform',
  pricingProviderId: 'up',
  defaultHeaders: {},
  timeouts: { connectMs: 1, firstByteMs: 1, idleMs: 1, totalMs: 1 },
  region: 'us-east-1',
  auth: { mode: 'static_credentials', accessKeyId: 'a', secretAccessKey: 's', sessionToken: undefined },
  runtimeEndpointUrl: undefined,
  endpointbEndpointUrl: undefined,
};
