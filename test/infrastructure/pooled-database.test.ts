import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import * as t from 'io-ts';
import { sql } from 'slonik';
import { withPoolOf } from '../../composition/own-config.ts';
import { withAdvisoryLock } from '../../infrastructure/postgres/advisory-lock.ts';
import { withClient } from '../../infrastructure/postgres/client.ts';
import { openPool, row } from '../../infrastructure/postgres/pool.ts';
import { longTransaction } from '../../infrastructure/postgres/long-transaction.ts';
import { tcpProxy } from '../contract/tcp-proxy.ts';
import { withDatabase } from '../support/database.ts';
import { aKey, basicConfig, queries, startGateway } from '../support/gateway.ts';

const database = withDatabase();
const query = queries(database.url);

/** An advisory lock that only these tests use. */
const lock = 4_071_771_999;

/** A URL whose sessions limit transactions to 200 ms, if PostgreSQL has that setting (17 and later). */
async function urlWithBounds(): Promise<string> {
  const url = new URL(database.url());
  const known = await query(`select from pg_settings where name = 'transaction_timeout'`);
  if (known.length > 0) url.searchParams.set('options', '-c transaction_timeout=200');
  return url.href;
}

describe('work under an advisory lock', () => {
  const holders = () =>
    query<{ state: string; backend_xmin: string | null }>(
      `select state, backend_xmin from pg_stat_activity join pg_locks using (pid)
       where locktype = 'advisory' and objid = ${lock % 2 ** 32}`,
    );

  it('holds the lock in a transaction that does not hold back vacuum and that no idle timeout ends', async () => {
    const url = new URL(database.url());
    url.searchParams.set('options', '-c idle_in_transaction_session_timeout=100');
    const seen = await withAdvisoryLock(url.href, lock, async () => {
      await sleep(400);
      return holders();
    });
    expect(seen).toEqual([{ state: 'idle in transaction', backend_xmin: null }]);
    expect(await holders()).toEqual([]);
  });

  it('holds the lock until it ends, also where the session limits the time of transactions', async () => {
    const held = await withAdvisoryLock(await urlWithBounds(), lock, async () => {
      await sleep(500);
      return holders();
    });
    expect(held).toHaveLength(1);
  });

  it('runs one at a time; others wait for the lock up to their timeout', async () => {
    const end = Promise.withResolvers<string>();
    const begun = Promise.withResolvers<void>();
    const first = withAdvisoryLock(database.url(), lock, () => {
      begun.resolve();
      return end.promise;
    });
    await begun.promise;
    expect(await withAdvisoryLock(database.url(), lock, async () => 'second')).toBeUndefined();
    const third = withAdvisoryLock(database.url(), lock, async () => 'third', 10_000);
    end.resolve('first');
    expect(await Promise.all([first, third])).toEqual(['first', 'third']);
  });

  it('fails once its lock is lost', async () => {
    const lost = withAdvisoryLock(database.url(), lock, async () => {
      await query(`select pg_terminate_backend(pid) from pg_locks where objid = ${lock % 2 ** 32}`);
      return new Promise<never>(() => undefined);
    });
    await expect(lost).rejects.toThrow();
  });

  it('fails, and so do its statements of any length, once the server answers no more', async () => {
    const proxy = await tcpProxy();
    const url = proxy.to(database.url());
    let statement: Promise<unknown> | undefined;
    const frozen = withAdvisoryLock(
      url,
      lock,
      (lost) => {
        const slow = withClient(
          url,
          async (client) => {
            await client.query('select 1');
            proxy.freeze();
            return Promise.race([client.query('select pg_sleep(600)'), lost]);
          },
          { query_timeout: 0 },
        );
        statement = slow;
        return slow;
      },
      0,
      600,
    );
    await expect(frozen).rejects.toThrow('The database does not answer.');
    await expect(statement).rejects.toThrow('The database does not answer.');
    await proxy.close();
  });

  it('continues for longer than the server has to answer', async () => {
    expect(await withAdvisoryLock(database.url(), lock, () => sleep(600, 'done'), 0, 300)).toBe('done');
  });
});

describe('the pool of a command', () => {
  const slowly = (seconds: number) =>
    sql.type(row(t.type({ seen: t.literal(1) })))`select 1 as seen from pg_sleep(${seconds})`;

  it('waits for its statements while the server answers', async () => {
    const done = withPoolOf(database.url(), (pool) => pool.one(slowly(0.6)), 300);
    expect(await done).toEqual({ seen: 1 });
  });

  it('is given up once the server answers no more', async () => {
    const proxy = await tcpProxy();
    const frozen = withPoolOf(
      proxy.to(database.url()),
      async (pool) => {
        await pool.one(slowly(0));
        proxy.freeze();
        return pool.one(slowly(600));
      },
      600,
    );
    await expect(frozen).rejects.toThrow('The database does not answer.');
    await proxy.close();
  });
});

describe('a long transaction', () => {
  it('runs to its end, also where the session limits the time of transactions', async () => {
    const pool = await openPool(await urlWithBounds(), 1);
    try {
      const slow = sql.type(row(t.type({ seen: t.literal(1) })))`select 1 as seen from pg_sleep(0.5)`;
      expect(await longTransaction(pool, (transaction) => transaction.one(slow))).toEqual({ seen: 1 });
    } finally {
      await pool.end();
    }
  });
});

describe('a pooler that does not pass the settings of connections to the server', () => {
  let pooler: Server;
  let [asked, kept] = ['', ''];
  beforeAll(async () => {
    pooler = createServer((near) => {
      const { hostname, port } = new URL(database.url());
      const far = connect(Number(port), hostname);
      for (const [from, to] of [
        [near, far],
        [far, near],
      ] as const) {
        from.on('error', () => to.destroy());
        from.on('close', () => to.destroy());
      }
      near.on('data', (bytes: Buffer) => far.write(bytes.toString('latin1').replace(asked, kept), 'latin1'));
      far.pipe(near);
    }).listen(0, '127.0.0.1');
    await once(pooler, 'listening');
  });
  afterAll(() => void pooler?.close());

  it.each([
    [
      'default_transaction_isolation',
      '=read\\ committed',
      '=serializable   ',
      'serializable',
      'read committed',
    ],
    ['datestyle', '=ISO', '=SQL', 'SQL, MDY', 'ISO'],
    ['standard_conforming_strings', '=on', '=no', 'off', 'on'],
    ['array_nulls', '=on', '=no', 'off', 'on'],
  ])('makes the start fail, naming what to set: %s', async (name, wish, instead, value, wanted) => {
    [asked, kept] = [wish, instead].map((each) => `${name}${each}`) as [string, string];
    const through = new URL(database.url());
    through.host = `127.0.0.1:${(pooler.address() as AddressInfo).port}`;
    const starting = startGateway(basicConfig('http://127.0.0.1:9', aKey()), through.href);
    await expect(starting).rejects.toThrow(
      `Sessions of the database begin with ${name} = '${value}', and the gateway needs '${wanted}'. A pooler keeps it from the server: set it for the role, alter role … set ${name} = '${wanted}'.`,
    );
  });
});
