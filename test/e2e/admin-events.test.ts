import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import type { DatabasePool } from 'slonik';
import { secretDigest } from '../../infrastructure/key-secrets.ts';
import { budgetsStore } from '../../infrastructure/postgres/budgets-store.ts';
import { keysStore } from '../../infrastructure/postgres/keys-store.ts';
import { openPool } from '../../infrastructure/postgres/pool.ts';
import { type AdminClient, adminClient, makeAdmin } from '../support/admin.ts';
import { anActor } from '../support/admin-actor.ts';
import { withDatabase } from '../support/database.ts';
import {
  aKey,
  basicConfig,
  type ConfigFile,
  queries,
  startGateway,
  type TestGateway,
} from '../support/gateway.ts';

const database = withDatabase();
const query = queries(database.url);
const key = aKey();
let gateway: TestGateway;
let admin: AdminClient;
let pool: DatabasePool;
let adminId = '';

/** The configuration file, with or without a budget for its user. */
const config = (budget?: object): ConfigFile =>
  basicConfig('http://127.0.0.1:1/v1', key, {
    user: budget === undefined ? {} : { budget },
    more: { server: { bind: '127.0.0.1:0', trusted_proxies: ['127.0.0.1'] } },
  });

beforeAll(async () => {
  gateway = await startGateway(config(), database.url());
  pool = await openPool(database.url(), 4);
  await makeAdmin(database.url());
  admin = await adminClient(gateway.url);
  adminId = await userIdOf('root@example.com');
});
afterAll(async () => {
  await pool?.end();
  await gateway?.stop();
});

const userIdOf = async (email: string): Promise<string> =>
  (await query<{ user_id: string }>('select user_id from users where email = $1', [email]))[0]?.user_id ?? '';

let made = 0;
async function aTeam(): Promise<{ readonly teamId: string; readonly path: string }> {
  const teamId = `team-${(made += 1)}`;
  await query('insert into teams (team_id, name) values ($1, $1)', [teamId]);
  return { teamId, path: `${root}/budgets/teams/${teamId}` };
}

const root = '/api/v1/admin/spend';
const terms = (amount_10000: number, over: object = {}) => ({
  cadence: 'daily',
  amount_10000,
  hard_limit: true,
  timezone: 'UTC',
  ...over,
});
const instant = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
const uuid = expect.stringMatching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);

interface Listed {
  readonly items: readonly Record<string, unknown>[];
  readonly total: number;
}
async function events(parameters: string): Promise<Listed> {
  const { status, data } = await admin('GET', `/api/v1/admin/events?${parameters}`);
  expect(status).toBe(200);
  return data as Listed;
}

