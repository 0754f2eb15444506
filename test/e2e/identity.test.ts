import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { stringify } from 'yaml';
import { aKey, basicConfig, type ConfigFile, runGateway, type TestGateway } from '../support/gateway.ts';
import { makeTestFolder } from '../support/test-server.ts';
import { simulatedScene } from './simulated-scene.ts';
import { eventually } from './traces.ts';

/** Revocation and changes of owners and keys take effect on every replica within this time. */
const everywhereMs = 5000;

const keys = { user: aKey(), quiet: aKey(), team: aKey(), account: aKey(), narrow: aKey(), leaving: aKey() };
let folder = '';

const route = { routes: [{ provider: 'up', upstream_model: 'simulated-fast' }] };

function configOf(upstreamUrl: string, over: ConfigFile): ConfigFile {
  return basicConfig(upstreamUrl, keys.user, {
    more: {
      models: [
        { id: 'fast', ...route },
        { id: 'vendor/slow:1', ...route },
        { id: 'Another', ...route },
      ],
      teams: [{ id: 'platform', name: 'Platform' }],
      service_accounts: [{ id: 'ci', name: 'CI', team: 'platform' }],
      users: [
        { email: 'A@Example.com', name: 'A', team: 'platform' },
        { email: 'quiet@example.com', name: 'Quiet', request_logging_enabled: false },
      ],
      api_keys: [
        { name: 'user', owner: 'user:a@example.com', value: keys.user },
        { name: 'quiet', owner: 'user:quiet@example.com', value: keys.quiet },
        { name: 'team', owner: 'team:platform', value: keys.team },
        { name: 'account', owner: 'service_account:ci', value: keys.account },
        {
          name: 'narrow',
          owner: 'user:a@example.com',
          value: keys.narrow,
          allowed_models: ['vendor/slow:1'],
        },
        { name: 'leaving', owner: 'user:a@example.com', value: keys.leaving },
      ],
      ...over,
    },
  });
}

const {
  query,
  traceOf,
  databaseUrl,
  upstream,
  gateway: first,
  another,
} = simulatedScene((url) => configOf(url, {}));
const second = another();
const replicas = (): readonly TestGateway[] => [first(), second()];
const config = (over: ConfigFile = {}): ConfigFile => configOf(upstream().url, over);

beforeAll(async () => {
  folder = await makeTestFolder('identity');
  await writeFile(path.join(folder, 'gateway.yaml'), stringify(config()));
});

async function ask(
  { url }: Pick<TestGateway, 'url'>,
  key: string,
  requestId = '',
  model = 'fast',
): Promise<number> {
  const answer = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'x-api-key': key, 'content-type': 'application/json', 'x-request-id': requestId },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Hi' }] }),
  });
  await answer.arrayBuffer();
  return answer.status;
}

/** Waits until every replica answers a key with the status. */
const everywhere = (key: string, status: number, model = 'fast'): Promise<true> =>
  eventually(async () => {
    const statuses = await Promise.all(replicas().map((replica) => ask(replica, key, '', model)));
    return statuses.every((each) => each === status) ? true : undefined;
  }, everywhereMs);

const modelsFor = async (key: string): Promise<Response> =>
  fetch(`${first().url}/v1/models?limit=1000`, { headers: { authorization: `Bearer ${key}` } });

/** Runs a command with the configuration and the database of this deployment. */
const operator = (...args: string[]) =>
  runGateway(args, { GATEWAY_CONFIG: path.join(folder, 'gateway.yaml'), DATABASE_URL: databaseUrl() });

describe('keys and their owners', () => {
  it('requests with a user’s key are charged to the user', async () => {
    expect(await ask(first(), keys.user, 'owner-user')).toBe(200);
    const [user] = await query<{ user_id: string }>("select user_id from users where name = 'A'");
    const { logs, ledger } = await traceOf('owner-user');
    const owner = { user_id: user?.user_id, team_id: null, service_account_id: null };
    expect(ledger).toMatchObject([{ ownership_scope_key: `user:${user?.user_id}`, ...owner }]);
    expect(logs).toMatchObject([owner]);
  });

  it('requests with a team’s key are charged to the team', async () => {
    expect(await ask(first(), keys.team, 'owner-team')).toBe(200);
    const { logs, ledger } = await traceOf('owner-team');
    const owner = { user_id: null, team_id: 'platform', service_account_id: null };
    expect(ledger).toMatchObject([{ ownership_scope_key: 'team:platform:actor:none', ...owner }]);
    expect(logs).toMatchObject([owner]);
  });

  it('requests with a service account’s key are charged to its team', async () => {
    expect(await ask(first(), keys.account, 'owner-account')).toBe(200);
    const { logs, ledger } = await traceOf('owner-account');
    const owner = { user_id: null, team_id: 'platform', service_account_id: 'ci' };
    expect(ledger).toMatchObject([{ ownership_scope_key: 'team:platform:actor:none', ...owner }]);
    expect(logs).toMatchObject([owner]);
  });

  it('the secret of a key is in no row of keys, request logs and the ledger', async () => {
    const [, secret = ''] = keys.user.split('.');
    const dump = await query(
      `select row_to_json(t)::text as text from (select * from api_keys) t
       union all select row_to_json(t)::text from (select * from request_logs) t
       union all select row_to_json(t)::text from (select * from usage_cost_events) t`,
    );
    expect(dump.length).toBeGreaterThan(0);
    expect(JSON.stringify(dump)).not.toContain(secret);
  });
});

