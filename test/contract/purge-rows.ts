import { randomUUID } from 'node:crypto';
import * as fc from 'fast-check';
import { everyPlace, type OwnersPlace } from '../support/citus-database.ts';
import { type Query, withClient } from './ledger-bench.ts';

export const now = new Date('2031-05-20T09:00:00Z');
export const hourMs = 3_600_000;
export const hoursAgo = (hours: number): Date => new Date(now.getTime() - hours * hourMs);

/** A generated request log. */
export interface Row {
  /** In milliseconds from the cutoff; negative means before it. */
  readonly offset: number;
  readonly user: string | null;
  readonly harness: string | null;
  readonly counts: readonly (number | null)[];
  readonly tags: number;
  readonly attempts: number;
  readonly payload: boolean;
  readonly writer: number;
}

export const users = Array.from({ length: 3 }, () => randomUUID());
const aCount = fc.option(fc.nat(40));
export const aRow: fc.Arbitrary<Row> = fc.record({
  offset: fc.oneof(
    fc.integer({ min: -3, max: 3 }),
    fc.integer({ min: -200 * hourMs, max: 100 * hourMs }),
    fc.integer({ min: -20, max: 20 }).map((halfDays) => halfDays * 12 * hourMs),
  ),
  user: fc.option(fc.constantFrom(...users)),
  harness: fc.option(fc.constantFrom('codex', 'opencode', 'unknown')),
  counts: fc.tuple(aCount, aCount, aCount, aCount),
  tags: fc.nat(3),
  attempts: fc.nat(2),
  payload: fc.boolean(),
  writer: fc.integer({ min: 1, max: 3 }),
});

/** Inserts rows with their children, and the rollups that their writers would have written. */
export async function fill(
  query: Query,
  cutoff: Date,
  rows: readonly Row[],
  idOf: (at: Date) => string = () => randomUUID(),
): Promise<readonly string[]> {
  const items = rows.map((row) => ({
    ...row,
    id: idOf(new Date(cutoff.getTime() + row.offset)),
    at: new Date(cutoff.getTime() + row.offset).toISOString(),
    servers: row.counts[0],
    exposed: row.counts[1],
    invoked: row.counts[2],
    filtered: row.counts[3],
  }));
  const given = `json_to_recordset($1::json) i(id uuid, at timestamptz, "user" uuid, harness text, servers integer,
    exposed integer, invoked integer, filtered integer, tags integer, attempts integer, payload boolean, writer integer)`;
  const scope = `coalesce('user:' || "user", 'team:t:actor:none')`;
  for (const statement of [
    `insert into request_logs (request_log_id, ownership_scope_key, request_id, status_code, latency_ms, user_id, agent_harness_key,
       agent_harness_label, referenced_mcp_server_count, exposed_tool_count, invoked_tool_count, filtered_tool_count,
       has_payload, metadata_json, occurred_at)
     select id, ${scope}, id::text, 200, 7, "user", harness, upper(harness), servers, exposed, invoked, filtered, payload, '{}', at
     from ${given}`,
    `insert into request_log_tags (request_log_id, ownership_scope_key, tag_key, tag_value, list_bucket, status_code)
     select id, ${scope}, 'key-' || n, 'value', list_bucket, status_code
     from ${given} join request_logs on request_log_id = id, generate_series(1, tags) n`,
    `insert into request_log_attempts
     select id, ${scope}, n, 'up', 'model', 'success', 200, null, null, false, at, at, 5 from ${given}, generate_series(1, attempts) n`,
    `insert into request_log_payloads select id, ${scope}, '{"body": 1}', null from ${given} where payload`,
    `insert into harness_rollups
     select rollup_bucket(at), harness, writer, ${scope}, upper(harness), count(*) from ${given} where harness is not null
     group by 1, 2, 3, 4`,
    `insert into tool_cardinality_rollups
     select "user", rollup_bucket(at), writer, ${scope}, coalesce(sum(servers), 0), count(servers), coalesce(sum(exposed), 0),
            count(exposed), coalesce(sum(invoked), 0), count(invoked), coalesce(sum(filtered), 0), count(filtered)
     from ${given} where "user" is not null group by 1, 2, 3, 4`,
  ])
    await query(statement, [JSON.stringify(items)]);
  return items.map(({ id }) => id);
}

