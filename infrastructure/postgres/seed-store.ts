import * as t from 'io-ts';
import { type DatabasePool, type DatabaseTransactionConnection, sql } from 'slonik';
import type { OwnerRef } from '../../application/ports/accounts.ts';
import type { Seed, SeedKey, SeedRoute, SeedStore } from '../../application/ports/seed.ts';
import type { BudgetTerms } from '../../domain/budget/budget-terms.ts';
import { foldEmail } from '../../domain/identity/password.ts';
import { isObject, type Json } from '../../domain/shared/json.ts';
import { reconcileLimits } from './limits-seed.ts';
import { lockOwners } from './owners-lock.ts';
import { row } from './pool.ts';
import { seedLosses } from './seed-losses.ts';
import { touchState } from './state-follower.ts';
import { storedJson } from './stored-text.ts';
import { reconcileUsers } from './users-seed.ts';

type Connection = DatabaseTransactionConnection;

/**
 * Each step makes one kind of row match the file, in the order of the foreign keys. Budgets come last: from then on,
 * settlements of their owners wait for the end of the transaction.
 */
export const seedStore = (pool: DatabasePool): SeedStore => ({
  losses: (seed) => seedLosses(pool, seed),
  reconcile: (seed) =>
    pool.transaction(async (connection) => {
      await lockOwners(connection);
      await reconcileTeams(connection, seed);
      await reconcileUsers(connection, seed);
      await reconcileMemberships(connection, seed);
      await reconcileServiceAccounts(connection, seed);
      await reconcileProviders(connection, seed);
      await reconcileModels(connection, seed);
      const keptRevoked = await reconcileKeys(connection, seed);
      await reconcileLimits(connection, seed);
      await reconcileBudgets(connection, seed);
      await touchState(connection);
      return { keptRevoked, keptInactive: await inactiveOwners(connection) };
    }),
});

/** Owners of the file that an admin has deactivated, spelled as the file names owners. */
const inactiveOwners = (connection: Connection): Promise<readonly string[]> =>
  connection.anyFirst(sql.type(row(t.type({ owner: t.string })))`
    select 'user:' || email as owner from users where from_config and not active
    union all select 'team:' || team_id from teams where from_config and not active
    union all select 'service_account:' || service_account_id from service_accounts where from_config and not active
    order by owner
  `);

async function reconcileTeams(connection: Connection, { teams }: Seed): Promise<void> {
  const rows = teams.map(({ id, name }) => ({ team_id: id, name }));
  await connection.query(sql.unsafe`
    insert into teams (team_id, name, from_config)
    select w.team_id, w.name, true from json_to_recordset(${storedJson(rows)}::json) w(team_id text, name text)
    on conflict (team_id) do update
      set name = excluded.name, from_config = true, version = teams.version + 1, updated_at = excluded.updated_at
    where (teams.name, teams.from_config) is distinct from (excluded.name, true)
  `);
  const ids = teams.map(({ id }) => id);
  await connection.query(sql.unsafe`
    update teams set from_config = false, version = version + 1
    where from_config and team_id <> all (${sql.array(ids, 'text')})
  `);
}

async function reconcileMemberships(connection: Connection, { users }: Seed): Promise<void> {
  const rows = users.map(({ email, membership }) => ({
    email,
    team_id: membership?.team,
    role: membership?.role,
  }));
  const wanted = sql.fragment`
    json_to_recordset(${storedJson(rows)}::json) w(email text, team_id text, role text)
    join users u on u.email_folded = lower(w.email)
  `;
  await connection.query(sql.unsafe`
    delete from team_memberships m using (select u.user_id, w.team_id from ${wanted}) w
    where m.user_id = w.user_id and m.from_config and m.team_id is distinct from w.team_id
  `);
  await connection.query(sql.unsafe`
    insert into team_memberships (team_id, user_id, role, from_config)
    select w.team_id, u.user_id, w.role, true from ${wanted} where w.team_id is not null
    on conflict (team_id, user_id) do update set role = excluded.role, from_config = true
    where (team_memberships.role, team_memberships.from_config) is distinct from (excluded.role, true)
  `);
}

async function reconcileServiceAccounts(connection: Connection, { serviceAccounts }: Seed): Promise<void> {
  const rows = serviceAccounts.map(({ id, name, team }) => ({ service_account_id: id, name, team_id: team }));
  await connection.query(sql.unsafe`
    insert into service_accounts (service_account_id, name, team_id, from_config)
    select w.service_account_id, w.name, w.team_id, true
    from json_to_recordset(${storedJson(rows)}::json) w(service_account_id text, name text, team_id text)
    on conflict (service_account_id) do update
      set name = excluded.name, team_id = excluded.team_id, from_config = true,
          version = service_accounts.version + 1, updated_at = excluded.updated_at
    where (service_accounts.name, service_accounts.team_id, service_accounts.from_config)
      is distinct from (excluded.name, excluded.team_id, true)
  `);
  const ids = serviceAccounts.map(({ id }) => id);
  await connection.query(sql.unsafe`
    update service_accounts set from_config = false, version = version + 1
    where from_config and service_account_id <> all (${sql.array(ids, 'text')})
  `);
}

