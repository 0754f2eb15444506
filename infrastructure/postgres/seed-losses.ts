import * as t from 'io-ts';
import { type DatabasePool, sql } from 'slonik';
import type { Losses, Seed } from '../../application/ports/seed.ts';
import { int8 } from './codecs.ts';
import { row } from './pool.ts';

const lossesRow = t.type({
  providers: int8,
  providers_lost: int8,
  models: int8,
  models_lost: int8,
  keys: int8,
  keys_lost: int8,
});

/** Counts what is in force and would no longer be if the database were made to match the seed. */
export async function seedLosses(pool: DatabasePool, { providers, models, apiKeys }: Seed): Promise<Losses> {
  const texts = (values: readonly string[]) => sql.array([...values], 'text');
  const found = await pool.one(sql.type(row(lossesRow))`
    select p.*, m.*, k.*
    from (select count(*) as providers,
                 count(*) filter (where provider_key <> all (${texts(providers.map(({ id }) => id))})) as providers_lost
          from providers where enabled) p,
         (select count(*) as models,
                 count(*) filter (where model_key <> all (${texts(models.map(({ id }) => id))})) as models_lost
          from models where enabled) m,
         (select count(*) as keys,
                 count(*) filter (where public_id <> all (${texts(apiKeys.map(({ publicId }) => publicId))})) as keys_lost
          from api_keys where from_config and revoked_at is null) k
  `);
  const loss = (there: bigint, lost: bigint) => ({ there: Number(there), lost: Number(lost) });
  return {
    providers: loss(found.providers, found.providers_lost),
    models: loss(found.models, found.models_lost),
    'API keys': loss(found.keys, found.keys_lost),
  };
}
