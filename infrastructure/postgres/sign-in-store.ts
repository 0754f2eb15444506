import * as t from 'io-ts';
import { type DatabasePool, type DatabaseTransactionConnection, sql } from 'slonik';
import type {
  VouchedAdmission,
  SignIns,
  VouchedPeople,
  VouchedSession,
} from '../../application/ports/sign-in.ts';
import { maxSignIns, maxSignInsOfAddress, signInLifeMs } from '../../domain/identity/oidc-sign-in.ts';
import { foldEmail } from '../../domain/identity/password.ts';
import { type RoleChange, roleChange, type VouchedPerson } from '../../domain/identity/provider-claims.ts';
import { recordChange } from './admin-events-store.ts';
import { revokeTokensOf } from './admin-tokens-store.ts';
import { binary, timestamp } from './codecs.ts';
import { personFields, personIn } from './owner-rows.ts';
import { lockOwners } from './owners-lock.ts';
import { row } from './pool.ts';
import { openSession, tidySessions } from './session-store.ts';

/** Rows that a sign-in cleans up: more than it adds. */
const tidiedAtOnce = 100;

const oldest = sql.fragment`gateway_now() - ${signInLifeMs} * interval '1 millisecond'`;

/** Sign-ins in the table: one replica may send a browser away, and another one receive it back. */
export const signInStore = (pool: DatabasePool): SignIns => ({
  begin: async ({ stateSha256, browserSha256, returnTo, address }) => {
    await pool.query(sql.unsafe`
      delete from oidc_sign_ins where state_sha256 in (
        select s.state_sha256 from oidc_sign_ins s where s.begun_at <= ${oldest}
        limit ${tidiedAtOnce} for update skip locked)
    `);
    await pool.query(sql.unsafe`
      delete from oidc_sign_ins where state_sha256 in (
        select s.state_sha256 from oidc_sign_ins s order by s.begun_at
        limit (select greatest(0, count(*) - ${maxSignIns - 1}) from oidc_sign_ins) for update skip locked)
    `);
    // Concurrent sign-ins do not see each other, but the gate of sign-ins admits only a few at once.
    const begun = await pool.maybeOne(sql.type(row(t.type({ return_to: t.string })))`
      insert into oidc_sign_ins (state_sha256, browser_sha256, return_to, address, begun_at)
      select ${binary(stateSha256)}, ${binary(browserSha256)}, ${returnTo}, ${address}, gateway_now()
      where (select count(*) from (
               select 1 from oidc_sign_ins s where s.address = ${address} and s.begun_at > ${oldest}
               limit ${maxSignInsOfAddress}) here) < ${maxSignInsOfAddress}
      returning return_to
    `);
    return begun !== null;
  },
  take: async ({ stateSha256, browserSha256 }) => {
    const taken = await pool.maybeOne(
      sql.type(row(t.type({ return_to: t.string, is_in_time: t.boolean })))`
        delete from oidc_sign_ins
        where state_sha256 = ${binary(stateSha256)} and browser_sha256 = ${binary(browserSha256)}
        returning return_to, begun_at > ${oldest} as is_in_time
      `,
    );
    return taken?.is_in_time === true ? { returnTo: taken.return_to } : undefined;
  },
});

const foundRow = t.type({ ...personFields, active: t.boolean, now: timestamp, other_admins: t.boolean });
type Found = t.TypeOf<typeof foundRow>;

/** People as the provider vouches for them, by their email address in any letter case. */
export const vouchedPeopleStore = (pool: DatabasePool): VouchedPeople => ({
  admit: async (asked) => {
    const admission = await pool.transaction((connection) => admit(connection, asked));
    if (admission.kind === 'admitted') await tidySessions(pool, admission.person.userId);
    return admission;
  },
});

async function admit(
  connection: DatabaseTransactionConnection,
  asked: VouchedSession,
): Promise<VouchedAdmission> {
  const { person: vouched, createUser } = asked;
  let found = await personOf(connection, vouched.email);
  if (found === null ? createUser : changeOf(found, vouched) !== 'none') {
    // Who the last admin is, and whether somebody is new, is read while nobody else writes owners.
    await lockOwners(connection);
    found = await personOf(connection, vouched.email);
  }
  const isNew = found === null;
  if (found === null && createUser) {
    await insertPerson(connection, asked);
    found = await personOf(connection, vouched.email);
  }
  if (found === null) return { kind: 'unknown' };
  if (!found.active) return { kind: 'inactive' };
  const role = isNew ? 'none' : changeOf(found, vouched);
  const person = personIn(await withRole(connection, found, role, asked.address));
  const { tokenSha256 } = asked;
  await openSession(
    connection,
    { tokenSha256, userId: person.userId, signedInBy: 'oidc' },
    asked.session(found.now.getTime()),
  );
  return { kind: 'admitted', person, role };
}

const changeOf = (found: Found, { isAdmin }: VouchedPerson): RoleChange =>
  found.active ? roleChange(found.role === 'platform_admin', isAdmin, found.other_admins) : 'none';

const personOf = (connection: DatabaseTransactionConnection, email: string): Promise<Found | null> =>
  connection.maybeOne(sql.type(row(foundRow))`
    select u.user_id, u.email, u.name, u.role, u.active, gateway_now() as now,
           exists (select 1 from users o
                   where o.role = 'platform_admin' and o.active and o.user_id <> u.user_id) as other_admins
    from users u where u.email_folded = ${foldEmail(email)}
  `);

/** The person who signs in is the author of the change, on the provider's word. */
const byOneself = (userId: string, address: string) => ({ userId, address });

async function insertPerson(
  connection: DatabaseTransactionConnection,
  { person: { email: vouched, name, isAdmin }, address }: VouchedSession,
): Promise<void> {
  const email = foldEmail(vouched);
  const role = isAdmin === true ? 'platform_admin' : 'user';
  const userId = await connection.oneFirst(sql.type(row(t.type({ user_id: t.string })))`
    insert into users (email, name, role) values (${email}, ${name}, ${role}) returning user_id
  `);
  await recordChange(connection, byOneself(userId, address), {
    action: 'user.sign_up',
    targetKind: 'user',
    targetId: userId,
    before: undefined,
    after: { email, name, role, active: true },
  });
}

async function withRole(
  connection: DatabaseTransactionConnection,
  found: Found,
  change: RoleChange,
  address: string,
): Promise<Found> {
  if (change === 'none' || change === 'kept_last') return found;
  const { user_id: userId } = found;
  const role = change === 'given' ? 'platform_admin' : 'user';
  await connection.query(sql.unsafe`
    update users set role = ${role}, version = version + 1, updated_at = now() where user_id = ${userId}
  `);
  const author = byOneself(userId, address);
  await revokeTokensOf(connection, userId, author);
  await recordChange(connection, author, {
    action: 'user.set_role',
    targetKind: 'user',
    targetId: userId,
    before: { role: found.role },
    after: { role },
  });
  return { ...found, role };
}
