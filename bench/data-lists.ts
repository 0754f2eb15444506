import { type DatabasePool, sql } from 'slonik';
import { requestLogsStore } from '../infrastructure/postgres/request-logs-store.ts';
import { requestLogRoutes } from '../interfaces/http/admin/request-log-routes.ts';
import { answerOf, quietest } from './quietest.ts';

/** For the 95th percentile. */
const limitMs = 200;
const runs = 20;
const rounds = 2;

/** The first page, and the furthest one. */
const pages = ['', 'page=500&page_size=200'];

const columns = {
  model_key: 'model_key',
  provider_key: 'provider_key',
  status_code: 'status_code',
  user_id: 'user_id',
  team_id: 'team_id',
  service_account_id: 'service_account_id',
  api_key_id: 'api_key_id',
  service: 'caller_service',
  component: 'caller_component',
  env: 'caller_env',
  agent_harness_key: 'agent_harness_key',
} as const;

/** A frequent and a rare value of a filter. */
interface Values {
  readonly frequent: string;
  readonly rare: string;
}

const nobody = '00000000-0000-7000-8000-000000000000';
const noValue: Readonly<Record<string, string>> = { status_code: '418', user_id: nobody, api_key_id: nobody };

async function valuesOf(pool: DatabasePool, column: string): Promise<Values> {
  const name = sql.identifier([column]);
  const found = (await pool.anyFirst(sql.unsafe`
    select ${name}::text from request_logs where ${name} is not null group by 1 order by count(*) desc
  `)) as readonly string[];
  return { frequent: found[0] ?? '', rare: found.at(-1) ?? '' };
}

const tagOf = (pair: { readonly tag_key: string; readonly tag_value: string }): string =>
  `tag_key=${pair.tag_key}&tag_value=${pair.tag_value}`;

/** Queries of the list. */
interface Queries {
  /** No filter, each filter alone, and the combinations that people use. */
  readonly usual: readonly string[];
  /** Combinations without a common index: all rows of the leading filter are read, however many there are. */
  readonly unusual: readonly string[];
}

async function queries(pool: DatabasePool): Promise<Queries> {
  const values: Record<string, Values> = {};
  for (const [filter, column] of Object.entries(columns)) values[filter] = await valuesOf(pool, column);
  const pairs = (await pool.any(sql.unsafe`
    select tag_key, tag_value from request_log_tags group by 1, 2 order by count(*) desc
  `)) as readonly { readonly tag_key: string; readonly tag_value: string }[];
  const frequentTag = pairs[0] === undefined ? '' : tagOf(pairs[0]);
  const rareTag = pairs.at(-1);
  const requestId = await pool.oneFirst(sql.unsafe`select request_id from request_logs limit 1`);
  const of = (filter: string, which: keyof Values = 'frequent'): string =>
    `${filter}=${values[filter]?.[which] ?? ''}`;
  const none = (filter: string): string => `${filter}=${noValue[filter] ?? 'nowhere'}`;
  const weekAgo = new Date(Date.now() - 7 * 86_400_000).toISOString();
  const threeWeeksAgo = new Date(Date.now() - 21 * 86_400_000).toISOString();
  const range = `from=${threeWeeksAgo}&to=${weekAgo}`;
  const usual = [
    '',
    range,
    ...Object.keys(columns).flatMap((filter) => [of(filter), of(filter, 'rare'), none(filter)]),
    frequentTag,
    ...(rareTag === undefined ? [] : [tagOf(rareTag)]),
    'tag_key=customer&tag_value=nobody',
    `request_id=${String(requestId)}`,
    'request_id=never',
    ...['user_id', 'team_id', 'service', 'model_key', 'env', 'api_key_id', 'provider_key'].flatMap(
      (filter) => [
        `${of(filter)}&status_code=200`,
        `${of(filter)}&${of('status_code', 'rare')}`,
        `${of(filter)}&status_code=418`,
        `${of(filter)}&${range}`,
      ],
    ),
    ...['user_id', 'team_id', 'service', 'env', 'agent_harness_key'].flatMap((filter) => [
      `${of(filter)}&${of('model_key')}`,
      `${of(filter)}&${of('model_key', 'rare')}`,
    ]),
    ...['env=prod', 'env=staging', 'env=nowhere'].flatMap((env) => [
      `${of('service')}&${env}`,
      `${of('team_id')}&${env}`,
    ]),
    `${of('service')}&${of('component')}`,
    `${of('service')}&env=prod&${of('status_code', 'rare')}`,
    `${frequentTag}&${of('model_key')}`,
    `${frequentTag}&${of('model_key', 'rare')}`,
    `${frequentTag}&status_code=200`,
    `${frequentTag}&${of('status_code', 'rare')}`,
    `${frequentTag}&${range}`,
    'failed=true',
    'failed=false',
    ...['user_id', 'team_id', 'model_key', 'env'].map((filter) => `${of(filter)}&failed=true`),
    `${frequentTag}&failed=true`,
    `failed=true&not_${of('model_key')}`,
    `failed=true&not_${of('provider_key')}`,
    `${of('user_id')}&not_${of('model_key')}`,
    `${of('service')}&not_${of('status_code')}`,
    `not_${of('status_code')}&${range}`,
  ];
  const unusual = [
    `${of('service')}&${of('provider_key', 'rare')}`,
    `${of('model_key')}&${of('agent_harness_key', 'rare')}`,
    `${of('user_id')}&${of('provider_key')}`,
    `${of('user_id')}&${of('provider_key', 'rare')}`,
    `${of('user_id')}&${of('service')}`,
    `${of('team_id')}&${of('service')}`,
    `${of('team_id')}&${frequentTag}`,
    `${frequentTag}&env=prod`,
    `${frequentTag}&${of('service')}`,
    ...['model_key', 'provider_key', 'user_id', 'env'].flatMap((filter) => [
      `not_${of(filter)}`,
      `not_${of(filter, 'rare')}`,
    ]),
    `failed=true&not_${of('env')}`,
  ];
  return { usual, unusual };
}

