import { readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { adminClient, makeAdmin } from '../support/admin.ts';
import { withDatabase } from '../support/database.ts';
import { aKey, type ConfigFile, startGateway, type TestGateway } from '../support/gateway.ts';

const example = readFileSync(path.join(import.meta.dirname, '..', '..', 'config', 'example.yaml'), 'utf8');

/** A valid value for the variable that occurs nowhere else, so that it can be searched for in answers. */
function canaryOf(name: string): string {
  if (name === 'AWS_ACCESS_KEY_ID') return 'AKIDCANARYOFEXAMPLE';
  return name === 'DEV_KEY' || name === 'CI_KEY' ? aKey() : `canary-${name}-0123456789abcdef`;
}

const names = new Set([...example.matchAll(/\$\{([A-Z_0-9]+)\}/g)].map(([, name = '']) => name));
names.delete('DATABASE_URL');

/** A value for every variable of the example, except the database's URL. */
const canaries: Record<string, string> = Object.fromEntries([...names].map((name) => [name, canaryOf(name)]));
const more = {
  inlineHeader: 'canary-header-0123456789abcdef',
  inlineBody: 'canary-body-0123456789abcdef',
  inPath: 'canary-path-0123456789abcdef',
};

/** The catalogue and identities of the example, with secrets of providers and routes in more places. */
function served(text: string): ConfigFile {
  const whole = parse(text) as Record<string, object[]>;
  const { providers = [], models = [], pricing, teams, users, service_accounts, api_keys } = whole;
  return {
    server: { bind: '127.0.0.1:0' },
    providers: [
      ...providers,
      {
        id: 'more',
        type: 'compat',
        base_url: 'https://${MORE_HOST}/${MORE_PATH}/v1',
        auth: { mode: 'none' },
        default_headers: { 'x-api-key': more.inlineHeader },
      },
    ],
    models: [
      ...models,
      {
        id: 'more',
        routes: [
          {
            provider: 'more',
            upstream_model: 'm',
            extra_headers: { 'x-auth-token': more.inlineHeader, 'x-tenant': '${MORE_PATH}' },
            extra_body: { api_key: more.inlineBody, user: '${MORE_PATH}' },
          },
        ],
      },
    ],
    pricing,
    teams,
    users,
    service_accounts,
    api_keys,
  };
}

const started: TestGateway[] = [];
afterAll(async () => {
  for (const gateway of started) await gateway.stop();
});

/** The text of all admin answers about models and providers. */
async function everythingTold(databaseUrl: string, config: ConfigFile): Promise<string> {
  const environment = { ...canaries, MORE_HOST: 'models.example.org', MORE_PATH: more.inPath };
  const gateway = await startGateway(config, databaseUrl, environment);
  started.push(gateway);
  await makeAdmin(databaseUrl);
  const admin = await adminClient(gateway.url);
  const lists = ['/api/v1/admin/models?page_size=200', '/api/v1/admin/providers?page_size=200'];
  const answers = await Promise.all(lists.map((each) => admin('GET', each)));
  const { items } = (answers[0]?.data ?? { items: [] }) as { items: readonly { model_key: string }[] };
  for (const { model_key } of items)
    answers.push(await admin('GET', `/api/v1/admin/models/${encodeURIComponent(model_key)}`));
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
  expect(items.length).toBeGreaterThan(5);
  return answers.map(({ text }) => text).join('\n');
}

describe('no secret of the configuration is in the answers about models and providers', () => {
  const database = withDatabase();
  const inline = withDatabase();

  it('if it comes from the environment: the variable’s name is shown instead', async () => {
    const told = await everythingTold(database.url(), served(example));
    for (const secret of [...Object.values(canaries), ...Object.values(more)])
      expect(told).not.toContain(secret);
    expect(told).toContain('https://${MORE_HOST}/${MORE_PATH}/v1');
    expect(Object.keys(canaries).length).toBeGreaterThan(6);
  });

  it('if it is written in the file itself', async () => {
    const written = example.replace(/\$\{([A-Z_0-9]+)\}/g, (all, name: string) => canaries[name] ?? all);
    const told = await everythingTold(inline.url(), served(written));
    for (const secret of [...Object.values(canaries), ...Object.values(more)])
      expect(told).not.toContain(secret);
  });
});
