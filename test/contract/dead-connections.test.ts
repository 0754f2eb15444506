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
/** How long slonik waits when it closes a connection, with a margin for a busy machine. */
const closeMs = 9000;

describe('a dead connection that was not closed', () => {
  let proxy: TcpProxy;
  let pool: DatabasePool;
  beforeEach(async () => {
    proxy = await tcpProxy();
    pool = await openPool(proxy.to(database.url()), 2, answerMs);
    // Opens both connections; repeated, because a busy machine may answer late.
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

  it('fails its statement in time, and is not used again', async () => {
    for (let dead = 0; dead < 2; dead += 1) {
      const { value, ms } = await timed(() =>
        pool.query(sql.unsafe`select 1`).catch((error: unknown) => error),
      );
      expect(value).toBeInstanceOf(AnswerTimeout);
      expect(ms).toBeLessThan(answerMs + closeMs);
    }
    const another = () => timed(() => pool.oneFirst(sql.unsafe`select 7`).catch((error: unknown) => error));
    let { value, ms } = await another();
    // A busy machine may answer late.
    for (let tries = 1; tries < 3 && value instanceof AnswerTimeout; tries += 1)
      ({ value, ms } = await another());
    expect(value).toBe(7);
    expect(ms).toBeLessThan(5000);
  });

  it('fails a transaction in time', async () => {
    const { value, ms } = await timed(() =>
      pool
        .transaction((connection) => connection.query(sql.unsafe`select 1`))
        .catch((error: unknown) => error),
    );
    expect(value).toBeInstanceOf(AnswerTimeout);
    expect(ms).toBeLessThan(2 * answerMs + closeMs);
  });

  it('fails a key lookup in time with `store_unavailable`', async () => {
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
