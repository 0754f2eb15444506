import { once } from 'node:events';
import { rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import path from 'node:path';
import { createServer as createTlsServer, TLSSocket } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sql } from 'slonik';
import { pendingMigrations } from '../../infrastructure/postgres/migrate.ts';
import { openPool } from '../../infrastructure/postgres/pool.ts';
import { withDatabase } from '../support/database.ts';
import { aKey, basicConfig, startGateway } from '../support/gateway.ts';
import { selfSigned } from '../support/self-signed.ts';
import { makeTestFolder } from '../support/test-server.ts';

const database = withDatabase();
const migrations = path.join(import.meta.dirname, '..', '..', 'migrations');

/** The SSLRequest that a client of PostgreSQL sends before a handshake: its length, 8, and its code. */
const sslRequest = Buffer.from([0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f]);

/** A TLS proxy in front of the database; it closes connections that do not request TLS. */
async function tlsDoor({ key, cert }: ReturnType<typeof selfSigned>): Promise<Server> {
  const server = createServer((near) => {
    near.on('error', () => undefined);
    near.once('data', (asked: Buffer) => {
      if (!asked.equals(sslRequest)) return void near.destroy();
      near.write('S');
      const secured = new TLSSocket(near, { isServer: true, key, cert });
      const { hostname, port } = new URL(database.url());
      both(secured, connect(Number(port), hostname));
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

function both(near: Socket, far: Socket): void {
  for (const [from, to] of [
    [near, far],
    [far, near],
  ] as const) {
    from.on('error', () => to.destroy());
    from.on('close', () => to.destroy());
    from.pipe(to);
  }
}

const own = selfSigned();
const other = selfSigned('db.example.com');
const files: Record<string, string> = {};
let door: Server;
let otherDoor: Server;
beforeAll(async () => {
  const folder = await makeTestFolder('tls');
  for (const [name, { cert }] of Object.entries({ own, other })) {
    files[name] = path.join(folder, `${name}.pem`);
    await writeFile(files[name], cert);
  }
  door = await tlsDoor(own);
  otherDoor = await tlsDoor(other);
});
afterAll(() => {
  door?.close();
  otherDoor?.close();
});

function through(server: Server, query: string, host = '127.0.0.1'): string {
  const url = new URL(saying(query));
  url.host = `${host}:${(server.address() as AddressInfo).port}`;
  return url.href;
}

/** The database's own URL with exactly these parameters. */
function saying(query: string): string {
  const url = new URL(database.url());
  url.search = query;
  return url.href;
}

/** Expects both drivers to connect: that of the stores and that of the migrations. */
async function reach(url: string): Promise<void> {
  expect(await pendingMigrations(url, migrations, 'none')).toEqual([]);
  const pool = await openPool(url, 1);
  try {
    expect(await pool.oneFirst(sql.unsafe`select 1`)).toBe(1);
  } finally {
    await pool.end();
  }
}

/** Expects both drivers to fail. */
async function refused(url: string, why: RegExp): Promise<void> {
  await expect(pendingMigrations(url, migrations, 'none')).rejects.toThrow(why);
  const opened = openPool(url, 1).then(async (pool) => {
    try {
      return await pool.oneFirst(sql.unsafe`select 1`);
    } finally {
      await pool.end();
    }
  });
  await expect(opened).rejects.toThrow();
}

describe('a database behind TLS', () => {
  it.each(['verify-full', 'require', 'verify-ca', 'no-verify'])(
    'is reached with sslmode=%s and the certificate of its CA',
    async (mode) => {
      await reach(through(door, `sslmode=${mode}&sslrootcert=${files['own']}`));
    },
  );

  it('is reached by host name, too', async () => {
    await reach(through(door, `sslmode=verify-full&sslrootcert=${files['own']}`, 'localhost'));
  });

  it('is verified where the URL sets `sslrootcert` and no `sslmode`', async () => {
    await reach(through(door, `sslrootcert=${files['own']}`));
    await refused(through(door, `sslrootcert=${files['other']}`), /self-signed certificate/);
  });

  it.each(['verify-full', 'require', 'verify-full&sslrootcert=system'])(
    'is rejected where no trusted CA has signed its certificate: sslmode=%s',
    async (mode) => {
      await refused(through(door, `sslmode=${mode}`), /self-signed certificate/);
    },
  );

  it('is rejected where a CA other than that of `sslrootcert` has signed its certificate', async () => {
    await refused(
      through(door, `sslmode=verify-full&sslrootcert=${files['other']}`),
      /self-signed certificate/,
    );
  });

  it('with a certificate for another host is rejected by verify-full and require, not by verify-ca and no-verify', async () => {
    for (const mode of ['verify-full', 'require'])
      await refused(through(otherDoor, `sslmode=${mode}&sslrootcert=${files['other']}`), /altnames/);
    await reach(through(otherDoor, `sslmode=verify-ca&sslrootcert=${files['other']}`));
    await reach(through(otherDoor, 'sslmode=no-verify'));
  });

  it('is reached by new connections with the certificate that a file has by then, without a restart', async () => {
    const renewed = path.join(await makeTestFolder('tls-renewed'), 'ca.pem');
    await writeFile(renewed, other.cert);
    const pool = await openPool(through(door, `sslrootcert=${renewed}`), 1);
    try {
      await expect(pool.oneFirst(sql.unsafe`select 1`)).rejects.toThrow(/self-signed certificate/);
      await rm(renewed);
      await expect(pool.oneFirst(sql.unsafe`select 1`)).rejects.toThrow(/sslrootcert cannot be read/);
      await writeFile(renewed, own.cert);
      expect(await pool.oneFirst(sql.unsafe`select 1`)).toBe(1);
    } finally {
      await pool.end();
    }
  });

  it('is reached with `sslnegotiation=direct` where TLS begins at once, and not without', async () => {
    const direct = createTlsServer({ ...own, ALPNProtocols: ['postgresql'] }, (near) => {
      const { hostname, port } = new URL(database.url());
      both(near, connect(Number(port), hostname));
    }).listen(0, '127.0.0.1');
    await once(direct, 'listening');
    const query = `sslmode=verify-full&sslrootcert=${files['own']}`;
    await reach(through(direct, `${query}&sslnegotiation=direct`));
    await refused(through(direct, query), /./);
    direct.close();
  });

  it.each([
    ['sslmode=verify-full&sslnegotiation=requiredirect', /sslnegotiation must be one of postgres, direct/],
    ['sslnegotiation=direct', /sslnegotiation=direct needs TLS/],
  ])('is rejected with %s', async (query, why) => {
    await refused(through(door, query), why);
  });

  it('lets a gateway become ready', async () => {
    const url = through(door, `sslmode=verify-full&sslrootcert=${files['own']}`);
    const gateway = await startGateway(basicConfig('http://127.0.0.1:9', aKey()), url);
    try {
      expect((await fetch(`${gateway.url}/readyz`)).status).toBe(200);
    } finally {
      await gateway.stop();
    }
  });
});

describe('a database without TLS', () => {
  it('is rejected where the URL requires TLS', async () => {
    for (const mode of ['verify-full', 'require', 'no-verify'])
      await refused(saying(`sslmode=${mode}`), /does not support SSL/);
  });

  it('is reached with sslmode=disable and without any sslmode', async () => {
    await reach(saying('sslmode=disable'));
    await reach(saying(''));
  });
});

describe('an unusable database URL', () => {
  it.each([
    ['sslmode=prefer', /^The URL of the database: sslmode must be one of /],
    ['ssl=true', /^The URL of the database: `ssl` is not read/],
    [
      'sslmode=verify-full&sslrootcert=/nowhere.pem',
      /sslrootcert cannot be read \(ENOENT\): \/nowhere\.pem$/,
    ],
    ['sslmode=verify-full&sslkey=/nowhere.pem', /sslcert and sslkey go together/],
  ])('is rejected by both drivers without showing its password: %s', async (query, why) => {
    const url = `postgres://u:secret-of-the-url@127.0.0.1:1/db?${query}`;
    for (const opening of [openPool(url, 1), pendingMigrations(url, migrations, 'none')]) {
      await expect(opening).rejects.toThrow(why);
      await expect(opening).rejects.not.toThrow(/secret-of-the-url/);
    }
  });
});
