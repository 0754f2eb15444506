import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { budgetsStore } from '../../infrastructure/postgres/budgets-store.ts';
import { createDatabase, type TestDatabase } from '../support/database.ts';
import { connected } from '../support/test-server.ts';
import {
  admitted,
  anAsk,
  aRecord,
  aTeam,
  aUser,
  openLedger,
  rowsOf,
  settleTogether,
  unit,
  withClient,
} from './ledger-bench.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createDatabase();
});
afterAll(() => database?.drop());

describe('requests', () => {
  it.each([
    `datestyle = 'German'`,
    `datestyle = 'SQL, DMY'`,
    `datestyle = 'German, DMY'`,
    'standard_conforming_strings = off',
    `default_transaction_isolation = 'serializable'`,
    `timezone = 'Asia/Kathmandu'`,
    `bytea_output = 'escape'`,
    `intervalstyle = 'sql_standard'`,
    'array_nulls = off',
  ])('are settled correctly in a database that has %s', async (setting) => {
    const name = new URL(database.url).pathname.slice(1);
    const set = (what: string) =>
      connected(database.url, (client) => client.query(`alter database ${name} ${what}`));
    const user = await withClient(database.url, (ask) => aUser(ask, { amount: 10n, cadence: 'daily' }));
    const [team] = await withClient(database.url, (ask) => aTeam(ask));
    await set(`set ${setting}`);
    const records = [aRecord(user, 6n * unit), aRecord(user, 6n * unit)];
    const ledger = await openLedger(database.url);
    try {
      const { budget } = await admitted(ledger, anAsk(user));
      expect(budget?.spent).toBe(0n);
      await admitted(ledger, anAsk(user, { callerChoseRequestId: false }));
      await admitted(ledger, anAsk(team, { callerChoseRequestId: false }));
      expect(await settleTogether(ledger, records)).toEqual(['recorded', 'blocked']);
      expect(await settleTogether(ledger, [aRecord(team, unit)])).toEqual(['recorded']);
      expect(ledger.faults).toEqual([]);
      const listed = await budgetsStore(ledger.pool, () => false).list();
      expect(listed.at(-1)?.currentWindow?.spent).toBeDefined();
    } finally {
      await ledger.pool.end();
      await set('reset all');
    }
    const rows = await withClient(database.url, async (ask) => [
      await rowsOf(ask, records[0]!),
      await rowsOf(ask, records[1]!),
    ]);
    expect(rows).toEqual([
      [1, 1],
      [0, 1],
    ]);
  });

  // Autovacuum runs `analyze`, and a restore writes rows.
  it('leave rows that any session can analyze and write, also with `standard_conforming_strings` off', async () => {
    const user = await withClient(database.url, (ask) => aUser(ask, { amount: 10n, cadence: 'daily' }));
    const ledger = await openLedger(database.url);
    await settleTogether(ledger, [aRecord(user, unit)]);
    await ledger.pool.end();
    const id = String.raw`a\b`;
    const [found] = await connected(database.url, async (client) => {
      await client.query('set standard_conforming_strings = off');
      await client.query('analyze request_logs, usage_cost_events');
      await client.query(
        'insert into request_claims values (request_digest($1), $1, gen_random_uuid(), now(), null)',
        [id],
      );
      return (
        await client.query('select request_id_sha256 from request_claims where ownership_scope_key = $1', [
          id,
        ])
      ).rows;
    });
    expect(found).toEqual({ request_id_sha256: createHash('sha256').update(id).digest() });
  });
});
