import type * as t from 'io-ts';
import { type CommonQueryMethods, type DatabasePool, sql } from 'slonik';
import type { CatalogueInsight } from '../../application/ports/model-list.ts';
import type {
  Attention,
  BudgetStanding,
  BudgetStandings,
  OverviewFacts,
  OverviewStore,
  Spent,
} from '../../application/ports/overview.ts';
import type { Owner } from '../../domain/identity/caller.ts';
import { ascending, descending, inOrder } from '../../domain/reports/ranking.ts';
import { lastHours } from '../../domain/reports/report-window.ts';
import type { Distribution } from './distribution.ts';
import { routesWhere } from './model-list-store.ts';
import { type OverviewHours, overviewHours } from './overview-hours.ts';
import * as statements from './overview-statements.ts';
import { ownerIn } from './owner-rows.ts';
import { moment } from './report-statements.ts';
import { onSnapshot } from './snapshot.ts';

/** Limit of routes that are checked for a price. */
const mostRoutes = 5000;

/** The overview that admins see first, read in one transaction with one snapshot. */
export function overviewStore(
  pool: DatabasePool,
  insight: CatalogueInsight,
  distribution: Distribution,
): OverviewStore {
  const hours = overviewHours();
  return {
    read: () =>
      onSnapshot(pool, (connection) => facts(connection, { insight, hours, distribution }), settings),
  };
}

/**
 * Forces indexes over time, because the planner misjudges conditions on the clock. It also expects too many groups, and
 * would sort within 4 MB of memory.
 */
const settings = sql.unsafe`
  select set_config('jit', 'off', true), set_config('enable_seqscan', 'off', true), set_config('work_mem', '32MB', true)
`;

interface Reading {
  readonly insight: CatalogueInsight;
  readonly hours: OverviewHours;
  readonly distribution: Distribution;
}

async function facts(
  connection: CommonQueryMethods,
  { insight, hours, distribution }: Reading,
): Promise<OverviewFacts> {
  const { now, logs_since } = await connection.one(moment());
  const window = lastHours(now);
  const ledger = await hours.ledger(connection, window);
  const logs = await hours.logs(connection, window);
  const standings = await connection.any(statements.budgetStandings());
  const setup = await connection.one(statements.setup());
  return {
    now,
    window,
    logsSince: logs_since ?? undefined,
    usage: { spends: ledger, logs },
    ...today(await connection.many(statements.spentToday(distribution))),
    budgets: budgets(standings),
    attention: {
      unpriced_models: await unpricedModels(connection, insight, unpricedIn(ledger)),
      budget_blocks: budgetBlocks(standings),
      failed_mails: counted(await connection.any(statements.failedMails())),
      replicas_behind: counted(await connection.any(statements.replicasBehind())),
      provider_errors: counted(await connection.any(statements.providerErrors())),
    },
    setup: {
      modelAnswered: setup.model_answered,
      keyExists: setup.key_exists,
      budgetSet: setup.budget_set,
    },
  };
}

function today(
  rows: readonly t.TypeOf<typeof statements.todayRow>[],
): Pick<OverviewFacts, 'today' | 'topModels' | 'topOwners'> {
  const isOwner = (found: (typeof rows)[number]): boolean => found.user_id !== null || found.team_id !== null;
  const whole = rows.find((found) => found.model_key === null && !isOwner(found));
  return {
    today: whole === undefined ? { requestCount: 0, spend: 0n } : spent(whole),
    topModels: rows.flatMap((found) =>
      found.model_key === null ? [] : [{ modelKey: found.model_key, ...spent(found) }],
    ),
    topOwners: rows.filter(isOwner).map((found) => {
      const owner = ownerIn(found);
      return { owner, ownerName: found.owner_name ?? idOf(owner), ...spent(found) };
    }),
  };
}

/** Requests without a price, by model. */
function unpricedIn(
  hours: readonly { readonly unpriced: Readonly<Record<string, number>> }[],
): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const [model, count] of hours.flatMap(({ unpriced }) => Object.entries(unpriced)))
    counts.set(model, (counts.get(model) ?? 0) + count);
  return counts;
}

const spent = (found: { readonly request_count: bigint; readonly spend: bigint }): Spent => ({
  requestCount: Number(found.request_count),
  spend: found.spend,
});

const idOf = (owner: Owner): string => (owner.kind === 'user' ? owner.userId : owner.teamId);

type StandingRow = t.TypeOf<typeof statements.standingRow>;

const budgets = (rows: readonly StandingRow[]): BudgetStandings => ({
  total: Number(rows[0]?.total ?? 0n),
  above80Percent: Number(rows[0]?.above ?? 0n),
  blocked: Number(rows[0]?.blocking ?? 0n),
  nearest: rows.filter(({ by_share }) => by_share <= statements.mostItems).map(budgetStanding),
});

function budgetStanding(found: StandingRow): BudgetStanding {
  const owner = ownerIn(found);
  return {
    owner,
    ownerName: found.owner_name,
    cadence: found.cadence,
    amount10000: found.amount_10000,
    hardLimit: found.hard_limit,
    window: { from: found.window_start, until: found.window_end },
    spent: found.spent,
    blockedAnswers: Number(found.blocked),
  };
}

const budgetBlocks = (rows: readonly StandingRow[]): Attention => ({
  count: Number(rows[0]?.blocking ?? 0n),
  isLowerBound: false,
  items: rows
    .filter(({ has_blocked, by_blocked }) => has_blocked && by_blocked <= statements.mostItems)
    .toSorted((one, other) => Number(one.by_blocked - other.by_blocked))
    .map((found) => {
      const owner = ownerIn(found);
      return { kind: owner.kind, id: idOf(owner), title: found.owner_name, count: Number(found.blocked) };
    }),
});

const counted = (rows: readonly t.TypeOf<typeof statements.itemRow>[]): Attention => ({
  count: Number(rows[0]?.total ?? 0n),
  isLowerBound: false,
  items: rows.map(({ kind, id, title, counted: count }) => ({ kind, id, title, count: Number(count) })),
});

/** Models with unpriced requests in the last day, and models with an enabled route that has no price now. */
async function unpricedModels(
  connection: CommonQueryMethods,
  insight: CatalogueInsight,
  requests: ReadonlyMap<string, number>,
): Promise<Attention> {
  const routes = await routesWhere(
    connection,
    insight,
    sql.fragment`
      (r.model_key, r.position) in (
        select e.model_key, e.position from model_routes e
        join models m on m.model_key = e.model_key and m.enabled
        where e.enabled order by e.model_key, e.position limit ${mostRoutes + 1}
      )
    `,
  );
  const without = routes
    .filter(({ price }) => price === undefined)
    .map(({ modelKey }) => [modelKey, 0] as const);
  const models = [...new Map([...without, ...requests])];
  return {
    count: models.length,
    isLowerBound: routes.length > mostRoutes,
    items: models
      .toSorted(
        inOrder(
          descending(([, count]) => count),
          ascending(([modelKey]) => modelKey),
        ),
      )
      .slice(0, statements.mostItems)
      .map(([modelKey, count]) => ({ kind: 'model', id: modelKey, title: modelKey, count })),
  };
}
