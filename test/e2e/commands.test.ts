import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { chmod, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Client } from 'pg';
import { parse, stringify } from 'yaml';
import { startSimulatedUpstream, type SimulatedUpstream } from '../../tools/simulated-upstream/server.ts';
import { createDatabase, withDatabase } from '../support/database.ts';
import { aKey, basicConfig, queries, runGateway, startGateway } from '../support/gateway.ts';
import { connected, makeTestFolder } from '../support/test-server.ts';
import { startCommand } from './processes.ts';
import { eventually } from './traces.ts';

const database = withDatabase();
const query = queries(database.url);
const key = aKey();
let folder = '';
let upstream: SimulatedUpstream;

beforeAll(async () => {
  folder = await makeTestFolder('commands');
  upstream = await startSimulatedUpstream({ port: 0 });
});
afterAll(() => upstream?.close());

/** Writes a configuration file as text or as an object, and returns its path. */
async function file(name: string, content: string | object): Promise<string> {
  const full = path.join(folder, name);
  await writeFile(full, typeof content === 'string' ? content : stringify(content));
  return full;
}

const good = (more: object = {}) =>
  basicConfig(upstream.url, '${DEV_KEY}', {
    provider: { auth: { mode: 'bearer', token: '${UP_TOKEN}' } },
    route: { compatibility: { compat: { supports_stream_usage: true } } },
    more: { ...more },
  });

const variables = (config: string, url = database.url()) => ({
  GATEWAY_CONFIG: config,
  DATABASE_URL: url,
  DEV_KEY: key,
  UP_TOKEN: 'upstream-token-0123456789',
});

type Failing = readonly [
  args: readonly string[],
  code: number,
  says: string,
  env: Readonly<Record<string, string>>,
];

/** Calls that end with a code and a sentence, two at a time: this machine may have two cores. */
async function failing(calls: readonly Failing[]): Promise<void> {
  for (let from = 0; from < calls.length; from += 2)
    await Promise.all(
      calls.slice(from, from + 2).map(async ([args, code, says, env]) => {
        const ended = await runGateway(args, env);
        expect({ args, code: ended.code, out: ended.out }).toEqual({ args, code, out: '' });
        expect(ended.err).toContain(says);
        expect(ended.err).not.toMatch(/\n\s+at /);
      }),
    );
}

