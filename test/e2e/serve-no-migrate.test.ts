import { describe, expect, it } from '@jest/globals';
import { createDatabase } from '../support/database.ts';
import { runGateway } from '../support/gateway.ts';
import { connected } from '../support/test-server.ts';
import { commandsScene, key } from './commands-scene.ts';
import { startCommand } from './processes.ts';
import { rawExchange } from './raw-http.ts';
import { eventually } from './traces.ts';

const { folder, file, good, variables } = commandsScene();

const environment = async (name: string, databaseUrl: string) => ({
  ...variables(await file(name, good()), databaseUrl),
  GATEWAY_DATA_DIR: folder(),
});

const readiness = async (url: string): Promise<object> => {
  const { status, body } = await rawExchange(url, { method: 'GET', path: '/readyz' });
  return { code: status, ...(JSON.parse(body) as object) };
};

const functionsIn = (url: string) =>
  connected(url, async (client) => {
    const { rows } = await client.query<{ name: string }>('select name from schema_functions order by 1');
    return rows.map(({ name }) => name);
  });

describe('gateway serve --no-migrate', () => {
  it('applies nothing, is alive but not ready while something is pending, and becomes ready after gateway migrate', async () => {
    const behind = await createDatabase();
    const pending = 'functions/gateway_touch.sql';
    await connected(behind.url, (client) =>
      client.query('delete from schema_functions where name = $1', [pending]),
    );
    const env = await environment('behind.yaml', behind.url);
    const before = await functionsIn(behind.url);
    expect(before).not.toContain(pending);

    const serving = startCommand(['serve', '--no-migrate'], env);
    try {
      const [, url = ''] = await serving.says(/"url":"([^"]+)"/);
      expect(await readiness(url)).toEqual({
        code: 503,
        status: 'not_ready',
        reason: 'migrations are pending',
      });
      expect((await rawExchange(url, { method: 'GET', path: '/healthz' })).status).toBe(200);
      expect(await functionsIn(behind.url)).toEqual(before);

      expect(await runGateway(['migrate'], env)).toMatchObject({ code: 0, out: `applied ${pending}\n` });
      await eventually(async () =>
        (await rawExchange(url, { method: 'GET', path: '/readyz' })).status === 200 ? true : undefined,
      );
      const models = await rawExchange(url, {
        method: 'GET',
        path: '/v1/models',
        headers: [['authorization', `Bearer ${key}`]],
      });
      expect(models.status).toBe(200);
      serving.child.kill('SIGTERM');
      expect(await serving.exited).toEqual({ code: 0, signal: null });
    } finally {
      serving.child.kill('SIGKILL');
      await behind.drop();
    }
  });

  it('logs what is pending on a database that is older than the release, and exits with an error that names the command', async () => {
    const older = await createDatabase();
    await connected(older.url, (client) =>
      client.query(`delete from schema_migrations where version > 10;
                    drop table rate_limits, rate_limit_windows, rate_limit_holds cascade`),
    );
    const env = await environment('older.yaml', older.url);
    const ended = await runGateway(['serve', '--no-migrate'], env);
    expect(ended.code).toBe(1);
    expect(ended.out).toContain('the database is older than this release: run `npx gateway migrate`');
    expect(ended.out).toContain('"0011_rate_limits.sql","0012_sign_in.sql"');
    expect(ended.err).toBe(
      'The database does not have the schema of this release (relation "rate_limits" does not exist). ' +
        'Run `npx gateway migrate`, which brings it there.\n',
    );
    await older.drop();
  });

  it('starts and is ready on a database that a newer release has migrated, and logs that', async () => {
    const newer = await createDatabase();
    await connected(newer.url, (client) =>
      client.query(`insert into schema_migrations (version, name, checksum)
                    select max(version) + 1, '9999_of_tomorrow.sql', 'none' from schema_migrations`),
    );
    const env = await environment('newer.yaml', newer.url);
    const said = 'The database is newer than this release: it has 9999_of_tomorrow.sql.\n';
    for (const args of [['migrate'], ['migrate', '--check']])
      expect(await runGateway(args, env)).toMatchObject({ code: 0, out: said });
    for (const args of [['serve'], ['serve', '--no-migrate']]) {
      const serving = startCommand(args, env);
      const [, url = ''] = await serving.says(/"url":"([^"]+)"/);
      expect(await readiness(url)).toMatchObject({ code: 200 });
      expect(serving.out()).toContain(
        '"msg":"the database is newer than this release","newer":["9999_of_tomorrow.sql"]',
      );
      serving.child.kill('SIGTERM');
      expect(await serving.exited).toEqual({ code: 0, signal: null });
    }
    await newer.drop();
  });

  it('keeps an empty database empty, and exits with 1', async () => {
    const empty = await createDatabase({ empty: true });
    const env = await environment('empty.yaml', empty.url);
    for (const args of [['--no-migrate'], ['--no-migrate', '--no-seed']]) {
      const ended = await runGateway(['serve', ...args], env);
      expect({ args, code: ended.code }).toEqual({ args, code: 1 });
      expect(ended.err).toBe('The database has no schema. Run `npx gateway migrate`, which makes it.\n');
    }
    const tables = await connected(empty.url, (client) =>
      client.query(`select from information_schema.tables where table_schema = 'public'`),
    );
    expect(tables.rowCount).toBe(0);
    await empty.drop();
  });
});