const answer = (pool: DatabasePool, query: string): Promise<string> =>
  answerOf(
    requestLogRoutes({ requestLogs: requestLogsStore(pool, 'none') }),
    '/api/v1/admin/observability/request-logs',
    query,
  );

/**
 * Prints how long the first and the furthest page of each list take. Returns true if all lists with a limit are quick
 * enough.
 */
export async function measureLists(pool: DatabasePool, out: (line: string) => void): Promise<boolean> {
  let quickEnough = true;
  const { usual, unusual } = await queries(pool);
  for (const query of [...usual, ...unusual]) {
    const limited = usual.includes(query);
    const total = /"total":(\d+)/.exec(await answer(pool, query))?.[1];
    const measured: string[] = [];
    for (const page of pages) {
      const asked = `${query}&${page}`.replace(/^&|&$/g, '');
      const { p50, p95 } = await quietest(rounds, runs, () => answer(pool, asked));
      const slow = limited && p95 >= limitMs;
      quickEnough &&= !slow;
      measured.push(
        `p50 ${p50.toFixed(1)} p95 ${p95.toFixed(1)} ms${slow ? ` MORE THAN ${limitMs} ms` : ''}`,
      );
    }
    out(
      `  request-logs?${query} (${total}): ${measured.join(', deepest ')}${limited ? '' : ' (in no index together)'}`,
    );
  }
  return quickEnough;
}

/** Prints the bytes per request log: of its row, its tags, and each index of both. */
export async function showSizes(pool: DatabasePool, out: (line: string) => void): Promise<void> {
  const sizes = (await pool.any(sql.unsafe`
    select c.relname as name, (pg_relation_size(c.oid)::numeric / greatest(l.rows, 1))::float8 as bytes
    from pg_class c left join pg_index i on i.indexrelid = c.oid
    cross join (select count(*) as rows from request_logs) l
    where coalesce(i.indrelid, c.oid) in (
      select relid from pg_partition_tree('request_logs') union all select relid from pg_partition_tree('request_log_tags'))
      and pg_relation_size(c.oid) > 100000
    order by coalesce(i.indrelid, c.oid), c.relkind desc, bytes desc
  `)) as readonly { readonly name: string; readonly bytes: number }[];
  out(`  bytes per request log: ${sizes.map(({ name, bytes }) => `${name} ${bytes.toFixed(1)}`).join(', ')}`);
}
