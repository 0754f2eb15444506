import * as t from 'io-ts';
import { type CommonQueryMethods, type DatabasePool, sql } from 'slonik';
import type { StoredCatalogue } from '../providers/live-catalogue.ts';
import { jsonColumn, nullable, timestamp } from './codecs.ts';
import { row } from './pool.ts';
import { limitJson, rateLimitOf } from './rate-limit-rows.ts';
import { onSnapshot } from './snapshot.ts';

const providerRow = t.type({ provider_key: t.string, config_json: jsonColumn });
const routeRow = t.type({
  model_key: t.string,
  created_at: timestamp,
  position: t.union([t.number, t.null]),
  config_json: jsonColumn,
  limit_json: nullable(limitJson),
});

/** Models read per statement: their rows are decoded in one go, and each model has at most a hundred routes. */
const modelsAtOnce = 100;

/** Reads from a single snapshot, so that models of one file never appear with providers of another. */
export const readCatalogue = (pool: DatabasePool): Promise<StoredCatalogue> =>
  onSnapshot(pool, async (connection) => {
    const providers = await connection.any(
      sql.type(row(providerRow))`select provider_key, config_json from providers where enabled`,
    );
    const models: StoredModel[] = [];
    for (;;) {
      const next = await modelsAfter(connection, models.at(-1)?.id ?? '');
      models.push(...next);
      if (next.length < modelsAtOnce) break;
    }
    return {
      providers: providers.map(({ provider_key, config_json }) => ({
        id: provider_key,
        config: config_json,
      })),
      models,
    };
  });

type StoredModel = StoredCatalogue['models'][number];

async function modelsAfter(connection: CommonQueryMethods, last: string): Promise<readonly StoredModel[]> {
  const rows = await connection.any(sql.type(row(routeRow))`
    select m.model_key, m.created_at, r.position, r.config_json, to_json(l) as limit_json
    from (select model_key, created_at from models
          where enabled and model_key > ${last} order by model_key limit ${modelsAtOnce}) m
    left join model_routes r on r.model_key = m.model_key and r.enabled
    left join rate_limits l on l.subject = 'model:' || m.model_key
    order by m.model_key, r.position
  `);
  return [...Map.groupBy(rows, ({ model_key }) => model_key)].map(([id, routes]) => ({
    id,
    createdAt: routes[0]?.created_at ?? new Date(0),
    ...limitOf(routes[0]?.limit_json ?? null),
    routes: routes.flatMap(({ position, config_json }) =>
      position === null ? [] : [{ position, config: config_json }],
    ),
  }));
}

const limitOf = (found: t.TypeOf<typeof limitJson> | null) =>
  found === null ? {} : { limit: rateLimitOf(found) };