describe('gateway serve', () => {
  it('tells everything that is wrong with the file: path, line, and what was probably meant', async () => {
    const config = await file(
      'wrong.yaml',
      `server: { bind: 127.0.0.1:0, shutdown_grace: 5 }
providers:
  - { id: up, type: compat, base_url: "http://127.0.0.1:1/v1", auth: { mode: bearer, token: "\${NOT_SET}" } }
models:
  - id: fast
    routes:
      - { provider: upp, upstream_modell: x }
users:
  - { email: a@example.com, budget: { cadence: dayly, amount_10000: 1.5 } }
api_keys:
  - { name: dev, owner: "user:a@example.com", value: short-secret-value }
`,
    );
    const { code, out, err } = await runGateway(['serve'], variables(config));
    expect({ code, out }).toEqual({ code: 1, out: '' });
    const lines = err.trimEnd().split('\n');
    const at = (line: number, where: string): string =>
      lines.find((each) => each.startsWith(`error ${config}:${line}:`) && each.includes(` ${where}: `)) ?? '';
    expect(at(1, 'server.shutdown_grace')).toContain('`shutdown_grace_secs`');
    expect(at(3, 'providers[0].auth.token')).toContain('NOT_SET');
    expect(at(7, 'models[0].routes[0].provider')).toContain('`up`');
    expect(at(7, 'models[0].routes[0].upstream_modell')).toContain('`upstream_model`');
    expect(at(7, 'models[0].routes[0].upstream_model')).not.toBe('');
    expect(at(9, 'users[0].budget.cadence')).toContain('daily');
    expect(at(9, 'users[0].budget.amount_10000')).not.toBe('');
    expect(at(11, 'api_keys[0].value')).not.toBe('');
    expect(lines).toHaveLength(8);
    expect(err).not.toContain('short-secret-value');
  });

  it('a call that cannot be made sense of is a clear error, without a stack', async () => {
    await file('good.yaml', good());
    await failing([
      [['serve'], 1, 'cannot be read (ENOENT)', variables(path.join(folder, 'nowhere.yaml'))],
      [
        ['serve', '--worker', '2'],
        2,
        "usage: Unknown option '--worker'",
        variables(path.join(folder, 'good.yaml')),
      ],
      [
        ['serve', '--workers', 'many'],
        2,
        'usage: --workers must be',
        variables(path.join(folder, 'good.yaml')),
      ],
      [['serve'], 1, 'GATEWAY_CONFIG', { DATABASE_URL: database.url() }],
    ]);
  });

  it('a database that cannot be reached is a clear error, without its password', async () => {
    const config = await file('good.yaml', good());
    const env = variables(config, 'postgresql://someone:canary-password@127.0.0.1:9/db');
    const { code, out, err } = await runGateway(['serve'], env);
    expect(code).toBe(1);
    expect(err).toContain('The database cannot be reached');
    expect(out + err).not.toContain('canary-password');
  });

  it.each([['1'], ['2']])('a port in use is a clear error, at once (--workers %s)', async (workers) => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const bind = `127.0.0.1:${(other.address() as AddressInfo).port}`;
    const config = await file(`port-${workers}.yaml`, good({ server: { bind } }));
    const startedAt = Date.now();
    const { code, err } = await runGateway(['serve', '--workers', workers], variables(config));
    other.close();
    expect(code).toBe(1);
    expect(err).toContain(`cannot listen on ${bind}: another process listens there`);
    expect(Date.now() - startedAt).toBeLessThan(15_000);
  });
});

describe('a start that a rule of the tables stops', () => {
  it.each(['serve', 'seed'])('%s names the constraint and its table', async (command) => {
    const strict = await createDatabase();
    const config = await file(`strict-${command}.yaml`, good());
    await connected(strict.url, (client) =>
      client.query(`alter table providers add constraint providers_kind_check check (kind = 'other')`),
    );
    const ended = await runGateway([command], variables(config, strict.url));
    expect(ended.code).toBe(1);
    expect(ended.err).toContain('(constraint providers_kind_check of table providers)');
    await strict.drop();
  });
});

describe('gateway migrate', () => {
  it('tells what is pending, applies it, also from two places at once, and then there is nothing to do', async () => {
    const empty = await createDatabase({ empty: true });
    const env = variables(await file('good.yaml', good()), empty.url);
    const migrations = path.join(import.meta.dirname, '..', '..', 'migrations');
    const numbered = (await readdir(migrations)).filter((name) => /^\d{4}_.*\.sql$/.test(name));
    const functions = await readdir(path.join(migrations, 'functions'));
    const names = [...numbered.toSorted(), ...functions.toSorted().map((name) => `functions/${name}`)];

    const before = await runGateway(['migrate', '--check'], env);
    expect(before.code).toBe(1);
    expect(before.out.trimEnd().split('\n')).toEqual(names.map((name) => `pending ${name}`));

    const both = await Promise.all([runGateway(['migrate'], env), runGateway(['migrate'], env)]);
    expect(both.map(({ code }) => code)).toEqual([0, 0]);
    const outs = both.map(({ out }) => out.trimEnd()).toSorted();
    expect(outs).toEqual(['The database is up to date.', names.map((name) => `applied ${name}`).join('\n')]);

    const after = await runGateway(['migrate', '--check'], env);
    expect(after).toMatchObject({ code: 0, out: 'The database is up to date.\n' });
    await empty.drop();
  });
});