describe('the models that a key may use', () => {
  it('GET /v1/models answers both families in one body', async () => {
    const answer = await modelsFor(keys.user);
    expect(answer.status).toBe(200);
    const body = (await answer.json()) as { data: { created_at: string }[] };
    const rows = await query<{ model_key: string; created_at: Date }>('select * from models');
    const created = new Map(rows.map((row) => [row.model_key, row.created_at]));
    expect(body).toEqual({
      object: 'list',
      data: ['Another', 'fast', 'vendor/slow:1'].map((id) => ({
        id,
        object: 'model',
        created: Math.floor((created.get(id)?.getTime() ?? 0) / 1000),
        owned_by: expect.any(String),
        type: 'model',
        display_name: expect.any(String),
        created_at: created.get(id)?.toISOString(),
      })),
      has_more: false,
      first_id: 'Another',
      last_id: 'vendor/slow:1',
    });
  });

  it('a key with allowed_models lists only those models, and another one is 403 model_not_granted', async () => {
    const body = (await (await modelsFor(keys.narrow)).json()) as { data: { id: string }[] };
    expect(body).toMatchObject({ first_id: 'vendor/slow:1', last_id: 'vendor/slow:1' });
    expect(body.data.map(({ id }) => id)).toEqual(['vendor/slow:1']);
    expect(await ask(first(), keys.narrow, 'narrow-1', 'vendor/slow:1')).toBe(200);
    expect(await ask(first(), keys.narrow, 'narrow-2', 'fast')).toBe(403);
    expect(await ask(first(), keys.narrow, 'narrow-3', 'no-such')).toBe(404);
    const { logs, attempts, ledger } = await traceOf('narrow-2');
    expect(logs).toMatchObject([
      { status_code: 403, error_code: 'model_not_granted', model_key: 'fast', provider_key: null },
    ]);
    expect([...attempts, ...ledger]).toEqual([]);
  });

  it('a change of allowed_models takes effect on every replica', async () => {
    await query(
      `update api_keys set allowed_models = '{fast}' where name = 'narrow'; select gateway_touch()`,
    );
    await everywhere(keys.narrow, 200, 'fast');
    await everywhere(keys.narrow, 403, 'vendor/slow:1');
  });
});

describe('changes while replicas run', () => {
  it('a key created on the command line works, and is refused on every replica soon after its revocation', async () => {
    const created = await operator('keys', 'create', '--owner', 'service_account:ci', '--name', 'fresh');
    expect(created.code).toBe(0);
    const key = created.out.trim();
    expect(key).toMatch(/^gwk_[0-9a-f]{32}\.[0-9a-f]{64}$/);
    const [, id = ''] = /^Key ([0-9a-f-]{36})\./.exec(created.err) ?? [];
    for (const replica of replicas()) expect(await ask(replica, key)).toBe(200);
    const listed = await operator('keys', 'list');
    expect(listed.out).toContain(
      `${id}\tgwk_${key.slice(4, 36)}\tservice_account:ci\tfresh\tall models\tactive`,
    );
    expect(listed.out).not.toContain(key.split('.')[1]);
    const revoked = await operator('keys', 'revoke', id);
    expect(revoked).toMatchObject({ code: 0, out: expect.stringContaining(id) });
    await everywhere(key, 401);
    expect((await operator('keys', 'list')).out).toMatch(new RegExp(`${id}.*\\trevoked 2`));
  });

  it('keys of deactivated owners are refused until the owners are active again', async () => {
    for (const key of [keys.user, keys.team, keys.account])
      for (const replica of replicas()) expect(await ask(replica, key)).toBe(200);
    await query(`
      update users set active = false where name = 'A';
      update teams set active = false where team_id = 'platform';
      select gateway_touch()`);
    for (const key of [keys.user, keys.team, keys.account]) await everywhere(key, 401);
    expect(await ask(first(), keys.quiet)).toBe(200);
    await query(`
      update teams set active = true where team_id = 'platform';
      update service_accounts set active = false where service_account_id = 'ci';
      select gateway_touch()`);
    await everywhere(keys.team, 200);
    await everywhere(keys.account, 401);
    await query(`
      update users set active = true where name = 'A';
      update service_accounts set active = true where service_account_id = 'ci';
      select gateway_touch()`);
    await everywhere(keys.account, 200);
    await everywhere(keys.user, 200);
  });

  it('deactivated owners from the file stay inactive when the file is applied again', async () => {
    await query(`
      update users set active = false where name = 'A';
      update teams set active = false where team_id = 'platform';
      update service_accounts set active = false where service_account_id = 'ci';
      select gateway_touch()`);
    await first().take(config());
    for (const key of [keys.user, keys.team, keys.account]) await everywhere(key, 401);
    const message = 'an owner of the file stays inactive, because an admin deactivated it';
    for (const owner of ['user:a@example.com', 'team:platform', 'service_account:ci'])
      expect(first().log.lines).toContainEqual({ level: 'warn', fields: { owner }, message });
    await query(`
      update users set active = true where name = 'A';
      update teams set active = true where team_id = 'platform';
      update service_accounts set active = true where service_account_id = 'ci';
      select gateway_touch()`);
    for (const key of [keys.user, keys.team, keys.account]) await everywhere(key, 200);
  });

  it('a key removed from the file is revoked until it is added again, unless an admin revoked it', async () => {
    const all = config()['api_keys'] as { name: string }[];
    await first().take(config({ api_keys: all.filter(({ name }) => name !== 'leaving') }));
    await everywhere(keys.leaving, 401);
    await first().take(config());
    await everywhere(keys.leaving, 200);
    const [row] = await query<{ api_key_id: string }>(
      "select api_key_id from api_keys where name = 'leaving'",
    );
    expect(await operator('keys', 'revoke', row?.api_key_id ?? '')).toMatchObject({ code: 0 });
    await everywhere(keys.leaving, 401);
    await first().take(config());
    expect(await ask(first(), keys.leaving)).toBe(401);
    expect(first().log.lines).toContainEqual({
      level: 'warn',
      fields: { key: 'leaving' },
      message: 'a key of the file stays revoked, because an admin revoked it',
    });
  });
});

