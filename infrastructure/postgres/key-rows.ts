import * as t from 'io-ts';
import { type CommonQueryMethods, type DatabasePool, type FragmentSqlToken, sql } from 'slonik';
import type { KeyFilter, StoredKey } from '../../application/ports/keys.ts';
import type { Page, PageRequest } from '../../application/ports/page.ts';
import type { JsonObject } from '../../domain/shared/json.ts';
import { orUndefined, timestamp } from './codecs.ts';
import { isUuid } from './instants.ts';
import { all } from './list-conditions.ts';
import { holds, readObjects } from './object-list.ts';
import { row } from './pool.ts';

const text = orUndefined(t.string);
const instant = orUndefined(timestamp);

const keyRow = t.type({
  api_key_id: t.string,
  public_id: t.string,
  name: t.string,
  owner_kind: t.keyof({ user: null, team: null, service_account: null }),
  owner_id: t.string,
  owner_name: t.string,
  owner: t.string,
  allowed_models: t.array(t.string),
  expires_at: instant,
  previous_expires_at: instant,
  revoked_at: instant,
  revoked_by: orUndefined(t.keyof({ admin: null, config: null })),
  last_used_on: text,
  from_config: t.boolean,
  created_at: timestamp,
  created_by_user_id: text,
  created_by_name: text,
  version: t.number,
  active: t.boolean,
});

const keys = (which: FragmentSqlToken) => sql.type(row(keyRow))`
  select k.api_key_id, k.public_id, k.name,
         case when k.user_id is not null then 'user' when k.team_id is not null then 'team'
              else 'service_account' end as owner_kind,
         coalesce(k.user_id::text, k.team_id, k.service_account_id) as owner_id,
         coalesce(u.name, sa.name, tm.name) as owner_name,
         coalesce('user:' || u.email, 'team:' || k.team_id, 'service_account:' || k.service_account_id) as owner,
         k.allowed_models, k.expires_at,
         case when k.previous_expires_at > gateway_now() then k.previous_expires_at end as previous_expires_at,
         k.revoked_at, k.revoked_by, k.last_used_on::text as last_used_on, k.from_config, k.created_at,
         k.created_by_user_id, c.name as created_by_name, k.version,
         k.revoked_at is null and coalesce(k.expires_at > gateway_now(), true) and coalesce(u.active, tm.active)
           and coalesce(sa.active, true) as active
  from api_keys k
  left join users u on u.user_id = k.user_id
  left join service_accounts sa on sa.service_account_id = k.service_account_id
  left join teams tm on tm.team_id = coalesce(k.team_id, sa.team_id)
  left join users c on c.user_id = k.created_by_user_id
  where ${which}
`;

const storedKey = (found: t.TypeOf<typeof keyRow>): StoredKey => ({
  apiKeyId: found.api_key_id,
  publicId: found.public_id,
  name: found.name,
  ownerKind: found.owner_kind,
  ownerId: found.owner_id,
  ownerName: found.owner_name,
  owner: found.owner,
  allowedModels: found.allowed_models,
  expiresAt: found.expires_at,
  previousExpiresAt: found.previous_expires_at,
  revokedAt: found.revoked_at,
  revokedBy: found.revoked_by,
  lastUsedOn: found.last_used_on,
  fromConfig: found.from_config,
  createdAt: found.created_at,
  createdBy:
    found.created_by_user_id === undefined
      ? undefined
      : { userId: found.created_by_user_id, name: found.created_by_name ?? '' },
  version: found.version,
  active: found.active,
});

/** Finds a key by its id, which may be any text; `undefined` if there is none. */
export async function findKey(
  connection: CommonQueryMethods,
  apiKeyId: string,
): Promise<StoredKey | undefined> {
  if (!isUuid(apiKeyId)) return undefined;
  const found = await connection.maybeOne(keys(sql.fragment`k.api_key_id = ${apiKeyId}`));
  return found === null ? undefined : storedKey(found);
}

/** Finds a key and locks it: nobody else can change it until this transaction ends. */
export async function lockKey(
  connection: CommonQueryMethods,
  apiKeyId: string,
): Promise<StoredKey | undefined> {
  if (!isUuid(apiKeyId)) return undefined;
  await connection.query(sql.unsafe`select 1 from api_keys where api_key_id = ${apiKeyId} for update`);
  return findKey(connection, apiKeyId);
}

/** One page of the keys that match the filter, newest first. */
export const keyPage = (
  pool: DatabasePool,
  filter: KeyFilter,
  page: PageRequest,
): Promise<Page<StoredKey>> => {
  const list = {
    rows: sql.fragment`api_keys k where ${all(conditionsOf(filter))}`,
    time: sql.fragment`k.created_at`,
    key: sql.fragment`k.api_key_id`,
    keyType: 'uuid',
  } as const;
  const read = async (connection: CommonQueryMethods, which: FragmentSqlToken) =>
    (await connection.any(keys(which))).map(storedKey);
  return readObjects(pool, list, page, read, ({ apiKeyId }) => apiKeyId);
};

const conditionsOf = ({ ownerKind, ownerId, name, status }: KeyFilter): readonly FragmentSqlToken[] => [
  ...(ownerKind === undefined ? [] : [ownerCondition(ownerKind, ownerId)]),
  ...(name === undefined ? [] : [holds(sql.fragment`k.name_folded`, name)]),
  ...(status === undefined ? [] : [statusConditions[status]]),
];

function ownerCondition(kind: StoredKey['ownerKind'], id: string | undefined): FragmentSqlToken {
  const column = sql.identifier(['k', `${kind}_id`]);
  if (id === undefined) return sql.fragment`${column} is not null`;
  return kind === 'user' && !isUuid(id) ? sql.fragment`false` : sql.fragment`${column} = ${id}`;
}

/** Revoked takes precedence: a revoked key that has also expired is revoked. */
const statusConditions = {
  active: sql.fragment`k.revoked_at is null and (k.expires_at is null or k.expires_at > (select gateway_now()))`,
  revoked: sql.fragment`k.revoked_at is not null`,
  expired: sql.fragment`k.revoked_at is null and k.expires_at is not null and k.expires_at <= (select gateway_now())`,
} as const;

/** A key as shown in events: nothing of its secret, not even the hash. */
export const keyEventJson = (key: StoredKey): JsonObject => ({
  public_id: key.publicId,
  name: key.name,
  owner: key.owner,
  allowed_models: key.allowedModels,
  expires_at: key.expiresAt?.toISOString() ?? null,
  previous_expires_at: key.previousExpiresAt?.toISOString() ?? null,
  revoked_at: key.revokedAt?.toISOString() ?? null,
  version: key.version,
});
