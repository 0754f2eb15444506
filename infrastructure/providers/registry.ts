import type { ProviderKind } from '../../domain/routing/model.ts';
import { cloudA } from './cloud-a/index.ts';
import { cloudB } from './cloud-b/index.ts';
import { cloudRunCompat } from './cloud-run-compat/index.ts';
import { compat } from './compat/index.ts';
import type { ProviderImplementation } from './provider.ts';

/** The provider kinds and who implements them; a new one adds its line here. */
export const implementations: Readonly<Record<ProviderKind, ProviderImplementation>> = {
  compat: compat as ProviderImplementation,
  cloud_run_compat: cloudRunCompat as ProviderImplementation,
  cloud_a_platform: cloudA as ProviderImplementation,
  cloud_b_platform: cloudB as ProviderImplementation,
};
