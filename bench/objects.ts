import { rm } from 'node:fs/promises';
import { availableParallelism, loadavg } from 'node:os';
import path from 'node:path';
import { type DatabasePool, sql } from 'slonik';
import { systemClock } from '../infrastructure/clock.ts';
import { startEmbeddedPostgres } from '../infrastructure/embedded-postgres/start.ts';
import { secrets } from '../infrastructure/key-secrets.ts';
import { accountsStore } from '../infrastructure/postgres/accounts-store.ts';
import { keysStore } from '../infrastructure/postgres/keys-store.ts';
import { migrate } from '../infrastructure/postgres/migrate.ts';
import { openPool } from '../infrastructure/postgres/pool.ts';
import { searchStore } from '../infrastructure/postgres/search-store.ts';
import { serviceAccountsStore } from '../infrastructure/postgres/service-accounts-store.ts';
import { teamsStore } from '../infrastructure/postgres/teams-store.ts';
import { usersStore } from '../infrastructure/postgres/users-store.ts';
import { keyRoutes } from '../interfaces/http/admin/key-routes.ts';
import { searchRoutes } from '../interfaces/http/admin/overview-routes.ts';
import { serviceAccountRoutes } from '../interfaces/http/admin/service-account-routes.ts';
import { teamRoutes } from '../interfaces/http/admin/team-routes.ts';
import { userRoutes } from '../interfaces/http/admin/user-routes.ts';
import { runAll } from '../test/support/test-server.ts';
import { givenNumber } from '../test/support/given-number.ts';
import { percentile } from './load.ts';
import { answerOf, quietest } from './quietest.ts';
import { sweptFolder } from '../test/support/swept-folder.ts';

/**
 * Measures the lists of people, teams and keys and the search, from the query to the JSON text, the time to find the
 * owner of a key, and the memory that a replica uses for keys: `node --expose-gc bench/objects.ts [USERS]`, with two
 * keys per user. The same is measured with ten keys for comparison.
 */
const users = givenNumber(1, 100_000);
const runs = 12;
const rounds = 5;
/** For the 95th percentile. */
const limitMs = 100;

const root = '/api/v1/admin';

const out = (line: string): void => void process.stdout.write(`${line}\n`);

/** The secret of each key is its public id twice. */
const fill = (count: number): readonly string[] => [
  `insert into users (email, name, active, created_at, role)
   select 'person' || n || '@example.com', 'Person ' || n, n % 500 <> 0, now() - n * interval '1 minute',
          case when n % 5000 = 0 then 'platform_admin' else 'user' end
   from generate_series(1, ${count}) n`,
  `insert into teams (team_id, name, created_at)
   select 'team-' || n, 'Team ' || n, now() - n * interval '1 hour' from generate_series(1, greatest(${count} / 50, 1)) n`,
  `insert into team_memberships (team_id, user_id)
   select 'team-' || case when at % 20 = 0 then 1 else 1 + at % greatest(${count} / 50, 1) end, user_id
   from (select user_id, row_number() over (order by created_at) as at from users) u`,
  `insert into service_accounts (service_account_id, name, team_id)
   select 'worker-' || n, 'Worker ' || n, 'team-' || 1 + n % greatest(${count} / 50, 1) from generate_series(1, ${count} / 10) n`,
  `insert into api_keys (public_id, secret_sha256, name, user_id, team_id, created_at, revoked_at, revoked_by, expires_at,
                         allowed_models)
   select lpad(n::text, 32, '0'), sha256(repeat(lpad(n::text, 32, '0'), 2)::bytea), 'Key ' || n,
          case when n % 10 > 0 then u.user_id end,
          case when n % 10 = 0 then 'team-' || 1 + n % greatest(${count} / 50, 1) end, now() - n * interval '10 seconds',
          case when n % 50 = 0 then now() end, case when n % 50 = 0 then 'admin' end,
          case when n % 70 = 0 then now() + (n % 3 - 1) * interval '1 day' end,
          case when n % 3 = 0 then array['fast', 'large'] else '{}' end
   from generate_series(1, 2 * ${count}) n
   join (select user_id, row_number() over (order by created_at) as at from users) u on u.at = 1 + n % ${count}`,
  'vacuum analyze',
];

/** The queries of the lists, each for its first page and a far one. */
async function queriesOf(pool: DatabasePool): Promise<readonly (readonly [list: string, query: string])[]> {
  const everybody = {
    email: undefined,
    name: undefined,
    active: undefined,
    role: undefined,
    teamId: undefined,
  };
  const [someone] = (await usersStore(pool).page(everybody, { page: 3, pageSize: 1 })).items;
  const id = someone?.userId ?? '';
  return [
    ...['', 'name=person%207', 'name=77777', 'name=nobody', 'email=@example.com', 'email=person4242@'].map(
      (query) => ['users', query] as const,
    ),
    ...[
      'active=true',
      'active=false',
      'role=user',
      'role=platform_admin',
      'team_id=team-1',
      'team_id=team-7',
    ].map((query) => ['users', query] as const),
    ...['', 'name=team%209', 'active=false', 'name=nothing'].map((query) => ['teams', query] as const),
    ...['', 'team_id=team-3', 'name=worker%201'].map((query) => ['service-accounts', query] as const),
    ...[
      '',
      'status=active',
      'status=revoked',
      'status=expired',
      'name=key%2012',
      'name=nothing',
      'name=199999',
    ].map((query) => ['api-keys', query] as const),
    ...[
      'owner_kind=user',
      'owner_kind=team',
      'owner_kind=service_account',
      `owner_kind=user&owner_id=${id}`,
    ].map((query) => ['api-keys', query] as const),
    ...['owner_kind=team&owner_id=team-1', 'owner_kind=user&status=revoked&name=key'].map(
      (query) => ['api-keys', query] as const,
    ),
  ];
}

