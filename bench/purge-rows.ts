import { Client } from 'pg';

/** Rows per insert: enough to be quick, few enough to show progress. */
const chunk = 250_000;

/**
 * This many request logs between two ages, as a gateway leaves them: one attempt (sometimes two), two tags for every
 * other request, and for every fourth a payload of 3.5 KB.
 */
async function grow(client: Client, rows: number, fromDays: number, untilDays: number): Promise<void> {
  for (let done = 0; done < rows; done += chunk) {
    const many = Math.min(chunk, rows - done);
    const age = (part: number): number => fromDays - ((fromDays - untilDays) * part) / rows;
    await client.query('begin');
    await client.query(
      `create temp table fresh on commit drop as
       select uuidv7(d.at - clock_timestamp()) as id, gen_random_uuid() as request_id, n,
              floor(300 * random() ^ 2.5)::int as person, floor(14 * random() ^ 2)::int as harness, d.at
       from generate_series(1, ${many}) n,
            lateral (select now() - interval '1 day' * (${age(done)} - ${age(done) - age(done + many)} * n / ${many}.0) as at) d`,
    );
    for (const statement of statements) await client.query(statement);
    await client.query('commit');
    process.stdout.write(`  ${done + many} of ${rows} rows, ${fromDays} to ${untilDays} days old\n`);
  }
}

const scope = `'user:' || md5('user' || person)::uuid`;

const statements = [
  `insert into request_logs (
     request_log_id, ownership_scope_key, request_id, api_key_id, user_id, model_key, resolved_model_key, provider_key, status_code,
     latency_ms, prompt_tokens, completion_tokens, total_tokens, has_payload, caller_service, caller_env,
     exposed_tool_count, invoked_tool_count, user_agent_raw, agent_harness_key, agent_harness_label, metadata_json,
     occurred_at)
   select id, ${scope}, request_id::text, md5('key' || person)::uuid, md5('user' || person)::uuid, 'model-' || n % 12,
          'model-' || n % 12, 'simulated', case when n % 60 = 0 then 500 else 200 end, 200 + n % 9000, n % 20000,
          n % 2000, n % 20000 + n % 2000, n % 4 = 0, 'service-' || n % 20, 'production', n % 30, n % 3,
          'agent/1.' || harness, 'harness-' || harness, 'Harness ' || harness,
          '{"operation": "chat_completions", "stream": true, "payload_policy": {"capture_mode": "redacted_payloads",
            "request_max_bytes": 65536, "response_max_bytes": 65536, "stream_max_events": 128,
            "version": "builtin:v2"}}', at
   from fresh order by at`,
  `insert into request_log_attempts
   select id, ${scope}, attempt, 'simulated', 'simulated-fast', 'success', 200, null, null, true, at, at, 300
   from fresh, generate_series(1, case when n % 50 = 0 then 2 else 1 end) attempt order by at`,
  `insert into request_log_tags (request_log_id, ownership_scope_key, tag_key, tag_value, list_bucket, status_code, model_key)
   select id, ${scope}, tag, tag || n % 40, list_bucket, status_code, model_key
   from fresh join request_logs on request_log_id = id, unnest(array['project', 'task']) tag
   where n % 2 = 0 order by at`,
  `insert into request_log_payloads
   select id, ${scope}, json_build_object('body', text), json_build_object('body', left(text, 900))
   from fresh, lateral (select string_agg(md5(request_id::text || line), '') as text from generate_series(1, 80) line) t
   where n % 4 = 0 order by at`,
  `insert into harness_rollups as r
   select rollup_bucket(at), 'harness-' || harness, 0, ${scope}, 'Harness ' || harness, count(*)
   from fresh group by 1, 2, 3, 4, 5
   on conflict on constraint harness_rollups_pkey
   do update set request_count = r.request_count + excluded.request_count`,
  `insert into tool_cardinality_rollups as r
   select md5('user' || person)::uuid, rollup_bucket(at), 0, ${scope}, 0, 0, sum(n % 30), count(*), sum(n % 3), count(*), 0, 0
   from fresh group by 1, 2, 3, 4
   on conflict on constraint tool_cardinality_rollups_pkey
   do update set exposed_tool_sum = r.exposed_tool_sum + excluded.exposed_tool_sum,
                 exposed_tool_rows = r.exposed_tool_rows + excluded.exposed_tool_rows,
                 invoked_tool_sum = r.invoked_tool_sum + excluded.invoked_tool_sum,
                 invoked_tool_rows = r.invoked_tool_rows + excluded.invoked_tool_rows`,
];

/** `old` rows in the second week back, and `young` rows in the last week. */
export async function fillLogs(url: string, old: number, young: number): Promise<void> {
  await withClient(url, async (client) => {
    await client.query(
      `select gateway_make_daily_log_partitions(now() - interval '15 days', now() + interval '1 day')`,
    );
    await client.query('set synchronous_commit = off');
    await grow(client, old, 14, 7);
    await grow(client, young, 6.5, 0);
    await client.query('vacuum analyze');
    await client.query('checkpoint');
  });
}

/** The state after a purge, as lines of text. */
export async function aftermath(url: string): Promise<readonly string[]> {
  return withClient(url, async (client) => {
    const one = async (text: string): Promise<string> => {
      const { rows } = await client.query<{ value: string }>(text);
      return rows[0]?.value ?? '';
    };
    const began = performance.now();
    await client.query('select occurred_at from request_logs order by occurred_at, request_log_id limit 1');
    const oldest = performance.now() - began;
    return [
      `the oldest log is found in ${oldest.toFixed(1)} ms`,
      `sizes: ${await sizes(client)}`,
      `buckets whose rollup is wrong: ${await one(
        `select count(*)::text as value from (
           select bucket_start, key from (
             select bucket_start, agent_harness_key as key, sum(request_count) as n from harness_rollups group by 1, 2
             union all
             select rollup_bucket(occurred_at), agent_harness_key, -count(*) from request_logs group by 1, 2
             union all
             select bucket_start, user_id::text, sum(exposed_tool_sum) from tool_cardinality_rollups group by 1, 2
             union all
             select rollup_bucket(occurred_at), user_id::text, -sum(exposed_tool_count) from request_logs group by 1, 2
           ) sides group by 1, 2 having sum(n) <> 0) wrong`,
      )}`,
      `rollup rows of buckets that are empty now: ${await one(
        `select count(*)::text as value from harness_rollups where bucket_start < now() - interval '8 days'`,
      )}`,
    ];
  });
}

export const sizesOf = (url: string): Promise<string> => withClient(url, sizes);

async function sizes(client: Client): Promise<string> {
  const { rows } = await client.query<{ line: string }>(
    `select string_agg(relname || ' ' || pg_size_pretty(pg_total_relation_size(relid)) || ', ' || n_dead_tup
                       || ' dead, vacuumed ' || autovacuum_count || ' times', '; ' order by relname) as line
     from pg_stat_user_tables where relname ~ '^request_log'`,
  );
  return rows[0]?.line ?? '';
}

async function withClient<A>(url: string, work: (client: Client) => Promise<A>): Promise<A> {
  const client = new Client(url);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
