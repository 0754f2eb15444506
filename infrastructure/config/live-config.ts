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

/** The file as last found valid, and everything that is derived from it again after a reload. */
export interface LiveConfig {
  readonly loaded: () => ServedConfig;
  /** The path of the file, and the variables that its placeholders stand for. */
  readonly source: { readonly file: string; readonly variables: Variables };
  readonly policy: () => ServePolicy;
  readonly prices: () => PriceCatalogue;
  readonly resolver: () => Resolver;
  /**
   * Replaces the configuration with what `read` returns. A rejected file changes nothing. Neither does one that `read`
   * fails to store in the database: its prices and secrets would not match the routes of the old one. Credentials that
   * the new file no longer has stay redacted.
   */
  readonly reload: (
    read: () => Promise<Either<readonly ConfigProblem[], ServedConfig>>,
  ) => Promise<Either<readonly ConfigProblem[], ServedConfig>>;
  /** Redacts a credential that the file does not contain: a token that a provider obtained for itself. */
  readonly conceal: (secret: string) => void;
}

/**
 * How many obtained tokens stay redacted, newest first. They are valid for an hour, so this covers the current and the
 * previous ones of more providers than anybody has.
 */
const maxConcealed = 256;

/**
 * How many credentials that reloads removed stay redacted, newest first: requests in flight go on using them, and
 * upstreams repeat them. They are counted separately, so that hourly tokens do not evict them.
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

/** An override is in force from the beginning of time until the file changes. */
const overrideEntries = ({ pricing }: ServedConfig['config']): readonly CatalogueEntry[] =>
  pricing.overrides.map((override) => ({
    ...override,
    effectiveFrom: '1970-01-01T00:00:00Z',
    source: 'config pricing.overrides',
  }));
