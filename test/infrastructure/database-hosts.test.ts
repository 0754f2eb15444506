import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import { type DatabasePool, sql } from 'slonik';
import type { EmbeddedPostgres } from '../../infrastructure/embedded-postgres/start.ts';
import { databaseFault, isDatabaseTrouble, sqlState } from '../../infrastructure/postgres/database-fault.ts';
import { plainHosts } from '../../infrastructure/postgres/hosts.ts';
import { migrate, pendingMigrations } from '../../infrastructure/postgres/migrate.ts';
import { openPool } from '../../infrastructure/postgres/pool.ts';
import { eventually } from '../e2e/traces.ts';
import { aKey, basicConfig, startGateway } from '../support/gateway.ts';
import { serverAndStandby } from '../support/standby.ts';
import { connected } from '../support/test-server.ts';
import { timed } from '../support/undisturbed.ts';

const migrations = path.join(import.meta.dirname, '..', '..', 'migrations');
let primary: EmbeddedPostgres;
let standby: EmbeddedPostgres;
/** Accepts connections and never answers. */
let silent: Server;
beforeAll(async () => {
  ({ primary, standby } = await serverAndStandby());
  silent = createServer((near) => void near.on('error', () => undefined).resume()).listen(0, '127.0.0.1');
  await once(silent, 'listening');
});
afterAll(async () => {
  silent?.close();
  await standby?.stop();
  await primary?.stop();
});

const hostOf = ({ url }: EmbeddedPostgres): string => new URL(url).host;
const silentHost = (): string => `127.0.0.1:${(silent.address() as AddressInfo).port}`;
/** An address without a listener. */
const dead = '127.0.0.1:1';

/** A URL of these hosts; their login is the same, for the standby is a copy of the primary. */
function urlOf(hosts: readonly string[], query = 'target_session_attrs=read-write'): string {
  const { username, password, pathname } = new URL(primary.url);
  return `postgres://${username}:${password}@${hosts.join(',')}${pathname}?${query}`;
}

async function withPool<A>(
  url: string,
  body: (pool: DatabasePool) => Promise<A>,
  connections = 1,
): Promise<A> {
  const pool = await openPool(url, connections);
  try {
    return await body(pool);
  } finally {
    await pool.end();
  }
}

const portOf = (pool: DatabasePool) => pool.oneFirst(sql.unsafe`select inet_server_port()`);
const reached = (url: string) => withPool(url, portOf);
const port = (server: EmbeddedPostgres): number => Number(new URL(server.url).port);

