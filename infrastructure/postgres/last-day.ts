import * as t from 'io-ts';
import { type CommonQueryMethods, sql } from 'slonik';
import type { LastDay } from '../../application/ports/model-list.ts';
import { timestamp } from './codecs.ts';
import { instantOf } from './instants.ts';
import { row } from './pool.ts';
import { exactTotal } from './time-list.ts';

const countRow = t.type({ key: t.string, requests: t.number, errors: t.number });

const newestOf = {
  model_key: sql.identifier(['newest_of_model']),
  provider_key: sql.identifier(['newest_of_provider']),
} as const;

/**
 * Requests and errors of the last day, by quarters of an hour. For each key its newest request logs are counted, at
 * most one more than `exactTotal`, from `request_logs_model_key_idx` or `request_logs_provider_key_idx` alone: both
 * hold the status after the quarter. The cost depends on the number of keys, never on the number of rows.
 */
export async function lastDayOf(
  connection: CommonQueryMethods,
  column: keyof typeof newestOf,
  keys: readonly string[],
): Promise<(key: string) => LastDay> {
  const since = await connection.oneFirst(sql.type(row(t.type({ since: timestamp })))`
    select date_bin('15 minutes', gateway_now() - interval '24 hours', timestamptz '2000-01-01 00:00:00+00') as since
  `);
  const rows = await connection.any(sql.type(row(countRow))`
    select wanted.key, found.requests, found.errors
    from unnest(${sql.array(keys, 'text')}) wanted(key)
    cross join lateral ${newestOf[column]}(
      wanted.key, ${instantOf(since)}, ${exactTotal + 1}) found
  `);
  const found = new Map(rows.map((each) => [each.key, each]));
  return (key) => {
    const { requests = 0, errors = 0 } = found.get(key) ?? {};
    const isLowerBound = requests > exactTotal;
    return {
      since,
      requests: Math.min(requests, exactTotal),
      errors: Math.min(errors, exactTotal),
      isLowerBound,
    };
  };
}
