import { describe, expect, it } from '@jest/globals';
import * as t from 'io-ts';
import { type DatabasePool, type QuerySqlToken, sql } from 'slonik';
import {
  AnswerTimeout,
  databaseFault,
  isDatabaseTrouble,
  sqlState,
} from '../../infrastructure/postgres/database-fault.ts';
import { openPool, row } from '../../infrastructure/postgres/pool.ts';
import { withDatabase } from '../support/database.ts';
import { holder } from './ledger-bench.ts';
import { tcpProxy } from './tcp-proxy.ts';

const database = withDatabase();

/** The error of a statement that must fail. */
async function failureOf(pool: DatabasePool, statement: QuerySqlToken): Promise<unknown> {
  try {
    await pool.query(statement);
  } catch (error) {
    return error;
  }
  throw new Error(`${statement.sql} did not fail`);
}

describe('the fault of a failed statement', () => {
  it.each([
    ['refused', '22P02', sql.unsafe`select 'no uuid'::uuid`],
    ['refused', '22003', sql.unsafe`select 10::numeric(1, 0)`],
    ['refused', '23502', sql.unsafe`insert into users (email) values ('a')`],
    [
      'refused',
      '23503',
      sql.unsafe`insert into api_keys (public_id, secret_sha256, name, team_id)
      values ('p', sha256('x'), 'n', 'no team')`,
    ],
    ['refused', '23514', sql.unsafe`insert into users (email, name, role) values ('a', 'b', 'nobody')`],
    ['refused', '21000', sql.unsafe`select (select i from generate_series(1, 2) i)`],
    ['refused', 'P0001', sql.unsafe`do $$ begin raise exception 'not this row'; end $$`],
    ['unready', '42P01', sql.unsafe`select from there_is_no_such_table`],
    ['unready', '42883', sql.unsafe`select there_is_no_such_function()`],
    ['unready', '3F000', sql.unsafe`create table there_is_no_such_schema.any ()`],
    ['unready', '0A000', sql.unsafe`select count(*) from users for update`],
    ['stuck', '57014', sql.unsafe`select pg_sleep(5)`],
    [
      'connection',
      '25006',
      sql.unsafe`do $$ begin
        set transaction_read_only = on; insert into users (email, name) values ('a', 'b');
      end $$`,
    ],
    ['connection', '57P01', sql.unsafe`select pg_terminate_backend(pg_backend_pid())`],
  ])('is "%s" for %s', async (fault, state, statement) => {
    const pool = await openPool(database.url(), 1);
    if (fault === 'stuck') await pool.query(sql.unsafe`set statement_timeout = 200`);
    const error = await failureOf(pool, statement);
    await pool.end();
    expect(databaseFault(error)).toBe(fault);
    expect(sqlState(error)).toBe(state);
  });

  it('is "stuck" for a lock that cannot be acquired in time', async () => {
    const pool = await openPool(database.url(), 1);
    const held = await holder(database.url());
    await held.query('lock table usage_daily_totals in access exclusive mode');
    await pool.query(sql.unsafe`set lock_timeout = 50`);
    const error = await failureOf(pool, sql.unsafe`select from usage_daily_totals`);
    await held.rollBack();
    await pool.end();
    expect([databaseFault(error), sqlState(error)]).toEqual(['stuck', '55P03']);
  });

  it('is "connection" for a refusing server and Node codes like EPIPE; a wrapped error is read by its cause', async () => {
    const proxy = await tcpProxy();
    const pool = await openPool(proxy.to(database.url()), 1);
    await proxy.refuse();
    expect(databaseFault(await failureOf(pool, sql.unsafe`select 1`))).toBe('connection');
    for (const code of ['EPIPE', 'EBUSY', 'ECONNRESET', 'ETIMEDOUT'])
      expect(databaseFault(Object.assign(new Error('broken'), { code }))).toBe('connection');
    expect(
      databaseFault(new Error('wrapped', { cause: Object.assign(new Error('b'), { code: '40P01' }) })),
    ).toBe('stuck');
    await pool.end();
  });

  it('is "connection" for a password that the server rejects', async () => {
    const url = new URL(database.url());
    url.password = 'another';
    const refused = await openPool(url.href, 1);
    const error: unknown = await refused.query(sql.unsafe`select 1`).catch((refusal: unknown) => refusal);
    await refused.end();
    expect([databaseFault(error), sqlState(error)]).toEqual(['connection', '28P01']);
  });

  it.each(['42501', '55000', '58000', '58030', 'XX000', 'XX001'])(
    'is "unready", and a defect of the gateway, for a fault of the database itself: %s',
    (code) => {
      const error = Object.assign(new Error('broken'), { code });
      expect([databaseFault(error), isDatabaseTrouble(error)]).toEqual(['unready', false]);
    },
  );

  it.each(['25P03', '25P04'])('is "connection" for a session that the server has ended: %s', (code) => {
    expect(databaseFault(Object.assign(new Error('ended'), { code }))).toBe('connection');
  });

  it('is "connection" for a database that does not exist, through slonik and without it', async () => {
    const url = new URL(database.url());
    url.pathname = '/not_there';
    const pool = await openPool(url.href, 1);
    const errors = [
      await failureOf(pool, sql.unsafe`select 1`),
      await pool.connections.take().catch((error: unknown) => error),
    ];
    await pool.end();
    for (const error of errors)
      expect([databaseFault(error), sqlState(error), isDatabaseTrouble(error)]).toEqual([
        'connection',
        '3D000',
        true,
      ]);
  });

  it('is "refused", and a defect, for a row that does not have its declared type', async () => {
    const pool = await openPool(database.url(), 1);
    const error = await failureOf(pool, sql.type(row(t.type({ at: t.number })))`select 'now' as at`);
    await pool.end();
    expect([databaseFault(error), isDatabaseTrouble(error)]).toEqual(['refused', false]);
  });

  it('is "late" for an answer that did not arrive', () => {
    expect(databaseFault(new AnswerTimeout('late'))).toBe('late');
  });
});