async function reconcileProviders(connection: Connection, { providers }: Seed): Promise<void> {
  const rows = providers.map(({ id, kind, config }) => ({ provider_key: id, kind, config_json: config }));
  const wanted = sql.fragment`
    json_to_recordset(${storedJson(rows)}::json) w(provider_key text, kind text, config_json jsonb)
  `;
  await connection.query(sql.unsafe`
    insert into providers (provider_key, kind, config_json)
    select w.provider_key, w.kind, w.config_json from ${wanted}
    on conflict (provider_key) do update
      set kind = excluded.kind, config_json = excluded.config_json, enabled = true, updated_at = excluded.updated_at
    where (providers.kind, providers.config_json, providers.enabled)
      is distinct from (excluded.kind, excluded.config_json, true)
  `);
  await connection.query(sql.unsafe`
    update providers p set enabled = false, updated_at = now()
    where p.enabled and not exists (select 1 from ${wanted} where w.provider_key = p.provider_key)
  `);
}

async function reconcileModels(connection: Connection, { models }: Seed): Promise<void> {
  const wantedModels = sql.fragment`
    json_to_recordset(${storedJson(models.map(({ id }) => ({ model_key: id })))}::json) w(model_key text)
  `;
  await connection.query(sql.unsafe`
    insert into models (model_key) select w.model_key from ${wantedModels}
    on conflict (model_key) do update set enabled = true, updated_at = excluded.updated_at where not models.enabled
  `);
  await connection.query(sql.unsafe`
    update models m set enabled = false, updated_at = now()
    where m.enabled and not exists (select 1 from ${wantedModels} where w.model_key = m.model_key)
  `);
  const routes = models.flatMap(({ id, routes }) =>
    routes.map((route, position) => routeRow(id, position, route)),
  );
  const wantedRoutes = sql.fragment`
    json_to_recordset(${storedJson(routes)}::json) w(model_key text, position integer, provider_key text,
      upstream_model text, priority integer, enabled boolean, compatibility_json jsonb, config_json jsonb)
  `;
  await connection.query(sql.unsafe`
    insert into model_routes (model_key, position, provider_key, upstream_model, priority, enabled,
                              compatibility_json, config_json)
    select w.model_key, w.position, w.provider_key, w.upstream_model, w.priority, w.enabled,
           w.compatibility_json, w.config_json
    from ${wantedRoutes}
    on conflict (model_key, position) do update
      set provider_key = excluded.provider_key, upstream_model = excluded.upstream_model,
          priority = excluded.priority, enabled = excluded.enabled,
          compatibility_json = excluded.compatibility_json, config_json = excluded.config_json, updated_at = excluded.updated_at
    where (model_routes.config_json, model_routes.enabled) is distinct from (excluded.config_json, excluded.enabled)
  `);
  await connection.query(sql.unsafe`
    update model_routes r set enabled = false, updated_at = now()
    where r.enabled
      and not exists (select 1 from ${wantedRoutes} where w.model_key = r.model_key and w.position = r.position)
  `);
}

const routeRow = (modelKey: string, position: number, route: SeedRoute) => ({
  model_key: modelKey,
  position,
  provider_key: route.provider,
  upstream_model: route.upstreamModel,
  priority: route.priority,
  enabled: route.enabled,
  compatibility_json: compatibilityOf(route.config) ?? {},
  config_json: route.config,
});

const compatibilityOf = (config: Json): Json | undefined =>
  isObject(config) ? config['compatibility'] : undefined;

/** Budgets changed per statement: more would exceed the statement timeout. */
const budgetsAtOnce = 1000;

/**
 * Every change goes through `gateway_set_budget`. The locks of all scopes concerned are taken up front and together:
 * `lock_budgets` takes them in a fixed order, so that two writers cannot deadlock.
 */
