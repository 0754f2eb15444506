import * as t from 'io-ts';
import { type CommonQueryMethods, type DatabasePool, sql } from 'slonik';
import type { Keys, NewKey } from '../../application/ports/accounts.ts';
import type { JsonObject } from '../../domain/shared/json.ts';
import { addCommandEvent } from './admin-events-store.ts';
import { timestamp, nullable } from './codecs.ts';
import { row } from './pool.ts';
import { ownerColumns } from './seed-store.ts';
import { touchState } from './state-follower.ts';

const summaryRow = t.type({
  api_key_id: t.string,
  public_id: t.string,
  name: t.string,
  owner: t.string,
  allowed_models: t.array(t.string),
  created_at: timestamp,
  revoked_at: nullable(timestamp),
});

const revocableRow = t.type({ api_key_id: t.string, revoked_by: nullable(t.string) });

const summaryOf = sql.fragment`
  select k.api_key_id, k.public_id, k.name, k.allowed_models, k.created_at, k.revoked_at,
         coalesce('user:' || u.email, 'team:' || k.team_id, 'service_account:' || k.service_account_id) as owner
  from api_keys k left join users u on u.user_id = k.user_id
`;

/** API keys as the command line manages them: each change with its event, in one transaction. */
export const keysStore = (pool: DatabasePool): Keys => ({
  create: (key) => pool.transaction((connection) => createKey(connection, key)),
  list: async () => {
    const rows = await pool.any(sql.type(row(summaryRow))`${summaryOf} order by k.created_at, k.api_key_id`);
    return rows.map((found) => ({
      apiKeyId: found.api_key_id,
      publicId: found.public_id,
      name: found.name,
      owner: found.owner,
      allowedModels: found.allowed_models,
      createdAt: found.created_at,
      revokedAt: found.revoked_at ?? undefined,
    }));
  },
  revoke: (apiKeyId) => pool.transaction((connection) => revokeKey(connection, apiKeyId)),
});

async function createKey(connection: CommonQueryMethods, key: NewKey): Promise<string | undefined> {
  const { user_email = null, team_id = null, service_account_id = null } = ownerColumns(key.owner);
  const created = await connection.maybeOne(sql.type(row(t.type({ api_key_id: t.string })))`
    insert into api_keys (public_id, secret_sha256, name, user_id, team_id, service_account_id, allowed_models)
    select ${key.publicId}, ${sql.binary(Buffer.from(key.secretSha256))}, ${key.name},
           u.user_id, tm.team_id, sa.service_account_id, ${sql.array([...key.allowedModels], 'text')}
    from (values (1)) one(n)
    left join users u on u.email_folded = lower(${user_email}::text)
    left join teams tm on tm.team_id = ${team_id}::text
    left join service_accounts sa on sa.service_account_id = ${service_account_id}::text
    where num_nonnulls(u.user_id, tm.team_id, sa.service_account_id) = 1
    returning api_key_id
  `);
  if (created === null) return undefined;
  const targetId = created.api_key_id;
  const after = await toldOfKey(connection, targetId);
  const action = 'api_key.create';
  await addCommandEvent(connection, { action, targetKind: 'api_key', targetId, before: undefined, after });
  await touchState(connection);
  return targetId;
}

async function revokeKey(connection: CommonQueryMethods, apiKeyId: string): Promise<boolean> {
  const found = await connection.maybeOne(sql.type(row(revocableRow))`
    select api_key_id, revoked_by from api_keys where api_key_id::text = ${apiKeyId} for update
  `);
  if (found === null || found.revoked_by === 'admin') return found !== null;
  const targetId = found.api_key_id;
  const before = await toldOfKey(connection, targetId);
  await connection.query(sql.unsafe`
    update api_keys set revoked_at = coalesce(revoked_at, now()), revoked_by = 'admin', updated_at = now()
    where api_key_id = ${targetId}
  `);
  const after = await toldOfKey(connection, targetId);
  const action = 'api_key.revoke';
  await addCommandEvent(connection, { action, targetKind: 'api_key', targetId, before, after });
  await touchState(connection);
  return true;
}

/** A key as events tell of it: nothing of its secret, not even the hash. */
async function toldOfKey(connection: CommonQueryMethods, apiKeyId: string): Promise<JsonObject> {
  const key = await connection.one(sql.type(row(summaryRow))`${summaryOf} where k.api_key_id = ${apiKeyId}`);
  return {
    public_id: key.public_id,
    name: key.name,
    owner: key.owner,
    allowed_models: key.allowed_models,
    revoked_at: key.revoked_at?.toISOString() ?? null,
  };
}
