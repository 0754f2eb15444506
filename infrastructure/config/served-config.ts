import type { GatewayConfig } from './config.ts';
import type { LoadedConfig } from './load.ts';

/**
 * The part of a file that a serving process keeps: everything but owners and their keys, which it looks up in the
 * database. It is plain data, so a worker thread can hand it over.
 */
export interface ServedConfig extends Pick<LoadedConfig, 'persistable' | 'credentials' | 'secretFiles'> {
  readonly config: Omit<GatewayConfig, 'teams' | 'serviceAccounts' | 'users' | 'apiKeys'>;
}

export function servedOf({ config, persistable, credentials, secretFiles }: LoadedConfig): ServedConfig {
  const { teams: _teams, serviceAccounts: _accounts, users: _users, apiKeys: _keys, ...sections } = config;
  return { config: sections, persistable, credentials, secretFiles };
}

/** Some of the models of a file, decoded and in their persistable form. */
export interface ModelsPart {
  readonly models: ServedConfig['config']['models'];
  readonly persistable: ServedConfig['persistable']['models'];
}

/** A file in pieces, none of which takes long to read. `rest` is everything but the models, and comes first. */
export interface ConfigParts {
  readonly rest: ServedConfig;
  readonly models: readonly ModelsPart[];
}

/** Each has at most a hundred routes, so these are read together within some hundredths of a second. */
const modelsAtOnce = 20;

export function configParts(served: ServedConfig): ConfigParts {
  const { models } = served.config;
  const pieces = Array.from({ length: Math.ceil(models.length / modelsAtOnce) }, (_, index): ModelsPart => {
    const from = index * modelsAtOnce;
    const to = from + modelsAtOnce;
    return { models: models.slice(from, to), persistable: served.persistable.models.slice(from, to) };
  });
  return { rest: withModels(served, []), models: pieces };
}

/** Reassembles the pieces of {@link configParts}. */
export const withModels = (rest: ServedConfig, pieces: readonly ModelsPart[]): ServedConfig => ({
  ...rest,
  config: { ...rest.config, models: pieces.flatMap(({ models }) => models) },
  persistable: { ...rest.persistable, models: pieces.flatMap(({ persistable }) => persistable) },
});