describe('every change over the admin API writes an event', () => {
  it('with actor, action, target, state before and after, time and address', async () => {
    const { teamId, path } = await aTeam();
    await admin('PUT', path, terms(5), { 'x-forwarded-for': '203.0.113.7' });
    await admin('PUT', path, terms(6, { hard_limit: false }));
    await admin('DELETE', path);
    const { items, total } = await events(`target_id=${teamId}`);
    const budget = (amount_10000: number, hard_limit = true) => ({
      budget_id: uuid,
      cadence: 'daily',
      amount_10000,
      hard_limit,
      timezone: 'UTC',
      from_config: false,
    });
    const shared = {
      admin_event_id: uuid,
      occurred_at: instant,
      actor_user_id: adminId,
      target_kind: 'team',
      target_id: teamId,
      remote_address: '127.0.0.1',
      admin_token_id: null,
    };
    expect(total).toBe(3);
    expect(items).toEqual([
      { ...shared, action: 'budget.delete', before_json: budget(6, false), after_json: null },
      { ...shared, action: 'budget.set', before_json: budget(5), after_json: budget(6, false) },
      {
        ...shared,
        action: 'budget.set',
        before_json: null,
        after_json: budget(5),
        remote_address: '203.0.113.7',
      },
    ]);
  });

  it('for each change exactly one event, and none without a change, for any sequence of calls', async () => {
    const calls = fc.array(
      fc.oneof(
        fc.record({ put: fc.constantFrom(1, 2), hard_limit: fc.boolean() }),
        fc.constant('delete' as const),
        fc.constant('bad' as const),
      ),
      { minLength: 1, maxLength: 12 },
    );
    await fc.assert(
      fc.asyncProperty(calls, async (asked) => {
        const { teamId, path } = await aTeam();
        const expected: unknown[] = [];
        let now: object | null = null;
        for (const each of asked) {
          const before = now;
          if (each === 'bad') await admin('PUT', path, terms(-1));
          else if (each === 'delete') {
            await admin('DELETE', path);
            now = null;
          } else {
            now = terms(each.put, { hard_limit: each.hard_limit });
            await admin('PUT', path, now);
          }
          if (JSON.stringify(before) !== JSON.stringify(now)) expected.unshift([before, now]);
        }
        const { items } = await events(`target_kind=team&target_id=${teamId}`);
        const terse = (value: unknown) => value && pick(value as Record<string, unknown>);
        expect(items.map((item) => [terse(item['before_json']), terse(item['after_json'])])).toEqual(
          expected,
        );
      }),
      { numRuns: 25 },
    );
  });

  it('concurrent changes of one owner: each event’s state before is the state after the previous one', async () => {
    const { teamId, path } = await aTeam();
    await Promise.all(
      Array.from({ length: 24 }, (_, index) =>
        index % 4 === 0 ? admin('DELETE', path) : admin('PUT', path, terms(index % 3)),
      ),
    );
    const { items } = await events(`target_id=${teamId}&page_size=200`);
    const chain = items.toReversed();
    expect(chain[0]?.['before_json']).toBeNull();
    for (const [index, event] of chain.entries()) {
      expect(event['before_json']).toEqual(index === 0 ? null : chain[index - 1]?.['after_json']);
      expect(event['after_json']).not.toEqual(event['before_json']);
    }
    const rows = await query('select from team_budgets where team_id = $1', [teamId]);
    expect(items.filter((event) => event['after_json'] !== null)).toHaveLength(rows.length);
  });

  it('a change that is rolled back writes no event, and one whose event cannot be written is rolled back', async () => {
    const { teamId, path } = await aTeam();
    await query(`alter table admin_events add constraint test_full_check check (target_id <> '${teamId}')`);
    expect((await admin('PUT', path, terms(5))).status).toBe(500);
    expect(await query('select from team_budgets where team_id = $1', [teamId])).toEqual([]);
    await query('alter table admin_events drop constraint test_full_check');
    await query(
      `alter table team_budgets add constraint test_full_check check (team_id <> '${teamId}') not valid`,
    );
    expect((await admin('PUT', path, terms(5))).status).toBe(500);
    expect((await events(`target_id=${teamId}`)).items).toEqual([]);
    await query('alter table team_budgets drop constraint test_full_check');
  });

  it('a budget set by the file writes no event', async () => {
    const userId = await userIdOf('a@example.com');
    await gateway.take(config(terms(7)));
    await gateway.take(config());
    expect((await events(`target_id=${userId}`)).items).toEqual([]);
  });
});

const pick = ({ cadence, amount_10000, hard_limit, timezone }: Record<string, unknown>) => ({
  cadence,
  amount_10000,
  hard_limit,
  timezone,
});

describe('a change on the command line', () => {
  it('writes an event without actor and address, and without the digest of the secret', async () => {
    const keys = keysStore(pool);
    const secret = 'a'.repeat(64);
    const byCommand = undefined;
    const created = await keys.create(
      {
        publicId: 'b'.repeat(32),
        secretSha256: secretDigest(secret),
        name: 'by hand',
        owner: { kind: 'user', email: 'a@example.com' },
        allowedModels: ['fast'],
        expiresAt: undefined,
      },
      byCommand,
    );
    if (created.kind !== 'done') throw new Error(created.kind);
    const id = created.present.apiKeyId;
    const revoke = async (asked: string) =>
      (await keys.revoke({ id: asked, version: undefined, author: byCommand })).kind;
    expect(await revoke(id)).toBe('done');
    expect(await revoke(id)).toBe('done');
    expect(await revoke('nothing')).toBe('missing');
    const shared = { actor_user_id: null, remote_address: null, target_kind: 'api_key', target_id: id };
    const active = {
      public_id: 'b'.repeat(32),
      name: 'by hand',
      owner: 'user:a@example.com',
      allowed_models: ['fast'],
      revoked_at: null,
    };
    const { items } = await events('target_kind=api_key');
    expect(items).toMatchObject([
      {
        ...shared,
        action: 'api_key.revoke',
        before_json: active,
        after_json: { ...active, revoked_at: instant },
      },
      { ...shared, action: 'api_key.create', before_json: null, after_json: active },
    ]);
    const digest = Buffer.from(secretDigest(secret)).toString('hex');
    expect(JSON.stringify(items)).not.toContain(digest);
  });

  it('writes an event when an admin is created and when an admin gets a new password', async () => {
    await makeAdmin(database.url());
    admin = await adminClient(gateway.url);
    const { items } = await events(`action=admin.create&target_id=${adminId}`);
    const person = { email: 'root@example.com', role: 'platform_admin', active: true };
    expect(items.map(({ before_json, after_json }) => [before_json, after_json])).toEqual([
      [person, person],
      [null, person],
    ]);
    expect(JSON.stringify(items)).not.toContain('argon2');
  });
});

