import * as t from 'io-ts';
import { sql } from 'slonik';
import { hourStarts } from '../../domain/reports/report-window.ts';
import type { Window } from '../../domain/shared/window.ts';
import { cadence, int8, nullable, timestamp } from './codecs.ts';
import type { Distribution } from './distribution.ts';
import { row } from './pool.ts';
import { rollupsWhere } from './report-statements.ts';

/**
 * The statements of the overview. Its day of ledger rows and request logs is read by time
 * (`usage_cost_events_occurred_at_idx`, `request_logs_occurred_at_idx`), everything about today or a budget's window
 * from rollups.
 */

/** Maximum number of items in each list. */
const mostTop = 5;
export const mostItems = 10;
/** How many of the newest alerts are checked for failed mails. */
export const mostAlerts = 1000;

const counted = t.type({ request_count: int8, spend: int8 });

const hour = sql.fragment`date_bin('1 hour', occurred_at, timestamptz '2000-01-01 00:00:00+00')`;
const instants = (dates: readonly Date[]) =>
  sql.array(
    dates.map((each) => each.toISOString()),
    'timestamptz',
  );
const during = ({ from, until }: Window) => sql.fragment`
  occurred_at >= ${from.toISOString()}::timestamptz and occurred_at < ${until.toISOString()}::timestamptz
`;

const ledgerHourRow = t.intersection([
  counted,
  t.type({ hour_start: timestamp, unpriced: t.record(t.string, t.number) }),
]);
export type LedgerHourRow = t.TypeOf<typeof ledgerHourRow>;

/** Ledger rows per hour, for hours that have any, with the models that had unpriced requests. */
export const ledgerHours = (window: Window) => sql.type(row(ledgerHourRow))`
  select hour_start, sum(request_count) as request_count, sum(spend) as spend,
         coalesce(json_object_agg(model_key, unpriced) filter (where unpriced > 0), '{}') as unpriced
  from (
    select ${hour} as hour_start, model_key, count(*) as request_count,
           coalesce(sum(cost_picousd) filter (where counts_toward_spend(pricing_status)), 0) as spend,
           count(*) filter (where pricing_status = 'unpriced') as unpriced
    from usage_cost_events where ${during(window)}
    group by 1, 2
  ) models group by hour_start
`;

const bucketRow = t.intersection([counted, t.type({ bucket_start: timestamp })]);
export type BucketRow = t.TypeOf<typeof bucketRow>;

/** The totals of the rollups for each bucket. */
export const ledgerBuckets = (window: Window) => sql.type(row(bucketRow))`
  select bucket_start, sum(request_count) as request_count, sum(counted_picousd) as spend from usage_rollups
  where bucket_start >= ${window.from.toISOString()}::timestamptz and bucket_start < ${window.until.toISOString()}::timestamptz
  group by bucket_start
`;

const markRow = t.type({ hour_start: timestamp, mark: t.string });

/** The mark of each hour (`log_mark`). */
export const logMarks = (window: Window) => sql.type(row(markRow))`
  select h as hour_start, m.mark from unnest(${instants(hourStarts(window))}) h cross join lateral log_mark(h) m
`;

const endText = t.tuple([t.number, nullable(t.string), t.number]);
const logHourRow = t.type({
  hour_start: timestamp,
  ends: t.array(endText),
  latencies: t.array(t.number),
  latency_counts: t.array(t.number),
  first_tokens: t.array(t.number),
  first_token_counts: t.array(t.number),
});
export type LogHourRow = t.TypeOf<typeof logHourRow>;

/** The logs of these hours (`log_hour`). */
export const logHours = (hours: readonly Date[]) => sql.type(row(logHourRow))`
  select h as hour_start, g.* from unnest(${instants(hours)}) h cross join lateral log_hour(h) g
`;

export const itemRow = t.type({
  kind: t.keyof({ user: null, team: null, route: null, gateway_process: null }),
  id: t.string,
  title: t.string,
  counted: int8,
  total: int8,
});

export const providerErrors = () => sql.type(row(itemRow))`
  select 'route' as kind, model_key as id, provider_key as title,
         count(*) as counted, count(*) over () as total
  from request_logs
  where occurred_at >= (select gateway_now() - interval '1 hour') and error_code = 'upstream_error'
    and model_key is not null and provider_key is not null
  group by model_key, provider_key order by counted desc, id, title limit ${mostItems}
`;

/** Rollups of today: two buckets make a UTC day. */
const today = sql.fragment`bucket_start >= (select budget_window_start('daily', gateway_now()))`;

export const todayRow = t.intersection([
  counted,
  t.type({
    model_key: nullable(t.string),
    user_id: nullable(t.string),
    team_id: nullable(t.string),
    owner_name: nullable(t.string),
  }),
]);

