import * as t from 'io-ts';
import { type CommonQueryMethods, sql } from 'slonik';
import type { Author } from '../../application/ports/changes.ts';
import type { Membership, NoMembership, Teams } from '../../application/ports/owners.ts';
import type { JsonObject } from '../../domain/shared/json.ts';
import { recordChange } from './admin-events-store.ts';
import { timestamp } from './codecs.ts';
import { isUuid } from './instants.ts';
import { written } from './owner-rows.ts';
import { row } from './pool.ts';

type Member = Parameters<Teams['removeMember']>[0];

const memberRow = t.type({
  role: t.keyof({ owner: null, admin: null, member: null }),
  from_config: t.boolean,
  created_at: timestamp,
});

/** Makes a user a member of a team, or changes a member's role. */
export async function setMember(
  connection: CommonQueryMethods,
  member: Parameters<Teams['setMember']>[0],
  author: Author,
): Promise<{ readonly kind: 'done'; readonly present: Membership } | NoMembership> {
  const { teamId, userId, role } = member;
  const missing = await lockTeam(connection, member);
  if (missing !== undefined) return missing;
  const before = await findMember(connection, member);
  if (before?.role === role) return { kind: 'done', present: before };
  await connection.query(sql.unsafe`
    insert into team_memberships (team_id, user_id, role) values (${teamId}, ${userId}, ${role})
    on conflict (team_id, user_id) do update set role = excluded.role
  `);
  const present = written(await findMember(connection, member));
  await addMemberEvent(connection, author, before, present);
  return { kind: 'done', present };
}

/** Removes a user from a team. */
export async function removeMember(
  connection: CommonQueryMethods,
  member: Member,
  author: Author,
): Promise<{ readonly kind: 'done'; readonly removed: boolean } | NoMembership> {
  const missing = await lockTeam(connection, member);
  if (missing !== undefined) return missing;
  const before = await findMember(connection, member);
  if (before === undefined) return { kind: 'done', removed: false };
  await connection.query(sql.unsafe`
    delete from team_memberships where team_id = ${member.teamId} and user_id = ${member.userId}
  `);
  await addMemberEvent(connection, author, before, undefined);
  return { kind: 'done', removed: true };
}

/** Serialises changes of one team's members. Returns `undefined` if team and user both exist. */
async function lockTeam(
  connection: CommonQueryMethods,
  { teamId, userId }: Member,
): Promise<NoMembership | undefined> {
  const team = await connection.exists(sql.unsafe`
    select 1 from teams where team_id = ${teamId} for no key update
  `);
  if (!team) return { kind: 'no_team' };
  const user =
    isUuid(userId) && (await connection.exists(sql.unsafe`select 1 from users where user_id = ${userId}`));
  return user ? undefined : { kind: 'no_user' };
}

async function findMember(
  connection: CommonQueryMethods,
  { teamId, userId }: Member,
): Promise<Membership | undefined> {
  const found = await connection.maybeOne(sql.type(row(memberRow))`
    select m.role, m.from_config, m.created_at from team_memberships m
    where m.team_id = ${teamId} and m.user_id = ${userId}
  `);
  return found === null
    ? undefined
    : { teamId, userId, role: found.role, fromConfig: found.from_config, createdAt: found.created_at };
}

async function addMemberEvent(
  connection: CommonQueryMethods,
  author: Author,
  before: Membership | undefined,
  after: Membership | undefined,
): Promise<void> {
  await recordChange(connection, author, {
    action: after === undefined ? 'team_member.delete' : 'team_member.set',
    targetKind: 'team',
    targetId: after?.teamId ?? before?.teamId ?? '',
    before: memberEventJson(before),
    after: memberEventJson(after),
  });
}

const memberEventJson = (member: Membership | undefined): JsonObject | undefined =>
  member === undefined ? undefined : { user_id: member.userId, role: member.role };