describe('gateway check-config', () => {
  it('lints what is valid and probably not meant', async () => {
    const config = await file(
      'lint.yaml',
      `providers:
  - { id: up, type: compat, base_url: "http://127.0.0.1:1/v1", auth: { mode: bearer, token: inline-secret-canary } }
  - { id: a, type: cloud_a_platform, project_id: p }
models:
  - id: fast
    routes: [{ provider: up, upstream_model: unheard-of }]
  - id: answers
    routes: [{ provider: a, upstream_model: google/gemini-2.5-flash, capabilities: { responses: true } }]
users:
  - { email: a@example.com, budget: { cadence: daily, amount_10000: 1, hard_limit: true } }
`,
    );
    const { code, out } = await runGateway(['check-config', config], {});
    expect(code).toBe(0);
    expect(out).toContain(`${config} is valid; `);
    for (const words of [
      `${config}:2:`,
      'providers[0].auth.token: is a secret written into the file',
      'models[0].routes[0].upstream_model: has no price for the exact pair (up, unheard-of)',
      'models[0].routes[0]: streams bring no usage',
      'user:a@example.com',
      'accounting.duplicate_request_ids: is allow',
      'accounting.after_block: is as_specified',
    ])
      expect(out).toContain(words);
    expect(out).not.toContain('inline-secret-canary');
  });

  it('fails on a file that serve would refuse, and passes one without remarks', async () => {
    const bad = await runGateway(['check-config', await file('bad.yaml', 'modles: []\n')], {});
    expect(bad.code).toBe(1);
    expect(bad.err).toContain('`models`');
    const config = await file('good.yaml', good());
    const fine = await runGateway(['check-config', config], variables(config));
    expect(fine).toEqual({ code: 0, out: `${config} is valid; 0 warnings.\n`, err: '' });
  });

  it('finds the example and the quick start valid', async () => {
    const configs = path.join(import.meta.dirname, '..', '..', 'config');
    for (const name of ['example.yaml', 'quickstart.yaml']) {
      const config = path.join(configs, name);
      const text = await readFile(config, 'utf8');
      const placeholders = [...text.matchAll(/\$\{([A-Z_0-9]+)\}/g)].map(([, name = '']) => name);
      const env = Object.fromEntries(
        placeholders.map((name) => {
          if (name === 'DATABASE_URL') return [name, 'postgresql://u@h/db'];
          if (name.endsWith('_URL')) return [name, 'http://127.0.0.1:1/v1'];
          if (name === 'AWS_ACCESS_KEY_ID') return [name, 'AKIA0123456789ABCDEF'];
          return [name, aKey()];
        }),
      );
      expect(await runGateway(['check-config', config], env)).toMatchObject({ code: 0, err: '' });
    }
  });
});

describe('gateway seed', () => {
  const seeded = [
    'users',
    'teams',
    'team_memberships',
    'service_accounts',
    'api_keys',
    'providers',
    'models',
  ];
  const dump = () =>
    query(
      [...seeded, 'model_routes', 'user_budgets', 'team_budgets']
        .map((table) => `select '${table}' as source, to_jsonb(t) as row from ${table} t`)
        .join(' union all ')
        .concat(' order by 1, 2'),
    );

  it('makes the database match the file, and a second time nothing changes', async () => {
    const config = await file(
      'seed.yaml',
      good({
        teams: [{ id: 'platform', budget: { cadence: 'weekly', amount_10000: 7 } }],
        service_accounts: [{ id: 'ci', name: 'CI', team: 'platform' }],
        users: [{ email: 'A@Example.com', name: 'A', role: 'platform_admin', team: 'platform' }],
      }),
    );
    const ended = await runGateway(['seed'], variables(config));
    expect(ended).toMatchObject({ code: 0, err: '' });
    expect(ended.out).toContain('The database matches ');
    expect(await query('select email, role from users')).toEqual([
      { email: expect.stringMatching(/^a@example\.com$/i), role: 'platform_admin' },
    ]);
    expect(await query('select model_key, enabled from models')).toEqual([
      { model_key: 'fast', enabled: true },
    ]);
    expect(await query('select amount_10000 from team_budgets where active')).toEqual([
      { amount_10000: '7' },
    ]);
    const [provider] = await query('select config_json from providers');
    expect(JSON.stringify(provider)).toContain('${UP_TOKEN}');
    const before = await dump();
    expect(await runGateway(['seed'], variables(config))).toMatchObject({ code: 0 });
    expect(await dump()).toEqual(before);
  });
});

