import assert from 'node:assert/strict';
import { Pool } from 'pg';
import type { Cadence } from '../../domain/budget/budget.ts';
import { budgetWindow } from '../../domain/budget/budget-window.ts';
import { clockKind, clockOnEveryNode } from '../support/citus-database.ts';
import { runAll } from '../support/test-server.ts';
import type { Answer, Submission } from './budget-actor.ts';

export type Sql = <Row extends object = Record<string, unknown>>(
  text: string,
  values?: unknown[],
) => Promise<Row[]>;

/** Opens separate connections to a database, for inspection. */
export function openSql(url: string): { readonly query: Sql; readonly end: () => Promise<void> } {
  const pool = new Pool({ connectionString: url, max: 4 });
  // The server may be stopped while connections are open.
  pool.on('error', () => undefined);
  return {
    query: async <Row extends object>(text: string, values: unknown[] = []) =>
      (await pool.query<Row>(text, values)).rows,
    end: () => pool.end(),
  };
}

/** One unit of `amount_10000`, in picodollars. */
const unit = 100_000_000n;

/** Functions of the triggers that record what is written to each table. */
const notes = `
  create function note_row() returns trigger language plpgsql as $$ begin
    perform note(new.ownership_scope_key, 'row', json_build_object(
      'id', new.request_log_id, 'status', new.pricing_status, 'cost', new.cost_picousd::text, 'at', new.occurred_at));
    return null;
  end $$;
  create function note_log() returns trigger language plpgsql as $$ begin
    if new.metadata_json -> 'accounting' ? 'blocked_cost_usd' then
      perform note(coalesce('user:' || new.user_id, 'team:' || new.team_id || ':actor:none'), 'blocked', json_build_object(
        'id', new.request_log_id, 'cost', new.metadata_json -> 'accounting' ->> 'blocked_cost_usd', 'at', new.occurred_at));
    end if;
    return null;
  end $$;
  create function note_budget() returns trigger language plpgsql as $$ begin
    perform note(
      coalesce('user:' || (to_json(new) ->> 'user_id'), 'team:' || (to_json(new) ->> 'team_id') || ':actor:none'),
      'budget', json_build_object('id', new.budget_id, 'active', new.active, 'cadence', new.cadence,
        'amount', new.amount_10000::text, 'hard', new.hard_limit, 'at', new.created_at));
    return null;
  end $$;
  create function note_alert() returns trigger language plpgsql as $$ begin
    perform note(coalesce('user:' || new.user_id, 'team:' || new.team_id || ':actor:none'), 'alert', json_build_object(
      'budget', new.budget_id, 'amount', new.amount_10000::text, 'starts', new.window_start, 'ends', new.window_end,
      'before', new.spend_before_picousd::text, 'after', new.spend_after_picousd::text));
    return null;
  end $$`;

/** Which function records the changes of a table, and on which operations. */
const noted = {
  usage_cost_events: ['note_row', 'insert'],
  request_logs: ['note_log', 'insert'],
  user_budgets: ['note_budget', 'insert or update'],
  team_budgets: ['note_budget', 'insert or update'],
  budget_alerts: ['note_alert', 'insert'],
} as const;

const table = `
  create table test_history (
    number bigint not null, scope text not null, kind text not null, entry json not null, primary key (scope, number)
  )`;

const note = (into: string): string => `
  create sequence test_numbers;
  create function note(scope text, kind text, entry json) returns void language plpgsql as $$
  begin
    ${into}
  end $$`;

/** Writes to the scope's shard if it is on this node. */
const noteOnNode = note(`
    declare
      shard text := 'test_history_' || get_shard_id_for_distribution_column('test_history', scope);
    begin
      if to_regclass(shard) is not null then
        execute format('insert into %I values ($1, $2, $3, $4)', shard)
        using nextval('test_numbers'), scope, kind, entry;
      end if;
    end;`);

const trigger = (on: string, [notes, changes]: readonly [string, string]): string =>
  `create trigger note after ${changes} on ${on} for each row execute function ${notes}()`;

/** Triggers on the shards of each table that are on this node. */
const triggersOnNode = Object.entries(noted).map(
  ([name, each]) => `do $do$
    declare
      shard text;
    begin
      for shard in select '${name}_' || s.shardid from pg_dist_shard s where s.logicalrelid = '${name}'::regclass loop
        continue when to_regclass(shard) is null;
        execute format('${trigger('%I', each)}', shard);
      end loop;
    end $do$`,
);

const clock = (kind: string): string => `
  create or replace function gateway_now() returns timestamptz language sql ${kind}
    as 'select clock_timestamp() + (select shift from test_clock)'`;

/**
 * Makes a database record its own history, and lets its clock be moved: `gateway_now` is ahead of the real
 * time by the `shift` in `test_clock`. Everything that is committed under a scope's lock is numbered in the
 * order of the commits, because the number is drawn while the lock is held. On a cluster (`nodes`) each node
 * records what it holds of a scope.
 */
