import { type CommonQueryMethods, type DatabasePool, sql } from 'slonik';
import * as t from 'io-ts';
import type { Author, Change, Changed } from '../../application/ports/changes.ts';
import type {
  KeyCreated,
  KeyOwnerRef,
  KeyPatch,
  Keys,
  NewKey,
  StoredKey,
} from '../../application/ports/keys.ts';
import type { AdminAction } from '../../domain/identity/admin-event.ts';
import { recordChange } from './admin-events-store.ts';
import { findKey, keyPage, lockKey, keyEventJson } from './key-rows.ts';
import { instantOf } from './instants.ts';
import { written } from './owner-rows.ts';
import { row } from './pool.ts';
import { ownerColumns } from './seed-store.ts';

/** API keys as admins manage them; each change and its event are one transaction. */
export const keysStore = (pool: DatabasePool): Keys => ({
  create: (key, author) => pool.transaction((connection) => createKey(connection, key, author)),
  page: (filter, page) => keyPage(pool, filter, page),
  find: (apiKeyId) => findKey(pool, apiKeyId),
  change: ({ patch, author, ...which }) =>
    changeLocked(pool, which, async (connection, before) => {
      if (patch.allowedModels !== undefined) {
        const models = await unknownModels(connection, patch.allowedModels);
        if (models.length > 0) return { kind: 'unknown_models', models };
      }
      if (!changes(before, patch)) return { kind: 'done', present: before };
      await connection.query(sql.unsafe`
        update api_keys set name = ${patch.name ?? before.name},
          allowed_models = ${sql.array([...(patch.allowedModels ?? before.allowedModels)], 'text')},
          expires_at = ${instantOf(patch.expiresAt === undefined ? before.expiresAt : patch.expiresAt)},
          version = version + 1, updated_at = now()
        where api_key_id = ${before.apiKeyId}
      `);
      return recorded(connection, 'api_key.update', before.apiKeyId, before, author);
    }),
  rotate: ({ patch: { secretSha256, overlapSecs }, author, ...which }) =>
    changeLocked(pool, which, async (connection, before) => {
      if (before.revokedAt !== undefined) return { kind: 'revoked' };
      await connection.query(sql.unsafe`
        update api_keys set secret_sha256 = ${sql.binary(Buffer.from(secretSha256))},
          ${overlapOf(overlapSecs)},
          version = version + 1, updated_at = now()
        where api_key_id = ${before.apiKeyId}
      `);
      return recorded(connection, 'api_key.rotate', before.apiKeyId, before, author);
    }),
  revoke: ({ author, ...which }) =>
    changeLocked(pool, which, async (connection, before) => {
      if (before.revokedBy === 'admin') return { kind: 'done', present: before };
      await connection.query(sql.unsafe`
        update api_keys set revoked_at = ${before.revokedAt === undefined ? sql.fragment`gateway_now()` : sql.fragment`revoked_at`}, revoked_by = 'admin',
          previous_secret_sha256 = null, previous_expires_at = null, version = version + 1, updated_at = now()
        where api_key_id = ${before.apiKeyId}
      `);
      return recorded(connection, 'api_key.revoke', before.apiKeyId, before, author);
    }),
});

/** Changes a key that is there, and still at the version that the change names. */
const changeLocked = <Outcome>(
  pool: DatabasePool,
  { id, version }: Pick<Change<string, KeyPatch>, 'id' | 'version'>,
  change: (connection: CommonQueryMethods, before: StoredKey) => Promise<Outcome>,
): Promise<Outcome | Exclude<Changed<StoredKey>, { kind: 'done' }>> =>
  pool.transaction(async (connection) => {
    const before = await lockKey(connection, id);
    if (before === undefined) return { kind: 'missing' };
    if (version !== undefined && version !== before.version) return { kind: 'stale', present: before };
    return change(connection, before);
  });

/** How long the replaced secret stays valid. */
const overlapOf = (seconds: number) =>
  seconds > 0
    ? sql.fragment`
        previous_secret_sha256 = secret_sha256,
        previous_expires_at = gateway_now() + make_interval(secs => ${seconds}::integer)
      `
    : sql.fragment`previous_secret_sha256 = null, previous_expires_at = null`;

const ownersRow = t.type({ user_id: t.union([t.string, t.null]), active: t.boolean });

async function createKey(connection: CommonQueryMethods, key: NewKey, author: Author): Promise<KeyCreated> {
  const {
    user_id = null,
    user_email = null,
    team_id = null,
    service_account_id = null,
  } = columnsOf(key.owner);
  const owner = await connection.maybeOne(sql.type(row(ownersRow))`
    select u.user_id, u.active from users u where u.user_id = ${user_id}::uuid
    union all
    select u.user_id, u.active from users u where u.email_folded = lower(${user_email}::text)
    union all
    select null, tm.active from teams tm where tm.team_id = ${team_id}::text
    union all
    select null, sa.active and tm.active from service_accounts sa join teams tm on tm.team_id = sa.team_id
    where sa.service_account_id = ${service_account_id}::text
  `);
  if (owner === null) return { kind: 'no_owner' };
  if (!owner.active) return { kind: 'inactive_owner' };
  const models = await unknownModels(connection, key.allowedModels);
  if (models.length > 0) return { kind: 'unknown_models', models };
  const apiKeyId = await connection.oneFirst(sql.type(row(t.type({ api_key_id: t.string })))`
    insert into api_keys (public_id, secret_sha256, name, user_id, team_id, service_account_id, allowed_models,
                          expires_at, created_by_user_id)
    values (${key.publicId}, ${sql.binary(Buffer.from(key.secretSha256))}, ${key.name}, ${owner.user_id}, ${team_id},
            ${service_account_id}, ${sql.array([...key.allowedModels], 'text')}, ${instantOf(key.expiresAt)},
            ${author?.userId ?? null})
    returning api_key_id
  `);
  return recorded(connection, 'api_key.create', apiKeyId, undefined, author);
}

const columnsOf = (owner: KeyOwnerRef) =>
  'userId' in owner
    ? { user_id: owner.userId, user_email: undefined, team_id: undefined, service_account_id: undefined }
    : { user_id: undefined, ...ownerColumns(owner) };

/** Names that are not models of the gateway: a key with a mistyped name would be refused the model it is meant for. */
const unknownModels = async (
  connection: CommonQueryMethods,
  models: readonly string[],
): Promise<readonly string[]> =>
  connection.anyFirst(sql.type(row(t.type({ model: t.string })))`
    select distinct w.model from unnest(${sql.array([...models], 'text')}) w(model)
    where not exists (select 1 from models m where m.model_key = w.model and m.enabled) order by 1
  `);

const changes = (before: StoredKey, { name, allowedModels, expiresAt }: KeyPatch): boolean =>
  (name !== undefined && name !== before.name) ||
  (allowedModels !== undefined && allowedModels.join('\n') !== before.allowedModels.join('\n')) ||
  (expiresAt !== undefined && expiresAt?.getTime() !== before.expiresAt?.getTime());

async function recorded(
  connection: CommonQueryMethods,
  action: AdminAction,
  targetId: string,
  before: StoredKey | undefined,
  author: Author,
): Promise<Extract<Changed<StoredKey>, { kind: 'done' }>> {
  const present = written(await findKey(connection, targetId));
  await recordChange(connection, author, {
    action,
    targetKind: 'api_key',
    targetId,
    before: before && keyEventJson(before),
    after: keyEventJson(present),
  });
  return { kind: 'done', present };
}