/** The total of today, and the models and owners with the highest spend. */
export const spentToday = (distribution: Distribution) => sql.type(row(todayRow))`
  with cuts as (
    select model_key, ownership_scope_key as scope, user_id, max(team_id) as team_id,
           sum(request_count) as request_count, sum(counted_picousd) as spend
    from ${rollupsWhere(today, distribution)}
    group by grouping sets ((), (model_key), (ownership_scope_key, user_id))
  ), ranked as (
    select cuts.*, row_number() over (partition by model_key is null, scope is null
                                      order by spend desc, request_count desc, model_key, scope) as place
    from cuts
  )
  select r.model_key, r.user_id, case when r.scope is not null and r.user_id is null then r.team_id end as team_id,
         coalesce(u.name, t.name) as owner_name, coalesce(r.request_count, 0) as request_count, coalesce(r.spend, 0) as spend
  from ranked r
  left join users u on u.user_id = r.user_id
  left join teams t on t.team_id = r.team_id and r.scope is not null and r.user_id is null
  where r.place <= ${mostTop} order by r.place
`;

export const standingRow = t.type({
  total: int8,
  above: int8,
  blocking: int8,
  user_id: nullable(t.string),
  team_id: nullable(t.string),
  owner_name: t.string,
  cadence,
  amount_10000: int8,
  hard_limit: t.boolean,
  window_start: timestamp,
  window_end: timestamp,
  spent: int8,
  blocked: int8,
  has_blocked: t.boolean,
  by_share: int8,
  by_blocked: int8,
});

/** The budgets that are nearest to their amount and those that blocked most, with the total number of each. */
export const budgetStandings = () => sql.type(row(standingRow))`
  with budgets as (
    select user_id, null as team_id, 'user:' || user_id as scope, cadence, amount_10000, hard_limit
    from user_budgets where active
    union all
    select null, team_id, 'team:' || team_id || ':actor:none', cadence, amount_10000, hard_limit
    from team_budgets where active
  ), standing as (
    select b.*, w.starts as window_start, w.ends as window_end, s.spent, x.blocked,
           x.blocked > 0 or b.hard_limit and s.spent >= b.amount_10000 * 100000000::numeric as has_blocked
    from (select gateway_now() as now) clock cross join budgets b
    cross join lateral (
      select budget_window_start(b.cadence, clock.now) as starts, budget_window_end(b.cadence, clock.now) as ends
    ) w
    cross join lateral window_spend(b.scope, w.starts, w.ends) s(spent)
    cross join lateral blocked_in(b.scope, w.starts, w.ends) x(blocked)
  ), ranked as (
    select standing.*, count(*) over () as total,
           count(*) filter (where spent >= amount_10000 * 80000000::numeric) over () as above,
           count(*) filter (where has_blocked) over () as blocking,
           row_number() over (order by spent / greatest(amount_10000 * 100000000::numeric, 1) desc, scope) as by_share,
           row_number() over (order by has_blocked desc, blocked desc, scope) as by_blocked
    from standing
  )
  select r.total, r.above, r.blocking, r.user_id, r.team_id, coalesce(u.name, t.name, r.user_id::text, r.team_id) as owner_name,
         r.cadence, r.amount_10000::text as amount_10000, r.hard_limit, r.window_start, r.window_end, r.spent, r.blocked,
         r.has_blocked, r.by_share, r.by_blocked
  from ranked r
  left join users u on u.user_id = r.user_id
  left join teams t on t.team_id = r.team_id
  where r.by_share <= ${mostItems} or r.has_blocked and r.by_blocked <= ${mostItems}
  order by r.by_share
`;

export const failedMails = () => sql.type(row(itemRow))`
  select case when a.user_id is null then 'team' else 'user' end as kind, coalesce(a.user_id::text, a.team_id) as id,
         coalesce(u.name, t.name, a.user_id::text, a.team_id) as title, count(*) as counted,
         sum(count(*)) over () as total
  from (
    select * from budget_alerts where created_at >= gateway_now() - interval '24 hours'
    order by created_at desc, budget_alert_id desc limit ${mostAlerts}
  ) a
  join budget_alert_deliveries d on d.budget_alert_id = a.budget_alert_id
    and d.ownership_scope_key = a.ownership_scope_key and d.delivery_status = 'failed'
  left join users u on u.user_id = a.user_id
  left join teams t on t.team_id = a.team_id
  group by a.user_id, a.team_id, u.name, t.name order by counted desc, id limit ${mostItems}
`;

/** Processes not seen for five beats, after which they are considered gone (`process_is_gone`), and not yet deleted. */
export const replicasBehind = () => sql.type(row(itemRow))`
  select 'gateway_process' as kind, process_id::text as id, process_id::text as title,
         floor(extract(epoch from clock_timestamp() - seen_at))::bigint as counted, count(*) over () as total
  from gateway_processes where seen_at <= clock_timestamp() - interval '5 seconds'
  order by seen_at, process_id limit ${mostItems}
`;

const setupRow = t.type({ model_answered: t.boolean, key_exists: t.boolean, budget_set: t.boolean });

export const setup = () => sql.type(row(setupRow))`
  select (select count(*) from (select 1 from usage_rollups limit 1) found) > 0 as model_answered,
         (select count(*) from (select 1 from api_keys
                                where revoked_at is null and (expires_at is null or expires_at > gateway_now())
                                limit 1) found) > 0 as key_exists,
         (select count(*) from (select 1 from user_budgets where active limit 1) found) > 0
           or (select count(*) from (select 1 from team_budgets where active limit 1) found) > 0 as budget_set
`;
