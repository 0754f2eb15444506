import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Client } from 'pg';
import type { DatabasePool } from 'slonik';
import { readCatalogue } from '../../infrastructure/postgres/catalogue-store.ts';
import { openPool } from '../../infrastructure/postgres/pool.ts';
import { withDatabase } from '../support/database.ts';

const database = withDatabase();
let pool: DatabasePool;
let admin: Client;
/** More than one statement reads. */
const models = 250;

beforeAll(async () => {
  pool = await openPool(database.url(), 1);
  admin = new Client(database.url());
  await admin.connect();
  await admin.query(
    `insert into providers (provider_key, kind, config_json) values ('p', 'openai_compat', '0')`,
  );
  await admin.query(`insert into models (model_key) select 'm' || n from generate_series(1, ${models}) n`);
  await admin.query(
    `insert into model_routes (model_key, position, provider_key, upstream_model, priority, config_json)
     select model_key, 0, 'p', 'up', 1, '0' from models`,
  );
});
afterAll(async () => {
  await admin.end();
  await pool.end();
});

describe('the catalogue', () => {
  it('has every model once, however many there are, including those without routes', async () => {
    await admin.query(`insert into models (model_key) values ('routeless')`);
    const stored = await readCatalogue(pool);
    expect(stored.models.map(({ id }) => id)).toEqual(
      [...Array.from({ length: models }, (_, index) => `m${index + 1}`), 'routeless'].toSorted(),
    );
    expect(stored.models.at(-1)).toMatchObject({ id: 'routeless', routes: [] });
  });

  it('is read from a single version, while another one is written', async () => {
    const changing = (async () => {
      for (let version = 1; version <= 40; version += 1)
        await admin.query(
          `with p as (update providers set config_json = '${version}') update model_routes set config_json = '${version}'`,
        );
    })();
    for (let look = 0; look < 40; look += 1) {
      const { providers, models: read } = await readCatalogue(pool);
      const versions = [...providers, ...read.flatMap(({ routes }) => routes)].map(({ config }) => config);
      expect(new Set(versions).size).toBe(1);
    }
    await changing;
  });
});
