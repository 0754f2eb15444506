import { readdir } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { localJournal } from '../../infrastructure/journal/journal.ts';
import type { RecoveredFile } from '../../infrastructure/journal/recovery.ts';
import { oneDatabase } from '../../infrastructure/postgres/ledger-place.ts';
import { replayJournaled } from '../../infrastructure/postgres/ledger-store.ts';
import { aRecord, aUser, openLedger, rowsOf, unit, withClient, wordOf } from '../contract/ledger-bench.ts';
import { createDatabase, type TestDatabase } from '../support/database.ts';
import { ADMIN_URL_VARIABLE, connected, fromSetUp, makeTestFolder, runAll } from '../support/test-server.ts';
import { always } from './journal-bench.ts';

const at = new Date('2028-05-10T12:00:00.123Z');

let database: TestDatabase;
let name: string;
beforeAll(async () => {
  database = await createDatabase();
  name = new URL(database.url).pathname.slice(1);
});
afterAll(() => database?.drop());

/** As an administrator connected to another database of the server, with no session in this one. */
const alone = (...statements: readonly string[]) =>
  connected(fromSetUp(ADMIN_URL_VARIABLE), async (admin) => {
    for (const statement of statements)
      await admin.query(statement.replaceAll('%', name)).catch(async () => {
        // A session needs a moment to end.
        await admin.query(
          `select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname like '${name}%'`,
        );
        await admin.query(statement.replaceAll('%', name));
      });
  });
const inside = (...statements: readonly string[]) => runAll(database.url, statements);

const restores: readonly (readonly [string, () => Promise<void>, () => Promise<void>])[] = [
  [
    'does not exist',
    () => alone('alter database % rename to %_old'),
    () => alone('alter database %_old rename to %'),
  ],
  [
    'accepts no connections',
    () =>
      alone(
        'alter database % with allow_connections false',
        `select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = '%'`,
      ),
    () => alone('alter database % with allow_connections true'),
  ],
  [
    'has no functions yet',
    () => inside('alter schema public rename to later', 'create schema public'),
    () => inside('drop schema public', 'alter schema later rename to public'),
  ],
  [
    'does not have all tables yet',
    () => inside('alter table usage_cost_events rename to later'),
    () => inside('alter table later rename to usage_cost_events'),
  ],
];

describe('while a database is restored', () => {
  it.each(restores)(
    'and %s, records are kept in the journal, and are settled when it is back',
    async (_, take, bring) => {
      const directory = await makeTestFolder('journal');
      const recovered: RecoveredFile[] = [];
      const onFault = (error: unknown): never => {
        throw error;
      };
      const journal = localJournal({ directory, onFault, onRecovered: (file) => void recovered.push(file) });
      const ledger = await openLedger(database.url, { journal: journal.keep });
      const options = { closeOnBlock: () => false, mailReady: () => false, onFault: () => undefined };
      const recover = () => journal.recover(replayJournaled(oneDatabase(ledger.pool), options), always);
      const user = await withClient(database.url, (ask) => aUser(ask, { amount: 10n, hard: false }));
      const records = Array.from({ length: 3 }, () => ({ ...aRecord(user, unit), deferrableTo: at }));
      expect(wordOf(await ledger.settle(records[0]!))).toBe('recorded');
      await take();
      try {
        const settled = await Promise.all(records.slice(1).map((record) => ledger.settle(record)));
        expect(settled.map(wordOf)).toEqual(['journaled', 'journaled']);
        await recover();
        expect([recovered, journal.size() > 0]).toEqual([[], true]);
      } finally {
        await bring();
      }
      await recover();
      expect(recovered).toEqual([{ settled: 2, refused: 0, damaged: 0, kept: undefined }]);
      expect(await readdir(directory)).toEqual([]);
      for (const record of records)
        expect(await withClient(database.url, (ask) => rowsOf(ask, record))).toEqual([1, 1]);
      await journal.close();
      await ledger.pool.end();
    },
  );
});
