import type { ProviderKind, RoutingProvider } from '../../domain/routing/model.ts';
import type { ProviderConfig } from '../config/provider-config.ts';
import { cloudA } from './cloud-a/index.ts';
import { cloudB } from './cloud-b/index.ts';
import { cloudRunCompat } from './cloud-run-compat/index.ts';
import { compat } from './compat/index.ts';
import type { ConnectedProvider, ProviderContext, ProviderImplementation } from './provider.ts';

/** The implementation of each provider kind. */
export const implementations: {
  readonly [Kind in ProviderKind]: ProviderImplementation<ProviderConfig<Kind>>;
} = {
  compat,
  cloud_run_compat: cloudRunCompat,
  cloud_a_platform: cloudA,
  cloud_b_platform: cloudB,
};

/** A provider as routing sees it. */
export function routingProvider({ id, kind, pricingProviderId }: ProviderConfig): RoutingProvider {
  const { supports, takes } = implementations[kind];
  return { id, kind, pricingProviderId, supports, takes };
}

/** Connects the provider that a configuration describes. */
export const connectedProvider = <Kind extends ProviderKind>(
  config: ProviderConfig<Kind>,
  context: ProviderContext,
): ConnectedProvider => implementations[config.kind].connect(config, context);
