import * as t from 'io-ts';
import { type CommonQueryMethods, type DatabasePool, type DatabaseTransactionConnection, sql } from 'slonik';
import type { OwnAccess, OwnChange } from '../../application/ports/second-factors.ts';
import type { AdminAction } from '../../domain/identity/admin-event.ts';
import type { SecondFactor, UsedCode } from '../../domain/identity/second-factor.ts';
import type { JsonObject } from '../../domain/shared/json.ts';
import { addEvent } from './admin-events-store.ts';
import { binary, bytes } from './codecs.ts';
import { row } from './pool.ts';

/** The row that the statement changed. None means that a concurrent change was quicker. */
const one = sql.type(row(t.type({ user_id: t.string })));

/** Uses up a code. If the same code comes twice at the same time, the second finds nothing. */
export async function useCode(
  connection: CommonQueryMethods,
  userId: string,
  used: UsedCode | undefined,
): Promise<boolean> {
  if (used === undefined) return true;
  const taken = await (used.kind === 'totp'
    ? connection.maybeOne(one`
        update user_second_factors set last_used_step = ${used.step}
        where user_id = ${userId} and last_used_step < ${used.step} returning user_id
      `)
    : connection.maybeOne(one`
        delete from user_recovery_codes
        where user_id = ${userId} and code_sha256 = ${binary(used.codeSha256)} returning user_id
      `));
  return taken !== null;
}

/** Changes that people make to their own access. The password that was checked must still be theirs. */
export const ownAccessStore = (pool: DatabasePool): OwnAccess => ({
  beginFactor: (change, sealedSecret) =>
    changing(pool, change, async (connection, userId) => {
      const begun = await connection.maybeOne(one`
        insert into user_second_factors as f (user_id, sealed_secret, begun_at)
        values (${userId}, ${binary(sealedSecret)}, gateway_now())
        on conflict (user_id) do update set sealed_secret = excluded.sealed_secret, begun_at = excluded.begun_at
          where f.confirmed_at is null
        returning user_id
      `);
      return begun !== null;
    }),
  begunFactor: async (userId) =>
    (await pool.maybeOneFirst(sql.type(row(t.type({ sealed_secret: bytes })))`
      select f.sealed_secret from user_second_factors f where f.user_id = ${userId} and f.confirmed_at is null
    `)) ?? undefined,
  confirmFactor: (change, factor, recoverySha256) =>
    changing(pool, change, (connection) => confirm(connection, change, factor, recoverySha256)),
  removeFactor: (change, used) =>
    changing(pool, change, async (connection, userId) => {
      if (!(await useCode(connection, userId, used))) return false;
      await connection.query(sql.unsafe`delete from user_second_factors where user_id = ${userId}`);
      await recordEvent(
        connection,
        change,
        'second_factor.remove',
        { second_factor: true },
        { second_factor: false },
      );
      return true;
    }),
  changePassword: (change, passwordHash, sealedSecret) =>
    changing(pool, change, (connection) => setOwnPassword(connection, change, passwordHash, sealedSecret)),
});

/** Locks the password row first, as logins do, so that sessions just opened with the old password are ended here. */
const changing = (
  pool: DatabasePool,
  { person: { userId, passwordHash } }: OwnChange,
  work: (connection: DatabaseTransactionConnection, userId: string) => Promise<boolean>,
): Promise<boolean> =>
  pool.transaction(async (connection) => {
    const kept = await connection.maybeOne(one`
      select p.user_id from user_passwords p
      where p.user_id = ${userId} and p.password_hash = ${passwordHash} for update
    `);
    return kept !== null && (await work(connection, userId));
  });

async function confirm(
  connection: DatabaseTransactionConnection,
  change: OwnChange,
  { sealedSecret, lastUsedStep }: SecondFactor,
  recoverySha256: readonly Uint8Array[],
): Promise<boolean> {
  const { userId } = change.person;
  const confirmed = await connection.maybeOne(one`
    update user_second_factors set confirmed_at = gateway_now(), last_used_step = ${lastUsedStep}
    where user_id = ${userId} and confirmed_at is null and sealed_secret = ${binary(sealedSecret)}
    returning user_id
  `);
  if (confirmed === null) return false;
  for (const code of recoverySha256)
    await connection.query(sql.unsafe`
      insert into user_recovery_codes (user_id, code_sha256) values (${userId}, ${binary(code)})
    `);
  await endOtherSessions(connection, change);
  await recordEvent(
    connection,
    change,
    'second_factor.enrol',
    { second_factor: false },
    { second_factor: true },
  );
  return true;
}

async function setOwnPassword(
  connection: DatabaseTransactionConnection,
  change: OwnChange,
  passwordHash: string,
  sealedSecret: Uint8Array | undefined,
): Promise<boolean> {
  const { userId, secondFactor } = change.person;
  await connection.query(sql.unsafe`
    delete from user_second_factors where user_id = ${userId} and confirmed_at is null
  `);
  const present = await connection.maybeOneFirst(sql.type(row(t.type({ sealed_secret: bytes })))`
    select f.sealed_secret from user_second_factors f where f.user_id = ${userId}
  `);
  // A second factor enrolled or removed in the meantime is not the one that was resealed.
  if (!isSame(present ?? undefined, secondFactor?.sealedSecret)) return false;
  if (sealedSecret !== undefined)
    await connection.query(sql.unsafe`
      update user_second_factors set sealed_secret = ${binary(sealedSecret)} where user_id = ${userId}
    `);
  await connection.query(sql.unsafe`
    update user_passwords set password_hash = ${passwordHash}, set_at = gateway_now() where user_id = ${userId}
  `);
  await endOtherSessions(connection, change);
  await recordEvent(connection, change, 'password.change', undefined, undefined);
  return true;
}

const isSame = (present: Uint8Array | undefined, known: Uint8Array | undefined): boolean =>
  present === undefined || known === undefined ? present === known : Buffer.compare(present, known) === 0;

const endOtherSessions = (
  connection: DatabaseTransactionConnection,
  { person: { userId }, tokenSha256 }: OwnChange,
) =>
  connection.query(sql.unsafe`
    delete from admin_sessions where user_id = ${userId} and token_sha256 <> ${binary(tokenSha256)}
  `);

const recordEvent = (
  connection: DatabaseTransactionConnection,
  { person: { userId }, address }: OwnChange,
  action: AdminAction,
  before: JsonObject | undefined,
  after: JsonObject | undefined,
): Promise<void> =>
  addEvent(
    connection,
    { userId, address },
    {
      action,
      targetKind: 'user',
      targetId: userId,
      before,
      after,
    },
  );