async function measureLists(pool: DatabasePool): Promise<boolean> {
  const routes = [
    ...keyRoutes({ keys: keysStore(pool), secrets, clock: systemClock() }),
    ...userRoutes({ users: usersStore(pool) }),
    ...teamRoutes({ teams: teamsStore(pool) }),
    ...serviceAccountRoutes({ serviceAccounts: serviceAccountsStore(pool) }),
  ];
  let quickEnough = true;
  for (const [list, query] of await queriesOf(pool)) {
    const at = `${root}/${list}`;
    const measured: string[] = [];
    for (const page of ['', 'page=500&page_size=200']) {
      const asked = `${query}&${page}`.replace(/^&|&$/g, '');
      const { p50, p95 } = await quietest(rounds, runs, () => answerOf(routes, at, asked));
      quickEnough &&= p95 < limitMs;
      measured.push(
        `p50 ${p50.toFixed(1)} p95 ${p95.toFixed(1)} ms${p95 < limitMs ? '' : ` MORE THAN ${limitMs} ms`}`,
      );
    }
    const total = /"total":(\d+)/.exec(await answerOf(routes, at, query))?.[1];
    out(`  ${list}?${query} (${total}): ${measured.join(', deepest ')}`);
  }
  return quickEnough;
}

const presented = (n: number) => {
  const publicId = String(n).padStart(32, '0');
  return { publicId, secret: publicId.repeat(2) };
};

/**
 * Searches for part of a name, an id, a key's prefix, and something that does not exist, for which every name is
 * searched.
 */
async function measureSearch(pool: DatabasePool): Promise<boolean> {
  const routes = searchRoutes({ search: searchStore(pool) });
  const id = await pool.oneFirst(sql.unsafe`select user_id::text from users offset 500 limit 1`);
  const texts = [
    'person 7',
    'person4242@',
    '77777',
    'a',
    'team-7',
    'worker-12',
    String(id),
    'gwk_0000000000',
    'nothing at all',
  ];
  let quickEnough = true;
  for (const text of texts) {
    const query = `q=${encodeURIComponent(text)}`;
    const { p50, p95 } = await quietest(rounds, runs, () => answerOf(routes, `${root}/search`, query));
    quickEnough &&= p95 < limitMs;
    const hits = [...(await answerOf(routes, `${root}/search`, query)).matchAll(/"kind"/g)].length;
    const verdict = p95 < limitMs ? '' : ` MORE THAN ${limitMs} ms`;
    out(`  search?q=${text} (${hits}): p50 ${p50.toFixed(1)} p95 ${p95.toFixed(1)} ms${verdict}`);
  }
  return quickEnough;
}

/** Microseconds to find the owner of a key: from the table, and from memory. */
async function measureAuthentication(pool: DatabasePool, keys: number): Promise<void> {
  const accounts = accountsStore(
    pool,
    () => true,
    (error) => {
      throw error;
    },
  );
  const step = Math.max(1, Math.floor(keys / 1000));
  const some = Array.from({ length: 2000 }, (_, n) => 1 + ((n * step) % keys)).filter((n) => n % 10 === 1);
  const time = async (cold: boolean): Promise<number> => {
    const times: number[] = [];
    for (const n of some) {
      if (cold) accounts.forget();
      const began = performance.now();
      await accounts.authenticate(presented(n));
      times.push(performance.now() - began);
    }
    return percentile(times, 0.5) * 1000;
  };
  const cold = await time(true);
  await time(false);
  const warm = await time(false);
  out(
    `  whose a key is, of ${keys} keys: ${cold.toFixed(0)} µs out of the table, ${warm.toFixed(1)} µs out of memory`,
  );
  if (keys < 100_000) return;
  const before = heap();
  for (let n = 1; n <= 50_000; n += 200)
    await Promise.all(Array.from({ length: 200 }, (_, at) => accounts.authenticate(presented(n + at))));
  out(`  50,000 keys in memory take ${((heap() - before) / 1024 / 1024).toFixed(1)} MiB; more are not kept`);
  await accounts.authenticate(presented(1));
}

function heap(): number {
  globalThis.gc?.();
  return process.memoryUsage().heapUsed + process.memoryUsage().arrayBuffers;
}

const folder = await sweptFolder('bench-objects');
const database = await startEmbeddedPostgres({
  dataDir: path.join(folder, 'database'),
  testing: true,
  settings: { max_wal_size: '4GB', synchronous_commit: 'off' },
});
try {
  await migrate(database.url, path.join(import.meta.dirname, '..', 'migrations'), 'none');
  const pool = await openPool(database.url, 4);
  await runAll(database.url, fill(5));
  await measureAuthentication(pool, 10);
  await runAll(database.url, [
    'truncate api_keys, service_accounts, team_memberships, teams, users cascade',
    ...fill(users),
  ]);
  out(`${users} users, ${2 * users} keys`);
  await measureAuthentication(pool, 2 * users);
  if (!(await measureLists(pool))) process.exitCode = 1;
  if (!(await measureSearch(pool))) process.exitCode = 1;
  out(`  load average of this minute: ${loadavg()[0]?.toFixed(1)} on ${availableParallelism()} processors`);
  await pool.end();
} finally {
  await database.stop();
  await rm(folder, { recursive: true, force: true });
}
