import { runAll } from '../test/support/test-server.ts';

const people = 300;
const teams = 20;
const workers = 40;

/** Database sessions with counters of their own: a few replicas with their connections. */
const writers = 24;

/** Twelve models, the most popular first, with their prices in picodollars per token. The last has none. */
export const models = [
  ['fast', 150_000, 600_000],
  ['large', 2_500_000, 10_000_000],
  ['coder', 1_250_000, 10_000_000],
  ['haiku-like', 1_000_000, 5_000_000],
  ['sonnet-like', 3_000_000, 15_000_000],
  ['flash-like', 300_000, 2_500_000],
  ['opus-like', 15_000_000, 75_000_000],
  ['open-weights', 200_000, 800_000],
  ['reasoner', 1_100_000, 4_400_000],
  ['small', 50_000, 200_000],
  ['embed', 20_000, 0],
  ['experimental', 'null', 'null'],
] as const;

/**
 * Callers and models. Users that existed before get no requests. Everybody has three favourite models, one or two
 * harnesses and a few keys. Requests of teams, and those of a few people, name a service.
 */
export const fill = (url: string): Promise<void> =>
  runAll(url, [
    `insert into users (email, name, request_logging_enabled)
     select 'person' || n || '@example.com', 'Person ' || n, n % 20 <> 0 from generate_series(1, ${people}) n`,
    `insert into teams (team_id, name) select 'team-' || n, 'Team ' || n from generate_series(1, ${teams}) n`,
    `insert into service_accounts (service_account_id, name, team_id)
     select 'worker-' || n, 'Worker ' || n, 'team-' || 1 + n % ${teams} from generate_series(1, ${workers}) n`,
    `create table bench_owners as
       select n, user_id, team_id, service_account_id,
              coalesce('user:' || user_id, 'team:' || team_id || ':actor:none') as scope, logging,
              array(select floor(${models.length} * random() ^ 2)::int from generate_series(1, 3 + n * 0)) as favourites,
              array(select floor(14 * random() ^ 2)::int from generate_series(1, 2 + n * 0)) as harnesses,
              array(select gen_random_uuid() from generate_series(1, 1 + floor(2.2 * random())::int + n * 0)) as keys,
              case when user_id is null then 'service-' || floor(40 * random() ^ 1.5)::int
                   when random() < 0.2 then 'editor' end as service
       from (select row_number() over (order by kind, user_id, team_id) - 1 as n, *
             from (select 1 as kind, user_id, null as team_id, null as service_account_id,
                          request_logging_enabled as logging from users where name like 'Person %'
                   union all select 2, null, team_id, null, true from teams
                   union all select 2, null, team_id, service_account_id, true from service_accounts) each) owners`,
    `create unique index on bench_owners (n)`,
    `create table bench_keys as select n, key from bench_owners cross join lateral unnest(keys) key`,
    `insert into api_keys (api_key_id, public_id, secret_sha256, name, user_id, team_id, service_account_id)
     select key, key::text, sha256(key::text::bytea), 'Key of ' || n, user_id,
            case when service_account_id is null then team_id end, service_account_id
     from bench_owners cross join lateral unnest(keys) key`,
    `create table bench_models (n integer primary key, model_key text, provider_key text, input numeric, output numeric)`,
    ...models.map(
      ([key, input, output], n) =>
        `insert into bench_models values (${n}, '${key}', 'provider-${Math.floor(n / 4)}', ${input}, ${output})`,
    ),
    'analyze',
  ]);

/**
 * This many ledger rows over the last 31 days, their log rows, and the rollups that settlement would have left. A few
 * people and workers have most of the traffic. Two requests in five are of teams; in a hundred, one has no usage and
 * two are for any model. The oldest rows are partly estimates. Three rows are settled together.
 */
export const grow = (url: string, rows: number): Promise<void> =>
  runAll(url, [
    `truncate usage_cost_events, request_logs, request_log_tags, request_log_attempts, request_log_payloads, usage_rollups,
       usage_daily_totals, harness_rollups, tool_cardinality_rollups`,
    `select gateway_make_log_partitions(now() - interval '32 days', now() + interval '1 month')`,
    ...ledgerRows(rows),
    logRows,
    tagRows,
    `insert into usage_rollups
     select rollup_bucket(occurred_at), ownership_scope_key, model_key, pricing_status, user_id, max(team_id), count(*),
            coalesce(sum(cost_picousd) filter (where counts_toward_spend(pricing_status)), 0)
     from usage_cost_events group by 1, 2, 3, 4, 5 order by 1`,
    `insert into harness_rollups
     select rollup_bucket(occurred_at), agent_harness_key, ${writerOf}, ownership_scope_key, max(agent_harness_label),
            count(*)
     from request_logs group by 1, 2, 3, 4 order by 1`,
    `insert into tool_cardinality_rollups
     select user_id, rollup_bucket(occurred_at), ${writerOf}, ownership_scope_key, 0, 0,
            coalesce(sum(exposed_tool_count), 0), count(exposed_tool_count), coalesce(sum(invoked_tool_count), 0),
            count(invoked_tool_count), 0, 0
     from request_logs where user_id is not null group by 1, 2, 3, 4 order by 2`,
    'vacuum analyze',
  ]);

