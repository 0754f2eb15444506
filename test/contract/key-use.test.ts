import { randomBytes, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import type { DatabasePool } from 'slonik';
import type { Ledger } from '../../application/ports/ledger.ts';
import { keyUse, notingKeys } from '../../infrastructure/postgres/key-use.ts';
import { openPool } from '../../infrastructure/postgres/pool.ts';
import { withDatabase } from '../support/database.ts';
import { queries } from '../support/gateway.ts';
import { aLog, aRecord, aUser, holder, userIdOf } from './ledger-bench.ts';

const database = withDatabase();
const query = queries(database.url);
let pool: DatabasePool;
beforeAll(async () => {
  pool = await openPool(database.url(), 2);
});
afterAll(async () => pool.end());

const at = (day: string): number => Date.parse(`${day}T23:59:59.999Z`);

/** Keys of one user. */
async function someKeys(count: number): Promise<readonly string[]> {
  const userId = userIdOf(await aUser(query));
  const made = await query<{ id: string }>(
    `insert into api_keys (public_id, secret_sha256, name, user_id)
     select gen_random_uuid()::text, $1, 'k', $2 from generate_series(1, $3::integer) returning api_key_id as id`,
    [randomBytes(32), userId, count],
  );
  return made.map(({ id }) => id);
}

const daysOf = async (ids: readonly string[]) =>
  (
    await query<{ day: string | null }>(
      'select last_used_on::text as day from api_keys where api_key_id = any ($1) order by api_key_id',
      [ids],
    )
  ).map(({ day }) => day);

describe('the day on which a key was last used', () => {
  it('is the latest day in UTC and never goes back, whichever replica writes first', async () => {
    const [id = ''] = await someKeys(1);
    const [use, other] = [keyUse(pool, 'none'), keyUse(pool, 'none')];
    for (const day of ['2024-02-28', '2024-02-29', '2024-02-27']) use.note(id, at(day));
    other.note(id, at('2024-02-28'));
    await use.write();
    await other.write();
    expect(await daysOf([id])).toEqual(['2024-02-29']);
    // What another replica has written is no longer pending.
    await query('update api_keys set last_used_on = null where api_key_id = $1', [id]);
    await other.write();
    expect(await daysOf([id])).toEqual([null]);
    other.note(id, at('2024-03-01'));
    await other.write();
    expect(await daysOf([id])).toEqual(['2024-03-01']);
  });

  it('is no later than the present day of the database, also if the clock of a replica was ahead', async () => {
    const [id = '', old = ''] = await someKeys(2);
    await query(`update api_keys set last_used_on = '2999-12-31' where api_key_id = $1`, [old]);
    const use = keyUse(pool, 'none');
    use.note(id, at('2999-12-31'));
    use.note(old, Date.now());
    await use.write();
    const [{ today } = { today: '' }] = await query<{ today: string }>(
      `select (now() at time zone 'UTC')::date::text as today`,
    );
    expect(await daysOf([id, old])).toEqual([today, today]);
    // After the clock was corrected, later days are written again.
    await query(`update api_keys set last_used_on = '2024-01-01' where api_key_id = $1`, [id]);
    use.note(id, Date.now() + 24 * 3_600_000);
    await use.write();
    expect(await daysOf([id])).toEqual([today]);
  });

  it('is written for thousands of keys at once, and not again for the same day', async () => {
    const ids = await someKeys(2_500);
    const use = keyUse(pool, 'none');
    for (const id of [randomUUID(), ...ids]) use.note(id, at('2024-02-29'));
    await use.write();
    expect(new Set(await daysOf(ids))).toEqual(new Set(['2024-02-29']));
    await query(`update api_keys set last_used_on = '2024-01-01' where api_key_id = any ($1)`, [ids]);
    // These days are known to be in the table, so nothing is pending.
    for (const id of ids) use.note(id, at('2024-02-29'));
    await use.write();
    expect(new Set(await daysOf(ids))).toEqual(new Set(['2024-01-01']));
  });

  it('does not wait for locks: a locked row is written the next time', async () => {
    const [held = '', free = ''] = (await someKeys(2)).toSorted();
    const use = keyUse(pool, 'none');
    for (const id of [held, free]) use.note(id, at('2024-02-29'));
    const other = await holder(database.url());
    await other.query('select from api_keys where api_key_id = $1 for update', [held]);
    await use.write();
    expect(await daysOf([held, free])).toEqual([null, '2024-02-29']);
    await other.commit();
    await use.write();
    expect(await daysOf([held, free])).toEqual(['2024-02-29', '2024-02-29']);
  });

  it('is written the next time if it is noted during a write', async () => {
    const [id = ''] = await someKeys(1);
    const use = keyUse(pool, 'none');
    use.note(id, at('2024-02-28'));
    const writing = use.write();
    use.note(id, at('2024-02-29'));
    await writing;
    await use.write();
    expect(await daysOf([id])).toEqual(['2024-02-29']);
  });

  it('is pending for at most 50,000 keys, and remembered for about as many', async () => {
    const [first = '', late = ''] = await someKeys(2);
    const use = keyUse(pool, 'none');
    const day = at('2024-02-29');
    const days = () => Promise.all([daysOf([first]), daysOf([late])]);
    use.note(first, day);
    for (let more = 1; more < 50_000; more += 1) use.note(randomUUID(), day);
    use.note(late, day);
    await use.write();
    expect(await days()).toEqual([['2024-02-29'], [null]]);
    use.note(late, day);
    await use.write();
    expect(await days()).toEqual([['2024-02-29'], ['2024-02-29']]);
    await query('update api_keys set last_used_on = null where api_key_id = $1', [first]);
    // More are remembered than needed by now, so they are forgotten at the next write.
    for (const id of [randomUUID(), first]) {
      use.note(id, day);
      await use.write();
    }
    expect(await daysOf([first])).toEqual(['2024-02-29']);
  });

  it('is noted for settled requests that were charged or logged, and for no others', async () => {
    const noted: string[] = [];
    let isLost = false;
    const lost = { code: 'store_unavailable', message: 'lost' } as const;
    const inner: Ledger = {
      admit: async () => E.left(lost),
      settle: async () => (isLost ? E.left(lost) : E.right({ kind: 'recorded' })),
    };
    const ledger = notingKeys(inner, { note: (apiKeyId) => void noted.push(apiKeyId) }, () => 0);
    const caller = await aUser(query);
    const { apiKeyId } = caller;
    const bare = { charge: undefined, logged: undefined, release: undefined, deferrableTo: undefined };
    await ledger.settle({ ...aRecord(caller, 1n), logged: undefined });
    await ledger.settle({ ...bare, logged: aLog(caller) });
    await ledger.settle(bare);
    isLost = true;
    await ledger.settle(aRecord(caller, 1n));
    expect(noted).toEqual([apiKeyId, apiKeyId]);
  });
});
