import * as t from 'io-ts';
import { type CommonQueryMethods, type DatabasePool, type FragmentSqlToken, sql } from 'slonik';
import type { AdminTokens, NewToken, StoredToken } from '../../application/ports/admin-tokens.ts';
import type { Author } from '../../application/ports/changes.ts';
import type { AdminAction } from '../../domain/identity/admin-event.ts';
import type { JsonObject } from '../../domain/shared/json.ts';
import { addEvent } from './admin-events-store.ts';
import { bytes, orUndefined, timestamp } from './codecs.ts';
import { instantOf, isUuid } from './instants.ts';
import { readObjects } from './object-list.ts';
import { personFields, personIn, written } from './owner-rows.ts';
import { row } from './pool.ts';

/** The tokens in the table, read again at each call. */
export const adminTokensStore = (pool: DatabasePool): AdminTokens => ({
  find: async (publicId) => {
    const found = await pool.maybeOne(sql.type(row(presentedRow))`
      select k.admin_token_id, k.scope, k.secret_sha256, u.user_id, u.email, u.name, u.role,
             coalesce(k.last_used_on = ${today}, false) as used_today
      from admin_tokens k join users u on u.user_id = k.user_id
      where k.public_id = ${publicId} and ${inForce} and u.active
    `);
    return found === null
      ? undefined
      : {
          usedToday: found.used_today,
          adminTokenId: found.admin_token_id,
          scope: found.scope,
          secretSha256: found.secret_sha256,
          person: personIn(found),
        };
  },
  noteUse: async (adminTokenId) => {
    await pool.query(sql.unsafe`
      update admin_tokens set last_used_on = ${today}
      where admin_token_id = ${adminTokenId} and last_used_on is distinct from ${today}
    `);
  },
  create: (token, author) => pool.transaction((connection) => createToken(connection, token, author)),
  page: (page) => {
    const list = {
      rows: sql.fragment`admin_tokens k where true`,
      time: sql.fragment`k.created_at`,
      key: sql.fragment`k.admin_token_id`,
      keyType: 'uuid',
    } as const;
    const read = async (connection: CommonQueryMethods, which: FragmentSqlToken) =>
      (await connection.any(tokens(which))).map(storedToken);
    return readObjects(pool, list, page, read, ({ adminTokenId }) => adminTokenId);
  },
  revoke: (adminTokenId, author) =>
    pool.transaction((connection) => revokeToken(connection, adminTokenId, author)),
});

const inForce = sql.fragment`k.revoked_at is null and (k.expires_at is null or k.expires_at > gateway_now())`;

const today = sql.fragment`(gateway_now() at time zone 'UTC')::date`;

const scope = t.keyof({ read: null, write: null });

const presentedRow = t.type({
  ...personFields,
  admin_token_id: t.string,
  scope,
  used_today: t.boolean,
  secret_sha256: bytes,
});

const tokenRow = t.type({
  admin_token_id: t.string,
  public_id: t.string,
  name: t.string,
  scope,
  user_id: t.string,
  user_name: t.string,
  created_at: timestamp,
  expires_at: orUndefined(timestamp),
  last_used_on: orUndefined(t.string),
  revoked_at: orUndefined(timestamp),
  active: t.boolean,
});

const tokens = (which: FragmentSqlToken) => sql.type(row(tokenRow))`
  select k.admin_token_id, k.public_id, k.name, k.scope, k.user_id, u.name as user_name, k.created_at, k.expires_at,
         k.last_used_on::text as last_used_on, k.revoked_at,
         ${inForce} and u.active and u.role = 'platform_admin' as active
  from admin_tokens k join users u on u.user_id = k.user_id
  where ${which}
`;

const storedToken = (found: t.TypeOf<typeof tokenRow>): StoredToken => ({
  adminTokenId: found.admin_token_id,
  publicId: found.public_id,
  name: found.name,
  scope: found.scope,
  createdBy: { userId: found.user_id, name: found.user_name },
  createdAt: found.created_at,
  expiresAt: found.expires_at,
  lastUsedOn: found.last_used_on,
  revokedAt: found.revoked_at,
  active: found.active,
});

async function findToken(
  connection: CommonQueryMethods,
  adminTokenId: string,
): Promise<StoredToken | undefined> {
  const found = await connection.maybeOne(tokens(sql.fragment`k.admin_token_id = ${adminTokenId}`));
  return found === null ? undefined : storedToken(found);
}

async function createToken(
  connection: CommonQueryMethods,
  token: NewToken,
  author: NonNullable<Author>,
): Promise<StoredToken> {
  const id = await connection.oneFirst(sql.type(row(t.type({ admin_token_id: t.string })))`
    insert into admin_tokens (public_id, secret_sha256, user_id, name, scope, created_at, expires_at)
    values (${token.publicId}, ${sql.binary(Buffer.from(token.secretSha256))}, ${author.userId}, ${token.name},
            ${token.scope}, gateway_now(), ${instantOf(token.expiresAt)})
    returning admin_token_id
  `);
  const present = written(await findToken(connection, id));
  await addTokenEvent(connection, author, 'admin_token.create', undefined, present);
  return present;
}

async function revokeToken(
  connection: CommonQueryMethods,
  adminTokenId: string,
  author: Author,
): Promise<StoredToken | undefined> {
  if (!isUuid(adminTokenId)) return undefined;
  await connection.query(
    sql.unsafe`select 1 from admin_tokens where admin_token_id = ${adminTokenId} for update`,
  );
  const before = await findToken(connection, adminTokenId);
  if (before === undefined || before.revokedAt !== undefined) return before;
  await connection.query(sql.unsafe`
    update admin_tokens set revoked_at = gateway_now() where admin_token_id = ${adminTokenId}
  `);
  const present = written(await findToken(connection, adminTokenId));
  await addTokenEvent(connection, author, 'admin_token.revoke', before, present);
  return present;
}

/** Revokes all tokens of a person for good, each with an event. Returns how many were in force. */
export async function revokeTokensOf(
  connection: CommonQueryMethods,
  userId: string,
  author: Author,
): Promise<number> {
  const ids = await connection.anyFirst(sql.type(row(t.type({ admin_token_id: t.string })))`
    select k.admin_token_id from admin_tokens k where k.user_id = ${userId} and ${inForce} order by k.created_at
  `);
  for (const id of ids) await revokeToken(connection, id, author);
  return ids.length;
}

/** Does not touch the state of replicas, because no replica keeps tokens in memory. */
const addTokenEvent = (
  connection: CommonQueryMethods,
  author: Author,
  action: AdminAction,
  before: StoredToken | undefined,
  after: StoredToken,
): Promise<void> =>
  addEvent(connection, author, {
    action,
    targetKind: 'admin_token',
    targetId: after.adminTokenId,
    before: before === undefined ? undefined : tokenEventJson(before),
    after: tokenEventJson(after),
  });

const tokenEventJson = (token: StoredToken): JsonObject => ({
  public_id: token.publicId,
  name: token.name,
  scope: token.scope,
  user_id: token.createdBy.userId,
  expires_at: token.expiresAt?.toISOString() ?? null,
  revoked_at: token.revokedAt?.toISOString() ?? null,
});
