import { type CommonQueryMethods, sql } from 'slonik';

/** Partitions exist for this month and this many more, so nothing breaks if none can be made for that long. */
const monthsAhead = 2;
/** The same in days: fewer, because lists look into each partition. */
const daysAhead = 3;

/**
 * Makes the partitions of upcoming request logs; without them, rows go into the default partition. With `daily`, there
 * is one per UTC day, so that a purge can drop whole partitions; otherwise one per month, because lists take longer the
 * more there are.
 */
export const makeLogPartitions = async (connection: CommonQueryMethods, daily: boolean): Promise<void> => {
  await connection.query(
    daily
      ? sql.unsafe`
          select gateway_make_daily_log_partitions(clock_timestamp(), clock_timestamp() + make_interval(days => ${daysAhead}))
        `
      : sql.unsafe`
          select gateway_make_log_partitions(clock_timestamp(), clock_timestamp() + make_interval(months => ${monthsAhead}))
        `,
  );
};
