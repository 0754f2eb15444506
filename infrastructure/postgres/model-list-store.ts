import * as t from 'io-ts';
import { type CommonQueryMethods, type DatabasePool, type FragmentSqlToken, sql } from 'slonik';
import type {
  CatalogueInsight,
  ListedModel,
  ListedRoute,
  ModelFilter,
  ModelList,
  StoredProvider,
} from '../../application/ports/model-list.ts';
import type { PageRequest } from '../../application/ports/page.ts';
import { jsonColumn, timestamp } from './codecs.ts';
import { lastDayOf } from './last-day.ts';
import { all } from './list-conditions.ts';
import { row } from './pool.ts';
import { countOf, readList } from './time-list.ts';

const modelRow = t.type({ model_key: t.string, enabled: t.boolean, created_at: timestamp });

const routeRow = t.type({
  model_key: t.string,
  position: t.number,
  upstream_model: t.string,
  priority: t.number,
  enabled: t.boolean,
  compatibility_json: jsonColumn,
  config_json: jsonColumn,
  provider_key: t.string,
  provider_kind: t.string,
  provider_enabled: t.boolean,
  provider_config: jsonColumn,
});

const providerRow = t.type({
  provider_key: t.string,
  kind: t.string,
  enabled: t.boolean,
  config_json: jsonColumn,
  route_count: t.number,
});

/** Models and providers, with what `insight` knows of their stored configurations, which hold no secrets. */
export const modelListStore = (pool: DatabasePool, insight: CatalogueInsight): ModelList => ({
  page: (filter, page) =>
    readList(pool, async (connection) => {
      const rows = sql.fragment`models m where ${all(conditionsOf(filter))}`;
      const total = await countOf(connection, rows);
      return {
        items: await models(connection, insight, sql.fragment`${rows} ${onPage('m.model_key', page)}`),
        ...total,
      };
    }),
  find: async (modelKey) => {
    const [found] = await readList(pool, (connection) =>
      models(connection, insight, sql.fragment`models m where m.model_key = ${modelKey}`),
    );
    return found;
  },
  providers: (page) =>
    readList(pool, async (connection) => {
      const total = await countOf(connection, sql.fragment`providers p`);
      const rows = await connection.any(sql.type(row(providerRow))`
        select p.provider_key, p.kind, p.enabled, p.config_json,
               (select count(*)::integer from model_routes r where r.provider_key = p.provider_key) as route_count
        from providers p ${onPage('p.provider_key', page)}
      `);
      const keys = rows.map(({ provider_key }) => provider_key);
      const lastDays = await lastDayOf(connection, 'provider_key', keys);
      const items = rows.map(({ provider_key, kind, enabled, config_json, route_count }) => {
        const stored: StoredProvider = { providerKey: provider_key, kind, enabled, config: config_json };
        const lastDay = lastDays(provider_key);
        return { ...stored, ...insight.ofProvider(stored), routeCount: route_count, lastDay };
      });
      return { items, ...total };
    }),
});

const conditionsOf = ({ modelKey, providerKey, enabled }: ModelFilter): readonly FragmentSqlToken[] => [
  ...(modelKey === undefined ? [] : [sql.fragment`m.model_key = ${modelKey}`]),
  ...(enabled === undefined ? [] : [sql.fragment`m.enabled = ${enabled}`]),
  ...(providerKey === undefined
    ? []
    : [
        sql.fragment`exists (select 1 from model_routes r
                             where r.model_key = m.model_key and r.provider_key = ${providerKey})`,
      ]),
];

const onPage = (key: 'm.model_key' | 'p.provider_key', { page, pageSize }: PageRequest): FragmentSqlToken =>
  sql.fragment`
    order by ${sql.identifier(key.split('.'))} offset ${(page - 1) * pageSize} limit ${pageSize}
  `;

async function models(
  connection: CommonQueryMethods,
  insight: CatalogueInsight,
  which: FragmentSqlToken,
): Promise<readonly ListedModel[]> {
  const rows = await connection.any(sql.type(row(modelRow))`
    select m.model_key, m.enabled, m.created_at from ${which}
  `);
  const keys = rows.map(({ model_key }) => model_key);
  const routes = Map.groupBy(
    await routesWhere(connection, insight, sql.fragment`r.model_key = any (${sql.array(keys, 'text')})`),
    ({ modelKey }) => modelKey,
  );
  const lastDays = await lastDayOf(connection, 'model_key', keys);
  return rows.map(({ model_key, enabled, created_at }) => ({
    modelKey: model_key,
    enabled,
    createdAt: created_at,
    routes: routes.get(model_key) ?? [],
    lastDay: lastDays(model_key),
  }));
}

/** Routes by model, in file order; `r` is the route, `p` its provider. */
export async function routesWhere(
  connection: CommonQueryMethods,
  insight: CatalogueInsight,
  which: FragmentSqlToken,
): Promise<readonly ListedRoute[]> {
  const rows = await connection.any(sql.type(row(routeRow))`
    select r.model_key, r.position, r.upstream_model, r.priority, r.enabled, r.compatibility_json, r.config_json,
           p.provider_key, p.kind as provider_kind, p.enabled as provider_enabled, p.config_json as provider_config
    from model_routes r join providers p on p.provider_key = r.provider_key
    where ${which}
    order by r.model_key, r.position
  `);
  return rows.map((found): ListedRoute => {
    const stored = {
      modelKey: found.model_key,
      position: found.position,
      upstreamModel: found.upstream_model,
      priority: found.priority,
      enabled: found.enabled,
      compatibility: found.compatibility_json,
      config: found.config_json,
      provider: {
        providerKey: found.provider_key,
        kind: found.provider_kind,
        enabled: found.provider_enabled,
        config: found.provider_config,
      },
    };
    return { ...stored, ...insight.ofRoute(stored) };
  });
}