describe('GET /events', () => {
  it('returns pages, newest first, and filters by each parameter', async () => {
    const { teamId, path } = await aTeam();
    for (let amount = 1; amount <= 5; amount += 1) await admin('PUT', path, terms(amount));
    await admin('DELETE', path);
    const amounts = async (more: string) =>
      (await events(`target_id=${teamId}&${more}`)).items.map(
        ({ after_json }) => (after_json as { amount_10000: number } | null)?.amount_10000 ?? 0,
      );
    expect(await amounts('')).toEqual([0, 5, 4, 3, 2, 1]);
    expect(await amounts('page_size=4&page=2')).toEqual([2, 1]);
    expect(await amounts('action=budget.delete')).toEqual([0]);
    expect(await amounts(`actor_user_id=${adminId}&target_kind=team&action=budget.set`)).toEqual([
      5, 4, 3, 2, 1,
    ]);
    expect(await amounts('target_kind=user')).toEqual([]);
    expect(await amounts('actor_user_id=00000000-0000-4000-8000-000000000000')).toEqual([]);
    const times = await query<{ at: Date }>(
      'select occurred_at as at from admin_events where target_id = $1 order by 1',
      [teamId],
    );
    // The filters have milliseconds, the rows microseconds: events of the same millisecond count together.
    const third = times[2]?.at.getTime() ?? 0;
    const at = (ms: number) => new Date(ms).toISOString();
    const since = times.filter(({ at: time }) => time.getTime() >= third).length;
    expect(await amounts(`from=${at(third)}`)).toHaveLength(since);
    expect(await amounts(`to=${at(third)}`)).toHaveLength(6 - since);
    const { items } = await events(`target_id=${teamId}`);
    const id = String(items.at(-1)?.['admin_event_id']);
    expect(await events(`admin_event_id=${id.toUpperCase()}`)).toMatchObject({
      items: items.slice(-1),
      total: 1,
    });
    expect(await admin('GET', `/api/v1/admin/events?target_id=${teamId}`)).toMatchObject({
      data: { page: 1, page_size: 50, total: 6, total_is_lower_bound: false },
    });
  });

  it.each([
    ['action=budget.change', 'action'],
    ['target_kind=models', 'target_kind'],
    ['admin_event_id=1', 'admin_event_id'],
    ['actor_user_id=root', 'actor_user_id'],
    ['target_id=', 'target_id'],
    ['from=yesterday', 'from'],
    ['page_size=201', 'page_size'],
    ['actor=1', 'actor'],
  ])('?%s is refused with 400 and names the parameter', async (parameters, param) => {
    expect(await admin('GET', `/api/v1/admin/events?${parameters}`)).toMatchObject({
      status: 400,
      error: { code: 'invalid_request', param },
    });
  });

  it('is refused with 401 without a session', async () => {
    expect((await fetch(`${gateway.url}/api/v1/admin/events`)).status).toBe(401);
  });
});

describe('admin_events is append-only', () => {
  it.each([
    ['update admin_events set action = action'],
    ['delete from admin_events'],
    ['delete from admin_events where false'],
    ['truncate admin_events'],
    [
      `insert into admin_events (admin_event_id, action, target_kind, target_id)
       select admin_event_id, 'a', 'b', 'c' from admin_events limit 1
       on conflict (admin_event_id) do update set action = 'other'`,
    ],
  ])('%s is refused', async (statement) => {
    const before = await query('select * from admin_events order by admin_event_id');
    expect(before.length).toBeGreaterThan(0);
    await expect(query(statement)).rejects.toThrow('admin_events is append-only');
    expect(await query('select * from admin_events order by admin_event_id')).toEqual(before);
  });
});

