import * as t from 'io-ts';
import { type CommonQueryMethods, type DatabasePool, sql } from 'slonik';
import type { AdminActor } from '../../application/ports/admin-events.ts';
import type { Budgets, OwnerBudget } from '../../application/ports/budgets.ts';
import type { Owner } from '../../domain/identity/caller.ts';
import type { BudgetTerms } from '../../domain/budget/budget-terms.ts';
import { cadence, timestamp, int8, nullable } from './codecs.ts';
import { budgetHistory } from './budget-history.ts';
import { budgetDryRun, ownerSpendByDay } from './budget-spend.ts';
import { ownerIn } from './owner-rows.ts';
import { row } from './pool.ts';

const ownerRow = t.type({
  user_id: nullable(t.string),
  team_id: nullable(t.string),
  name: t.string,
  email: nullable(t.string),
  active: t.boolean,
  budget_id: nullable(t.string),
  cadence: nullable(cadence),
  amount_10000: nullable(int8),
  hard_limit: nullable(t.boolean),
  timezone: nullable(t.string),
  created_at: nullable(timestamp),
  window_start: timestamp,
  window_end: timestamp,
  spent: int8,
  blocked_count: t.number,
  blocked_cost: int8,
  recipients: t.array(t.string),
});

/** Budgets as admins see them. Every change goes through `gateway_set_budget`, the only writer. */
export const budgetsStore = (pool: DatabasePool, mailReady: () => boolean): Budgets => ({
  list: async () => owners(pool, sql.fragment`o.active or b.budget_id is not null`),
  set: (owner, terms, actor) =>
    pool.transaction(async (connection) => {
      if (!(await exists(connection, sql.fragment`o.active and ${isOwner(owner)}`))) return undefined;
      await setBudget(connection, owner, terms, actor, mailReady());
      const [found] = await owners(connection, isOwner(owner));
      return found;
    }),
  remove: (owner, actor) =>
    pool.transaction(async (connection) => {
      if (!(await exists(connection, isOwner(owner)))) return undefined;
      return { deactivated: await setBudget(connection, owner, undefined, actor, mailReady()) };
    }),
  history: async (owner, page) =>
    (await exists(pool, isOwner(owner))) ? budgetHistory(pool, owner, page) : undefined,
  spendByDay: async (owner, days) =>
    (await exists(pool, isOwner(owner))) ? ownerSpendByDay(pool, owner, days) : undefined,
  dryRun: async (owner, terms) =>
    (await exists(pool, isOwner(owner))) ? budgetDryRun(pool, owner, terms) : undefined,
});

const idsOf = (owner: Owner) => ({
  userId: owner.kind === 'user' ? owner.userId : null,
  teamId: owner.kind === 'team' ? owner.teamId : null,
});

const isOwner = (owner: Owner) =>
  owner.kind === 'user'
    ? sql.fragment`o.user_id = ${owner.userId}`
    : sql.fragment`o.team_id = ${owner.teamId}`;

const everyone = sql.fragment`
  (select u.user_id, null::text as team_id, u.name, u.email, u.active, 'user:' || u.user_id as scope from users u
   union all
   select null, m.team_id, m.name, null, m.active, 'team:' || m.team_id || ':actor:none' from teams m)
`;

const exists = async (connection: CommonQueryMethods, which: ReturnType<typeof isOwner>): Promise<boolean> =>
  connection.exists(sql.unsafe`select 1 from ${everyone} o where ${which}`);

async function setBudget(
  connection: CommonQueryMethods,
  owner: Owner,
  terms: BudgetTerms | undefined,
  actor: AdminActor,
  mailReady: boolean,
): Promise<boolean> {
  const { userId, teamId } = idsOf(owner);
  return connection.oneFirst(sql.type(row(t.type({ changed: t.boolean })))`
    select gateway_set_budget(${userId}, ${teamId}, ${terms?.cadence ?? null},
                              ${terms?.amount10000.toString() ?? null}::bigint, ${terms?.hardLimit ?? null},
                              ${terms?.timezone ?? null}, false, ${mailReady}, ${actor.userId}, ${actor.address},
                              ${actor.adminTokenId ?? null}) as changed
  `);
}

async function owners(
  connection: CommonQueryMethods,
  which: ReturnType<typeof isOwner>,
): Promise<readonly OwnerBudget[]> {
  const rows = await connection.any(sql.type(row(ownerRow))`
    select o.user_id, o.team_id, o.name, o.email, o.active, b.budget_id, b.cadence, b.amount_10000, b.hard_limit, b.timezone,
           b.created_at, w.starts as window_start, w.ends as window_end,
           counted_spend(o.scope, w.starts, w.ends)::text as spent,
           x.answers::integer as blocked_count, x.cost_picousd::text as blocked_cost,
           array(select r from budget_alert_recipients(o.user_id, o.team_id) r order by 1) as recipients
    from ${everyone} o
    left join lateral (
      select * from (
        select budget_id, cadence, amount_10000::text, hard_limit, timezone, created_at
        from user_budgets where user_id = o.user_id and active
        union all
        select budget_id, cadence, amount_10000::text, hard_limit, timezone, created_at
        from team_budgets where team_id = o.team_id and active
      ) present
    ) b on true
    cross join (select gateway_now() as now) clock
    cross join lateral (
      select budget_window_start(coalesce(b.cadence, 'monthly'), clock.now) as starts,
             budget_window_end(coalesce(b.cadence, 'monthly'), clock.now) as ends
    ) w
    cross join lateral blocked_spend(o.scope, w.starts, w.ends) x
    where ${which}
    order by o.name, o.user_id, o.team_id
  `);
  return rows.map(ownerBudget);
}

function ownerBudget(found: t.TypeOf<typeof ownerRow>): OwnerBudget {
  const { budget_id, cadence, amount_10000, hard_limit, timezone, created_at } = found;
  const none = budget_id === null || cadence === null || amount_10000 === null || created_at === null;
  return {
    owner: ownerIn(found),
    name: found.name,
    email: found.email ?? undefined,
    active: found.active,
    budget: none
      ? undefined
      : {
          budgetId: budget_id,
          cadence,
          amount10000: amount_10000,
          hardLimit: hard_limit ?? false,
          timezone: timezone ?? 'UTC',
          createdAt: created_at,
        },
    currentWindow: {
      from: found.window_start,
      until: found.window_end,
      spent: found.spent,
      blockedAnswers: { count: found.blocked_count, cost: found.blocked_cost },
    },
    alertRecipients: found.recipients,
  };
}