/** This many ledger rows, and the totals of their days. */
const ledgerRows = (rows: number): readonly string[] => [
  `insert into usage_cost_events (
       request_log_id, request_id, ownership_scope_key, api_key_id, user_id, team_id, service_account_id, model_key,
       provider_key, upstream_model, prompt_tokens, completion_tokens, total_tokens, pricing_status, unpriced_reason,
       input_picousd_per_token, output_picousd_per_token, pricing_source, cost_picousd, occurred_at)
     select uuidv7(d.at - clock_timestamp()), gen_random_uuid()::text, o.scope, o.keys[1 + floor(cardinality(o.keys) * d.key ^ 2)::int],
            o.user_id, o.team_id, o.service_account_id, m.model_key, m.provider_key,
            m.model_key || '-upstream', d.prompt, d.completion, d.prompt + d.completion, s.status,
            case when s.status = 'unpriced' then 'no_catalogue_price' end,
            case when s.status = 'priced' then m.input end, case when s.status = 'priced' then m.output end,
            case when s.status = 'priced' then 'bundled' end,
            case when counts_toward_spend(s.status)
                 then d.prompt * m.input + d.completion * m.output end,
            d.at
     from (
       select n, now() - interval '31 days' + n / 3 * interval '93 days' / ${rows}.0 as at,
              case when random() < 0.6 then floor(${people} * random() ^ 2.5)
                   else ${people} + floor(${teams + workers} * random() ^ 1.5) end as owner,
              random() as taste, floor(${models.length} * random())::int as any_model, random() as luck,
              random() as key,
              200 + floor(20000 * random() ^ 3)::bigint as prompt, floor(2000 * random() ^ 2)::bigint as completion
       from generate_series(1, ${rows}) n
       offset 0
     ) d
     join bench_owners o on o.n = d.owner
     join bench_models m on m.n = case when d.taste < 0.7 then o.favourites[1] when d.taste < 0.9 then o.favourites[2]
                                       when d.taste < 0.98 then o.favourites[3] else d.any_model end
     cross join lateral (
       select case when d.luck < 0.01 then 'usage_missing' when m.input is null then 'unpriced'
                   when d.n < ${rows} / 20 and d.luck < 0.5 then 'legacy_estimated' else 'priced' end as status
     ) s
     order by d.at`,
  `insert into usage_daily_totals
   select ownership_scope_key, (occurred_at at time zone 'UTC')::date, sum(cost_picousd) from usage_cost_events
   where counts_toward_spend(pricing_status) group by 1, 2`,
];

/** The session that counted a row without a charge, one of those of its day: connections come and go. */
const writerOf = `case when status_code = 200 then 0
  else 1000 * extract(day from occurred_at)::int + abs(hashtext(request_log_id::text)) % ${writers} end`;

/**
 * Of a hundred requests six fail, spread over the statuses. Each service has four components, and there are three
 * environments.
 */
const logRows = `
  insert into request_logs (
    request_log_id, ownership_scope_key, request_id, api_key_id, user_id, team_id, service_account_id, model_key,
    resolved_model_key, provider_key, status_code, latency_ms, first_token_ms, prompt_tokens, completion_tokens, total_tokens,
    caller_service, caller_component, caller_env, exposed_tool_count, invoked_tool_count, user_agent_raw, agent_harness_key,
    agent_harness_label, metadata_json, occurred_at)
  select request_log_id, ownership_scope_key, request_id, api_key_id, e.user_id, e.team_id, e.service_account_id, model_key, model_key,
         provider_key,
         case when luck < 0.94 then 200 when luck < 0.955 then 400 when luck < 0.975 then 429 when luck < 0.985 then 499
              when luck < 0.994 then 502 when luck < 0.998 then 503 else 504 end,
         200 + floor(9000 * random() ^ 3)::int, case when luck < 0.94 then 100 + floor(4000 * random() ^ 3)::int end,
         prompt_tokens, completion_tokens, total_tokens, o.service,
         o.service || '-part-' || floor(4 * random() ^ 2)::int,
         case when o.service = 'editor' then 'dev' when o.service is null then null when stage < 0.75 then 'prod'
              when stage < 0.93 then 'staging' else 'dev' end,
         case when h.n < 8 then floor(30 * random())::int else 0 end,
         case when random() < 0.95 then floor(3 * random())::int end,
         'agent-' || h.n || '/1.4.2 (external, cli; linux; x64) node/24.9.0', 'harness-' || h.n, 'Harness ' || h.n,
         '{"operation": "chat_completions", "stream": true, "payload_policy": {"capture_mode": "summary_only",
           "request_max_bytes": 65536, "response_max_bytes": 65536, "stream_max_events": 128,
           "version": "builtin:v2"}}', occurred_at
  from (select e.*, random() as luck, random() as stage, random() as tool from usage_cost_events e offset 0) e
  join bench_keys k on k.key = e.api_key_id
  join bench_owners o on o.n = k.n and o.logging
  cross join lateral (select o.harnesses[case when tool < 0.85 then 1 else 2 end] as n) h
  order by occurred_at, request_log_id`;

/**
 * Most requests of services have a feature, and many a customer, of which a few are large. Some people have projects.
 */
const tagRows = `
  insert into request_log_tags (request_log_id, ownership_scope_key, tag_key, tag_value, list_bucket, status_code, model_key)
  select l.request_log_id, l.ownership_scope_key, tag.key, tag.value, l.list_bucket, l.status_code, l.model_key
  from (select l.*, random() as has, random() as which, random() as other from request_logs l offset 0) l
  cross join lateral (values
    ('feature', case when l.team_id is not null and has < 0.6 then 'feature-' || floor(20 * which ^ 2)::int end),
    ('customer', case when l.team_id is not null and has < 0.4 then 'customer-' || floor(2000 * other ^ 2)::int end),
    ('project', case when l.user_id is not null and has < 0.1 then 'project-' || floor(50 * which ^ 2)::int end)
  ) tag(key, value)
  where tag.value is not null
  order by l.occurred_at, l.request_log_id`;
