import { type CommonQueryMethods, sql } from 'slonik';

/** There are partitions for this month and so many more: for that long nobody need be able to make one. */
const monthsAhead = 2;

/** Makes the partitions that the request logs of the next months go into; without them they go into the default one. */
export const makeLogPartitions = async (connection: CommonQueryMethods): Promise<void> => {
  await connection.query(sql.unsafe`
    select gateway_make_log_partitions(clock_timestamp(), clock_timestamp() + make_interval(months => ${monthsAhead}))
  `);
};
