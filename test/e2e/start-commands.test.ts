import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, readFile, stat, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import path from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { Client } from 'pg';
import { commands } from '../../composition/commands.ts';
import { runGateway } from '../support/gateway.ts';
import { makeTestFolder } from '../support/test-server.ts';
import { failing } from './commands-scene.ts';
import { startCommand } from './processes.ts';
import { eventually } from './traces.ts';

let folder = '';
beforeAll(async () => {
  folder = await makeTestFolder('start-commands');
});

describe('gateway simulate-upstream', () => {
  it('answers requests until it is stopped', async () => {
    const simulated = startCommand(['simulate-upstream', '--port', '0', '--latency-ms', '30'], {});
    const [, url = ''] = await simulated.says(/listens on (http:\S+)/);
    const startedAt = performance.now();
    const answer = await fetch(`${url}/chat/completions`, {
      method: 'POST',
      body: '{"model":"simulated","messages":[{"role":"user","content":"Hi"}]}',
    });
    expect(await answer.json()).toMatchObject({ object: 'chat.completion' });
    expect(performance.now() - startedAt).toBeGreaterThan(25);
    simulated.child.kill('SIGTERM');
    expect(await simulated.exited).toEqual({ code: 0, signal: null });
  });

  it('exits with 2 and names the option that is missing or invalid', async () => {
    await failing([
      [['simulate-upstream'], 2, 'needs --port', {}],
      [['simulate-upstream', '--port', '0', '--latency-ms', '-1'], 2, '--latency-ms', {}],
      [['simulate-upstream', '--port', '0', '--host', ''], 2, '--host must name an address', {}],
    ]);
  });
});

