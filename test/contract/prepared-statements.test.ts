import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { sql } from 'slonik';
import { withDatabase } from '../support/database.ts';
import { queries } from '../support/gateway.ts';
import {
  admitted,
  anAsk,
  aRecord,
  aUser,
  openLedger,
  type OpenLedger,
  rowsOf,
  wordOf,
} from './ledger-bench.ts';

const database = withDatabase();
const query = queries(database.url);

describe('an admission or settlement statement', () => {
  let ledger: OpenLedger;
  beforeEach(async () => {
    ledger = await openLedger(database.url(), { connections: 1 });
  });
  afterEach(() => ledger.pool.end());

  /** One admission and one settlement over the one connection; returns the numbers of its rows. */
  const request = async () => {
    const user = await aUser(query, { amount: 1_000_000n });
    await admitted(ledger, anAsk(user, { callerChoseRequestId: false }));
    const record = aRecord(user, 1n);
    expect(wordOf(await ledger.settle(record))).toBe('recorded');
    return rowsOf(query, record);
  };

  const named = async (): Promise<readonly { readonly name: string; readonly runs: number }[]> => {
    const { rows } = await ledger.pool.query(
      sql.unsafe`select name, (generic_plans + custom_plans)::integer as runs from pg_prepared_statements order by name`,
    );
    return rows as { name: string; runs: number }[];
  };

  it('is parsed once per connection', async () => {
    await request();
    const first = await named();
    expect(first).toHaveLength(2);
    await request();
    expect(await named()).toEqual(first.map(({ name, runs }) => ({ name, runs: runs + 1 })));
  });

  it.each(['does not know', 'has something else under'])(
    'is sent without a name if the server %s it, and takes effect once',
    async (what) => {
      await request();
      const names = (await named()).map(({ name }) => name);
      if (what === 'has something else under') {
        await ledger.pool.end();
        ledger = await openLedger(database.url(), { connections: 1 });
        for (const name of names) await ledger.pool.query(textOf(`prepare ${name} as select 1`));
      } else await ledger.pool.query(textOf('deallocate all'));
      expect(await request()).toEqual([1, 1]);
      await ledger.pool.query(textOf('deallocate all'));
      expect(await request()).toEqual([1, 1]);
      expect(await named()).toEqual([]);
      expect(ledger.faults).toEqual([]);
    },
  );
});

/** A statement of this text, without values. */
const textOf = (text: string) => ({ ...sql.unsafe`select 1`, sql: text });
