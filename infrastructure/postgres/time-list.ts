import * as t from 'io-ts';
import {
  type CommonQueryMethods,
  type DatabasePool,
  type FragmentSqlToken,
  sql,
  StatementTimeoutError,
} from 'slonik';
import type { PageRequest } from '../../application/ports/page.ts';
import { int8 } from './codecs.ts';
import { instantOf } from './instants.ts';
import { all } from './list-conditions.ts';
import { row } from './pool.ts';
import { onSnapshot } from './snapshot.ts';

/** `total` is exact up to this many (rule 40.4). */
export const exactTotal = 10_000;

/** The width of a `list_bucket`. */
const bucketMs = 15 * 60_000;

/** Half-open; both ends may be open. */
export interface TimeRange {
  readonly from?: Date | undefined;
  readonly until?: Date | undefined;
}

/**
 * A list of rows, newest first, and the kind of index by which they are read. A fragment of rows is what follows
 * `from`, including its conditions after `where`.
 */
export type TimeList = InBuckets | InOrder;

/** Read by an index of the leading condition and `list_bucket`, such as `request_logs_user_id_idx`. */
interface InBuckets {
  readonly by: 'bucket';
  /** The rows for counting: from the index alone, wherever it holds every column of the conditions. */
  readonly counted: FragmentSqlToken;
  /** The rows for reading, with their time and key. */
  readonly rows: FragmentSqlToken;
  readonly bucket: FragmentSqlToken;
  readonly time: FragmentSqlToken;
  readonly key: FragmentSqlToken;
}

/** Read by the index of time and key (`request_logs_occurred_at_idx`), because no condition has an index. */
interface InOrder {
  readonly by: 'time';
  readonly rows: FragmentSqlToken;
  readonly time: FragmentSqlToken;
  readonly key: FragmentSqlToken;
}

/**
 * Reads a list in one snapshot, by a plan that does not depend on statistics. With sorts, bitmap scans and sequential
 * scans switched off, only the index of the leading condition provides the requested order. JIT is off as well, because
 * these switches raise the planner's cost estimates so much that it would compile every plan.
 *
 * One kind of filter is slow that way: the leading condition matches many rows, the others few of these, and its index
 * does not hold the others' columns. Such a read is cancelled after `inOrderMs` and repeated with the planner's choice.
 */
export async function readList<A>(
  pool: DatabasePool,
  read: (connection: CommonQueryMethods) => Promise<A>,
): Promise<A> {
  try {
    return await onSnapshot(pool, read, inOrder);
  } catch (error) {
    if (!(error instanceof StatementTimeoutError)) throw error;
    return onSnapshot(pool, read, asPlanned);
  }
}

/** Time limit of a read in order: ten times what it takes if the index holds every column of the conditions. */
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

/** The same with a plan of the planner's choice, for few rows that must be sorted. */
export const readAsPlanned = <A>(
  pool: DatabasePool,
  read: (connection: CommonQueryMethods) => Promise<A>,
): Promise<A> => onSnapshot(pool, read, asPlanned);

/** A list read in order, whatever its conditions: over several shards, buckets cannot be counted from one index. */
export const readInOrder = ({ rows, time, key }: TimeList): TimeList => ({ by: 'time', rows, time, key });

/** The number of rows in the list: exact up to `exactTotal`, above that a lower bound. */
export async function totalOf(connection: CommonQueryMethods, list: TimeList, range: TimeRange) {
  const total = await connection.oneFirst(sql.type(row(t.type({ total: int8 })))`
    select count(*) as total from (${newest(list, range, exactTotal + 1)}) counted
  `);
  return boundedTotal(total);
}

/** The same for rows given as a fragment that follows `from`. */
export async function countOf(connection: CommonQueryMethods, rows: FragmentSqlToken) {
  const total = await connection.oneFirst(sql.type(row(t.type({ total: int8 })))`
    select count(*) as total from (select 1 from ${rows} limit ${exactTotal + 1}) counted
  `);
  return boundedTotal(total);
}

/** The total of a list whose rows were counted up to one more than `exactTotal`. */
export const boundedTotal = (counted: bigint) => ({
  total: Math.min(exactTotal, Number(counted)),
  totalIsLowerBound: counted > exactTotal,
});

/** `id` and `occurred_at` of the rows of one page. A query that joins them must sort again: a join keeps no order. */
export const pageOf = (
  list: TimeList,
  range: TimeRange,
  { page, pageSize }: PageRequest,
): FragmentSqlToken =>
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

/** Finds the buckets that contain the page, counted from the newest, and then the rows of these buckets, sorted. */
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

/** One row for each of the newest rows, at most `most`, with its `list_bucket` if the list is read in buckets. */
function newest(list: TimeList, range: TimeRange, most: number): FragmentSqlToken {
  if (list.by === 'time')
    return sql.fragment`
      select 1 from ${list.rows} and ${during(list.time, range)}
      order by ${list.time} desc, ${list.key} desc limit ${most}
    `;
  const { counted, rows, bucket, time } = list;
  const edges = [range.from, range.until].flatMap((edge) => (edge === undefined ? [] : [bucketOf(edge)]));
  if (edges.length === 0)
    return sql.fragment`select ${bucket} as list_bucket from ${counted} order by ${bucket} desc limit ${most}`;
  // Buckets strictly within the range are counted from the index alone. The two buckets at its ends also have rows
  // outside the range, so the time of each of their rows is checked.
  const ends = sql.join(edges.map(instantOf), sql.fragment`, `);
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
    ...(from === undefined ? [] : [sql.fragment`${time} >= ${instantOf(from)}`]),
    ...(until === undefined ? [] : [sql.fragment`${time} < ${instantOf(until)}`]),
  ]);

const strictlyWithin = (bucket: FragmentSqlToken, { from, until }: TimeRange): FragmentSqlToken =>
  all([
    ...(from === undefined ? [] : [sql.fragment`${bucket} > ${instantOf(bucketOf(from))}`]),
    ...(until === undefined ? [] : [sql.fragment`${bucket} < ${instantOf(bucketOf(until))}`]),
  ]);

const bucketOf = (at: Date): Date => new Date(Math.floor(at.getTime() / bucketMs) * bucketMs);
