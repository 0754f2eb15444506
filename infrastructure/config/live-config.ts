import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import type { ServePolicy } from '../../application/serve-ports.ts';
import {
  type CatalogueEntry,
  type PriceCatalogue,
  priceCatalogue,
} from '../../domain/money/price-catalogue.ts';
import { redactionRules } from '../../domain/payload/redact.ts';
import type { Variables } from './interpolation.ts';
import type { ConfigProblem } from './problem.ts';
import { type Resolver, resolver } from './resolver.ts';
import type { ServedConfig } from './served-config.ts';

/** The file as it was last found good, and everything that is read off it anew after a reload. */
export interface LiveConfig {
  readonly loaded: () => ServedConfig;
  /** Where it comes from, and what its placeholders stand for. */
  readonly source: { readonly file: string; readonly variables: Variables };
  readonly policy: () => ServePolicy;
  readonly prices: () => PriceCatalogue;
  readonly resolver: () => Resolver;
  /**
   * Takes up the file as `read` has it then. One that is refused changes nothing, nor does one that `read` does not
   * bring into the database: its prices and secrets would stand beside the routes of the old one. Credentials that are
   * gone from it stay redacted.
   */
  readonly reload: (
    read: () => Promise<Either<readonly ConfigProblem[], ServedConfig>>,
  ) => Promise<Either<readonly ConfigProblem[], ServedConfig>>;
  /** Redacts a credential that the file does not hold: a token that a provider obtained for itself. */
  readonly conceal: (secret: string) => void;
}

/**
 * Tokens that are redacted at once, the newest: those that are good for an hour, and those before them, of more
 * providers than anybody has.
 */
const maxConcealed = 256;

/**
 * Credentials that reloads took away and that are redacted still, the newest: requests that are in flight go on with
 * them, and upstreams repeat them. They are counted apart, so that no token of an hour takes their place.
 */
const maxFormer = 1024;

interface Derived {
  readonly loaded: ServedConfig;
  readonly policy: ServePolicy;
  readonly prices: PriceCatalogue;
  readonly resolver: Resolver;
}

export function liveConfig(
  file: string,
  variables: Variables,
  first: ServedConfig,
  bundled: readonly CatalogueEntry[],
): LiveConfig {
  let concealed: readonly string[] = [];
  let former: readonly string[] = [];
  const policyOf = (loaded: ServedConfig): ServePolicy => servePolicy(loaded, [...former, ...concealed]);
  const derive = (loaded: ServedConfig): Derived => ({
    loaded,
    policy: policyOf(loaded),
    prices: priceCatalogue(bundled, overrideEntries(loaded.config)),
    resolver: resolver(loaded, variables),
  });
  let current = derive(first);
  return {
    loaded: () => current.loaded,
    source: { file, variables },
    policy: () => current.policy,
    prices: () => current.prices,
    resolver: () => current.resolver,
    reload: async (read) => {
      const again = await read();
      if (E.isLeft(again)) return again;
      const still = new Set(again.right.credentials);
      const gone = current.loaded.credentials.filter((each) => !still.has(each));
      former = [...new Set([...gone, ...former])].slice(0, maxFormer);
      current = derive(again.right);
      return again;
    },
    conceal: (secret) => {
      if (concealed.includes(secret)) return;
      concealed = [secret, ...concealed].slice(0, maxConcealed);
      current = { ...current, policy: policyOf(current.loaded) };
    },
  };
}

const servePolicy = (
  { config: { server, requestLogging, accounting, mcpServers }, credentials }: ServedConfig,
  others: readonly string[],
): ServePolicy => {
  const { redactionPaths } = requestLogging.payloads;
  const source = { redactionPaths, credentials: [...credentials, ...others] };
  return {
    payloads: requestLogging.payloads,
    redaction: redactionRules(source.redactionPaths, source.credentials),
    redactionSource: source,
    bodyMaxValues: server.bodyMaxValues,
    duplicateRequestIds: accounting.duplicateRequestIds,
    drainOnDisconnect: accounting.drainOnDisconnect,
    drainTimeoutMs: accounting.drainTimeoutSecs * 1000,
    maxDrains: accounting.maxDrains,
    ...(mcpServers.length === 0 ? {} : { mcpServers }),
  };
};

/** An override holds from the beginning of time until the file says otherwise. */
const overrideEntries = ({ pricing }: ServedConfig['config']): readonly CatalogueEntry[] =>
  pricing.overrides.map((override) => ({
    ...override,
    effectiveFrom: '1970-01-01T00:00:00Z',
    source: 'config pricing.overrides',
  }));
