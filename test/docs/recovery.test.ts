import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { stringify } from 'yaml';
import { migrate } from '../../infrastructure/postgres/migrate.ts';
import { startSimulatedUpstream, type SimulatedUpstream } from '../../tools/simulated-upstream/server.ts';
import { createDatabase } from '../support/database.ts';
import { aKey, basicConfig, runGateway, startGateway, type TestGateway } from '../support/gateway.ts';
import { schemaDump } from '../support/schema-dump.ts';
import { connected, makeTestFolder, withDatabaseName } from '../support/test-server.ts';
import { archived } from '../e2e/recovery-scene.ts';
import { installedPrograms, postgresFolder, type PostgresFolder } from './installed-postgres.ts';
import { commandsOf, page, root } from './pages.ts';

const recovery = page('docs/disaster-recovery.md');
const [dump, restore, elsewhere, base, restored, ...more] = commandsOf(recovery).flatMap(({ scene, text }) =>
  scene === 'postgres' ? [text] : [],
);
const [, settings = ''] = /^```ini\n(.*?)^```$/ms.exec(recovery.text) ?? [];

describe('docs/disaster-recovery.md', () => {
  it('has commands for a dump, two restores of it, a base backup and its restore, and archive settings', () => {
    expect([dump, restore, elsewhere, base, restored].map((text) => text?.split(' ', 1)[0])).toEqual([
      'pg_dump',
      'pg_restore',
      'pg_restore',
      'pg_basebackup',
      'cp',
    ]);
    expect(more).toEqual([]);
    expect(settings).toContain('archive_command');
  });
});

/** Without parentheses: PostgreSQL changes some of them when it reads an expression that it has printed. */
const schemaOf = async (url: string): Promise<string> =>
  (await connected(url, schemaDump)).replaceAll(/[()]/g, '');

const programs = installedPrograms();
if (programs === undefined)
  it('docs/disaster-recovery.md is followed: not checked, as PostgreSQL is not installed', () => undefined);
else
  describe('the commands of docs/disaster-recovery.md with an installed PostgreSQL', () => follow(programs));

function follow(bin: string): void {
  const key = aKey();
  let server: PostgresFolder;
  let upstream: SimulatedUpstream;
  let gateway: TestGateway;
  let url: string;
  let config: string;

  /** The text of a block, with a folder of the test for the archive. */
  const here = (text = ''): string => text.replaceAll('/archive', path.join(server.folder, 'archive'));
  const asked = async (): Promise<void> => {
    const response = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'fast', messages: [{ role: 'user', content: 'Hello' }] }),
    });
    expect(response.status).toBe(200);
  };
  const rows = (of: string): Promise<number> =>
    connected(of, async (client) => {
      const counted = await client.query<{ n: number }>('select count(*)::int as n from usage_cost_events');
      return counted.rows[0]?.n ?? 0;
    });
  const run = (args: readonly string[], of: string) =>
    runGateway(args, { DATABASE_URL: of, GATEWAY_CONFIG: config });

  beforeAll(async () => {
    server = await postgresFolder(bin);
    server.run(
      'initdb --pgdata data --username gateway --auth trust --encoding UTF8 --locale C; mkdir archive',
    );
    await writeFile(path.join(server.folder, 'more.conf'), here(settings));
    server.run('cat more.conf >> data/postgresql.conf');
    url = await server.start('data', 'gateway');
    await connected(withDatabaseName(url, 'postgres'), async (client) => {
      await client.query('create database gateway');
      await client.query('create database other');
    });
    await migrate(url, path.join(root, 'migrations'), 'none');
    upstream = await startSimulatedUpstream({ port: 0 });
    const file = basicConfig(upstream.url, key);
    gateway = await startGateway(file, url);
    config = path.join(await makeTestFolder('recovery-config'), 'gateway.yaml');
    await writeFile(config, stringify(file));
    await asked();
  });
  afterAll(async () => {
    await upstream?.close();
    await server?.remove();
  });

  it('restore a dump into an empty database, with the same schema and a valid ledger', async () => {
    server.run(here(dump), { DATABASE_URL: url });
    await asked();
    const other = withDatabaseName(url, 'other');
    server.run(here(restore), { NEW_DATABASE_URL: other });
    expect(await rows(other)).toBe(1);
    expect(await schemaOf(other)).toBe(await schemaOf(url));
    expect(await run(['migrate', '--check'], other)).toMatchObject({ code: 0 });
    expect(await run(['ledger', 'verify'], other)).toMatchObject({
      code: 0,
      out: expect.stringContaining('1 priced rows recomputed, 0 differences'),
    });
  });

  it('restore the dump on a server that was built without lz4, such as the embedded one', async () => {
    const { url: other } = await createDatabase({ empty: true });
    server.run(here(elsewhere), { NEW_DATABASE_URL: other });
    expect(await rows(other)).toBe(1);
    expect(await run(['migrate', '--check'], other)).toMatchObject({ code: 0 });
    expect(await run(['ledger', 'verify'], other)).toMatchObject({ code: 0 });
  });

  it('restore a server to a point in time after its base backup', async () => {
    server.run(here(base), { DATABASE_URL: url });
    await asked();
    const time = await connected(url, async (client) => {
      const { rows: now } = await client.query<{ at: string }>('select clock_timestamp()::text as at');
      return now[0]?.at ?? '';
    });
    await asked();
    expect(await rows(url)).toBe(4);
    await gateway.stop();
    await connected(url, archived);
    await server.lose();
    server.run(here(restored), { TIME: time });
    url = await server.start('restored', 'gateway');
    expect(await rows(url)).toBe(3);
    // The restored server is on a new timeline.
    const { rows: files } = await connected(url, (client) =>
      client.query<{ name: string }>('select pg_walfile_name(pg_current_wal_lsn()) as name'),
    );
    expect(files[0]?.name).toMatch(/^00000002/);
    expect(await run(['ledger', 'verify'], url)).toMatchObject({
      code: 0,
      out: expect.stringContaining('3 priced rows recomputed, 0 differences'),
    });
  });
}
