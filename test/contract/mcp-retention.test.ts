import { describe, expect, it } from '@jest/globals';
import { purgeRows } from '../../application/retention/purge-rows.ts';
import { systemClock } from '../../infrastructure/clock.ts';
import {
  invocationRecords,
  purgeUnderLock,
  purgeBatchRows,
} from '../../infrastructure/postgres/purge-store.ts';
import { withDatabase } from '../support/database.ts';
import { queries } from '../support/gateway.ts';
import { holder } from './ledger-bench.ts';

const database = withDatabase();
const query = queries(database.url);

const addAt = (count: number, at: string) =>
  query(`
    insert into mcp_tool_invocations (mcp_tool_invocation_id, request_id, server_id, tool_id, status, policy_result,
      latency_ms, arguments_truncated, result_truncated, occurred_at)
    select gen_random_uuid(), 'r', 's', 's/t', 'success', 'allowed', 1, false, false,
           ${at} from generate_series(1, ${count})
  `);

const add = (count: number, ageDays: number) =>
  addAt(count, `gateway_now() - make_interval(days => ${ageDays})`);

const purge = (retention: '7d' | '90d') =>
  purgeUnderLock(
    database.url(),
    (rows) =>
      purgeRows({ rows, clock: systemClock(), pause: async () => undefined })({
        retention,
        dryRun: false,
        shouldContinue: () => true,
      }),
    invocationRecords,
  );

describe('records of MCP tool calls', () => {
  it('are deleted by their own retention, in batches, and younger ones stay', async () => {
    const many = 2 * purgeBatchRows + 1;
    await add(many, 8);
    await add(3, 6);
    await add(2, 91);
    expect(await purge('90d')).toMatchObject({ matched: 2, deleted: 2 });
    expect(await purge('7d')).toMatchObject({ matched: many, deleted: many });
    const [left] = await query<{ count: string }>('select count(*) as count from mcp_tool_invocations');
    expect(Number(left?.count)).toBe(3);
  });

  it('are kept from the cutoff instant on', async () => {
    await query('truncate mcp_tool_invocations');
    for (const at of ['2028-02-29T23:59:59.999999Z', '2028-03-01T00:00:00Z', '2028-03-01T00:00:00.000001Z'])
      await addAt(1, `timestamptz '${at}'`);
    const told = await purgeUnderLock(
      database.url(),
      async (rows) => {
        const cutoff = new Date('2028-03-01T00:00:00Z');
        const matched = await rows.countBefore(cutoff);
        let deleted = 0;
        for await (const batch of rows.deleteBefore(cutoff)) deleted += batch.rows;
        return { matched, deleted };
      },
      invocationRecords,
    );
    expect(told).toEqual({ matched: 1, deleted: 1 });
  });

  it('are deleted oldest first, skipping rows that another transaction has locked', async () => {
    await query('truncate mcp_tool_invocations');
    for (const age of [8, 10, 9]) await add(1, age);
    const other = await holder(database.url());
    await other.query(
      `select from mcp_tool_invocations where occurred_at < gateway_now() - interval '9 days 12 hours' for update`,
    );
    await query(`select gateway_purge_invocations(gateway_now() - interval '7 days', 1)`);
    await other.rollBack();
    const left = await query(
      'select extract(day from gateway_now() - occurred_at)::int as age from mcp_tool_invocations order by 1',
    );
    expect(left).toEqual([{ age: 8 }, { age: 10 }]);
  });

  it('are deleted while request log partitions are created: neither waits for the other', async () => {
    await query('truncate mcp_tool_invocations');
    await add(purgeBatchRows + 1, 8);
    const makeIn = (year: number) =>
      `select gateway_make_log_partitions('${year}-01-01T00:00:00Z', '${year}-01-01T00:00:00Z') as made`;
    const counts = await purgeUnderLock(
      database.url(),
      async (rows) => {
        const deleting = await holder(database.url());
        await deleting.query(`select gateway_purge_invocations(gateway_now() - interval '7 days', 1)`);
        const [made] = await query<{ made: number }>(makeIn(2031));
        await deleting.commit();
        const making = await holder(database.url());
        await making.query(makeIn(2032));
        let deleted = 0;
        for await (const batch of rows.deleteBefore(await rows.now())) deleted += batch.rows;
        await making.commit();
        return { made: made?.made, deleted };
      },
      invocationRecords,
    );
    expect(counts).toEqual({ made: 4, deleted: purgeBatchRows });
    const partitions = `select from pg_class where relname ~ '^request_log.*_203[12]_01$' and relkind = 'r'`;
    expect(await query(partitions)).toHaveLength(8);
    expect(await query('select from mcp_tool_invocations')).toEqual([]);
  });
});
