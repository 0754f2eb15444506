import { beforeAll, describe, expect, it } from '@jest/globals';
import { modelListStore } from '../../infrastructure/postgres/model-list-store.ts';
import { permissive } from '../../domain/routing/capabilities.ts';
import { explainedCapabilities } from '../../domain/routing/explained-capabilities.ts';
import { withDatabase } from '../support/database.ts';
import { queries } from '../support/gateway.ts';
import { withLedgers } from './ledger-bench.ts';

const database = withDatabase();
const query = queries(database.url);
const { ledgers } = withLedgers(database.url);
const noted = explainedCapabilities(permissive, { can: permissive, why: () => '' });
const store = () =>
  modelListStore(ledgers[0]!.pool, {
    ofRoute: () => ({ capabilities: noted, price: undefined }),
    ofProvider: ({ providerKey }) => ({
      host: undefined,
      endpointbHost: undefined,
      pricingProviderId: providerKey,
    }),
  });

/** More requests of the last day than are counted, as many older ones, and models without requests. */
beforeAll(async () => {
  await query(`insert into providers (provider_key, kind, config_json) values ('up', 'compat', '{}')`);
  await query(
    `insert into models (model_key) select 'm-' || lpad(n::text, 3, '0') from generate_series(0, 299) n`,
  );
  await query(
    `insert into model_routes (model_key, position, provider_key, upstream_model, priority, config_json)
     select model_key, p, 'up', 'u', 100, '{}' from models, generate_series(0, 1) p`,
  );
  await query(
    `insert into request_logs (request_log_id, ownership_scope_key, request_id, model_key, provider_key, status_code,
       latency_ms, metadata_json, occurred_at)
     select gen_random_uuid(), 's', n::text, case when n % 40 = 0 then 'm-001' else 'm-000' end, 'up',
            case when n % 4 = 0 then 500 when n % 4 = 1 then 499 else 200 end, 1, '{}',
            now() - case when n % 2 = 0 then interval '1 hour' else interval '2 days' end
     from generate_series(1, 30000) n`,
  );
  await query('vacuum analyze request_logs');
});

describe('the list of models', () => {
  it('counts the requests of the last day, exactly up to 10,000 and as a lower bound beyond', async () => {
    const { items, total } = await store().page({}, { page: 1, pageSize: 3 });
    expect(total).toBe(300);
    expect(items.map(({ modelKey, routes, lastDay }) => [modelKey, routes.length, lastDay])).toMatchObject([
      ['m-000', 2, { requests: 10_000, isLowerBound: true }],
      ['m-001', 2, { requests: 750, errors: 750, isLowerBound: false }],
      ['m-002', 2, { requests: 0, errors: 0, isLowerBound: false }],
    ]);
    const [provider] = (await store().providers({ page: 1, pageSize: 50 })).items;
    expect(provider).toMatchObject({ providerKey: 'up', routeCount: 600, lastDay: { isLowerBound: true } });
  });

  it.each(['model', 'provider'])(
    'counts only the newest requests of a %s if there are more than the limit',
    async (what) => {
      await query(
        `insert into request_logs (request_log_id, ownership_scope_key, request_id, ${what}_key, status_code, latency_ms,
         metadata_json, occurred_at)
       select gen_random_uuid(), 's', 'n', 'counted', case n when 1 then 500 else 200 end, 1, '{}',
              now() - n * interval '1 hour' from generate_series(1, 3) n`,
      );
      const counted = await query(`select * from newest_of_${what}('counted', now() - interval '1 day', 1)`);
      expect(counted).toEqual([{ requests: 1, errors: 1 }]);
    },
  );

  it.each(['model', 'provider'])(
    'counts as errors of a %s all statuses from 400 except 499, from the first quarter of an hour on',
    async (what) => {
      await query(
        `insert into request_logs (request_log_id, ownership_scope_key, request_id, ${what}_key, status_code, latency_ms,
         metadata_json, occurred_at)
       select gen_random_uuid(), 's', 'n', 'failing', status, 1, '{}', '2028-03-01T12:14:59Z'
       from unnest(array[200, 399, 400, 499, 500]) status`,
      );
      const since = (at: string) => query(`select * from newest_of_${what}('failing', $1, 9)`, [at]);
      expect(await since('2028-03-01T12:00:00Z')).toEqual([{ requests: 5, errors: 2 }]);
      expect(await since('2028-03-01T12:15:00Z')).toEqual([{ requests: 0, errors: 0 }]);
    },
  );

  it("counts by an index-only scan of the model's or provider's index", async () => {
    for (const column of ['model_key', 'provider_key']) {
      const plan = JSON.stringify(
        await query(
          `explain (analyze, format json) select count(*) filter (where status_code >= 400) from (
             select status_code from request_logs l where l.${column} = $1 and l.list_bucket >= now() - interval '24 hours'
             order by l.list_bucket desc limit 10001) newest`,
          [column === 'model_key' ? 'm-000' : 'up'],
        ),
      );
      expect(plan).toContain(`${column}_list_bucket`);
      expect(plan).toContain('Index Only Scan');
      expect(plan).not.toContain('Seq Scan');
    }
  });

  it('returns a page of models with their routes in order', async () => {
    const { items } = await store().page({ providerKey: 'up', enabled: true }, { page: 100, pageSize: 3 });
    expect(items.map(({ modelKey }) => modelKey)).toEqual(['m-297', 'm-298', 'm-299']);
    expect(items[0]?.routes.map(({ position }) => position)).toEqual([0, 1]);
    expect(await store().find('m-042')).toMatchObject({ modelKey: 'm-042', enabled: true });
    expect(await store().find('nobody')).toBeUndefined();
  });
});
