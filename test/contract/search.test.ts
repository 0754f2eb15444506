import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { DatabasePool } from 'slonik';
import { openPool } from '../../infrastructure/postgres/pool.ts';
import { searchStore } from '../../infrastructure/postgres/search-store.ts';
import { withDatabase } from '../support/database.ts';
import { queries } from '../support/gateway.ts';

const database = withDatabase();
const query = queries(database.url);
let pool: DatabasePool;
const found = async (text: string) => searchStore(pool).find(text);

beforeAll(async () => {
  pool = await openPool(database.url(), 1);
  await query(`insert into users (email, name, created_at)
    select 'ann' || n || '@example.com', 'Ann ' || n || '%', now() - n * interval '1 minute' from generate_series(1, 30) n`);
  await query(`insert into teams (team_id, name) select 'ann-' || n, 'Team' from generate_series(1, 30) n`);
  await query(`insert into service_accounts (service_account_id, name, team_id)
    select 'w-' || n, 'Ann''s worker', 'ann-1' from generate_series(1, 30) n`);
  await query(`insert into api_keys (public_id, secret_sha256, name, team_id)
    select lpad(n::text, 32, '0'), sha256(n::text::bytea), 'ann', 'ann-2' from generate_series(1, 30) n`);
  await query(`insert into providers (provider_key, kind, config_json)
    select 'ann' || n, 'compat', '{"auth": {"token": "topsecret"}}' from generate_series(1, 30) n`);
  await query(`insert into models (model_key) select 'ann' || n from generate_series(1, 30) n`);
  await query(`insert into request_logs (request_log_id, ownership_scope_key, request_id, status_code, latency_ms,
      metadata_json, occurred_at, model_key)
    select gen_random_uuid(), 's', 'ann', 200, 1, '{}', now() - n * interval '20 minutes', 'm' || n from generate_series(1, 30) n`);
});
afterAll(() => pool.end());

describe('the search', () => {
  it('finds at most eight of each kind, newest first', async () => {
    const hits = await found('ANN');
    const kinds = Map.groupBy(hits, ({ kind }) => kind);
    expect([...kinds].map(([kind, each]) => [kind, each.length])).toEqual([
      ['user', 8],
      ['team', 8],
      ['service_account', 8],
      ['model', 8],
      ['provider', 8],
      ['api_key', 8],
    ]);
    expect(kinds.get('user')?.map(({ detail }) => detail)).toEqual(
      [1, 2, 3, 4, 5, 6, 7, 8].map((n) => `ann${n}@example.com`),
    );
    const logs = (await found('ann')).filter(({ kind }) => kind === 'request_log');
    expect(logs.map(({ detail }) => detail)).toEqual(['m1', 'm2', 'm3', 'm4', 'm5', 'm6', 'm7', 'm8']);
  });

  it('puts the object whose id is the text first, and finds users and request logs by id', async () => {
    expect((await found('ann20@example.com'))[0]).toMatchObject({
      kind: 'user',
      detail: 'ann20@example.com',
    });
    expect((await found('ann-30')).filter(({ kind }) => kind === 'team')).toMatchObject([{ id: 'ann-30' }]);
    const ids = await found('ann-1');
    expect(ids.find(({ kind }) => kind === 'team')).toMatchObject({ id: 'ann-1' });
    expect((await found('ann3')).find(({ kind }) => kind === 'model')).toMatchObject({ id: 'ann3' });
    const [user] = await found('ann7@example.com');
    expect(await found(user!.id)).toEqual([user]);
    const [log] = (await found('ann')).filter(({ kind }) => kind === 'request_log');
    expect(await found(log!.id)).toEqual([log]);
    expect(await found(log!.id.toUpperCase())).toEqual([log]);
  });

  it('finds a key by the beginning of a public id that a person chose, and by a whole key', async () => {
    const titles = async (text: string) =>
      (await found(text)).flatMap(({ kind, title }) => (kind === 'api_key' ? [title] : []));
    await query(`insert into api_keys (public_id, secret_sha256, name, team_id)
      select 'ci-' || lpad(n::text, 2, '0'), sha256(n::text::bytea), 'runner ' || n, 'ann-2' from generate_series(1, 20) n
      union all select 'ci-1', sha256('0'), 'the oldest', 'ann-2'`);
    await query(`update api_keys set created_at = now() - interval '1 day' where public_id = 'ci-1'`);
    expect(await titles('gwk_ci-15')).toEqual(['runner 15']);
    expect(await titles('ci-15')).toEqual(['runner 15']);
    expect(await titles(`gwk_ci-15.${'s'.repeat(64)}`)).toEqual(['runner 15']);
    const [first, ...others] = await titles('gwk_ci-1');
    expect(first).toBe('the oldest');
    expect(others.toSorted()).toEqual([10, 11, 12, 13, 14, 15, 16].map((n) => `runner ${n}`));
  });

  it('takes only a text that can begin a public id for one: of others, no first word is searched for', async () => {
    const titles = async (text: string) =>
      (await found(text)).flatMap(({ kind, title }) => (kind === 'api_key' ? [title] : []));
    await query(`insert into api_keys (public_id, secret_sha256, name, team_id)
      select 'a' || lpad(n::text, 31, '0'), sha256(n::text::bytea), 'other', 'ann-2' from generate_series(1, 9) n`);
    await query(`insert into api_keys (public_id, secret_sha256, name, team_id)
      values ('f0', sha256('f'), 'a b', 'ann-2'), ('f1', sha256('g'), 'a.example.com', 'ann-2')`);
    expect(await titles('a b')).toEqual(['a b']);
    expect(await titles('a.example')).toEqual(['a.example.com']);
  });

  it.each(['_', '\\', "';--", 'topsecret', 'compat', '%%'])('treats %j as plain text', async (text) => {
    expect(await found(text)).toEqual([]);
  });

  it('treats a percent sign as plain text', async () => {
    expect((await found('1%')).map(({ title }) => title)).toEqual(['Ann 1%', 'Ann 11%', 'Ann 21%']);
  });
});
