import * as t from 'io-ts';
import { type CommonQueryMethods, type DatabasePool, type FragmentSqlToken, sql } from 'slonik';
import type { Author, Change } from '../../application/ports/changes.ts';
import type {
  NewServiceAccount,
  ServiceAccountPatch,
  ServiceAccounts,
  StoredServiceAccount,
} from '../../application/ports/owners.ts';
import type { JsonObject } from '../../domain/shared/json.ts';
import { recordChange } from './admin-events-store.ts';
import { timestamp } from './codecs.ts';
import { all } from './list-conditions.ts';
import { readObjects } from './object-list.ts';
import { deactivatedOwner, noAccess, ownerFields, written } from './owner-rows.ts';
import { row } from './pool.ts';
import { conditionsOf } from './teams-store.ts';

/** Service accounts as admins manage them; each change and its event are one transaction. */
export const serviceAccountsStore = (pool: DatabasePool): ServiceAccounts => ({
  page: ({ teamId, ...filter }, page) => {
    const conditions = [
      ...(teamId === undefined ? [] : [sql.fragment`o.team_id = ${teamId}`]),
      ...conditionsOf(filter),
    ];
    const list = {
      rows: sql.fragment`service_accounts o where ${all(conditions)}`,
      time: sql.fragment`o.created_at`,
      key: sql.fragment`o.service_account_id`,
      keyType: 'text',
    } as const;
    const read = async (connection: CommonQueryMethods, which: FragmentSqlToken) =>
      (await connection.any(accounts(which))).map(storedAccount);
    return readObjects(pool, list, page, read, ({ serviceAccountId }) => serviceAccountId);
  },
  find: (id) => findAccount(pool, id),
  create: (account, author) => pool.transaction((connection) => createAccount(connection, account, author)),
  change: (change) => pool.transaction((connection) => changeAccount(connection, change)),
});

const accountRow = t.type({
  ...ownerFields,
  service_account_id: t.string,
  team_id: t.string,
  team_name: t.string,
  created_at: timestamp,
});

const accounts = (which: FragmentSqlToken) => sql.type(row(accountRow))`
  select o.service_account_id, o.name, o.team_id, tm.name as team_name, o.active, o.from_config, o.created_at, o.version
  from service_accounts o join teams tm on tm.team_id = o.team_id
  where ${which}
`;

const storedAccount = (found: t.TypeOf<typeof accountRow>): StoredServiceAccount => ({
  serviceAccountId: found.service_account_id,
  name: found.name,
  teamId: found.team_id,
  teamName: found.team_name,
  active: found.active,
  fromConfig: found.from_config,
  createdAt: found.created_at,
  version: found.version,
});

async function findAccount(
  connection: CommonQueryMethods,
  id: string,
): Promise<StoredServiceAccount | undefined> {
  const found = await connection.maybeOne(accounts(sql.fragment`o.service_account_id = ${id}`));
  return found === null ? undefined : storedAccount(found);
}

const teamExists = (connection: CommonQueryMethods, teamId: string): Promise<boolean> =>
  connection.exists(sql.unsafe`select 1 from teams where team_id = ${teamId}`);

async function createAccount(
  connection: CommonQueryMethods,
  { serviceAccountId: id, name, teamId }: NewServiceAccount,
  author: Author,
): ReturnType<ServiceAccounts['create']> {
  if (!(await teamExists(connection, teamId))) return { kind: 'no_team' };
  const { rowCount } = await connection.query(sql.unsafe`
    insert into service_accounts (service_account_id, name, team_id) values (${id}, ${name}, ${teamId})
    on conflict (service_account_id) do nothing
  `);
  const present = written(await findAccount(connection, id));
  if (rowCount === 0) return { kind: 'taken', present };
  const after = accountEventJson(present);
  await recordChange(connection, author, {
    action: 'service_account.create',
    targetKind: 'service_account',
    targetId: id,
    before: undefined,
    after,
  });
  return { kind: 'done', present };
}

async function changeAccount(
  connection: CommonQueryMethods,
  { id, patch, version, author }: Change<string, ServiceAccountPatch>,
): ReturnType<ServiceAccounts['change']> {
  await connection.query(sql.unsafe`
    select 1 from service_accounts where service_account_id = ${id} for update
  `);
  const before = await findAccount(connection, id);
  if (before === undefined) return { kind: 'missing' };
  if (version !== undefined && version !== before.version) return { kind: 'stale', present: before };
  const next = patched(before, patch);
  if (!(await teamExists(connection, next.teamId))) return { kind: 'no_team' };
  if (!differs(before, next)) return { kind: 'done', present: before, deactivated: undefined };
  await connection.query(sql.unsafe`
    update service_accounts
    set name = ${next.name}, active = ${next.active}, team_id = ${next.teamId}, version = version + 1, updated_at = now()
    where service_account_id = ${id}
  `);
  const whose = sql.fragment`k.service_account_id = ${id}`;
  const deactivated =
    before.active && !next.active
      ? await deactivatedOwner(connection, whose, sql.fragment`select where false`, noAccess)
      : undefined;
  const present = written(await findAccount(connection, id));
  await recordChange(connection, author, {
    action: 'service_account.update',
    targetKind: 'service_account',
    targetId: id,
    before: accountEventJson(before),
    after: accountEventJson(present),
  });
  return { kind: 'done', present, deactivated };
}

const patched = (before: StoredServiceAccount, patch: ServiceAccountPatch): StoredServiceAccount => ({
  ...before,
  name: patch.name ?? before.name,
  active: patch.active ?? before.active,
  teamId: patch.teamId ?? before.teamId,
});

const differs = (before: StoredServiceAccount, next: StoredServiceAccount): boolean =>
  before.name !== next.name || before.active !== next.active || before.teamId !== next.teamId;

const accountEventJson = ({ name, teamId, active, version }: StoredServiceAccount): JsonObject => ({
  name,
  team_id: teamId,
  active,
  version,
});
