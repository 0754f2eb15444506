import * as t from 'io-ts';
import {
  type CommonQueryMethods,
  type DatabasePool,
  type FragmentSqlToken,
  type QuerySqlToken,
  sql,
  StatementTimeoutError,
} from 'slonik';
import type { PageAsk } from '../../application/ports/page.ts';
import { int8 } from './codecs.ts';
import { all } from './list-conditions.ts';
import { row } from './pool.ts';

/** `total` is exact up to this many (rule 40.4). */
const exactTotal = 10_000;

/** What `list_bucket` is cut into. */
const bucketMs = 15 * 60_000;

/** Half-open; both ends may be open. */
export interface TimeRange {
  readonly from: Date | undefined;
  readonly until: Date | undefined;
}

/**
 * Rows in the order of time, newest first, and how they are come by. Each fragment is what follows `from`, with its
 * conditions after `where`.
 */
export type TimeList = InBuckets | InOrder;

/** By an index of what is looked for and `list_bucket`. */
interface InBuckets {
  readonly by: 'bucket';
  /** The rows, with nothing asked for that the index has not. */
  readonly counted: FragmentSqlToken;
  /** The rows, with their time and key. */
  readonly rows: FragmentSqlToken;
  readonly bucket: FragmentSqlToken;
  readonly time: FragmentSqlToken;
  readonly key: FragmentSqlToken;
}

/** By the index of time and key: nearly all rows are wanted. */
interface InOrder {
  readonly by: 'time';
  readonly rows: FragmentSqlToken;
  readonly time: FragmentSqlToken;
  readonly key: FragmentSqlToken;
}

/**
 * A reading of one moment, whose plans depend on no statistics: the order that is asked for leaves one index that gives
 * it, and the planner may not choose another way. Nor does it compile a plan because it has been told a high cost.
 * Where little is found by what leads and much is passed over for the rest, which no index holds beside it, that takes
 * long; then it is read again as the planner likes.
 */
export async function readList<A>(
  pool: DatabasePool,
  read: (connection: CommonQueryMethods) => Promise<A>,
): Promise<A> {
  try {
    return await reading(pool, inOrder, read);
  } catch (error) {
    if (!(error instanceof StatementTimeoutError)) throw error;
    return reading(pool, asPlanned, read);
  }
}

/** How long a statement is read in order: ten times as long as one that an index holds all of. */
const inOrderMs = 2000;

const switchedOff = sql.fragment`
  select set_config(name, 'off', true)
  from unnest(array['enable_seqscan', 'enable_bitmapscan', 'enable_sort', 'enable_hashjoin', 'enable_mergejoin',
                    'enable_memoize', 'jit']) name
`;
const inOrder = sql.unsafe`
  ${switchedOff} union all select set_config('statement_timeout', ${String(inOrderMs)}, true)
`;
const asPlanned = sql.unsafe`select set_config('jit', 'off', true)`;

const reading = <A>(
  pool: DatabasePool,
  settings: QuerySqlToken,
  read: (connection: CommonQueryMethods) => Promise<A>,
): Promise<A> =>
  pool.transaction(async (connection) => {
    await connection.query(sql.unsafe`set transaction isolation level repeatable read, read only`);
    await connection.query(settings);
    return read(connection);
  });

/** How many rows there are: exact up to a bound, and at the bound a lower one. */
export async function totalOf(connection: CommonQueryMethods, list: TimeList, range: TimeRange) {
  const total = await connection.oneFirst(sql.type(row(t.type({ total: int8 })))`
    select count(*) as total from (${newest(list, range, exactTotal + 1)}) counted
  `);
  return { total: Math.min(exactTotal, Number(total)), totalIsLowerBound: total > exactTotal };
}

/** `id` and `occurred_at` of the rows of one page; the order within it is not kept. */
export const pageOf = (list: TimeList, range: TimeRange, { page, pageSize }: PageAsk): FragmentSqlToken =>
  list.by === 'time'
    ? pageInOrder(list, range, (page - 1) * pageSize, pageSize)
    : pageInBuckets(list, range, (page - 1) * pageSize, pageSize);

const pageInOrder = (
  { rows, time, key }: InOrder,
  range: TimeRange,
  offset: number,
  size: number,
) => sql.fragment`
  select ${key} as id, ${time} as occurred_at from ${rows} and ${during(time, range)}
  order by ${time} desc, ${key} desc offset ${offset} limit ${size}
`;

/** First in which buckets the page lies, then the rows of these. */
const pageInBuckets = (list: InBuckets, range: TimeRange, offset: number, size: number) => sql.fragment`
  with buckets as (
    select list_bucket, count(*) as counted, sum(count(*)) over (order by list_bucket desc) as reached
    from (${newest(list, range, offset + size)}) newest group by list_bucket
  ), place as (
    select min(list_bucket) as oldest, max(list_bucket) as newest, min(reached - counted)::bigint as passed
    from buckets where reached > ${offset}
  )
  select id, occurred_at
  from (
    select ${list.key} as id, ${list.time} as occurred_at
    from ${list.rows} and ${list.bucket} >= (select oldest from place) and ${list.bucket} <= (select newest from place)
      and ${during(list.time, range)}
    order by ${list.bucket} desc
  ) found
  order by occurred_at desc, id desc offset ${offset} - (select passed from place) limit ${size}
`;

/** A row for each of the newest rows, at most so many; of a list in buckets it holds `list_bucket`. */
function newest(list: TimeList, range: TimeRange, most: number): FragmentSqlToken {
  if (list.by === 'time')
    return sql.fragment`
      select from ${list.rows} and ${during(list.time, range)}
      order by ${list.time} desc, ${list.key} desc limit ${most}
    `;
  const { counted, rows, bucket, time } = list;
  const edges = [range.from, range.until].flatMap((edge) => (edge === undefined ? [] : [bucketOf(edge)]));
  if (edges.length === 0)
    return sql.fragment`select ${bucket} as list_bucket from ${counted} order by ${bucket} desc limit ${most}`;
  // Of the buckets at the ends of the range some rows are without; all others are counted as they are.
  const ends = sql.join(edges.map(instant), sql.fragment`, `);
  return sql.fragment`
    select list_bucket from (
      (select ${bucket} as list_bucket from ${counted} and ${strictlyWithin(bucket, range)}
       order by ${bucket} desc limit ${most})
      union all
      (select ${bucket} as list_bucket from ${rows} and ${bucket} in (${ends}) and ${during(time, range)}
       order by ${bucket} desc limit ${most})
    ) both_parts order by list_bucket desc limit ${most}
  `;
}

const during = (time: FragmentSqlToken, { from, until }: TimeRange): FragmentSqlToken =>
  all([
    ...(from === undefined ? [] : [sql.fragment`${time} >= ${instant(from)}`]),
    ...(until === undefined ? [] : [sql.fragment`${time} < ${instant(until)}`]),
  ]);

const strictlyWithin = (bucket: FragmentSqlToken, { from, until }: TimeRange): FragmentSqlToken =>
  all([
    ...(from === undefined ? [] : [sql.fragment`${bucket} > ${instant(bucketOf(from))}`]),
    ...(until === undefined ? [] : [sql.fragment`${bucket} < ${instant(bucketOf(until))}`]),
  ]);

const bucketOf = (at: Date): Date => new Date(Math.floor(at.getTime() / bucketMs) * bucketMs);

/** As a number, for PostgreSQL does not read every year that is written as a date. */
const instant = (at: Date): FragmentSqlToken =>
  sql.fragment`to_timestamp(${at.getTime()}::double precision / 1000)`;
