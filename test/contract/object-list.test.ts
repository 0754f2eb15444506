import { describe, expect, it } from '@jest/globals';
import { openPool } from '../../infrastructure/postgres/pool.ts';
import { teamsStore } from '../../infrastructure/postgres/teams-store.ts';
import { withDatabase } from '../support/database.ts';
import { queries } from '../support/gateway.ts';

const database = withDatabase();
const query = queries(database.url);

describe('a list of more objects than are counted', () => {
  it.each([
    ['', undefined],
    [', of a filter', 'part'],
  ])('has all pages, up to the limit of the count and beyond it%s', async (_, name) => {
    await query('truncate teams cascade');
    // Three rows each have the same instant.
    await query(
      `insert into teams (team_id, name, created_at)
       select 'team-' || n, case when n % 20 > 0 then 'Part' else 'Whole' end, now() - n / 3 * interval '1 second'
       from generate_series(1, 11000) n`,
    );
    const wanted = await query<{ team_id: string }>(
      `select team_id from teams where $1::text is null or name = 'Part' order by created_at desc, team_id desc`,
      [name],
    );
    const pool = await openPool(database.url(), 2);
    const found: string[] = [];
    for (let page = 1; page <= 56; page += 1) {
      const listed = await teamsStore(pool).page({ name, active: undefined }, { page, pageSize: 200 });
      expect(listed).toMatchObject({ total: 10_000, totalIsLowerBound: true });
      found.push(...listed.items.map(({ teamId }) => teamId));
    }
    await pool.end();
    expect(found).toEqual(wanted.map(({ team_id: id }) => id));
  });
});
