import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import type { DatabasePool } from 'slonik';
import type { Users } from '../../application/ports/owners.ts';
import { keysStore } from '../../infrastructure/postgres/keys-store.ts';
import { openPool } from '../../infrastructure/postgres/pool.ts';
import { usersStore } from '../../infrastructure/postgres/users-store.ts';
import { anActor } from '../support/admin-actor.ts';
import { withDatabase } from '../support/database.ts';
import { queries } from '../support/gateway.ts';

const database = withDatabase();
const query = queries(database.url);
let pools: readonly DatabasePool[] = [];
let stores: readonly Users[] = [];

beforeAll(async () => {
  pools = [await openPool(database.url(), 6), await openPool(database.url(), 6)];
  stores = pools.map(usersStore);
});
afterAll(async () => {
  for (const pool of pools) await pool.end();
});

const same = { name: undefined, role: undefined, requestLoggingEnabled: undefined, active: undefined };

describe('the last active platform admin', () => {
  const aChange = fc.record({
    who: fc.nat(3),
    patch: fc.constantFrom(
      { role: 'user' as const },
      { active: false },
      { role: 'user' as const, active: false },
      { role: 'platform_admin' as const },
      { active: true },
    ),
  });

  it('is never removed, whatever concurrent demotions and deactivations are made', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(aChange, { minLength: 2, maxLength: 10 }), async (changes) => {
        await query('delete from users');
        const ids = await Promise.all(
          [0, 1, 2, 3].map(async (n) => {
            const user = {
              email: `${randomUUID()}@example.com`,
              name: 'U',
              role: n < 2 ? ('platform_admin' as const) : ('user' as const),
              requestLoggingEnabled: true,
            };
            return (await stores[0]!.create(user, anActor)).present.userId;
          }),
        );
        const outcomes = await Promise.all(
          changes.map(({ who, patch }, index) =>
            stores[index % 2]!.change({
              id: ids[who] ?? '',
              patch: { ...same, ...patch },
              version: undefined,
              author: anActor,
            }),
          ),
        );
        const left = await query(`select from users where role = 'platform_admin' and active`);
        expect(left.length).toBeGreaterThan(0);
        for (const { kind } of outcomes) expect(['done', 'last_admin']).toContain(kind);
      }),
      { numRuns: 40 },
    );
  });

  it('is kept by exactly one of two admins who demote each other at the same time', async () => {
    for (let round = 0; round < 10; round += 1) {
      await query('delete from users');
      const ids = await Promise.all(
        ['a', 'b'].map(async (name) => {
          const user = { email: `${name}@example.com`, name, role: 'platform_admin' as const };
          return (await stores[0]!.create({ ...user, requestLoggingEnabled: true }, anActor)).present.userId;
        }),
      );
      const kinds = await Promise.all(
        ids.map(async (id, index) => {
          const patch = { ...same, role: 'user' as const };
          return (await stores[index]!.change({ id, patch, version: undefined, author: anActor })).kind;
        }),
      );
      expect(kinds.toSorted()).toEqual(['done', 'last_admin']);
    }
  });
});

describe('lists over many thousands of rows', () => {
  const users = 20_000;
  const keys = 40_000;

  beforeAll(async () => {
    await query('delete from users');
    await query(
      `insert into users (email, name, active, created_at, role)
       select 'p' || n || '@example.com', 'Person ' || n, n % 1000 <> 0, now() - n * interval '1 minute',
              case when n % 5000 = 0 then 'platform_admin' else 'user' end
       from generate_series(1, ${users}) n`,
    );
    await query(`insert into teams (team_id, name) select 't' || n, 'T' || n from generate_series(1, 200) n`);
    await query(
      `insert into team_memberships (team_id, user_id)
       select 't' || 1 + (row_number() over ()) % 200, user_id from users`,
    );
    await query(
      `insert into api_keys (public_id, secret_sha256, name, user_id, created_at, revoked_at, revoked_by, expires_at)
       select n::text, sha256(n::text::bytea), 'Key ' || n, u.user_id, now() - n * interval '1 second',
              case when n % 1000 = 0 then now() end, case when n % 1000 = 0 then 'admin' end,
              case when n % 700 = 0 then now() - interval '1 hour' end
       from generate_series(1, ${keys}) n
       join (select user_id, row_number() over () as at from users) u on u.at = 1 + n % ${users}`,
    );
    await query('vacuum analyze');
  });

  it('return every row once, newest first, with a total bounded at 10,000', async () => {
    const all = { ownerKind: undefined, ownerId: undefined, name: undefined, status: undefined };
    const store = keysStore(pools[0]!);
    const seen: string[] = [];
    for (let page = 1; seen.length < keys; page += 1) {
      const { items, total, totalIsLowerBound } = await store.page(all, { page, pageSize: 8000 });
      expect([total, totalIsLowerBound]).toEqual([10_000, true]);
      seen.push(...items.map(({ publicId }) => publicId));
      if (items.length === 0) break;
    }
    expect(seen).toEqual(Array.from({ length: keys }, (_, n) => String(n + 1)));
  });

  it.each([
    [{ status: 'revoked' as const }, 40],
    [{ status: 'expired' as const }, 52],
    [{ name: 'KEY 39999' }, 1],
    [{ ownerKind: 'team' as const }, 0],
  ])('filter keys by %j', async (filter, count) => {
    const all = { ownerKind: undefined, ownerId: undefined, name: undefined, status: undefined };
    const found = await keysStore(pools[0]!).page({ ...all, ...filter }, { page: 1, pageSize: 50 });
    expect(found.total).toBe(count);
    expect(found.items).toHaveLength(Math.min(50, count));
  });

  it.each([
    [{ role: 'platform_admin' as const }, 4],
    [{ active: false }, 20],
    [{ teamId: 't7' }, 100],
    [{ email: 'P19999@' }, 1],
    [{ name: 'person 19999' }, 1],
    [{ teamId: 'none' }, 0],
  ])('filter users by %j, newest first', async (filter, count) => {
    const all = { email: undefined, name: undefined, active: undefined, role: undefined, teamId: undefined };
    const found = await stores[0]!.page({ ...all, ...filter }, { page: 1, pageSize: 50 });
    expect(found.total).toBe(count);
    expect(found.items.length).toBeLessThanOrEqual(50);
    const times = found.items.map(({ createdAt }) => createdAt.getTime());
    expect(times).toEqual(times.toSorted((one, other) => other - one));
  });
});
