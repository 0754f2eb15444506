import { isDeepStrictEqual } from 'node:util';
import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import { isArray, isObject, isString, type Json, membersOf } from '../../domain/shared/json.ts';
import { interpolate, type PlaceholderValues } from './interpolation.ts';
import { type RouteConfig, routeCodec, toRoute } from './model-config.ts';
import { type Finding, findingsOf, renderPath } from './problem.ts';
import { type ProviderConfig, providerCodec, toProvider } from './provider-config.ts';
import { inlineMarker } from './secrets.ts';

/**
 * What may be stored in the database for providers and routes, and shown for MCP servers: the file's own text before
 * interpolation, so that `${NAME}` stays a placeholder, with the marker in place of each inline secret.
 */
export interface Persistable {
  /** In file order. */
  readonly providers: readonly { readonly id: string; readonly value: Json }[];
  /** In file order, like the routes of each. */
  readonly models: readonly { readonly id: string; readonly routes: readonly Json[] }[];
  /** By the id of the server. */
  readonly mcpUrls: ReadonlyMap<string, string>;
}

interface Named {
  readonly id: string;
}

/** `masked` is the whole file without its inline secrets; the ids are interpolated. */
export function toPersistable(
  masked: Json,
  config: Readonly<Record<'providers' | 'models' | 'mcpServers', readonly Named[]>>,
): Persistable {
  const servers = listAt(masked, 'mcp_servers');
  const providers = listAt(masked, 'providers');
  const models = listAt(masked, 'models');
  return {
    providers: config.providers.map(({ id }, index) => ({ id, value: providers[index] ?? null })),
    models: config.models.map(({ id }, index) => ({ id, routes: listAt(models[index], 'routes') })),
    mcpUrls: new Map(config.mcpServers.map(({ id }, index) => [id, urlOf(servers[index])])),
  };
}

const listAt = (value: Json | undefined, key: string): readonly Json[] => {
  const member = isObject(value) ? value[key] : undefined;
  return isArray(member) ? member : [];
};

const urlOf = (server: Json | undefined): string => {
  const { url } = membersOf(server);
  return isString(url) ? url : '';
};

/** Whether two persistable forms are equal; the order of keys does not matter. */
export const samePersisted = (a: Json, b: Json): boolean => isDeepStrictEqual(a, b);

interface Persisted {
  readonly provider: ProviderConfig;
  readonly route: RouteConfig;
}

const decoders: {
  readonly [K in keyof Persisted]: (value: Json) => Either<readonly Finding[], Persisted[K]>;
} = {
  provider: (value) => E.bimap(findingsOf, toProvider)(providerCodec.decode(value)),
  route: (value) => E.bimap(findingsOf, toRoute)(routeCodec.decode(value)),
};

/**
 * Decodes a stored row: fills in this replica's environment and files, then uses the codec of the file. The error is a
 * sentence for an operator and contains no values.
 */
export function resolvePersisted<K extends keyof Persisted>(
  kind: K,
  json: Json,
  values: PlaceholderValues,
): Either<string, Persisted[K]> {
  if (holdsMarker(json)) return E.left(`this ${kind}'s secret is only in another replica's file`);
  const { value, findings } = interpolate(json, values);
  if (findings.length > 0) return E.left(sentence(kind, findings));
  return pipe(
    decoders[kind](value),
    E.mapLeft((wrong) => sentence(kind, wrong)),
  );
}

const holdsMarker = (value: Json | undefined): boolean => {
  if (isArray(value)) return value.some(holdsMarker);
  return isObject(value) ? Object.values(value).some(holdsMarker) : value === inlineMarker;
};

const sentence = (kind: string, findings: readonly Finding[]): string =>
  `this ${kind} cannot be used here: ${findings
    .map(({ path, message }) => `${renderPath(path) || kind} ${message}`)
    .join('; ')}`;