describe('a key that is not valid', () => {
  it('is logged by its public id and the address that it came from', async () => {
    expect(await ask(first(), `gwk_found-in-a-script.${'x'.repeat(32)}`)).toBe(401);
    expect(first().log.lines).toContainEqual({
      level: 'info',
      fields: { public_id: 'found-in-a-script', address: '127.0.0.1' },
      message: 'key refused',
    });
    expect(JSON.stringify(first().log.lines)).not.toContain('x'.repeat(32));
  });
});

describe('request logging', () => {
  it('a user with request_logging_enabled off has no log rows, but ledger rows', async () => {
    expect(await ask(first(), keys.quiet, 'quiet-1')).toBe(200);
    expect(await ask(first(), keys.quiet, 'quiet-2', 'no-such')).toBe(404);
    const served = await traceOf('quiet-1');
    expect(served.logs).toEqual([]);
    expect(served.ledger).toMatchObject([{ pricing_status: 'priced' }]);
    expect((await traceOf('quiet-2')).logs).toEqual([]);
    const [rows] = await query(
      `select count(*)::int as n from request_logs l join users u using (user_id) where u.name = 'Quiet'`,
    );
    expect(rows).toEqual({ n: 0 });
  });

  it('a change of request_logging_enabled takes effect on every replica', async () => {
    await query(
      `update users set request_logging_enabled = true where name = 'Quiet'; select gateway_touch()`,
    );
    await eventually(async () => {
      for (const replica of replicas()) await ask(replica, keys.quiet, 'quiet-3');
      return (await traceOf('quiet-3')).logs.length >= 2 ? true : undefined;
    }, everywhereMs);
    await query(
      `update users set request_logging_enabled = false where name = 'Quiet'; select gateway_touch()`,
    );
  });

  it('capture_mode disabled writes no log rows for any owner, and every ledger row', async () => {
    const gateway = first();
    await gateway.take(config({ request_logging: { payloads: { capture_mode: 'disabled' } } }));
    try {
      for (const name of ['user', 'team', 'account'] as const) {
        expect(await ask(gateway, keys[name], `disabled-${name}`)).toBe(200);
        expect(await ask(gateway, keys[name], `disabled-${name}-404`, 'no-such')).toBe(404);
        const { logs, ledger } = await traceOf(`disabled-${name}`);
        expect(logs).toEqual([]);
        expect(ledger).toHaveLength(1);
        expect((await traceOf(`disabled-${name}-404`)).logs).toEqual([]);
      }
    } finally {
      await gateway.take(config());
    }
  });

  it('capture_mode summary_only writes summary rows without payloads', async () => {
    const gateway = first();
    await gateway.take(config({ request_logging: { payloads: { capture_mode: 'summary_only' } } }));
    try {
      await ask(gateway, keys.user, 'summary-1');
      expect((await traceOf('summary-1')).logs).toMatchObject([
        { has_payload: false, metadata_json: { payload_policy: { capture_mode: 'summary_only' } } },
      ]);
    } finally {
      await gateway.take(config());
    }
  });
});
