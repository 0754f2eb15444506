import { describe, expect, it } from '@jest/globals';
import { withClient } from '../../infrastructure/postgres/client.ts';
import { withDatabase } from '../support/database.ts';

const database = withDatabase();

describe('a separate database connection', () => {
  it('that breaks during use fails with an error that the database was lost', async () => {
    const used = withClient(database.url(), (client) =>
      client.query('select pg_terminate_backend(pg_backend_pid())'),
    );
    await expect(used).rejects.toThrow(/^The database was lost: /);
  });

  it('to a read-only database fails with an error that it accepts no writes', async () => {
    const used = withClient(database.url(), async (client) => {
      await client.query('set default_transaction_read_only = on');
      await client.query('create table anything (at timestamptz)');
    });
    await expect(used).rejects.toThrow(
      /^The database accepts no writes: cannot execute CREATE TABLE in a read-only transaction$/,
    );
  });

  it('passes on an error of the statement unchanged', async () => {
    await expect(withClient(database.url(), (client) => client.query('select 1 / 0'))).rejects.toThrow(
      /^division by zero$/,
    );
  });
});
