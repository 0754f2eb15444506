import { rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { Client } from 'pg';
import type { Page } from 'playwright-core';
import { stringify } from 'yaml';
import { fill, grow, models } from '../../bench/data-rows.ts';
import { type Measured, start } from '../../bench/processes.ts';
import { startEmbeddedPostgres } from '../../infrastructure/embedded-postgres/start.ts';
import { migrate } from '../../infrastructure/postgres/migrate.ts';
import { aKey } from '../support/a-key.ts';
import { sweptFolder } from '../support/swept-folder.ts';

/** What a standalone program needs to show the page: a database with rows, upstream, gateway and admin. */
export interface Stage {
  readonly url: string;
  readonly databaseUrl: string;
  /** Keys of a person, a team and a service account. */
  readonly keys: { readonly person: string; readonly team: string; readonly worker: string };
  /** Calls the admin API with a session; throws if the response is an error. */
  readonly admin: (method: string, path: string, body?: unknown) => Promise<unknown>;
  /** Starts another gateway with its own, empty database; returns its URL. */
  readonly emptyGateway: () => Promise<string>;
  readonly stop: () => Promise<void>;
}

const account = { email: 'root@example.com', password: 'correct horse battery staple' };

const root = path.join(import.meta.dirname, '..', '..');
const gatewayScript = path.join(root, 'interfaces', 'cli', 'gateway.mjs');
const usdPerMillion = (picodollars: number): string => (picodollars / 1_000_000).toString();

/** Has the models of the generated rows, so that old and new requests have the same model names. */
const config = (upstream: string, keys: Stage['keys'], capture: string, mcpServers: readonly object[]) => ({
  server: { bind: '127.0.0.1:0' },
  request_logging: { payloads: { capture_mode: capture } },
  providers: [0, 1, 2].map((n) => ({
    id: `provider-${n}`,
    type: 'compat',
    base_url: upstream,
    auth: { mode: 'none' },
  })),
  models: [
    ...models.map(([id], n) => ({
      id,
      routes: [
        { provider: `provider-${Math.floor(n / 4)}`, upstream_model: `${id}-upstream` },
        ...(n < 3
          ? [
              {
                provider: 'provider-2',
                upstream_model: `${id}-fallback`,
                priority: 200,
                capabilities: { vision: false },
              },
            ]
          : []),
      ],
    })),
    { id: 'broken', routes: [{ provider: 'provider-1', upstream_model: 'simulated-fast?status=500' }] },
    { id: 'tools', routes: [{ provider: 'provider-0', upstream_model: 'simulated-tools' }] },
    { id: 'thinker', routes: [{ provider: 'provider-0', upstream_model: 'simulated-reasoning' }] },
  ],
  pricing: {
    overrides: [
      ...models.flatMap(([id, input, output], n) =>
        input === 'null'
          ? []
          : [
              {
                provider: `provider-${Math.floor(n / 4)}`,
                model: `${id}-upstream`,
                input_usd_per_million: usdPerMillion(input),
                output_usd_per_million: usdPerMillion(output),
              },
            ],
      ),
      ...['simulated-tools', 'simulated-reasoning'].map((model) => ({
        provider: 'provider-0',
        model,
        input_usd_per_million: '2.5',
        output_usd_per_million: '10',
      })),
    ],
  },
  mcp_servers: mcpServers,
  teams: [{ id: 'platform', name: 'Platform' }],
  service_accounts: [{ id: 'indexer', name: 'Indexer', team: 'platform' }],
  users: [{ email: 'ada@example.com', name: 'Ada Lovelace', team: 'platform', team_role: 'owner' }],
  api_keys: [
    { name: 'laptop', owner: 'user:ada@example.com', value: keys.person },
    { name: 'platform', owner: 'team:platform', value: keys.team },
    {
      name: 'nightly',
      owner: 'service_account:indexer',
      value: keys.worker,
      limits: { requests_per_minute: 60 },
    },
  ],
});

/** Configures nothing; the only user is the admin from the environment. */
const emptyConfig = { server: { bind: '127.0.0.1:0' } };

/** Starts everything, with `rows` ledger rows of 31 days. */
export async function startStage(
  rows: number,
  capture: string,
  mcpServers: readonly object[] = [],
): Promise<Stage> {
  const folder = await sweptFolder('stage');
  const keys = { person: aKey(), team: aKey(), worker: aKey() };
  const database = await startEmbeddedPostgres({
    dataDir: path.join(folder, 'database'),
    testing: true,
    settings: { max_wal_size: '4GB', synchronous_commit: 'off' },
  });
  const started: Measured[] = [];
  const launch = async (args: readonly string[], env: Readonly<Record<string, string>> = {}) => {
    const process = await start(args, env);
    started.push(process);
    return process.url;
  };
  const serve = async (name: string, file: object, url: string): Promise<string> => {
    const configFile = path.join(folder, `${name}.yaml`);
    await writeFile(configFile, stringify(file));
    return launch([gatewayScript, 'serve'], {
      GATEWAY_CONFIG: configFile,
      DATABASE_URL: url,
      GATEWAY_ADMIN_EMAIL: account.email,
      GATEWAY_ADMIN_PASSWORD: account.password,
      GATEWAY_DATA_DIR: path.join(folder, name),
    });
  };
  const stop = async (): Promise<void> => {
    for (const process of started.reverse()) await process.stop();
    await database.stop();
    await rm(folder, { recursive: true, force: true });
  };
  try {
    await migrate(database.url, path.join(root, 'migrations'), 'none');
    await fill(database.url);
    await nameThem(database.url);
    await grow(database.url, rows);
    const upstream = await launch([gatewayScript, 'simulate-upstream', '--port', '0']);
    const url = await serve('gateway', config(upstream, keys, capture, mcpServers), database.url);
    return {
      url,
      databaseUrl: database.url,
      keys,
      admin: await adminOf(url),
      emptyGateway: async () => {
        await run(database.url, 'create database empty');
        const empty = new URL(database.url);
        empty.pathname = '/empty';
        return serve('empty', emptyConfig, empty.href);
      },
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

export async function run(url: string, statement: string): Promise<void> {
  const client = new Client(url);
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}

const given =
  'Grace,Alan,Edsger,Barbara,Donald,Margaret,Ken,Radia,Tim,Katherine,Dennis,Hedy,John,Mary,Claude';
const family =
  'Hopper,Turing,Dijkstra,Liskov,Knuth,Hamilton,Thompson,Perlman,Lee,Johnson,Ritchie,Lamarr,Backus,Shaw,Shannon,Allen,Wirth,Kay,Hoare,Lamport';
const groups =
  'Search,Checkout,Growth,Mobile,Data platform,Security,Support,Research,Payments,Catalogue,Billing,Logistics,Fraud,Maps,Ads,Identity,Notifications,Internal tools,Quality,Documentation';

const textArray = (names: string): string =>
  `array[${names
    .split(',')
    .map((each) => `'${each}'`)
    .join(',')}]`;

/** Gives people and teams realistic names. */
const nameThem = (url: string): Promise<void> =>
  run(
    url,
    `update users set name = n.given || ' ' || n.family, email = lower(n.given || '.' || n.family) || '@example.com'
     from (select user_id, (${textArray(given)})[1 + (row_number() over (order by email) - 1) % 15] as given,
                  (${textArray(family)})[1 + (row_number() over (order by email) - 1) / 15] as family
           from users where email like 'person%') n
     where n.user_id = users.user_id;
     update teams set name = (${textArray(groups)})[substring(team_id from 6)::int] where team_id like 'team-%'`,
  );

async function adminOf(url: string): Promise<Stage['admin']> {
  const login = await fetch(`${url}/api/v1/auth/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(account),
  });
  if (!login.ok) throw new Error(await login.text());
  const cookie = (login.headers.get('set-cookie') ?? '').split(';')[0] ?? '';
  return async (method, wanted, body) => {
    const answer = await fetch(`${url}/api/v1/admin${wanted}`, {
      method,
      headers: { cookie, 'content-type': 'application/json', 'sec-fetch-site': 'same-origin' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (!answer.ok) throw new Error(`${method} ${wanted}: ${answer.status} ${await answer.text()}`);
    return ((await answer.json()) as { readonly data: unknown }).data;
  };
}

/** Opens the page and logs in as the admin. */
export async function logInAt(page: Page, url: string): Promise<void> {
  await page.goto(`${url}/admin`);
  await page.getByLabel('E-mail').fill(account.email);
  await page.getByLabel('Password').fill(account.password);
  await page.getByRole('button', { name: 'Log in', exact: true }).click();
  await page.getByRole('navigation', { name: 'Pages', exact: true }).waitFor();
}