describe('a database URL with several hosts', () => {
  it('connects to the first host that accepts a connection', async () => {
    expect(await reached(urlOf([hostOf(standby), hostOf(primary)], ''))).toBe(port(standby));
    expect(await reached(urlOf([hostOf(primary), hostOf(standby)], 'target_session_attrs=any'))).toBe(
      port(primary),
    );
    expect(await reached(urlOf([dead, hostOf(standby), hostOf(primary)], ''))).toBe(port(standby));
  });

  it('with target_session_attrs=read-write connects to the primary, in any position', async () => {
    for (const hosts of [
      [hostOf(standby), hostOf(primary)],
      [hostOf(primary), hostOf(standby)],
      [dead, hostOf(standby), hostOf(primary)],
    ])
      expect(await reached(urlOf(hosts))).toBe(port(primary));
  });

  it('with target_session_attrs=read-only connects to the standby', async () => {
    const url = urlOf([hostOf(primary), hostOf(standby)], 'target_session_attrs=read-only');
    expect(await reached(url)).toBe(port(standby));
  });

  it('with read-write does not connect to a server whose transactions are read-only by default', async () => {
    const url = urlOf([hostOf(primary)], 'target_session_attrs=read-write');
    const setting = (value: string) =>
      connected(primary.url, (client) =>
        client.query(`alter role gateway set default_transaction_read_only = ${value}`),
      );
    await setting('on');
    try {
      await expect(reached(url)).rejects.toThrow('the server is read-only');
    } finally {
      const url = new URL(primary.url);
      url.searchParams.set('options', '-c default_transaction_read_only=off');
      await connected(url.href, (client) =>
        client.query('alter role gateway reset default_transaction_read_only'),
      );
    }
    expect(await reached(url)).toBe(port(primary));
  });

  it('is used by the migrations in the same way', async () => {
    const url = urlOf([dead, hostOf(standby), hostOf(primary)]);
    expect(await pendingMigrations(url, migrations, 'none')).toEqual([]);
    expect(await migrate(url, migrations, 'none')).toEqual([]);
  });

  it('fails with the reason for each host, and without the password, if no host is suitable', async () => {
    const url = urlOf([dead, hostOf(standby)]);
    const why = `${dead}: connect ECONNREFUSED ${dead}; ${hostOf(standby)}: the server is read-only`;
    await expect(pendingMigrations(url, migrations, 'none')).rejects.toThrow(
      `The database cannot be reached: ${why}`,
    );
    const error: unknown = await reached(url).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ message: why });
    // As a failed write on a standby: worth a retry, and no defect.
    expect([sqlState(error), databaseFault(error), isDatabaseTrouble(error)]).toEqual([
      '25006',
      'connection',
      true,
    ]);
  });

  it('waits for the timeout of a silent host once, not for each connection', async () => {
    await withPool(
      urlOf([silentHost(), hostOf(primary)]),
      async (pool) => {
        expect(await portOf(pool)).toBe(port(primary));
        const { ms } = await timed(() =>
          Promise.all(Array.from({ length: 4 }, () => pool.query(sql.unsafe`select pg_sleep(0.2)`))),
        );
        // The timeout is three seconds.
        expect(ms).toBeLessThan(2_900);
      },
      4,
    );
  });

  it('lets a gateway follow the primary when a standby is promoted', async () => {
    const key = aKey();
    const url = urlOf([hostOf(standby), hostOf(primary)]);
    const gateway = await startGateway(basicConfig('http://127.0.0.1:9', key), url);
    const ready = async () => (await fetch(`${gateway.url}/readyz`)).status;
    try {
      expect(await ready()).toBe(200);
      await primary.stop();
      await eventually(async () => ((await ready()) === 503 ? true : undefined));
      await connected(standby.url, (client) => client.query('select pg_promote()'));
      await eventually(async () => ((await ready()) === 200 ? true : undefined), 20_000);
      expect(await reached(url)).toBe(port(standby));
    } finally {
      await gateway.stop();
    }
  });
});

describe('a database URL whose password is not percent-encoded', () => {
  it.each(['S3C%RET', 'S3CR#ET', 'S3C%', 'a/b'])('is rejected with a hint: %s', (password) => {
    expect(plainHosts(`postgres://gateway:${password}@db.example.com/gateway`)).toMatchObject({
      left: expect.stringContaining('in a password % is written %25'),
    });
  });
});

describe('an invalid database URL', () => {
  it.each([
    ['u:secret-of-the-url@a,b/db?target_session_attrs=primary', /must be one of any, read-write, read-only/],
    ['/db?host=a,b&password=secret-of-the-url', /several hosts come before the path/],
    ['u:secret-of-the-url@a,/db', /a host between its commas is empty/],
    ['u:secret-of-the-url@a:99999,b/db', /is not a URL/],
    ['u:secret-of-the-url@a,b/db?sslmode=prefer', /sslmode must be one of/],
  ])('is rejected by both drivers and check-config, without its password: %s', async (rest, why) => {
    const url = `postgres://${rest}`;
    for (const opening of [openPool(url, 1), pendingMigrations(url, migrations, 'none')]) {
      await expect(opening).rejects.toThrow(why);
      await expect(opening).rejects.not.toThrow(/secret-of-the-url/);
    }
    expect(plainHosts(url)).toEqual(E.left(expect.stringMatching(why)));
  });
});

it('the hosts without TLS are all hosts of a database URL, or none with sslmode or a socket', () => {
  expect(plainHosts('postgres://u:p%40@db1.example.com:5432,[fd00::1]:5433,db3/db')).toEqual(
    E.right(['db1.example.com', '[fd00::1]', 'db3']),
  );
  expect(plainHosts('postgres://u:p@a,b/db?sslmode=verify-full')).toEqual(E.right([]));
  expect(plainHosts('postgres://u@%2Frun%2Fpostgresql/db')).toEqual(E.right([]));
});
