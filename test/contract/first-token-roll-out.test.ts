import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { withDatabase } from '../support/database.ts';
import { queries } from '../support/gateway.ts';
import { timed } from '../support/undisturbed.ts';
import { aLog, aUser, holder, settleTogether, withClient, withLedgers } from './ledger-bench.ts';

const database = withDatabase();
const query = queries(database.url);
const { ledgers } = withLedgers(database.url);

const sqlOf = (file: string): Promise<string> =>
  readFile(path.join(import.meta.dirname, '..', '..', 'migrations', file), 'utf8');

/** The files of the partitions: a table that is rewritten gets a new file. */
const filesOfRows = () =>
  query(`select relid::text as name, pg_relation_filenode(relid)::text as file from pg_partition_tree('request_logs')
         where isleaf order by 1`);

describe('the column of the time to the first token', () => {
  it('is added while replicas of the previous release settle and a reader is open, and no row is rewritten', async () => {
    const user = await aUser(query);
    const settle = async (firstTokenMs?: number) => {
      const logged = aLog(user, { firstTokenMs });
      const record = { charge: undefined, logged, release: undefined, deferrableTo: undefined };
      const { value, ms } = await timed(() => settleTogether(ledgers[0]!, [record]));
      expect(value).toEqual(['recorded']);
      return { id: logged.log.requestLogId, ms };
    };
    const newer = `${await sqlOf('functions/gateway_log.sql')};${await sqlOf('functions/gateway_log_one.sql')}`;
    const older = newer.replaceAll(/(i\.|item\.)?first_token_ms, /g, '');
    await query(`alter table request_logs drop column first_token_ms;
                 alter type settlement_record drop attribute first_token_ms; ${older}`);
    const ids = [(await settle()).id];
    const files = await filesOfRows();

    const reader = await holder(database.url());
    await reader.query('select from request_logs limit 1');
    let isAdded = false;
    const added = withClient(database.url(), async (ask) => {
      await ask(await sqlOf('0015_first_token.sql'));
      isAdded = true;
    });
    const times: number[] = [];
    for (
      const until = performance.now() + 1500;
      times.length < 20 || performance.now() < until;
      await sleep(20)
    ) {
      const { id, ms } = await settle();
      ids.push(id);
      times.push(ms);
    }
    // One settlement may be delayed by a pause of the server itself.
    expect(times.filter((ms) => ms > 1000).length).toBeLessThanOrEqual(1);
    expect(isAdded).toBe(false);
    await reader.rollBack();
    await added;
    ids.push((await settle()).id);
    await query(newer);
    ids.push((await settle()).id);
    const { id: latest } = await settle(5);
    expect(await filesOfRows()).toEqual(files);
    expect(
      await query(
        'select first_token_ms, count(*)::integer as rows from request_logs where request_log_id = any ($1::uuid[]) group by 1 order by 1',
        [[...ids, latest]],
      ),
    ).toEqual([
      { first_token_ms: 5, rows: 1 },
      { first_token_ms: null, rows: ids.length },
    ]);
  });
});