describe('gateway', () => {
  it('exits with 2 and lists its commands if it gets no known command', async () => {
    for (const words of [['sevre'], ['constructor'], ['sevre', '--help'], ['help', 'sevre'], []]) {
      const { code, err } = await runGateway(words, {});
      expect(code).toBe(2);
      for (const name of Object.keys(commands)) expect(err).toContain(`  gateway ${name}`);
    }
    expect((await runGateway([], {})).err).toMatch(/^usage: name a command\n/);
  });

  it.each([[['--help']], [['-h']], [['help']]])('%j prints the usage of each command', async (words) => {
    const { code, out, err } = await runGateway(words, {});
    expect({ code, err }).toEqual({ code: 0, err: '' });
    for (const name of Object.keys(commands)) expect(out).toContain(`  gateway ${name}`);
  });

  it.each([[['serve', '--help']], [['help', 'keys']], [['keys', 'create', '-h']]])(
    '%j prints the usage of that command, and creates no data folder',
    async (words) => {
      const dataDir = path.join(folder, 'help');
      const { code, out, err } = await runGateway(words, { GATEWAY_DATA_DIR: dataDir });
      expect({ code, err }).toEqual({ code: 0, err: '' });
      const name = words.find((word) => Object.hasOwn(commands, word)) ?? '';
      const calls = out.split('\n').filter((line) => line.startsWith('  gateway '));
      expect(calls.length).toBeGreaterThan(0);
      expect(calls.every((line) => line.startsWith(`  gateway ${name} `))).toBe(true);
      expect(existsSync(dataDir)).toBe(false);
    },
  );

  it('refuses an argument or a flag that a command does not accept, or accepts once, before it opens or creates a database', async () => {
    const dataDir = path.join(folder, 'misread');
    const env = { GATEWAY_DATA_DIR: dataDir };
    await failing([
      [['quickstart', 'own.yaml'], 2, "usage: Unexpected argument 'own.yaml'\n  gateway quickstart", env],
      [['serve', 'own.yaml'], 2, "usage: Unexpected argument 'own.yaml'\n  gateway serve", env],
      [['seed', 'own.yaml'], 2, "usage: Unexpected argument 'own.yaml'\n  gateway seed", env],
      [['migrate', 'now'], 2, "usage: Unexpected argument 'now'\n  gateway migrate", env],
      [['migrate', '--chek'], 2, "usage: Unknown option '--chek'\n  gateway migrate", env],
      [['check-config', 'a.yaml', 'b.yaml'], 2, "usage: Unexpected argument 'b.yaml'", env],
      [['keys', 'create', '--owner', 'x'], 2, 'usage: keys create needs --owner and --name', env],
      [['keys', 'create', '--owner', 'team:a', '--name', 'n', 'X'], 2, "Unexpected argument 'X'", env],
      [['keys', 'list', 'X'], 2, "usage: Unexpected argument 'X'", env],
      [['admin', 'create', 'X'], 2, "usage: Unexpected argument 'X'", env],
      [
        ['purge-request-logs', '--retention', '9d', '--retention', '1d'],
        2,
        'usage: --retention is given twice',
        env,
      ],
      [['ledger'], 2, 'usage: ledger verify', env],
      [['export', '--what', 'ledger'], 2, 'usage: export needs --what, --from and --to-url.', env],
      [['--version', 'X'], 2, "usage: Unexpected argument 'X'", env],
    ]);
    expect(existsSync(dataDir)).toBe(false);

    let connections = 0;
    const server = createServer((socket) => {
      connections += 1;
      socket.destroy();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const elsewhere = { DATABASE_URL: `postgres://gateway:secret@127.0.0.1:${port}/gateway` };
    await failing([
      [['serve', 'own.yaml'], 2, "usage: Unexpected argument 'own.yaml'\n  gateway serve", elsewhere],
      [['migrate', '--chek'], 2, "usage: Unknown option '--chek'", elsewhere],
      [['keys', 'list', 'X'], 2, "usage: Unexpected argument 'X'", elsewhere],
    ]);
    expect(connections).toBe(0);
    // A valid command connects, which shows that connections are counted.
    expect((await runGateway(['keys', 'list'], elsewhere)).code).toBe(1);
    expect(connections).toBeGreaterThan(0);
    await new Promise((resolve) => server.close(resolve));
  });

  it('migrate --check lists everything as pending if there is no database, and creates none', async () => {
    const dataDir = path.join(folder, 'unmade');
    const { code, out } = await runGateway(['migrate', '--check'], { GATEWAY_DATA_DIR: dataDir });
    expect(code).toBe(1);
    expect(out).toMatch(/^pending 0001_\w+\.sql\n(pending .+\n)+$/);
    expect(existsSync(dataDir)).toBe(false);
  });

  it('exits with 1 and creates no database for a command that needs an existing one', async () => {
    const dataDir = path.join(folder, 'unmade');
    const env = { GATEWAY_DATA_DIR: dataDir, GATEWAY_ADMIN_PASSWORD: 'correct-horse-battery-9' };
    const says = `There is no database in ${dataDir}: set DATABASE_URL, or GATEWAY_DATA_DIR`;
    await failing([
      [['keys', 'list'], 1, says, env],
      [['ledger', 'verify'], 1, says, env],
      [['admin', 'create', '--email', 'root@example.com'], 1, says, env],
      [['purge-request-logs', '--retention', '1d'], 1, says, env],
    ]);
    expect(existsSync(dataDir)).toBe(false);
  });

  it.each(['migrate', 'seed'])(
    '%s uses the database of a configuration that can be read only once',
    async (name) => {
      const dataDir = path.join(folder, 'piped');
      const file = 'database: { url: "postgresql://gateway@127.0.0.1:1/gateway" }\nteams: [{ id: a }]';
      const script = path.join(import.meta.dirname, '..', '..', 'interfaces', 'cli', 'gateway.mjs');
      const piped = `printf '%s' '${file}' | '${process.execPath}' '${script}' ${name}`;
      const env = { PATH: process.env['PATH'], GATEWAY_CONFIG: '/dev/stdin', GATEWAY_DATA_DIR: dataDir };
      const failed = promisify(execFile)('sh', ['-c', piped], { env });
      await expect(failed).rejects.toMatchObject({
        code: 1,
        stderr: expect.stringContaining('ECONNREFUSED'),
      });
      expect(existsSync(dataDir)).toBe(false);
    },
  );

  it('reports a data folder that cannot be created', async () => {
    const dataDir = path.join(folder, 'no-folder');
    await writeFile(dataDir, '');
    const says = `The data folder ${dataDir} cannot be created`;
    await failing([[['migrate', '--check'], 1, says, { GATEWAY_DATA_DIR: dataDir }]]);
  });
});

describe('npm start', () => {
  const run = promisify(execFile);

  /** Queries the embedded database with its owner's password. */
  async function embedded<Row extends object>(dataDir: string, text: string): Promise<Row[]> {
    const password = (await readFile(path.join(dataDir, 'password'), 'utf8')).trim();
    const pidFile = await readFile(path.join(dataDir, 'cluster', 'postmaster.pid'), 'utf8');
    const port = Number(pidFile.split('\n')[3]);
    const client = new Client({ host: '127.0.0.1', port, user: 'gateway', password, database: 'gateway' });
    await client.connect();
    try {
      return (await client.query<Row>(text)).rows;
    } finally {
      await client.end();
    }
  }

  const alive = (pid: number): boolean => {
    try {
      return process.kill(pid, 0);
    } catch {
      return false;
    }
  };

  async function start(dataDir: string) {
    const command = startCommand(['quickstart'], {
      GATEWAY_DATA_DIR: dataDir,
      GATEWAY_BIND: '127.0.0.1:0',
    });
    const [, url = ''] = await command.says(/Base URL\s+(\S+)\/v1\n/);
    const [, apiKey = ''] = await command.says(/API key\s+(gwk_\S+)\n/);
    const [, adminEmail = '', passwordFile = ''] = await command.says(/Admin\s+(\S+), password in (\S+)\n/);
    const [, pageUrl = ''] = await command.says(/Admin page\s+(\S+)\n/);
    const [curl = ''] = await command.says(/^ {2}curl .*$/m);
    const pidFile = await readFile(path.join(dataDir, 'cluster', 'postmaster.pid'), 'utf8');
    const postgres = Number(pidFile.split('\n')[0]);
    return { ...command, url, apiKey, adminEmail, passwordFile, pageUrl, curl: curl.trim(), postgres };
  }

  it('starts without data, answers the curl command that it prints, and starts again after SIGTERM and SIGKILL', async () => {
    const dataDir = path.join(folder, 'data');
    const first = await start(dataDir);
    const migrated = first.out().match(/^.*"the database was migrated".*$/gm) ?? [];
    expect(migrated.map((line) => JSON.parse(line) as object)).toEqual([
      expect.objectContaining({
        applied: expect.arrayContaining([expect.stringMatching(/^0001_/)]),
        functions: expect.any(Number),
      }),
    ]);
    expect(first.apiKey).toMatch(/^gwk_[0-9a-f]{32}\.[0-9a-f]{64}$/);
    expect(first.curl).toContain(`${first.url}/v1/chat/completions`);
    expect(await (await fetch(first.pageUrl)).text()).toContain('<title>Model Gateway</title>');

    const { stdout } = await run('sh', ['-c', `${first.curl} -w '\\n%{http_code}'`]);
    const [body = '', status] = stdout.trimEnd().split('\n');
    expect(status).toBe('200');
    expect(JSON.parse(body)).toMatchObject({ object: 'chat.completion' });
    const logs = await embedded<{ status_code: number; name: string; n: number }>(
      dataDir,
      `select l.status_code, k.name, (select count(*)::int from request_log_attempts a
              where a.request_log_id = l.request_log_id and a.status = 'success') as n
       from request_logs l join api_keys k using (api_key_id)`,
    );
    expect(logs).toEqual([{ status_code: 200, name: 'quickstart', n: 1 }]);
    expect(await embedded(dataDir, 'select model_key from usage_cost_events')).toEqual([
      { model_key: 'fast' },
    ]);

    const admin = { email: first.adminEmail, password: (await readFile(first.passwordFile, 'utf8')).trim() };
    expect(admin.password).toMatch(/^[\w-]{32}$/);
    const logIn = async ({ url }: typeof first) => {
      const headers = { 'content-type': 'application/json' };
      return (
        await fetch(`${url}/api/v1/auth/login`, { method: 'POST', headers, body: JSON.stringify(admin) })
      ).status;
    };
    expect(await logIn(first)).toBe(200);

    expect((await stat(dataDir)).mode & 0o777).toBe(0o700);
    for (const name of ['quickstart-key', 'password', 'admin-password'])
      expect((await stat(path.join(dataDir, name))).mode & 0o777).toBe(0o600);
    expect(await readFile(path.join(dataDir, 'quickstart-key'), 'utf8')).toBe(`${first.apiKey}\n`);

    first.child.kill('SIGTERM');
    expect(await first.exited).toEqual({ code: 0, signal: null });
    expect(first.err()).toBe('');
    await eventually(() => (alive(first.postgres) ? undefined : true));

    await chmod(dataDir, 0o755);
    const second = await start(dataDir);
    expect((await stat(dataDir)).mode & 0o777).toBe(0o700);
    expect(second.apiKey).toBe(first.apiKey);
    expect(await logIn(second)).toBe(200);
    expect(JSON.parse((await run('sh', ['-c', second.curl])).stdout)).toMatchObject({
      object: 'chat.completion',
    });
    expect(await embedded(dataDir, 'select count(*)::int as n from request_logs')).toEqual([{ n: 2 }]);

    second.child.kill('SIGKILL');
    expect(await second.exited).toEqual({ code: null, signal: 'SIGKILL' });
    const third = await start(dataDir);
    expect(third.apiKey).toBe(first.apiKey);
    expect(JSON.parse((await run('sh', ['-c', third.curl])).stdout)).toMatchObject({
      object: 'chat.completion',
    });
    expect(await embedded(dataDir, 'select count(*)::int as n from request_logs')).toEqual([{ n: 3 }]);

    const listed = await runGateway(['keys', 'list'], { GATEWAY_DATA_DIR: dataDir });
    expect(listed.out).toContain('user:you@example.com\tquickstart\tall models\tactive');

    third.child.kill('SIGINT');
    expect(await third.exited).toEqual({ code: 0, signal: null });
    await eventually(() => (alive(third.postgres) ? undefined : true));
    for (const each of [first, second, third]) {
      expect(each.err() + each.out()).not.toContain(admin.password);
      expect(each.err() + each.out().replace(each.apiKey, '').replace(each.curl, '')).not.toContain(
        first.apiKey.split('.')[1],
      );
    }
  });
});
