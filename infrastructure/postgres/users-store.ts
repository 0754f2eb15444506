import * as t from 'io-ts';
import {
  type CommonQueryMethods,
  type DatabasePool,
  type DatabaseTransactionConnection,
  type FragmentSqlToken,
  sql,
} from 'slonik';
import type { Author, Change, Created } from '../../application/ports/changes.ts';
import type {
  NewUser,
  StoredUser,
  UserChanged,
  UserFilter,
  UserPatch,
  Users,
} from '../../application/ports/owners.ts';
import { foldEmail } from '../../domain/identity/password.ts';
import type { JsonObject } from '../../domain/shared/json.ts';
import { recordChange } from './admin-events-store.ts';
import { revokeTokensOf } from './admin-tokens-store.ts';
import { timestamp } from './codecs.ts';
import { isUuid } from './instants.ts';
import { all } from './list-conditions.ts';
import { holds, type ObjectList, readObjects } from './object-list.ts';
import { activeIs, deactivatedOwner, type EndedAccess, ownerFields, role, written } from './owner-rows.ts';
import { lockOwners } from './owners-lock.ts';
import { row } from './pool.ts';

/** People as admins manage them. Every change holds the owners' lock, under which the last admin is counted. */
export const usersStore = (pool: DatabasePool): Users => ({
  page: (filter, page) => readObjects(pool, listOf(filter), page, usersOf, ({ userId }) => userId),
  find: (userId) => findUser(pool, userId),
  create: (user, author) => pool.transaction((connection) => createUser(connection, user, author)),
  change: (change) => pool.transaction((connection) => changeUser(connection, change)),
});

const usersOf = async (connection: CommonQueryMethods, which: FragmentSqlToken) =>
  (await connection.any(users(which))).map(storedUser);

const userRow = t.type({
  ...ownerFields,
  user_id: t.string,
  email: t.string,
  role,
  request_logging_enabled: t.boolean,
  created_at: timestamp,
  teams: t.array(t.type({ team_id: t.string, role: t.keyof({ owner: null, admin: null, member: null }) })),
});

/** Teams come in any order: sorting here would read them by an index that does not begin with the user. */
const users = (which: FragmentSqlToken) => sql.type(row(userRow))`
  select u.user_id, u.email, u.name, u.role, u.request_logging_enabled, u.active, u.from_config, u.created_at, u.version,
         (select coalesce(json_agg(json_build_object('team_id', m.team_id, 'role', m.role)), '[]')
          from team_memberships m where m.user_id = u.user_id) as teams
  from users u where ${which}
`;

const storedUser = (found: t.TypeOf<typeof userRow>): StoredUser => ({
  userId: found.user_id,
  email: found.email,
  name: found.name,
  role: found.role,
  requestLoggingEnabled: found.request_logging_enabled,
  active: found.active,
  teams: found.teams
    .map((each) => ({ teamId: each.team_id, role: each.role }))
    .toSorted((one, other) => (one.teamId < other.teamId ? -1 : 1)),
  fromConfig: found.from_config,
  createdAt: found.created_at,
  version: found.version,
});

async function findUser(connection: CommonQueryMethods, userId: string): Promise<StoredUser | undefined> {
  if (!isUuid(userId)) return undefined;
  const found = await connection.maybeOne(users(sql.fragment`u.user_id = ${userId}`));
  return found === null ? undefined : storedUser(found);
}

function listOf({ email, name, active, role: wanted, teamId }: UserFilter): ObjectList {
  const conditions = [
    ...(teamId === undefined ? [] : [sql.fragment`m.team_id = ${teamId}`]),
    ...(email === undefined ? [] : [holds(sql.fragment`u.email_folded`, foldEmail(email))]),
    ...(name === undefined ? [] : [holds(sql.fragment`u.name_folded`, name)]),
    ...(active === undefined ? [] : [activeIs(sql.fragment`u.active`, active)]),
    ...(wanted === undefined ? [] : [roleConditions[wanted]]),
  ];
  const members = sql.fragment`team_memberships m join users u on u.user_id = m.user_id`;
  return {
    rows: sql.fragment`${teamId === undefined ? sql.fragment`users u` : members} where ${all(conditions)}`,
    time: sql.fragment`u.created_at`,
    key: sql.fragment`u.user_id`,
    keyType: 'uuid',
    sorted: teamId !== undefined,
  };
}

/** Written out as literals, so that the index on platform admins can be used. */
const roleConditions = {
  user: sql.fragment`u.role = 'user'`,
  platform_admin: sql.fragment`u.role = 'platform_admin'`,
} as const;