export async function keepHistory(query: Sql, nodes: readonly string[] = []): Promise<void> {
  await query('create table test_clock (shift interval not null)');
  await query(`insert into test_clock values ('0')`);
  await query(table);
  if (nodes.length === 0) {
    await query(clock('volatile'));
    await query(note("insert into test_history values (nextval('test_numbers'), scope, kind, entry);"));
    await query(notes);
    for (const [name, each] of Object.entries(noted)) await query(trigger(name, each));
    return;
  }
  await clockOnEveryNode(query);
  await query(clock(clockKind()));
  await query(
    `select create_distributed_table('test_history', 'scope', colocate_with => 'usage_cost_events')`,
  );
  const alone = 'set citus.enable_ddl_propagation = off';
  for (const url of nodes) await runAll(url, [alone, noteOnNode, notes, ...triggersOnNode]);
}

/** A submission, and the answer that its sender received; several answers if it was sent again. */
export interface Told {
  readonly submission: Submission;
  readonly scope: string;
  answer: Answer | 'late';
}

/** What an audit has counted. */
export interface Figures {
  rows: number;
  blocked: number;
  budgets: number;
  alerts: number;
  /** Rows that would have been over a hard budget if they had cost one picodollar more. */
  full: number;
}

interface BudgetEntry {
  readonly id: string;
  readonly active: boolean;
  readonly cadence: Cadence;
  readonly amount: string;
  readonly hard: boolean;
  readonly at: string;
}
type Noted = { readonly number: string; readonly scope: string } & (
  | {
      readonly kind: 'row';
      readonly entry: {
        readonly id: string;
        readonly status: string;
        readonly cost: string | null;
        readonly at: string;
      };
    }
  | {
      readonly kind: 'blocked';
      readonly entry: { readonly id: string; readonly cost: string; readonly at: string };
    }
  | { readonly kind: 'budget'; readonly entry: BudgetEntry }
  | {
      readonly kind: 'alert';
      readonly entry: {
        readonly budget: string;
        readonly amount: string;
        readonly starts: string;
        readonly ends: string;
        readonly before: string;
        readonly after: string;
      };
    }
);

/** Replays the history of one scope by the rules of the specification. */
class Scope {
  private readonly days = new Map<number, bigint>();
  private readonly due = new Map<string, string>();
  private readonly raised = new Map<string, string>();
  private budget: BudgetEntry | undefined;
  private readonly figures: Figures;

  constructor(figures: Figures) {
    this.figures = figures;
  }

  take(noted: Noted): void {
    if (noted.kind === 'row') this.row(noted);
    else if (noted.kind === 'blocked') this.blocked(noted);
    else if (noted.kind === 'budget') this.change(noted.entry);
    else this.alert(noted);
  }

  /** Checks for one alert per budget, threshold and window that reached it, and for no other. */
  end(): void {
    // A budget of 0 is at its threshold at any check, and checks are not recorded: so its alert may precede
    // its first cost.
    for (const [key, amounts] of this.due)
      if (!(amounts.endsWith(' of 0') && this.raised.get(key) === '0 to 0 of 0'))
        assert.equal(this.raised.get(key), amounts, `the alert of ${key} is wrong, or is not there`);
    for (const [key, amounts] of this.raised)
      assert.ok(
        this.due.has(key) || amounts.endsWith(' of 0'),
        `there is an alert of ${key} without a cause`,
      );
  }

  private row({ number, entry: { status, cost, at } }: Noted & { kind: 'row' }): void {
    this.figures.rows += 1;
    if (status !== 'priced') return;
    const when = new Date(at);
    const day = Math.floor(when.getTime() / 86_400_000);
    const before = this.budget === undefined ? 0n : this.spent(this.budget, when);
    this.days.set(day, (this.days.get(day) ?? 0n) + BigInt(cost ?? -1));
    if (this.budget === undefined) return;
    const after = before + BigInt(cost ?? -1);
    const limit = BigInt(this.budget.amount) * unit;
    if (this.budget.hard)
      assert.ok(after <= limit, `row ${number} took ${after} over the hard limit ${limit}`);
    if (this.budget.hard && after === limit) this.figures.full += 1;
    this.check(this.budget, when, before, after);
  }

  private blocked({ number, entry: { cost, at } }: Noted & { kind: 'blocked' }): void {
    this.figures.blocked += 1;
    assert.ok(this.budget?.hard === true, `number ${number} was blocked without a hard limit`);
    const after = this.spent(this.budget, new Date(at)) + BigInt(cost);
    assert.ok(after > BigInt(this.budget.amount) * unit, `number ${number} was blocked although it fits`);
  }