describe('gateway keys', () => {
  it('says why it cannot', async () => {
    const env = variables(await file('good.yaml', good()));
    await failing([
      [
        ['keys', 'create', '--owner', 'user:nobody@example.com', '--name', 'x'],
        1,
        'There is no owner user:nobody@example.com.',
        env,
      ],
      [['keys', 'create', '--owner', 'team:', '--name', 'x'], 2, 'usage: --owner must be user:EMAIL', env],
      [['keys', 'revoke', '0000'], 1, 'There is no key 0000.', env],
      [['keys'], 2, 'usage: keys create|list|revoke', env],
    ]);
  });

  it('makes a key for a user whatever the case of the address, for some models only', async () => {
    const env = variables(await file('good.yaml', good()));
    await runGateway(['seed'], env);
    const created = await runGateway(
      ['keys', 'create', '--owner', 'user:A@EXAMPLE.com', '--name', 'some', '--model', 'fast'],
      env,
    );
    expect(created.code).toBe(0);
    expect(created.out).toMatch(/^gwk_[0-9a-f]{32}\.[0-9a-f]{64}\n$/);
    const { out } = await runGateway(['keys', 'list'], env);
    expect(out).toMatch(/\tuser:a@example\.com\tsome\tfast\tactive\n/i);
    expect(out).not.toContain(created.out.trim().split('.')[1]);
  });
});

