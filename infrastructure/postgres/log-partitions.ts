import { type CommonQueryMethods, sql } from 'slonik';

/** There are partitions for this month and so many more: for that long nobody need be able to make one. */
const monthsAhead = 2;
/** The same in days: lists look into each of them. */
const daysAhead = 3;

/**
 * Makes the partitions that the request logs of the time to come go into; without them they go into the default one.
 * `daily`: a UTC day each, so that a purge can drop them whole; otherwise a month each, since lists take longer the more
 * there are.
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