  private change(entry: BudgetEntry): void {
    if (!entry.active) {
      assert.equal(this.budget?.id, entry.id, 'a budget ended that was not in force');
      this.budget = undefined;
      return;
    }
    if (this.budget?.id === entry.id) return;
    assert.equal(this.budget, undefined, 'two budgets of one owner are in force');
    this.figures.budgets += 1;
    this.budget = entry;
    const spent = this.spent(entry, new Date(entry.at));
    this.check(entry, new Date(entry.at), spent, spent);
  }

  private alert({ entry }: Noted & { kind: 'alert' }): void {
    const { budget, amount, starts, before, after } = entry;
    this.figures.alerts += 1;
    const key = `${budget} ${new Date(starts).toISOString()}`;
    assert.ok(!this.raised.has(key), `there are two alerts of ${key}`);
    this.raised.set(key, `${before} to ${after} of ${amount}`);
  }

  /** An alert is raised when 20 % or less of the amount remain. */
  private check({ id, cadence, amount }: BudgetEntry, at: Date, before: bigint, after: bigint): void {
    const limit = BigInt(amount) * unit;
    if ((limit - after) * 5n > limit) return;
    const key = `${id} ${budgetWindow(cadence, at).from.toISOString()}`;
    if (!this.due.has(key)) this.due.set(key, `${before} to ${after} of ${amount}`);
  }

  private spent({ cadence }: BudgetEntry, at: Date): bigint {
    const { from, until } = budgetWindow(cadence, at);
    let sum = 0n;
    for (const [day, amount] of this.days)
      if (day * 86_400_000 >= from.getTime() && day * 86_400_000 < until.getTime()) sum += amount;
    return sum;
  }
}

/**
 * Replays the history of these scopes, and compares the answers of senders with the rows. Throws at any
 * difference.
 */
export async function audit(query: Sql, scopes: readonly string[], told: readonly Told[]): Promise<Figures> {
  const figures: Figures = { rows: 0, blocked: 0, budgets: 0, alerts: 0, full: 0 };
  const noted = await query<Noted>('select * from test_history where scope = any ($1) order by number', [
    scopes,
  ]);
  const pipelines = new Map<string, Scope>();
  for (const each of noted) {
    const pipeline = pipelines.get(each.scope) ?? new Scope(figures);
    pipelines.set(each.scope, pipeline);
    try {
      pipeline.take(each);
    } catch (error) {
      throw new Error(`${each.scope}: ${String(error)}`, { cause: error });
    }
  }
  for (const pipeline of pipelines.values()) pipeline.end();
  await auditAnswers(query, scopes, told);
  return figures;
}

interface LedgerRow {
  readonly id: string;
  readonly request_id: string;
  readonly scope: string;
  readonly status: string;
  readonly cost: string | null;
}
interface LogRow {
  readonly id: string;
  readonly status_code: number;
  readonly accounting: { readonly duplicate?: boolean; readonly blocked_cost_usd?: string } | null;
}

async function auditAnswers(query: Sql, scopes: readonly string[], told: readonly Told[]): Promise<void> {
  const rows = await query<LedgerRow>(
    `select request_log_id as id, request_id, ownership_scope_key as scope, pricing_status as status, cost_picousd as cost
     from usage_cost_events where ownership_scope_key = any ($1)`,
    [scopes],
  );
  const logs = await query<LogRow>(
    `select request_log_id as id, status_code, metadata_json -> 'accounting' as accounting from request_logs
     where 'user:' || user_id = any ($1) or 'team:' || team_id || ':actor:none' = any ($1)`,
    [scopes],
  );
  const rowOf = new Map(rows.map((row) => [row.id, row]));
  const logOf = new Map(logs.map((log) => [log.id, log]));
  const known = new Map(told.map((each) => [each.submission.requestLogId, each]));
  const once = new Set(rows.map(({ scope, request_id }) => `${scope} ${request_id}`));
  assert.equal(once.size, rows.length, 'a request id has two rows of one scope');
  for (const { id, status, cost } of rows) {
    const submission = known.get(id)?.submission;
    assert.equal(status, submission?.status, `row ${id} is not what was submitted`);
    assert.equal(
      cost,
      submission?.status === 'priced' ? submission.cost : null,
      `row ${id} has another cost`,
    );
    assert.ok(logOf.has(id), `row ${id} has no log row`);
  }
  for (const each of told) {
    const { requestLogId: id, requestId } = each.submission;
    const found = fateOf(rowOf.get(id), logOf.get(id));
    const [expected, words] = [
      fates[each.answer],
      `${each.scope} ${id} was told ${each.answer}, and is ${found}`,
    ];
    assert.ok(expected.includes(found), words);
    if (found === 'duplicate')
      assert.ok(once.has(`${each.scope} ${requestId}`), `${id} is a duplicate of nothing`);
  }
}

