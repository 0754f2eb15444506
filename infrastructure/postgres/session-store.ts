import * as t from 'io-ts';
import { type CommonQueryMethods, type DatabasePool, type DatabaseTransactionConnection, sql } from 'slonik';
import type {
  Admins,
  AdminSessions,
  LoginAttempts,
  PersonWithPassword,
} from '../../application/ports/admin-access.ts';
import type { AdminSession } from '../../domain/identity/admin-session.ts';
import type { SignInMethod } from '../../domain/identity/second-factor.ts';
import { maxTriesHere, throttleWindowMs } from '../../domain/identity/login-throttle.ts';
import { foldEmail } from '../../domain/identity/password.ts';
import { addCommandEvent } from './admin-events-store.ts';
import { revokeTokensOf } from './admin-tokens-store.ts';
import { binary, bytes, int8, nullable, timestamp } from './codecs.ts';
import { personFields, personIn, role } from './owner-rows.ts';
import { lockOwners } from './owners-lock.ts';
import { useCode } from './own-access-store.ts';
import { row } from './pool.ts';
import { touchState } from './state-follower.ts';

/** Limit of sessions per person: scripts that log in for each call end their own oldest sessions. */
const maxSessionsOfPerson = 100;

/** Rows that a login cleans up: more than it adds. */
const tidiedAtOnce = 100;

const sessionRow = t.type({
  ...personFields,
  created_at: timestamp,
  last_seen_at: timestamp,
  expires_at: timestamp,
  signed_in_by: t.union([t.literal('password'), t.literal('oidc')]),
  has_password: t.boolean,
  has_second_factor: t.boolean,
  now: timestamp,
});
const passwordRow = t.type({
  ...personFields,
  password_hash: t.string,
  sealed_secret: nullable(bytes),
  last_used_step: nullable(int8),
});

const at = (ms: number) => sql.fragment`${new Date(ms).toISOString()}::timestamptz`;

/** Sessions in the table, read again at each call: a session that one replica ends is over on all of them. */
export const sessionStore = (pool: DatabasePool): AdminSessions => ({
  find: async (tokenSha256) => {
    const found = await pool.maybeOne(sql.type(row(sessionRow))`
      select u.user_id, u.email, u.name, u.role, s.created_at, s.last_seen_at, s.expires_at, s.signed_in_by,
             exists (select 1 from user_passwords p where p.user_id = u.user_id) as has_password,
             exists (select 1 from user_second_factors f
                     where f.user_id = u.user_id and f.confirmed_at is not null) as has_second_factor,
             gateway_now() as now
      from admin_sessions s join users u on u.user_id = s.user_id
      where s.token_sha256 = ${binary(tokenSha256)} and u.active
    `);
    return found === null
      ? undefined
      : {
          session: sessionIn(found),
          person: personIn(found),
          signedInBy: found.signed_in_by,
          hasPassword: found.has_password,
          hasSecondFactor: found.has_second_factor,
          now: found.now.getTime(),
        };
  },
  note: async (tokenSha256, { lastSeenAt, expiresAt }) => {
    await pool.query(sql.unsafe`
      update admin_sessions s set last_seen_at = greatest(s.last_seen_at, ${at(lastSeenAt)}),
                                  expires_at = greatest(s.expires_at, ${at(expiresAt)})
      where s.token_sha256 = ${binary(tokenSha256)}
    `);
  },
  personOf: (email) => personOf(pool, email),
  open: async (tokenSha256, { userId, passwordHash }, session, used) => {
    const opened = await pool.transaction(async (connection) => {
      // Setting a password waits for this lock, and then ends the session that is opened here.
      const kept = await connection.maybeOne(sql.type(row(t.type({ now: timestamp })))`
        select gateway_now() as now from user_passwords p
        where p.user_id = ${userId} and p.password_hash = ${passwordHash} for share
      `);
      if (kept === null || !(await useCode(connection, userId, used))) return undefined;
      return openSession(
        connection,
        { tokenSha256, userId, signedInBy: 'password' },
        session(kept.now.getTime()),
      );
    });
    if (opened !== undefined) await tidySessions(pool, userId);
    return opened;
  },
  end: async (tokenSha256) =>
    (await pool.maybeOneFirst(sql.type(row(t.type({ user_id: t.string })))`
      delete from admin_sessions where token_sha256 = ${binary(tokenSha256)} returning user_id
    `)) ?? undefined,
});

