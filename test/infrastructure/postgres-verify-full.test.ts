import { chown, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sql } from 'slonik';
import {
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from '../../infrastructure/embedded-postgres/start.ts';
import { migrate, pendingMigrations } from '../../infrastructure/postgres/migrate.ts';
import { openPool } from '../../infrastructure/postgres/pool.ts';
import { aKey, basicConfig, runGateway, startGateway } from '../support/gateway.ts';
import { signedByAuthority } from '../support/self-signed.ts';
import { connected, makeTestFolder } from '../support/test-server.ts';
import { stringify } from 'yaml';

const migrations = path.join(import.meta.dirname, '..', '..', 'migrations');
const ours = signedByAuthority();
const elsewhere = signedByAuthority('db.example.com');
let folder: string;
let server: EmbeddedPostgres;

/** Makes PostgreSQL itself terminate TLS, with a certificate that a CA has signed. */
async function show({ key, cert }: typeof ours): Promise<void> {
  const cluster = path.join(folder, 'data', 'cluster');
  const { uid, gid } = await stat(cluster);
  for (const [name, text] of Object.entries({ 'server.key': key, 'server.crt': cert })) {
    await writeFile(path.join(cluster, name), text, { mode: 0o600 });
    await chown(path.join(cluster, name), uid, gid);
  }
  await connected(server.url, async (client) => {
    await client.query('alter system set ssl = on');
    await client.query('select pg_reload_conf()');
  });
}

const fileOf = (name: string): string => path.join(folder, `${name}.pem`);

beforeAll(async () => {
  folder = await makeTestFolder('verify-full');
  await writeFile(fileOf('ours'), ours.authority);
  await writeFile(fileOf('elsewhere'), elsewhere.authority);
  const log = (): void => undefined;
  server = await startEmbeddedPostgres({ dataDir: path.join(folder, 'data'), log, testing: true });
  await migrate(server.url, migrations, 'none');
});
afterAll(() => server?.stop());

function urlOf(query: string, host = '127.0.0.1'): string {
  const url = new URL(server.url);
  url.hostname = host;
  url.search = query;
  return url.href;
}

/** The TLS version of a pool's connection, as the server reports it. */
async function secured(url: string): Promise<unknown> {
  const pool = await openPool(url, 1);
  try {
    return await pool.oneFirst(sql.unsafe`select version from pg_stat_ssl where pid = pg_backend_pid()`);
  } finally {
    await pool.end();
  }
}

async function refused(url: string, why: RegExp): Promise<void> {
  await expect(secured(url)).rejects.toThrow(why);
  await expect(pendingMigrations(url, migrations, 'none')).rejects.toThrow(why);
}

describe('sslmode=verify-full with a CA file', () => {
  beforeAll(() => show(ours));

  it.each(['127.0.0.1', 'localhost'])('reaches a PostgreSQL whose certificate is for %s', async (host) => {
    const url = urlOf(`sslmode=verify-full&sslrootcert=${fileOf('ours')}`, host);
    expect(await secured(url)).toMatch(/^TLSv1\.[23]$/);
    expect(await pendingMigrations(url, migrations, 'none')).toEqual([]);
  });

  it('reaches the available one of several hosts over TLS', async () => {
    const { host, pathname, username, password } = new URL(server.url);
    const hosts = `127.0.0.1:1,${host}`;
    const tls = `sslmode=verify-full&sslrootcert=${fileOf('ours')}`;
    const url = `postgres://${username}:${password}@${hosts}${pathname}?target_session_attrs=read-write&${tls}`;
    expect(await secured(url)).toMatch(/^TLSv1\.[23]$/);
  });

  it('lets a gateway become ready', async () => {
    const url = urlOf(`sslmode=verify-full&sslrootcert=${fileOf('ours')}`);
    const gateway = await startGateway(basicConfig('http://127.0.0.1:9', aKey()), url);
    expect((await fetch(`${gateway.url}/readyz`)).status).toBe(200);
    await gateway.stop();
  });

  it('rejects a certificate that another CA has signed', async () => {
    await refused(
      urlOf(`sslmode=verify-full&sslrootcert=${fileOf('elsewhere')}`),
      /unable to (?:verify|get)/,
    );
  });
});

describe('a PostgreSQL with the certificate of another host', () => {
  beforeAll(() => show(elsewhere));
  const query = (mode: string) => `sslmode=${mode}&sslrootcert=${fileOf('elsewhere')}`;

  it('is rejected by verify-full, with both host names in the message', async () => {
    await refused(
      urlOf(query('verify-full'), 'localhost'),
      /does not match certificate's altnames: Host: localhost\. is not in the cert's altnames: DNS:db\.example\.com/,
    );
  });

  it('makes a command fail with both host names in its message, and without the password', async () => {
    const file = path.join(folder, 'gateway.yaml');
    await writeFile(file, stringify(basicConfig('http://127.0.0.1:9', aKey())));
    const env = { GATEWAY_CONFIG: file, DATABASE_URL: urlOf(query('verify-full'), 'localhost') };
    const { code, err } = await runGateway(['migrate'], env);
    expect([code, err]).toEqual([
      1,
      expect.stringMatching(/^The database cannot be reached: .*localhost.*db\.example\.com/),
    ]);
    expect(err).not.toContain(new URL(server.url).password);
  });

  it('is reached with verify-ca, which verifies only the CA', async () => {
    expect(await secured(urlOf(query('verify-ca'), 'localhost'))).toMatch(/^TLSv1\.[23]$/);
  });
});
