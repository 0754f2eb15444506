import type { GatewayConfig } from './config.ts';
import type { LoadedConfig } from './load.ts';

/**
 * What a process that serves holds of a file: all but owners and their keys, for which it asks the database. It is plain
 * data, which a thread can hand over.
 */
export interface ServedConfig extends Pick<LoadedConfig, 'persistable' | 'credentials' | 'secretFiles'> {
  readonly config: Omit<GatewayConfig, 'teams' | 'serviceAccounts' | 'users' | 'apiKeys'>;
}

export function servedOf({ config, persistable, credentials, secretFiles }: LoadedConfig): ServedConfig {
  const { teams: _teams, serviceAccounts: _accounts, users: _users, apiKeys: _keys, ...sections } = config;
  return { config: sections, persistable, credentials, secretFiles };
}

/** Some of the models of a file, as they are and as they may be kept. */
export interface SomeModels {
  readonly models: ServedConfig['config']['models'];
  readonly persistable: ServedConfig['persistable']['models'];
}

/** A file in pieces, none of which takes long to read: the rest first, without the models. */
export interface InPieces {
  readonly rest: ServedConfig;
  readonly models: readonly SomeModels[];
}

/** Each has at most a hundred routes: together they are read within some hundredths of a second. */
const modelsAtOnce = 20;

export function inPieces(served: ServedConfig): InPieces {
  const { models } = served.config;
  const pieces = Array.from({ length: Math.ceil(models.length / modelsAtOnce) }, (_, index): SomeModels => {
    const from = index * modelsAtOnce;
    const to = from + modelsAtOnce;
    return { models: models.slice(from, to), persistable: served.persistable.models.slice(from, to) };
  });
  return { rest: withModels(served, []), models: pieces };
}

/** Puts together what {@link inPieces} took apart. */
export const withModels = (rest: ServedConfig, pieces: readonly SomeModels[]): ServedConfig => ({
  ...rest,
  config: { ...rest.config, models: pieces.flatMap(({ models }) => models) },
  persistable: { ...rest.persistable, models: pieces.flatMap(({ persistable }) => persistable) },
});
