import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import path from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { Client } from 'pg';
import { parse } from 'yaml';
import { createDatabase } from '../support/database.ts';
import { aKey, basicConfig, runGateway, startGateway } from '../support/gateway.ts';
import { connected } from '../support/test-server.ts';
import { timed } from '../support/undisturbed.ts';
import { key, failing, commandsScene } from './commands-scene.ts';

const { query, databaseUrl, folder, upstream, file, good, variables } = commandsScene();

describe('gateway serve', () => {
  it('reports every error of the file with its path and line, and the nearest valid name', async () => {
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

  it('reports a missing file, wrong options or a missing variable without a stack trace', async () => {
    await file('good.yaml', good());
    await failing([
      [['serve'], 1, 'cannot be read (ENOENT)', variables(path.join(folder(), 'nowhere.yaml'))],
      [
        ['serve', '--worker', '2'],
        2,
        "usage: Unknown option '--worker'",
        variables(path.join(folder(), 'good.yaml')),
      ],
      [
        ['serve', '--workers', 'many'],
        2,
        'usage: --workers must be',
        variables(path.join(folder(), 'good.yaml')),
      ],
      [['serve'], 1, 'GATEWAY_CONFIG', { DATABASE_URL: databaseUrl() }],
    ]);
  });

  it.each([
    ['serve', ['serve']],
    ['serve, without migrations', ['serve', '--no-migrate']],
    ['ledger verify', ['ledger', 'verify']],
  ])('says that the database cannot be reached, without its password: %s', async (_, args) => {
    const config = await file('good.yaml', good());
    const env = variables(config, 'postgresql://someone:canary-password@127.0.0.1:9/db');
    const { code, out, err } = await runGateway(args, env);
    expect(code).toBe(1);
    expect(err).toMatch(/^The database cannot be reached: connect ECONNREFUSED/m);
    expect(out + err).not.toContain('canary-password');
  });

  it.each([['1'], ['2']])(
    'fails at once and names the address if the port is in use (--workers %s)',
    async (workers) => {
      const other = createServer().listen(0, '127.0.0.1');
      await once(other, 'listening');
      const bind = `127.0.0.1:${(other.address() as AddressInfo).port}`;
      const config = await file(`port-${workers}.yaml`, good({ server: { bind } }));
      const { value, ms } = await timed(() => runGateway(['serve', '--workers', workers], variables(config)));
      other.close();
      expect(value.code).toBe(1);
      expect(value.err).toContain(
        `cannot listen on ${bind}: another process listens there. Another address is set by GATEWAY_BIND`,
      );
      expect(ms).toBeLessThan(15_000);
    },
  );

  it.each(['bind', 'admin_bind'])(
    'leaves the database as it was if the port of %s is in use, for another gateway may serve from it',
    async (address) => {
      const taken = createServer().listen(0, '127.0.0.1');
      await once(taken, 'listening');
      const { port } = taken.address() as AddressInfo;
      const { url } = await createDatabase();
      await runGateway(['seed'], variables(await file('first.yaml', good()), url));
      const state = () =>
        connected(url, async (client) => {
          const keys = await client.query('select public_id from api_keys where revoked_at is null');
          const providers = await client.query('select * from providers where enabled');
          return [keys.rows, providers.rows];
        });
      const before = await state();
      expect(before.map((rows) => rows.length)).toEqual([1, 1]);
      const server = { bind: '127.0.0.1:0', [address]: `127.0.0.1:${port}` };
      const second = await file(`second-${address}.yaml`, { server, teams: [{ id: 'other' }] });
      const { code, err } = await runGateway(['serve'], variables(second, url));
      taken.close();
      expect({ code, err }).toEqual({ code: 1, err: expect.stringContaining(`:${port}: another process`) });
      expect(await state()).toEqual(before);
    },
  );
});

describe('a startup that violates a constraint of the tables', () => {
  it.each(['serve', 'seed'])('fails with the name of the constraint and its table: %s', async (command) => {
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
  it('lists pending migrations, applies them once even if run twice concurrently, then has nothing to do', async () => {
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
  it('warns about settings that are valid but probably not intended', async () => {
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
      'models[0].routes[0]: streams report no usage',
      'user:a@example.com',
      'accounting.duplicate_request_ids: is allow',
      'accounting.after_block: is as_specified',
    ])
      expect(out).toContain(words);
    expect(out).not.toContain('inline-secret-canary');
  });

  it('fails for a file or a database URL that serve would refuse, and passes a good file without warnings', async () => {
    const missing = await runGateway(['check-config', 'nowhere.yaml'], {});
    expect(missing).toEqual({ code: 1, out: '', err: 'error nowhere.yaml cannot be read (ENOENT)\n' });
    const bad = await runGateway(['check-config', await file('bad.yaml', 'modles: []\n')], {});
    expect(bad.code).toBe(1);
    expect(bad.err).toContain('`models`');
    const config = await file('good.yaml', good());
    for (const query of ['sslmode=prefer', 'target_session_attrs=foo']) {
      const url = `${databaseUrl()}?${query}`;
      const unusable = await runGateway(['check-config', config], variables(config, url));
      const served = await runGateway(['serve'], variables(config, url));
      for (const { code, err } of [unusable, served]) {
        expect(code).toBe(1);
        expect(err).toMatch(/^error DATABASE_URL: cannot be used: /);
      }
    }
    const fine = await runGateway(['check-config', config], variables(config));
    expect(fine).toEqual({ code: 0, out: `${config} is valid; 0 warnings.\n`, err: '' });
  });

  it('accepts the example and the quick start as valid', async () => {
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

  it('makes the database match the file, and changes nothing when run again', async () => {
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
  it('fails for an unknown owner or key, or wrong arguments, and says why', async () => {
    const env = variables(await file('good.yaml', good()));
    await failing([
      [
        ['keys', 'create', '--owner', 'user:nobody@example.com', '--name', 'x'],
        1,
        'There is no owner user:nobody@example.com.',
        env,
      ],
      [['keys', 'create', '--owner', 'team:', '--name', 'x'], 2, 'usage: --owner must be user:EMAIL', env],
      [
        ['keys', 'revoke', '0000'],
        1,
        'There is no key with the id 0000: `npx gateway keys list` prints',
        env,
      ],
      [['keys'], 2, 'usage: keys create|list|revoke', env],
    ]);
  });

  it('creates a key for a user in any case of the address, limited to some models', async () => {
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

  it('lists until when a key is active, or that it has expired', async () => {
    const env = variables(await file('good.yaml', good()));
    await runGateway(['seed'], env);
    const state = async (hours: number): Promise<string | undefined> => {
      await query(`update api_keys set expires_at = now() + interval '${hours} hours' where name = 'dev'`);
      const { out } = await runGateway(['keys', 'list'], env);
      return /\tdev\tall models\t(\D+) 2/.exec(out)?.[1];
    };
    expect(await state(1)).toBe('active until');
    expect(await state(-1)).toBe('expired');
  });

  it('lists a key whose owner is inactive as refused for that, and not as active', async () => {
    const own = await createDatabase();
    const env = variables(await file('good.yaml', good()), own.url);
    await runGateway(['seed'], env);
    const client = new Client(own.url);
    await client.connect();
    await client.query('update users set active = false');
    await client.end();
    const { out } = await runGateway(['keys', 'list'], env);
    expect(out).toMatch(/\tdev\tall models\towner inactive\n/);
  });
});

describe('gateway ledger verify', () => {
  it('recomputes every row and every day total, and names the ones that were tampered with', async () => {
    const money = await createDatabase();
    const gateway = await startGateway(basicConfig(upstream().url, key), money.url);
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

  it('prints a valid pricing block, and reports the entries that it skipped', async () => {
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

  it('reads a file that begins with a byte order mark like one without', async () => {
    const [plain, marked] = [
      await file('plain.json', litellm),
      await file('marked.json', `\uFEFF${litellm}`),
    ];
    const imported = await runGateway(['pricing', 'import', marked], {});
    const { out } = await runGateway(['pricing', 'import', plain], {});
    expect(imported.code).toBe(0);
    expect(parse(imported.out)).toEqual(parse(out));
  });

  it('fails for an unknown format or a missing file, and says why', async () => {
    await failing([
      [
        ['pricing', 'import', await file('other.json', '{"a":1}')],
        1,
        'neither a LiteLLM price map nor a models.dev',
        {},
      ],
      [
        ['pricing', 'import', path.join(folder(), 'nowhere.json')],
        1,
        'nowhere.json cannot be read (ENOENT)',
        {},
      ],
      [['pricing', 'import', folder()], 1, `${folder()} cannot be read (EISDIR)`, {}],
    ]);
  });
});