describe('gateway ledger verify', () => {
  it('recomputes every row and every day, and names what was tampered with', async () => {
    const money = await createDatabase();
    const gateway = await startGateway(basicConfig(upstream.url, key), money.url);
    for (const requestId of ['verify-1', 'verify-2'])
      await fetch(`${gateway.url}/v1/chat/completions`, {
        method: 'POST',
        headers: {
          'x-api-key': key,
          'content-type': 'application/json',
          'x-request-id': requestId,
        },
        body: '{"model":"fast","messages":[{"role":"user","content":"Hi"}]}',
      }).then((answer) => answer.arrayBuffer());
    await gateway.stop();
    const client = new Client(money.url);
    await client.connect();
    const verify = async () =>
      runGateway(['ledger', 'verify'], variables(await file('good.yaml', good()), money.url));

    expect(await verify()).toEqual({ code: 0, out: '2 priced rows recomputed, 0 differences.\n', err: '' });

    await client.query(
      "update usage_cost_events set cost_picousd = cost_picousd + 1 where request_id = 'verify-2'",
    );
    const tampered = await verify();
    expect(tampered.code).toBe(1);
    const { rows } = await client.query<{ request_log_id: string }>(
      "select request_log_id from usage_cost_events where request_id = 'verify-2'",
    );
    expect(tampered.err).toContain(`row ${rows[0]?.request_log_id} (request "verify-2", user:`);
    expect(tampered.err).toMatch(/^day \d{4}-\d\d-\d\d \(user:/m);
    expect(tampered.err).not.toContain('verify-1');

    await client.query(
      `update usage_cost_events set cost_picousd = cost_picousd - 1 where request_id = 'verify-2';
       delete from usage_daily_totals`,
    );
    const forgotten = await verify();
    expect(forgotten).toMatchObject({ code: 1, err: expect.stringMatching(/^day .* total 0 USD is stored/) });
    await client.end();
    await money.drop();
  });
});

describe('gateway pricing import', () => {
  const litellm = `{
    "sample_spec": { "input_cost_per_token": 0 },
    "fast-1": { "litellm_provider": "openai", "mode": "chat", "input_cost_per_token": 1.5e-07, "output_cost_per_token": 0.00000060 },
    "odd-1": { "litellm_provider": "openai", "mode": "chat", "input_cost_per_token": 1.23456789e-13, "output_cost_per_token": 6e-07 }
  }`;

  it('prints a block that a configuration takes, and tells what it could not carry', async () => {
    const imported = await runGateway(['pricing', 'import', await file('prices.json', litellm)], {});
    expect(imported.code).toBe(0);
    const block = parse(imported.out) as object;
    expect(block).toEqual({
      pricing: {
        overrides: [
          {
            provider: 'openai',
            model: 'fast-1',
            input_usd_per_million: '0.15',
            output_usd_per_million: '0.6',
          },
        ],
      },
    });
    expect(imported.err).toContain('skipped odd-1: ');
    const config = await file('with-prices.yaml', { ...good(), ...block });
    expect(await runGateway(['check-config', config], variables(config))).toMatchObject({ code: 0, err: '' });
  });

  it('says why it cannot', async () => {
    await failing([
      [
        ['pricing', 'import', await file('other.json', '{"a":1}')],
        1,
        'neither a LiteLLM price map nor a models.dev',
        {},
      ],
      [['pricing', 'import', path.join(folder, 'nowhere.json')], 1, 'ENOENT', {}],
    ]);
  });
});

describe('gateway simulate-upstream', () => {
  it('answers until it is stopped', async () => {
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

  it('says why it cannot', async () => {
    await failing([
      [['simulate-upstream'], 2, 'needs --port', {}],
      [['simulate-upstream', '--port', '0', '--latency-ms', '-1'], 2, '--latency-ms', {}],
    ]);
  });
});

describe('gateway', () => {
  it('names its commands when it is given none that it knows', async () => {
    const { code, err } = await runGateway(['sevre'], {});
    expect(code).toBe(2);
    for (const name of ['serve', 'migrate', 'check-config', 'seed', 'keys', 'admin', 'ledger', 'pricing'])
      expect(err).toContain(name);
  });
});

describe('npm start', () => {
  const run = promisify(execFile);

  /** Asks the embedded database, as nobody but its owner can. */
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
    const [, loginUrl = ''] = await command.says(/Log in\s+POST (\S+)\n/);
    const [curl = ''] = await command.says(/^ {2}curl .*$/m);
    const pidFile = await readFile(path.join(dataDir, 'cluster', 'postmaster.pid'), 'utf8');
    const postgres = Number(pidFile.split('\n')[0]);
    return { ...command, url, apiKey, adminEmail, passwordFile, loginUrl, curl: curl.trim(), postgres };
  }

  it('starts from nothing, answers the line it prints, and comes back after any end', async () => {
    const dataDir = path.join(folder, 'data');
    const first = await start(dataDir);
    expect(first.apiKey).toMatch(/^gwk_[0-9a-f]{32}\.[0-9a-f]{64}$/);
    expect(first.curl).toContain(`${first.url}/v1/chat/completions`);

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
    const logIn = async ({ loginUrl }: typeof first) => {
      const headers = { 'content-type': 'application/json' };
      return (await fetch(loginUrl, { method: 'POST', headers, body: JSON.stringify(admin) })).status;
    };
    expect(await logIn(first)).toBe(200);

    expect((await stat(dataDir)).mode & 0o777).toBe(0o700);
    for (const name of ['quickstart-key', 'password', 'admin-password'])
      expect((await stat(path.join(dataDir, name))).mode & 0o777).toBe(0o600);
    expect(await readFile(path.join(dataDir, 'quickstart-key'), 'utf8')).toBe(`${first.apiKey}\n`);

    first.child.kill('SIGTERM');
    expect(await first.exited).toEqual({ code: 0, signal: null });
    expect(first.err()).toBe('');
    expect(alive(first.postgres)).toBe(false);

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
