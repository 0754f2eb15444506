import * as t from 'io-ts';
import { type CommonQueryMethods, type DatabasePool, type FragmentSqlToken, sql } from 'slonik';
import type { Author, Change, Created } from '../../application/ports/changes.ts';
import type {
  OwnerChanged,
  StoredTeam,
  TeamFilter,
  TeamPatch,
  Teams,
} from '../../application/ports/owners.ts';
import type { JsonObject } from '../../domain/shared/json.ts';
import { recordChange } from './admin-events-store.ts';
import { timestamp } from './codecs.ts';
import { all } from './list-conditions.ts';
import { removeMember, setMember } from './memberships.ts';
import { holds, readObjects } from './object-list.ts';
import { activeIs, deactivatedOwner, noAccess, ownerFields, written } from './owner-rows.ts';
import { row } from './pool.ts';

/** Teams as admins manage them; each change and its event are one transaction. */
export const teamsStore = (pool: DatabasePool): Teams => ({
  page: (filter, page) => {
    const list = {
      rows: sql.fragment`teams o where ${all(conditionsOf(filter))}`,
      time: sql.fragment`o.created_at`,
      key: sql.fragment`o.team_id`,
      keyType: 'text',
    } as const;
    const read = async (connection: CommonQueryMethods, which: FragmentSqlToken) =>
      (await connection.any(teams(which))).map(storedTeam);
    return readObjects(pool, list, page, read, ({ teamId }) => teamId);
  },
  find: (teamId) => findTeam(pool, teamId),
  create: (team, author) => pool.transaction((connection) => createTeam(connection, team, author)),
  change: (change) => pool.transaction((connection) => changeTeam(connection, change)),
  setMember: (member, author) => pool.transaction((connection) => setMember(connection, member, author)),
  removeMember: (member, author) =>
    pool.transaction((connection) => removeMember(connection, member, author)),
});

/** Conditions that teams and service accounts share; the row is `o`. */
export const conditionsOf = ({ name, active }: TeamFilter): readonly FragmentSqlToken[] => [
  ...(name === undefined ? [] : [holds(sql.fragment`lower(o.name)`, name)]),
  ...(active === undefined ? [] : [activeIs(sql.fragment`o.active`, active)]),
];

const teamRow = t.type({
  ...ownerFields,
  team_id: t.string,
  member_count: t.number,
  created_at: timestamp,
});

const teams = (which: FragmentSqlToken) => sql.type(row(teamRow))`
  select o.team_id, o.name, o.active, o.from_config, o.created_at, o.version,
         (select count(*)::integer from team_memberships m where m.team_id = o.team_id) as member_count
  from teams o where ${which}
`;

const storedTeam = (found: t.TypeOf<typeof teamRow>): StoredTeam => ({
  teamId: found.team_id,
  name: found.name,
  active: found.active,
  memberCount: found.member_count,
  fromConfig: found.from_config,
  createdAt: found.created_at,
  version: found.version,
});

async function findTeam(connection: CommonQueryMethods, teamId: string): Promise<StoredTeam | undefined> {
  const found = await connection.maybeOne(teams(sql.fragment`o.team_id = ${teamId}`));
  return found === null ? undefined : storedTeam(found);
}

async function createTeam(
  connection: CommonQueryMethods,
  { teamId, name }: { readonly teamId: string; readonly name: string },
  author: Author,
): Promise<Created<StoredTeam>> {
  const { rowCount } = await connection.query(sql.unsafe`
    insert into teams (team_id, name) values (${teamId}, ${name}) on conflict (team_id) do nothing
  `);
  const present = written(await findTeam(connection, teamId));
  if (rowCount === 0) return { kind: 'taken', present };
  const after = teamEventJson(present);
  await recordChange(connection, author, {
    action: 'team.create',
    targetKind: 'team',
    targetId: teamId,
    before: undefined,
    after,
  });
  return { kind: 'done', present };
}

async function changeTeam(
  connection: CommonQueryMethods,
  { id, patch, version, author }: Change<string, TeamPatch>,
): Promise<OwnerChanged<StoredTeam>> {
  await connection.query(sql.unsafe`select 1 from teams where team_id = ${id} for update`);
  const before = await findTeam(connection, id);
  if (before === undefined) return { kind: 'missing' };
  if (version !== undefined && version !== before.version) return { kind: 'stale', present: before };
  const { name = before.name, active = before.active } = patch;
  if (name === before.name && active === before.active)
    return { kind: 'done', present: before, deactivated: undefined };
  await connection.query(sql.unsafe`
    update teams set name = ${name}, active = ${active}, version = version + 1, updated_at = now() where team_id = ${id}
  `);
  const deactivated =
    before.active && !active
      ? await deactivatedOwner(
          connection,
          sql.fragment`k.team_id = ${id} or k.service_account_id in (
            select sa.service_account_id from service_accounts sa where sa.team_id = ${id} and sa.active)`,
          sql.fragment`select 1 from team_budgets b where b.team_id = ${id} and b.active`,
          noAccess,
        )
      : undefined;
  const present = written(await findTeam(connection, id));
  await recordChange(connection, author, {
    action: 'team.update',
    targetKind: 'team',
    targetId: id,
    before: teamEventJson(before),
    after: teamEventJson(present),
  });
  return { kind: 'done', present, deactivated };
}

const teamEventJson = ({ name, active, version }: StoredTeam): JsonObject => ({ name, active, version });