async function createUser(
  connection: DatabaseTransactionConnection,
  user: NewUser,
  author: Author,
): Promise<Created<StoredUser>> {
  await lockOwners(connection);
  const taken = await connection.maybeOne(users(sql.fragment`u.email_folded = ${foldEmail(user.email)}`));
  if (taken !== null) return { kind: 'taken', present: storedUser(taken) };
  const targetId = await connection.oneFirst(sql.type(row(t.type({ user_id: t.string })))`
    insert into users (email, name, role, request_logging_enabled)
    values (${user.email}, ${user.name}, ${user.role}, ${user.requestLoggingEnabled}) returning user_id
  `);
  const present = written(await findUser(connection, targetId));
  const after = userEventJson(present);
  await recordChange(connection, author, {
    action: 'user.create',
    targetKind: 'user',
    targetId,
    before: undefined,
    after,
  });
  return { kind: 'done', present };
}

async function changeUser(
  connection: DatabaseTransactionConnection,
  { id, patch, version, author }: Change<string, UserPatch>,
): Promise<UserChanged> {
  await lockOwners(connection);
  const before = await findUser(connection, id);
  if (before === undefined) return { kind: 'missing' };
  if (version !== undefined && version !== before.version) return { kind: 'stale', present: before };
  const next = patched(before, patch);
  if (!differs(before, next)) return { kind: 'done', present: before, deactivated: undefined };
  if (isAdmin(before) && !isAdmin(next) && !(await hasOtherAdmin(connection, before.userId)))
    return { kind: 'last_admin', present: before };
  await connection.query(sql.unsafe`
    update users set name = ${next.name}, role = ${next.role}, active = ${next.active},
      request_logging_enabled = ${next.requestLoggingEnabled}, version = version + 1, updated_at = now()
    where user_id = ${before.userId}
  `);
  // Also on reactivation: a login in flight during the deactivation may have left a session or a token behind.
  const sessionsEnded = before.active === next.active ? 0 : await endSessions(connection, before.userId);
  const staysAsAdmin = isAdmin(before) === isAdmin(next);
  const tokensRevoked = staysAsAdmin ? 0 : await revokeTokensOf(connection, before.userId, author);
  const ends = before.active && !next.active;
  const deactivated = ends
    ? await endUser(connection, before.userId, { sessionsEnded, tokensRevoked })
    : undefined;
  const present = written(await findUser(connection, before.userId));
  await recordChange(connection, author, {
    action: 'user.update',
    targetKind: 'user',
    targetId: before.userId,
    before: userEventJson(before),
    after: userEventJson(present),
  });
  return { kind: 'done', present, deactivated };
}

const patched = (before: StoredUser, patch: UserPatch): StoredUser => ({
  ...before,
  name: patch.name ?? before.name,
  role: patch.role ?? before.role,
  active: patch.active ?? before.active,
  requestLoggingEnabled: patch.requestLoggingEnabled ?? before.requestLoggingEnabled,
});

const differs = (before: StoredUser, next: StoredUser): boolean =>
  before.name !== next.name ||
  before.role !== next.role ||
  before.active !== next.active ||
  before.requestLoggingEnabled !== next.requestLoggingEnabled;

const isAdmin = ({ role: is, active }: StoredUser): boolean => is === 'platform_admin' && active;

const hasOtherAdmin = (connection: CommonQueryMethods, userId: string): Promise<boolean> =>
  connection.exists(sql.unsafe`
    select 1 from users u where u.role = 'platform_admin' and u.active and u.user_id <> ${userId}
  `);

/** Deletes the user's sessions; after a reactivation the user logs in again. Returns how many there were. */
const endSessions = async (connection: CommonQueryMethods, userId: string): Promise<number> =>
  (await connection.query(sql.unsafe`delete from admin_sessions where user_id = ${userId}`)).rowCount;

async function endUser(connection: CommonQueryMethods, userId: string, ended: EndedAccess) {
  return deactivatedOwner(
    connection,
    sql.fragment`k.user_id = ${userId}`,
    sql.fragment`select 1 from user_budgets b where b.user_id = ${userId} and b.active`,
    ended,
  );
}

/** A person as shown in events; memberships have events of their own. */
const userEventJson = (user: StoredUser): JsonObject => ({
  email: user.email,
  name: user.name,
  role: user.role,
  request_logging_enabled: user.requestLoggingEnabled,
  active: user.active,
  version: user.version,
});