type Fate = 'recorded' | 'duplicate' | 'blocked' | 'nowhere' | 'half';

function fateOf(row: LedgerRow | undefined, log: LogRow | undefined): Fate {
  if (row !== undefined) return log?.status_code === 200 && log.accounting === null ? 'recorded' : 'half';
  if (log === undefined) return 'nowhere';
  if (log.accounting?.duplicate === true) return 'duplicate';
  return log.accounting?.blocked_cost_usd !== undefined && log.status_code === 429 ? 'blocked' : 'half';
}

/** The possible states of a submission whose sender received this answer. */
const fates: Readonly<Record<Told['answer'], readonly Fate[]>> = {
  recorded: ['recorded'],
  duplicate: ['duplicate'],
  blocked: ['blocked'],
  journaled: ['recorded', 'duplicate', 'blocked'],
  late: ['recorded', 'duplicate', 'blocked'],
  refused: ['nowhere'],
  store_unavailable: ['recorded', 'duplicate', 'blocked', 'nowhere'],
  killed: ['recorded', 'duplicate', 'blocked', 'nowhere'],
};

/**
 * Queries for totals that differ from the sum of their rows, over the whole database, and for rows that exist
 * more often than allowed. `offset 0`: the sides of a join are read separately, as a cluster requires.
 */
const sums: Readonly<Record<string, string>> = {
  'day totals': `
    select coalesce(s.scope, d.ownership_scope_key), coalesce(s.day, d.day), s.amount, d.counted_picousd
    from (select ownership_scope_key as scope, (occurred_at at time zone 'UTC')::date as day, sum(cost_picousd) as amount
          from usage_cost_events where pricing_status in ('priced', 'legacy_estimated') group by 1, 2 offset 0) s
    full join (select * from usage_daily_totals offset 0) d on d.ownership_scope_key = s.scope and d.day = s.day
    where coalesce(s.amount, 0) <> coalesce(d.counted_picousd, 0)`,
  'usage rollups': `
    select * from (
      select date_bin('12 hours', occurred_at, timestamptz '2000-01-01 00:00:00+00') as b, ownership_scope_key as s,
             model_key as m, pricing_status as p, count(*) as c,
             coalesce(sum(cost_picousd) filter (where pricing_status in ('priced', 'legacy_estimated')), 0) as a
      from usage_cost_events group by 1, 2, 3, 4 offset 0) r
    full join (select * from usage_rollups offset 0) u on u.bucket_start = b and u.ownership_scope_key = s and u.model_key = m
      and u.pricing_status = p
    where (c, a) is distinct from (u.request_count, u.counted_picousd)`,
  'harness rollups': `
    select * from (
      select date_bin('12 hours', occurred_at, timestamptz '2000-01-01 00:00:00+00') as b, agent_harness_key as k,
             count(*) as c
      from request_logs group by 1, 2 offset 0) r
    full join (select bucket_start, agent_harness_key, sum(request_count) as counted from harness_rollups group by 1, 2 offset 0) h
      on h.bucket_start = b and h.agent_harness_key = k
    where c is distinct from h.counted`,
  'tool rollups': `
    select * from (
      select user_id as u, date_bin('12 hours', occurred_at, timestamptz '2000-01-01 00:00:00+00') as b,
             coalesce(sum(exposed_tool_count), 0) as e, coalesce(sum(invoked_tool_count), 0) as i,
             count(exposed_tool_count) as c
      from request_logs where user_id is not null group by 1, 2 offset 0) r
    full join (select user_id, bucket_start, sum(exposed_tool_sum) as es, sum(invoked_tool_sum) as "is",
                      sum(exposed_tool_rows) as er from tool_cardinality_rollups group by 1, 2 offset 0) t
      on t.user_id = u and t.bucket_start = b
    where (e, i, c) is distinct from (es, "is", er)`,
  'budgets in force': `
    select user_id::text from user_budgets where active group by 1 having count(*) > 1
    union all select team_id from team_budgets where active group by 1 having count(*) > 1`,
  'budget histories': `
    select budget_id from (
      select budget_id, deactivated_at, lead(created_at) over (partition by user_id order by created_at, deactivated_at) as next
      from user_budgets) b where coalesce(deactivated_at, 'infinity') > next`,
  alerts: `
    select budget_id from budget_alerts group by budget_id, threshold_bps, window_start having count(*) > 1
    union all
    select a.budget_id from budget_alerts a
    where not exists (select from budget_alert_deliveries d
                      where d.budget_alert_id = a.budget_alert_id and d.ownership_scope_key = a.ownership_scope_key)`,
};

export async function auditSums(query: Sql): Promise<void> {
  for (const [name, text] of Object.entries(sums))
    assert.deepEqual(await query(`${text} limit 5`), [], `${name} are not what they should be`);
}