async function personOf(pool: DatabasePool, email: string): Promise<PersonWithPassword | undefined> {
  const found = await pool.maybeOne(sql.type(row(passwordRow))`
    select u.user_id, u.email, u.name, u.role, p.password_hash, f.sealed_secret, f.last_used_step
    from users u join user_passwords p on p.user_id = u.user_id
      left join user_second_factors f on f.user_id = u.user_id and f.confirmed_at is not null
    where u.email_folded = ${foldEmail(email)} and u.active
  `);
  if (found === null) return undefined;
  const { password_hash: passwordHash, sealed_secret: sealedSecret, last_used_step: step } = found;
  const secondFactor =
    sealedSecret === null || step === null ? undefined : { sealedSecret, lastUsedStep: Number(step) };
  return { ...personIn(found), passwordHash, secondFactor };
}

interface NewSession {
  readonly tokenSha256: Uint8Array;
  readonly userId: string;
  readonly signedInBy: SignInMethod;
}

export async function openSession(
  connection: CommonQueryMethods,
  { tokenSha256, userId, signedInBy }: NewSession,
  { createdAt, lastSeenAt, expiresAt }: AdminSession,
): Promise<AdminSession> {
  await connection.query(sql.unsafe`
    insert into admin_sessions (token_sha256, user_id, created_at, last_seen_at, expires_at, signed_in_by)
    values (${binary(tokenSha256)}, ${userId}, ${at(createdAt)}, ${at(lastSeenAt)}, ${at(expiresAt)},
            ${signedInBy})
  `);
  return { createdAt, lastSeenAt, expiresAt };
}

const sessionIn = (found: t.TypeOf<typeof sessionRow>): AdminSession => ({
  createdAt: found.created_at.getTime(),
  lastSeenAt: found.last_seen_at.getTime(),
  expiresAt: found.expires_at.getTime(),
});

/** Skips rows that another login is cleaning up, so that no two logins wait for each other. */
export async function tidySessions(pool: DatabasePool, userId: string): Promise<void> {
  await pool.query(sql.unsafe`
    delete from admin_sessions where token_sha256 in (
      select s.token_sha256 from admin_sessions s where s.expires_at <= gateway_now()
      limit ${tidiedAtOnce} for update skip locked)
  `);
  await pool.query(sql.unsafe`
    delete from admin_sessions where token_sha256 in (
      select s.token_sha256 from admin_sessions s where s.user_id = ${userId}
      order by s.created_at desc, s.token_sha256 offset ${maxSessionsOfPerson} for update skip locked)
  `);
}

const triesRow = t.type({ here: t.number, anywhere: t.number, first_here_at: timestamp, now: timestamp });

/** Attempts in the table: an attempt at one replica counts at all of them. */
export const loginAttemptsStore = (pool: DatabasePool): LoginAttempts => ({
  begin: async (email, address) => {
    await pool.query(sql.unsafe`
      delete from login_attempts where (account_sha256, address) in (
        select l.account_sha256, l.address from login_attempts l
        where l.first_at <= ${windowStart} or l.first_at >= ${windowEnd}
        limit ${tidiedAtOnce} for update skip locked)
    `);
    const tries = await pool.one(sql.type(row(triesRow))`
      with tried as (
        insert into login_attempts as a (account_sha256, address, attempts, first_at)
        values (${accountOf(email)}, ${address}, 1, gateway_now())
        on conflict on constraint login_attempts_pkey do update set
          attempts = case when ${countsStill('a')} then least(a.attempts, 1000000) + 1 else 1 end,
          first_at = case when ${countsStill('a')} then a.first_at else excluded.first_at end
        returning account_sha256, address, attempts, first_at
      )
      select w.attempts as here, w.first_at as first_here_at, gateway_now() as now, w.attempts + (
               select least(coalesce(sum(least(o.attempts, ${maxTriesHere})), 0), 1000000)::integer
               from login_attempts o
               where o.account_sha256 = w.account_sha256 and o.address <> w.address and ${countsStill('o')}
             ) as anywhere
      from tried w
    `);
    return {
      here: tries.here,
      anywhere: tries.anywhere,
      firstHereAt: tries.first_here_at.getTime(),
      now: tries.now.getTime(),
    };
  },
  forget: async (email, address) => {
    await pool.query(sql.unsafe`
      delete from login_attempts where account_sha256 = ${accountOf(email)} and address = ${address}
    `);
  },
});

