import type { ProviderKind } from '../../domain/routing/model.ts';
import { compat } from './compat/index.ts';
import type { ProviderImplementation } from './provider.ts';

/** The provider kinds that this build can call; a new one adds its line here. */
export const implementations: Partial<Record<ProviderKind, ProviderImplementation>> = {
  compat: compat as ProviderImplementation,
};
