import path from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { runGateway } from '../support/gateway.ts';
import { makeTestFolder } from '../support/test-server.ts';
import { commandsScene } from './commands-scene.ts';
import { startCommand } from './processes.ts';

const { query, databaseUrl, file, good, variables } = commandsScene();
let env: Readonly<Record<string, string>>;

beforeAll(async () => {
  const folder = await makeTestFolder('quickstart-of-others');
  env = {
    DATABASE_URL: databaseUrl(),
    GATEWAY_DATA_DIR: path.join(folder, 'data'),
    GATEWAY_BIND: '127.0.0.1:0',
  };
});

async function start(args: readonly string[]) {
  const quickstart = startCommand(['quickstart', ...args], env);
  const [, key = '', login = ''] = await quickstart.says(/API key {4}(.+)\n[^]*Admin {6}(.+)\n/);
  quickstart.child.kill('SIGTERM');
  expect(await quickstart.exited).toEqual({ code: 0, signal: null });
  return { key, login };
}

describe('npm start on a database that has another configuration', () => {
  const inForce = () =>
    query(`select 'model' as kind, model_key as name from models where enabled
           union all select 'provider', provider_key from providers where enabled
           union all select 'key', name from api_keys where revoked_at is null order by 1, 2`);

  it('changes nothing without `--allow-shrink`, and after a start with it needs no flag again', async () => {
    const own = await file('own.yaml', good());
    expect(await runGateway(['seed'], variables(own))).toMatchObject({ code: 0 });
    const before = await inForce();
    // As in a database of an earlier release: all functions are to be applied again.
    await query('delete from schema_functions');

    const refused = await runGateway(['quickstart'], env);
    expect(refused.code).toBe(1);
    expect(refused.err).toContain('would remove 1 of 1 providers, 1 of 1 API keys from this database');
    expect(refused.err).toContain('--allow-shrink');
    expect(await inForce()).toEqual(before);
    expect(await query('select name from schema_functions')).toEqual([]);

    expect((await start(['--allow-shrink'])).login).toContain('admin@example.com, password in ');
    expect(await inForce()).not.toEqual(before);
    expect((await start([])).login).toContain('admin@example.com, password in ');
  });

  it('does not announce a login that does not work', async () => {
    await query("update users set email = 'boss@example.com' where email = 'admin@example.com'");
    expect((await start([])).login).toMatch(/^as before; `npx gateway admin create/);
  });

  it('does not announce an API key that does not work', async () => {
    expect((await start([])).key).toMatch(/^gwk_/);
    await query("update api_keys set revoked_at = now(), revoked_by = 'admin' where name = 'quickstart'");
    expect((await start([])).key).toMatch(/^as before; `npx gateway keys create/);
  });
});
