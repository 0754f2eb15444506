import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import { type DatabasePool, sql } from 'slonik';
import { accountsStore } from '../../infrastructure/postgres/accounts-store.ts';
import { AnswerTimeout } from '../../infrastructure/postgres/database-fault.ts';
import { openPool } from '../../infrastructure/postgres/pool.ts';
import { withDatabase } from '../support/database.ts';
import { timed } from '../support/undisturbed.ts';
import { eventually } from '../e2e/traces.ts';
import { type TcpProxy, tcpProxy } from './tcp-proxy.ts';

const database = withDatabase();
const answerMs = 300;
/** The library waits for so long before it leaves a connection alone that it closes; a busy machine takes its time, too. */
const closeMs = 9000;

describe('a connection that is dead, and nobody says so', () => {
  let proxy: TcpProxy;
  let pool: DatabasePool;
  beforeEach(async () => {
    proxy = await tcpProxy();
    pool = await openPool(proxy.to(database.url()), 2, answerMs);
    // Both connections are there, unless a busy machine was late with an answer itself.
    await eventually(() =>
      Promise.all([0, 1].map(() => pool.query(sql.unsafe`select pg_sleep(0.05)`))).then(
        () => true,
        () => undefined,
      ),
    );
    proxy.freeze();
  });
  afterEach(async () => {
    await proxy.close();
    await pool.end();
  });

  it('fails the statement that it was taken for in time, and is not used again', async () => {
    for (let dead = 0; dead < 2; dead += 1) {
      const { value, ms } = await timed(() =>
        pool.query(sql.unsafe`select 1`).catch((error: unknown) => error),
      );
      expect(value).toBeInstanceOf(AnswerTimeout);
      expect(ms).toBeLessThan(answerMs + closeMs);
    }
    const another = () => timed(() => pool.oneFirst(sql.unsafe`select 7`).catch((error: unknown) => error));
    let { value, ms } = await another();
    // A busy machine may be late with the answer itself.
    for (let tries = 1; tries < 3 && value instanceof AnswerTimeout; tries += 1)
      ({ value, ms } = await another());
    expect(value).toBe(7);
    expect(ms).toBeLessThan(5000);
  });

  it('fails a transaction, too', async () => {
    const { value, ms } = await timed(() =>
      pool
        .transaction((connection) => connection.query(sql.unsafe`select 1`))
        .catch((error: unknown) => error),
    );
    expect(value).toBeInstanceOf(AnswerTimeout);
    expect(ms).toBeLessThan(2 * answerMs + closeMs);
  });

  it('holds up no caller whose key is looked up: a 503 in time', async () => {
    const faults: unknown[] = [];
    const accounts = accountsStore(
      pool,
      () => true,
      (error) => void faults.push(error),
    );
    const { value, ms } = await timed(() =>
      accounts.authenticate({ publicId: 'gwk_00000000000000000000000000000000', secret: 'x'.repeat(64) }),
    );
    expect(value).toEqual(E.left(expect.objectContaining({ code: 'store_unavailable' })));
    expect(faults).toEqual([expect.any(AnswerTimeout)]);
    expect(ms).toBeLessThan(answerMs + closeMs);
  });
});