const windowStart = sql.fragment`gateway_now() - ${throttleWindowMs} * interval '1 millisecond'`;
/** A later start comes from a wrong clock. The minute allows for clocks being set back by moments, which is common. */
const windowEnd = sql.fragment`gateway_now() + interval '1 minute'`;

/** Whether the attempts of a row still count. */
const countsStill = (tries: 'a' | 'o') => {
  const firstAt = sql.identifier([tries, 'first_at']);
  return sql.fragment`(${firstAt} > ${windowStart} and ${firstAt} < ${windowEnd})`;
};

/** Folded as account emails are, so that another letter case is not another account. */
const accountOf = (email: string) => sql.fragment`sha256(convert_to(${foldEmail(email)}, 'UTF8'))`;

const presentAdmins = sql.unsafe`
  select 1 from users u join user_passwords p on p.user_id = u.user_id
  where u.role = 'platform_admin' and u.active
`;

/** Platform admins and their passwords. */
export const adminsStore = (pool: DatabasePool): Admins => ({
  exist: () => pool.exists(presentAdmins),
  set: (email, passwordHash) =>
    pool.transaction(async (connection) => {
      await lockOwners(connection);
      await setAdmin(connection, email, passwordHash);
    }),
  setFirst: (email, passwordHash) =>
    pool.transaction(async (connection) => {
      await lockOwners(connection);
      if (await connection.exists(presentAdmins)) return false;
      await setAdmin(connection, email, passwordHash);
      return true;
    }),
});

const adminRow = t.type({ email: t.string, role, active: t.boolean });
const madeRow = t.intersection([t.type({ user_id: t.string }), adminRow]);

/**
 * Sets the password first, then ends sessions and tokens: a session just opened with the old password ends too. The
 * password row refers to the user's, which is therefore changed by a plain `update`: before PostgreSQL 16 `on conflict
 * do update` locks the key of a row that has a generated column, and the two would wait for each other. Writers of
 * owners are serialised, so nobody adds the user in between.
 */
async function setAdmin(
  connection: DatabaseTransactionConnection,
  email: string,
  passwordHash: string,
): Promise<void> {
  const before = await connection.maybeOne(sql.type(row(adminRow))`
    select u.email, u.role, u.active from users u where u.email_folded = ${foldEmail(email)}
  `);
  const { user_id: userId, ...after } =
    (await connection.maybeOne(sql.type(row(madeRow))`
      update users set role = 'platform_admin', active = true, updated_at = now(),
        version = version + (not active or role <> 'platform_admin')::integer
      where email_folded = ${foldEmail(email)}
      returning user_id, email, role, active
    `)) ??
    (await connection.one(sql.type(row(madeRow))`
      insert into users (email, name, role) values (${foldEmail(email)}, ${email}, 'platform_admin')
      returning user_id, email, role, active
    `));
  await connection.query(sql.unsafe`
    insert into user_passwords (user_id, password_hash, set_at)
    values (${userId}, ${passwordHash}, gateway_now())
    on conflict (user_id) do update set password_hash = excluded.password_hash, set_at = excluded.set_at
  `);
  // Its secret is sealed with the old password. This command is also the way back in for an admin who lost the factor.
  await connection.query(sql.unsafe`delete from user_second_factors where user_id = ${userId}`);
  await connection.query(sql.unsafe`delete from admin_sessions where user_id = ${userId}`);
  await revokeTokensOf(connection, userId, undefined);
  await addCommandEvent(connection, {
    action: 'admin.create',
    targetKind: 'user',
    targetId: userId,
    before: before ?? undefined,
    after,
  });
  await touchState(connection);
}
