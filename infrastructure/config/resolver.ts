import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import type { Json } from '../../domain/shared/json.ts';
import type { Variables } from './interpolation.ts';
import type { RouteConfig } from './model-config.ts';
import type { ProviderConfig } from './provider-config.ts';
import { resolvePersisted, samePersisted } from './persistable.ts';
import type { ServedConfig } from './served-config.ts';

/** Turns stored configurations back into working ones, using this process's file and environment. */
export interface Resolver {
  readonly provider: (id: string, stored: Json) => Either<string, ProviderConfig>;
  readonly route: (modelId: string, position: number, stored: Json) => Either<string, RouteConfig>;
}

/**
 * Where this process's own file is equal to the stored row, its resolved form is used, including inline secrets.
 * Otherwise the row's placeholders are filled from the environment, and from the secret files that its own file names.
 */
export function resolver(loaded: ServedConfig, variables: Variables): Resolver {
  const { config, persistable, secretFiles: files } = loaded;
  // All rows are resolved at each change of the state, so searching the file for each would be quadratic.
  const providerAt = placesOf(persistable.providers);
  const modelAt = placesOf(persistable.models);
  return {
    provider: (id, stored) => {
      const index = providerAt.get(id) ?? -1;
      const own = config.providers[index];
      const same = own !== undefined && samePersisted(persistable.providers[index]?.value ?? null, stored);
      return pipe(
        same ? E.right(own) : resolvePersisted('provider', stored, { variables, files }),
        E.map((each) => withDefaultCredentials(each, variables)),
      );
    },
    route: (modelId, position, stored) => {
      const index = modelAt.get(modelId) ?? -1;
      const own = config.models[index]?.routes[position];
      const written = persistable.models[index]?.routes[position] ?? null;
      return own !== undefined && samePersisted(written, stored)
        ? E.right(own)
        : resolvePersisted('route', stored, { variables, files });
    },
  };
}

/** The index of each item in the file; ids are unique. */
const placesOf = (named: readonly { readonly id: string }[]): ReadonlyMap<string, number> =>
  new Map(named.map(({ id }, index) => [id, index]));

/** `adc` uses the file that `GOOGLE_APPLICATION_CREDENTIALS` names, where it is set. */
function withDefaultCredentials(config: ProviderConfig, variables: Variables): ProviderConfig {
  const path = variables['GOOGLE_APPLICATION_CREDENTIALS'] ?? '';
  if (path === '' || config.auth.mode !== 'adc') return config;
  return { ...config, auth: { ...config.auth, credentialsPath: path } } as ProviderConfig;
}
