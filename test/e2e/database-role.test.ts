import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { onCitus } from '../support/citus-database.ts';
import { withDatabase } from '../support/database.ts';
import { aKey, basicConfig, queries, startGateway } from '../support/gateway.ts';
import { connected } from '../support/test-server.ts';
import { eventually } from './traces.ts';

const database = withDatabase();
const query = queries(database.url);
const role = `reads_and_writes_${randomBytes(4).toString('hex')}`;

/** The URL of sessions that have the rights of the role. */
function ofTheRole(): string {
  const url = new URL(database.url());
  url.searchParams.set('options', `-c role=${role}`);
  return url.href;
}

const start = () => startGateway(basicConfig('http://127.0.0.1:9/v1', aKey()), ofTheRole());

beforeAll(async () => {
  await query(`create role ${role}`);
  await query(`grant select, insert, update, delete on all tables in schema public to ${role}`);
});
afterAll(() =>
  connected(database.url(), (client) => client.query(`drop owned by ${role}; drop role ${role}`)),
);

// On Citus the role must own the tables.
(onCitus() ? describe.skip : describe)('a role that only reads and writes the tables', () => {
  it('is refused at the start, with what to grant, instead of failing minutes later', async () => {
    await expect(start()).rejects.toThrow(`grant truncate on write_probes to ${role}`);
  });

  it('serves once it may empty the table that heartbeats fill', async () => {
    await query(`grant truncate on write_probes to ${role}`);
    const gateway = await start();
    await query(`insert into write_probes select repeat('x', 8000) from generate_series(1, 150)`);
    await eventually(async () => {
      const [found] = await query<{ bytes: number }>(`select pg_relation_size('write_probes')::int as bytes`);
      return found !== undefined && found.bytes < 1_048_576 ? true : undefined;
    });
    expect((await fetch(`${gateway.url}/readyz`)).status).toBe(200);
    await gateway.stop();
  });
});
