import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startSimulatedUpstream, type SimulatedUpstream } from '../../tools/simulated-upstream/server.ts';
import { tcpProxy, type TcpProxy } from '../contract/tcp-proxy.ts';
import { withDatabase } from '../support/database.ts';
import { aKey, basicConfig, queries, startGateway, type TestGateway } from '../support/gateway.ts';
import { connected } from '../support/test-server.ts';
import { type HeldUpstream, startHeldUpstream } from './held-upstream.ts';
import { type RawAnswer, rawExchange } from './raw-http.ts';
import { chat } from './talk.ts';
import { eventually } from './traces.ts';

const database = withDatabase();
const query = queries(database.url);
const keys = { free: aKey(), hard: aKey() };
let upstream: SimulatedUpstream;
let held: HeldUpstream;
let proxy: TcpProxy;
let gateway: TestGateway;

beforeAll(async () => {
  upstream = await startSimulatedUpstream({ port: 0 });
  held = await startHeldUpstream();
  proxy = await tcpProxy();
  const provider = (id: string, base_url: string) => ({ id, type: 'compat', base_url });
  const model = (id: string, to: string) => ({
    id,
    routes: [{ provider: to, upstream_model: 'simulated-fast' }],
  });
  gateway = await startGateway(
    basicConfig(upstream.url, aKey(), {
      more: {
        server: { bind: '127.0.0.1:0', shutdown_grace_secs: 0 },
        accounting: { duplicate_request_ids: 'reject' },
        providers: [provider('up', upstream.url), provider('held', held.url)],
        models: [model('fast', 'up'), model('held', 'held')],
        users: [
          { email: 'free@example.com' },
          {
            email: 'hard@example.com',
            budget: { cadence: 'daily', amount_10000: 1_000_000, hard_limit: true },
          },
        ],
        api_keys: Object.entries(keys).map(([name, value]) => ({
          name,
          owner: `user:${name}@example.com`,
          value,
        })),
      },
    }),
    proxy.to(database.url()),
  );
});
afterAll(async () => {
  await gateway?.stop();
  await proxy?.close();
  await held?.close();
  await upstream?.close();
});

const ask = (owner: keyof typeof keys, { model = 'fast', requestId = '' } = {}): Promise<RawAnswer> =>
  rawExchange(gateway.url, {
    path: '/v1/chat/completions',
    headers: [
      ['authorization', `Bearer ${keys[owner]}`],
      ['content-type', 'application/json'],
      ['x-request-id', requestId],
    ],
    body: JSON.stringify({ ...chat.body(false), model }),
  });
const ready = () => rawExchange(gateway.url, { method: 'GET', path: '/readyz' });
const readyAgain = () => eventually(async () => ((await ready()).status === 200 ? true : undefined));

async function readOnly(on: boolean): Promise<void> {
  const name = new URL(database.url()).pathname.slice(1);
  await connected(database.url(), async (client) => {
    await client.query('set default_transaction_read_only = off');
    await client.query(
      `alter database ${name} ${on ? 'set' : 'reset'} default_transaction_read_only ${on ? '= on' : ''}`,
    );
  });
  // It applies to new sessions only.
  proxy.cut();
}

const fill = `
  create function full_disk() returns trigger language plpgsql as
    $$ begin raise exception 'could not extend file: No space left on device' using errcode = 'disk_full'; end $$;
  create trigger full_disk before insert on usage_cost_events for each row execute function full_disk();
  create trigger full_disk before insert on write_probes for each row execute function full_disk()`;

const ways = [
  {
    what: 'whose disk is full',
    reason: 'the disk of the database is full',
    begin: async () => void (await query(fill)),
    end: async () => void (await query('drop function full_disk() cascade')),
  },
  {
    what: 'that is read-only',
    reason: 'the database is read-only',
    begin: () => readOnly(true),
    end: () => readOnly(false),
  },
] as const;

describe.each(ways)('a database $what', ({ reason, begin, end }) => {
  it('is reported by /readyz, and owners with a hard limit are refused before the upstream', async () => {
    expect((await ready()).status).toBe(200);
    expect((await ask('hard')).status).toBe(200);
    await begin();
    try {
      const named = JSON.stringify({ status: 'not_ready', reason });
      await eventually(async () => ((await ready()).body === named ? true : undefined));
      expect((await ready()).status).toBe(503);
      const before = upstream.requests();
      for (let turn = 0; turn < 5; turn += 1) {
        const refused = await ask('hard', { requestId: turn % 2 === 0 ? '' : randomUUID() });
        expect([refused.status, Number(refused.headers['retry-after']) > 0]).toEqual([503, true]);
        expect(JSON.parse(refused.body)).toMatchObject({ error: { code: 'store_unavailable' } });
      }
      expect(upstream.requests()).toBe(before);
      // Requests of other owners complete: their records wait in the journal.
      expect((await ask('free')).status).toBe(200);
    } finally {
      await end();
    }
    await readyAgain();
    expect((await ask('hard')).status).toBe(200);
    expect(gateway.log.lines.map(({ message }) => message)).toEqual(
      expect.arrayContaining([
        'the database accepts no writes: owners with a hard limit are refused',
        'the database accepts writes again',
      ]),
    );
  });
});

describe('a request id whose request ended in a 503 because the database was lost', () => {
  it('is accepted again, and not as a duplicate, once the database is available', async () => {
    const requestId = randomUUID();
    const first = ask('hard', { model: 'held', requestId });
    const call = await held.next();
    expect((await ask('hard', { requestId })).status).toBe(409);
    await proxy.refuse();
    call.head('whole');
    call.write(chat.upstream.whole);
    call.end();
    expect((await first).status).toBe(503);
    await proxy.open();
    await readyAgain();
    const statuses: number[] = [];
    await eventually(async () => {
      statuses.push((await ask('hard', { requestId })).status);
      return statuses.at(-1) === 200 ? true : undefined;
    });
    expect(await query('select from usage_cost_events where request_id = $1', [requestId])).toHaveLength(1);
    expect((await ask('hard', { requestId })).status).toBe(409);
  });
});