describe('the history of a budget', () => {
  const historyOf = async (path: string, parameters = '') =>
    (await admin('GET', `${path}/history?${parameters}`)).data as Listed;

  it('says who set and who removed each budget: an admin by id and name, or the file', async () => {
    const userId = await userIdOf('a@example.com');
    const path = `${root}/budgets/users/${userId}`;
    await gateway.take(config(terms(100)));
    await admin('PUT', path, terms(200));
    await admin('DELETE', path);
    const byAdmin = (name: string) => ({
      [name]: 'admin',
      [`${name}_user_id`]: adminId,
      [`${name}_user_name`]: 'root@example.com',
    });
    const byConfig = (name: string) => ({
      [name]: 'config',
      [`${name}_user_id`]: null,
      [`${name}_user_name`]: null,
    });
    const { items } = await historyOf(path, 'page_size=2');
    expect(items).toEqual([
      {
        budget_id: uuid,
        ...terms(200),
        amount_usd: '0.02',
        created_at: instant,
        ...byAdmin('set_by'),
        deactivated_at: instant,
        ...byAdmin('deactivated_by'),
      },
      {
        budget_id: uuid,
        ...terms(100),
        amount_usd: '0.01',
        created_at: instant,
        ...byConfig('set_by'),
        deactivated_at: instant,
        ...byAdmin('deactivated_by'),
      },
    ]);
    await gateway.take(config(terms(300)));
    await gateway.take(config());
    expect((await historyOf(path)).items[0]).toMatchObject({
      amount_10000: 300,
      ...byConfig('set_by'),
      ...byConfig('deactivated_by'),
    });
  });

  it('is returned in pages, with the active budget first', async () => {
    const { path } = await aTeam();
    for (let amount = 1; amount <= 5; amount += 1) await admin('PUT', path, terms(amount));
    expect(await historyOf(path, 'page=2&page_size=2')).toMatchObject({
      items: [{ amount_10000: 3 }, { amount_10000: 2 }],
      page: 2,
      page_size: 2,
      total: 5,
      total_is_lower_bound: false,
    });
    expect((await historyOf(path)).items[0]).toMatchObject({
      amount_10000: 5,
      deactivated_at: null,
      deactivated_by: null,
      deactivated_by_user_id: null,
      deactivated_by_user_name: null,
    });
  });

  it('exists for a deactivated owner, is empty for one without budgets, and is 404 for an unknown owner', async () => {
    const { teamId, path } = await aTeam();
    expect(await historyOf(path)).toMatchObject({ items: [], total: 0 });
    await admin('PUT', path, terms(1));
    await query('update teams set active = false where team_id = $1', [teamId]);
    expect((await historyOf(path)).items).toHaveLength(1);
    for (const nobody of ['teams/nobody', 'users/nobody', 'users/00000000-0000-4000-8000-000000000000'])
      expect(await admin('GET', `${root}/budgets/${nobody}/history`)).toMatchObject({
        status: 404,
        error: { code: 'not_found' },
      });
    expect(await admin('GET', `${path}/history?days=1`)).toMatchObject({
      status: 400,
      error: { param: 'days' },
    });
  });
});

describe('setting the same budget again changes nothing, from_config included', () => {
  it('so a budget from the file still ends when its block is removed from the file', async () => {
    const userId = await userIdOf('a@example.com');
    const path = `${root}/budgets/users/${userId}`;
    await gateway.take(config(terms(40)));
    const rows = () => query('select * from user_budgets where user_id = $1 order by created_at', [userId]);
    const [before, eventsBefore] = [await rows(), (await events('')).total];
    expect(await admin('PUT', path, terms(40))).toMatchObject({ status: 200 });
    expect(await rows()).toEqual(before);
    expect((await events('')).total).toBe(eventsBefore);
    await gateway.take(config());
    expect(await query('select from user_budgets where user_id = $1 and active', [userId])).toEqual([]);
  });

  it('removing the block keeps a budget that an admin changed, unless the file has set it again since', async () => {
    const userId = await userIdOf('a@example.com');
    const active = () =>
      query('select amount_10000, from_config from user_budgets where user_id = $1 and active', [userId]);
    await budgetsStore(pool, () => false).set(
      { kind: 'user', userId },
      { cadence: 'daily', amount10000: 50n, hardLimit: true, timezone: 'UTC' },
      anActor,
    );
    await gateway.take(config());
    expect(await active()).toEqual([{ amount_10000: '50', from_config: false }]);
    await gateway.take(config(terms(50)));
    expect(await active()).toEqual([{ amount_10000: '50', from_config: true }]);
    await gateway.take(config());
    expect(await active()).toEqual([]);
  });
});