/**
 * Checks a property for a limited time, because shrinking could take minutes. Waits for the check that the
 * time limit interrupts, since it would otherwise write rows during the next test.
 */
export async function heldWithin<T>(
  { ms, numRuns }: { readonly ms: number; readonly numRuns: number },
  samples: fc.Arbitrary<T>,
  held: (sample: T) => Promise<void>,
): Promise<void> {
  let last = Promise.resolve();
  const property = fc.asyncProperty(samples, (sample) => (last = held(sample)));
  await fc.assert(property, { numRuns, interruptAfterTimeLimit: ms });
  await last;
}

export const logTables = ['request_logs', 'request_log_payloads', 'request_log_tags', 'request_log_attempts'];
export const logRollups = ['harness_rollups', 'tool_cardinality_rollups'];

/** Buckets in which the rollups of the logs differ from a recount of the rows. */
export const rollupDifferences = (query: Query) =>
  query(`
    select bucket_start, key, sum(a) as a, sum(b) as b, sum(c) as c, sum(d) as d, sum(e) as e, sum(f) as f,
           sum(g) as g, sum(h) as h
    from (
      select bucket_start, agent_harness_key as key, request_count as a, 0 as b, 0 as c, 0 as d, 0 as e, 0 as f,
             0 as g, 0 as h
      from harness_rollups
      union all
      select rollup_bucket(occurred_at), agent_harness_key, -1, 0, 0, 0, 0, 0, 0, 0
      from request_logs where agent_harness_key is not null
      union all
      select bucket_start, user_id::text, referenced_mcp_server_sum, referenced_mcp_server_rows, exposed_tool_sum,
             exposed_tool_rows, invoked_tool_sum, invoked_tool_rows, filtered_tool_sum, filtered_tool_rows
      from tool_cardinality_rollups
      union all
      select rollup_bucket(occurred_at), user_id::text, -coalesce(referenced_mcp_server_count, 0),
             -num_nonnulls(referenced_mcp_server_count), -coalesce(exposed_tool_count, 0),
             -num_nonnulls(exposed_tool_count), -coalesce(invoked_tool_count, 0), -num_nonnulls(invoked_tool_count),
             -coalesce(filtered_tool_count, 0), -num_nonnulls(filtered_tool_count)
      from request_logs where user_id is not null
    ) both_sides
    group by 1, 2
    having (sum(a), sum(b), sum(c), sum(d), sum(e), sum(f), sum(g), sum(h)) <> (0, 0, 0, 0, 0, 0, 0, 0)`);

/** Every row of every table except those of the request logs, as JSON. */
export async function everythingElse(query: Query): Promise<ReadonlyMap<string, readonly object[]>> {
  const tables = await query<{ name: string }>(
    `select table_name as name from information_schema.tables
     where table_schema = 'public' and table_type = 'BASE TABLE' order by 1`,
  );
  const others = tables.filter(({ name }) => !name.startsWith('request_log') && !logRollups.includes(name));
  const rows = new Map<string, readonly object[]>();
  for (const { name } of others)
    rows.set(name, await query(`select to_jsonb(t)::text as row from ${name} t order by 1`));
  return rows;
}

export const idsIn = async (query: Query, table: string): Promise<readonly string[]> =>
  (await query<{ id: string }>(`select distinct request_log_id as id from ${table} order by 1`)).map(
    ({ id }) => id,
  );

/** Calls the purge function repeatedly, as the store does, with another batch size. */
export async function purgeInBatches(url: string, cutoff: Date, size: number): Promise<number> {
  let deleted = 0;
  for (const place of await everyPlace(url)) deleted += await purgePlace(place, cutoff, size);
  return deleted;
}

const purgePlace = ({ url, named }: OwnersPlace, cutoff: Date, size: number): Promise<number> =>
  withClient(url, async (ask) => {
    let deleted = 0;
    let since = '-infinity';
    for (;;) {
      const [batch] = await ask<{ deleted: string; reached: Date | null }>(
        `select * from ${named('gateway_purge_request_logs')}($1, $2, $3)`,
        [cutoff, since, size],
      );
      deleted += Number(batch!.deleted);
      if (Number(batch!.deleted) < size) return deleted;
      since = batch!.reached!.toISOString();
    }
  });