async function reconcileBudgets(connection: Connection, seed: Seed): Promise<void> {
  const ofUsers = seed.users.map(({ email, budget }) => ({ owner: email, ...budgetColumns(budget) }));
  const ofTeams = seed.teams.map(({ id, budget }) => ({ owner: id, ...budgetColumns(budget) }));
  const wanted = sql.fragment`
    select 'user:' || u.user_id as scope, u.user_id, null::text as team_id, b.from_config,
           b.cadence as now_cadence, b.amount_10000 as now_amount, b.hard_limit as now_hard, b.timezone as now_zone, w.*
    from ${recordset(ofUsers)} join users u on u.email_folded = lower(w.owner)
    left join user_budgets b on b.user_id = u.user_id and b.active
    union all
    select 'team:' || w.owner || ':actor:none', null, w.owner, b.from_config, b.cadence, b.amount_10000, b.hard_limit,
           b.timezone, w.*
    from ${recordset(ofTeams)}
    left join team_budgets b on b.team_id = w.owner and b.active
  `;
  const changed = sql.fragment`
    select w.* from (${wanted}) w
    where case when w.cadence is null then w.from_config
          else w.from_config is distinct from true or (w.now_cadence, w.now_amount, w.now_hard, w.now_zone)
            is distinct from (w.cadence, w.amount_10000, w.hard_limit, w.timezone) end
  `;
  const scopes = await connection.anyFirst(sql.type(row(t.type({ scope: t.string })))`
    select w.scope from (${changed}) w
  `);
  if (scopes.length === 0) return;
  const locked = sql.array(scopes, 'text');
  await connection.query(sql.unsafe`select lock_budgets(${locked})`);
  const wantedNow = await connection.anyFirst(sql.type(row(t.type({ wanted: t.string })))`
    select json_build_object(
      'user_id', w.user_id, 'team_id', w.team_id, 'cadence', w.cadence, 'amount_10000', w.amount_10000,
      'hard_limit', w.hard_limit, 'timezone', w.timezone)::text as wanted
    from (${changed}) w where w.scope = any (${locked})
  `);
  for (let from = 0; from < wantedNow.length; from += budgetsAtOnce) {
    const some = wantedNow.slice(from, from + budgetsAtOnce);
    await connection.query(sql.unsafe`
      select gateway_set_budget(w.user_id, w.team_id, w.cadence, w.amount_10000, w.hard_limit, w.timezone, true,
                                ${seed.mailReady})
      from unnest(${sql.array(some, 'text')}) one
      cross join lateral json_to_record(one::json)
        w(user_id uuid, team_id text, cadence text, amount_10000 bigint, hard_limit boolean, timezone text)
    `);
  }
}

const recordset = (rows: readonly object[]) => sql.fragment`
  json_to_recordset(${storedJson(rows)}::json)
    w(owner text, cadence text, amount_10000 bigint, hard_limit boolean, timezone text)
`;

const budgetColumns = (budget: BudgetTerms | undefined) => ({
  cadence: budget?.cadence,
  amount_10000: budget?.amount10000.toString(),
  hard_limit: budget?.hardLimit,
  timezone: budget?.timezone,
});

/** A key that an admin revoked stays revoked, whatever the file says. */
async function reconcileKeys(connection: Connection, { apiKeys }: Seed): Promise<readonly string[]> {
  const wanted = sql.fragment`
    json_to_recordset(${storedJson(apiKeys.map(keyRow))}::json) w(public_id text, secret_hex text, name text,
      user_email text, team_id text, service_account_id text, allowed_models json)
    left join users u on u.email_folded = lower(w.user_email)
  `;
  await connection.query(sql.unsafe`
    insert into api_keys (public_id, secret_sha256, name, user_id, team_id, service_account_id, allowed_models,
                          from_config)
    select w.public_id, decode(w.secret_hex, 'hex'), w.name, u.user_id, w.team_id, w.service_account_id,
           array(select json_array_elements_text(w.allowed_models)), true
    from ${wanted}
    on conflict (public_id) do update
      set secret_sha256 = excluded.secret_sha256, name = excluded.name, user_id = excluded.user_id,
          team_id = excluded.team_id, service_account_id = excluded.service_account_id,
          allowed_models = excluded.allowed_models, from_config = true, revoked_at = null, revoked_by = null,
          previous_secret_sha256 = null, previous_expires_at = null, version = api_keys.version + 1,
          updated_at = excluded.updated_at
    where api_keys.revoked_by is distinct from 'admin'
      and (api_keys.secret_sha256, api_keys.name, api_keys.user_id, api_keys.team_id, api_keys.service_account_id,
           api_keys.allowed_models, api_keys.from_config, api_keys.revoked_by)
        is distinct from (excluded.secret_sha256, excluded.name, excluded.user_id, excluded.team_id,
           excluded.service_account_id, excluded.allowed_models, true, null::text)
  `);
  await connection.query(sql.unsafe`
    update api_keys k set revoked_at = now(), revoked_by = 'config', version = version + 1, updated_at = now()
    where k.from_config and k.revoked_at is null
      and not exists (select 1 from ${wanted} where w.public_id = k.public_id)
  `);
  return connection.anyFirst(sql.type(row(t.type({ name: t.string })))`
    select k.name from api_keys k join ${wanted} on w.public_id = k.public_id where k.revoked_by = 'admin'
  `);
}

const keyRow = ({ publicId, secretSha256, name, owner, allowedModels }: SeedKey) => ({
  public_id: publicId,
  secret_hex: Buffer.from(secretSha256).toString('hex'),
  name,
  ...ownerColumns(owner),
  allowed_models: allowedModels,
});

/** The columns that name an owner as the command line does; those of the other kinds are undefined. */
export const ownerColumns = (owner: OwnerRef) => ({
  user_email: owner.kind === 'user' ? foldEmail(owner.email) : undefined,
  team_id: owner.kind === 'team' ? owner.teamId : undefined,
  service_account_id: owner.kind === 'service_account' ? owner.serviceAccountId : undefined,
});
