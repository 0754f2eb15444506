import { setImmediate as turn } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import type { Catalogue, CatalogueSnapshot } from '../../application/ports/catalogue.ts';
import type { RateLimit } from '../../domain/limits/rate-limit.ts';
import type { PriceCatalogue } from '../../domain/money/price-catalogue.ts';
import { type Model, type Route, routeIdOf, type RoutingProvider } from '../../domain/routing/model.ts';
import type { RedactionRules } from '../../domain/payload/redact.ts';
import { routesInOrder } from '../../domain/routing/resolve-route.ts';
import type { Json } from '../../domain/shared/json.ts';
import type { RouteConfig } from '../config/model-config.ts';
import type { ProviderConfig } from '../config/provider-config.ts';
import type { Resolver } from '../config/resolver.ts';
import { textDigest } from '../text-digest.ts';
import { ConnectionPool } from './connection-pool.ts';
import type { ReadyProvider } from './executor.ts';
import { connectedProvider, routingProvider } from './registry.ts';
import { sanitiser } from './sanitiser.ts';

/** The catalogue as stored in the database: enabled rows only, configurations with unresolved placeholders. */
export interface StoredCatalogue {
  readonly providers: readonly { readonly id: string; readonly config: Json }[];
  readonly models: readonly {
    readonly id: string;
    readonly createdAt: Date;
    readonly limit?: RateLimit;
    readonly routes: readonly { readonly position: number; readonly config: Json }[];
  }[];
}

/** What the process provides to all providers. */
export interface CatalogueContext {
  /** Applied to upstream error messages, which may also echo credentials other than the provider's own. */
  readonly redaction: () => RedactionRules;
  /** From now on `redaction` removes this credential too. */
  readonly conceal: (secret: string) => void;
  /** The maximum output tokens of a model, by its upstream name; `undefined` when unknown. */
  readonly outputLimitOf: (upstreamModel: string) => number | undefined;
  readonly warn: (message: string) => void;
}

/** Resolving models yields the event loop after this time: those of a large file take half a second. */
const resolveMs = 10;

interface OpenProvider extends ReadyProvider {
  readonly routing: RoutingProvider;
}

/**
 * Models, routes and ready providers, replaced as a whole when the database's revision changes. A provider whose
 * configuration did not change keeps its connections. One that was removed or changed finishes its requests in flight,
 * and calls that were already prepared with it are still sent.
 */
export class LiveCatalogue implements Catalogue {
  private readonly context: CatalogueContext;
  private readonly warned = new Set<string>();
  private open: ReadonlyMap<string, OpenProvider> = new Map();
  private current: CatalogueSnapshot;

  constructor(prices: PriceCatalogue, context: CatalogueContext) {
    this.context = context;
    this.current = { models: new Map(), provider: () => undefined, prices };
  }

  snapshot(): CatalogueSnapshot {
    return this.current;
  }

  readyProvider(providerId: string): ReadyProvider | undefined {
    return this.open.get(providerId);
  }

  async take(stored: StoredCatalogue, resolver: Resolver, prices: PriceCatalogue): Promise<void> {
    const models = await this.models(stored, resolver);
    const before = this.open;
    const open = new Map<string, OpenProvider>();
    for (const { id, config } of stored.providers) {
      const resolved = this.orWarn(`provider ${id}`, resolver.provider(id, config));
      const provider = resolved === undefined ? undefined : this.opened(before.get(id), resolved);
      if (provider !== undefined) open.set(id, provider);
    }
    this.open = open;
    this.current = { models, provider: (id) => open.get(id)?.routing, prices };
    const kept = new Set(open.values());
    for (const provider of before.values())
      if (!kept.has(provider)) for (const pool of provider.pools.values()) void pool.close();
  }

  async close(): Promise<void> {
    const pools = [...this.open.values()].flatMap((provider) => [...provider.pools.values()]);
    await Promise.all(pools.map((pool) => pool.destroy()));
  }

  private async models(stored: StoredCatalogue, resolver: Resolver): Promise<ReadonlyMap<string, Model>> {
    const models = new Map<string, Model>();
    let since = performance.now();
    for (const model of stored.models) {
      models.set(model.id, this.model(model, resolver));
      if (performance.now() - since < resolveMs) continue;
      await turn();
      since = performance.now();
    }
    return models;
  }

  private model({ routes, ...model }: StoredCatalogue['models'][number], resolver: Resolver): Model {
    const { id } = model;
    return {
      ...model,
      routes: routesInOrder(
        routes.flatMap(({ position, config }): readonly Route[] => {
          const route = this.orWarn(`route ${id}[${position}]`, resolver.route(id, position, config));
          return route === undefined ? [] : [{ ...this.limited(route), routeId: routeIdOf(id, position) }];
        }),
      ),
    };
  }

  /** Dialects see only the route, so what the catalogue knows of its model is added to it. */
  private limited(route: RouteConfig): RouteConfig {
    const outputLimit = this.context.outputLimitOf(route.upstreamModel);
    return outputLimit === undefined ? route : { ...route, outputLimit };
  }

  private opened(before: OpenProvider | undefined, config: ProviderConfig): OpenProvider | undefined {
    if (before !== undefined && isDeepStrictEqual(before.config, config)) return before;
    const { redaction, conceal, warn } = this.context;
    const sanitise = sanitiser(config, redaction);
    const provider = connectedProvider(config, {
      sanitise,
      digest: textDigest,
      conceal,
      warn: (message) => warn(`provider ${config.id}: ${message}`),
    });
    return {
      config,
      provider,
      sanitise,
      pools: new Map(
        provider.endpoints.map((each) => [each, new ConnectionPool(each.baseUrl, config.timeouts)]),
      ),
      routing: routingProvider(config),
    };
  }

  private orWarn<A>(what: string, resolved: Either<string, A>): A | undefined {
    if (E.isRight(resolved)) return resolved.right;
    this.warnOnce(`${what} is not usable in this process: ${resolved.left}`);
    return undefined;
  }

  /** Warns once for each problem, not at every reload. */
  private warnOnce(message: string): void {
    if (this.warned.has(message)) return;
    this.warned.add(message);
    this.context.warn(message);
  }
}
