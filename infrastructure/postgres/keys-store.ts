import * as t from 'io-ts';
import { type DatabasePool, sql } from 'slonik';
import type { Keys } from '../../application/ports/accounts.ts';
import { instant, orNull } from './codecs.ts';
import { row } from './pool.ts';
import { ownerColumns } from './seed-store.ts';

const summaryRow = t.type({
  api_key_id: t.string,
  public_id: t.string,
  name: t.string,
  owner: t.string,
  allowed_models: t.array(t.string),
  created_at: instant,
  revoked_at: orNull(instant),
});

/** API keys as the command line and admins manage them. */
export const keysStore = (pool: DatabasePool): Keys => ({
  create: async (key) => {
    const { user_email = null, team_id = null, service_account_id = null } = ownerColumns(key.owner);
    const created = await pool.maybeOne(sql.type(row(t.type({ api_key_id: t.string })))`
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
    return created?.api_key_id;
  },
  list: async () => {
    const rows = await pool.any(sql.type(row(summaryRow))`
      select k.api_key_id, k.public_id, k.name, k.allowed_models, k.created_at, k.revoked_at,
             coalesce('user:' || u.email, 'team:' || k.team_id, 'service_account:' || k.service_account_id) as owner
      from api_keys k left join users u on u.user_id = k.user_id
      order by k.created_at, k.api_key_id
    `);
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
  revoke: async (apiKeyId) =>
    (await pool.maybeOne(sql.type(row(t.type({ api_key_id: t.string })))`
      update api_keys set revoked_at = coalesce(revoked_at, now()), revoked_by = 'admin', updated_at = now()
      where api_key_id::text = ${apiKeyId} returning api_key_id
    `)) !== null,
});
