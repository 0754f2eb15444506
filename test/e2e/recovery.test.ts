import { cp, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { stringify } from 'yaml';
import type { EmbeddedPostgres } from '../../infrastructure/embedded-postgres/start.ts';
import {
  aKey,
  basicConfig,
  type ConfigFile,
  type GatewayProcess,
  queries,
  runGateway,
  spawnGateway,
} from '../support/gateway.ts';
import { connected, makeTestFolder } from '../support/test-server.ts';
import { type HeldUpstream, startHeldUpstream } from './held-upstream.ts';
import { type ArchivedServer, archivedServer } from './recovery-scene.ts';
import { chat } from './talk.ts';
import { eventually } from './traces.ts';

const keys = { hard: aKey(), free: aKey(), gone: aKey() };

let upstream: HeldUpstream;
let lost: ArchivedServer;
let restored: EmbeddedPostgres;
let gateway: GatewayProcess;
let config: ConfigFile;
let folder: string;
/** The response to the client whose record the lost database did not store. */
let journaled: { readonly status: number; readonly body: string };
/** The ledger of the restored database before a gateway was started. */
let restoredRows: readonly string[];
const query = queries(() => restored.url);

/** The request ids in `usage_cost_events`, which the clients chose. */
const ledger = async (): Promise<readonly string[]> =>
  (await query<{ request_id: string }>('select request_id from usage_cost_events order by occurred_at')).map(
    (row) => row.request_id,
  );

const configOf = (url: string): ConfigFile =>
  basicConfig(url, keys.free, {
    more: {
      users: [
        { email: 'free@example.com' },
        { email: 'gone@example.com' },
        // Enough for three responses and half of a fourth.
        { email: 'hard@example.com', budget: { cadence: 'monthly', amount_10000: 4725, hard_limit: true } },
      ],
      pricing: {
        overrides: [
          {
            provider: 'up',
            model: 'simulated-fast',
            input_usd_per_million: '1500',
            output_usd_per_million: '6000',
          },
        ],
      },
      api_keys: [
        { name: 'free', owner: 'user:free@example.com', value: keys.free },
        { name: 'gone', owner: 'user:gone@example.com', value: keys.gone },
        { name: 'hard', owner: 'user:hard@example.com', value: keys.hard },
      ],
    },
  });

const asked = (key: string, requestId: string): Promise<Response> =>
  fetch(`${gateway.url}${chat.path}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      'x-request-id': requestId,
    },
    body: JSON.stringify(chat.body(false)),
  });

const modelsOf = async (key: string): Promise<number> =>
  (await fetch(`${gateway.url}/v1/models`, { headers: { authorization: `Bearer ${key}` } })).status;

/** A request whose upstream answers once `until` has resolved. */
async function answered(
  key: string,
  requestId: string,
  until: () => Promise<void> = async () => undefined,
): Promise<{ readonly status: number; readonly body: string }> {
  const asking = asked(key, requestId);
  const call = await upstream.next();
  await until();
  call.head('whole');
  call.write(chat.upstream.whole);
  call.end();
  const response = await asking;
  return { status: response.status, body: await response.text() };
}

const now = (url: string): Promise<string> =>
  connected(url, async (client) => {
    const { rows } = await client.query<{ at: string }>('select clock_timestamp()::text as at');
    return rows[0]?.at ?? '';
  });

const run = (args: readonly string[], url: string) =>
  runGateway(args, { DATABASE_URL: url, GATEWAY_CONFIG: path.join(folder, 'gateway.yaml') });

beforeAll(async () => {
  [upstream, lost, folder] = [
    await startHeldUpstream(),
    await archivedServer(),
    await makeTestFolder('recovery-data'),
  ];
  config = configOf(upstream.url);
  await writeFile(path.join(folder, 'gateway.yaml'), stringify(config));
  gateway = await spawnGateway(config, lost.url, [], folder);
  for (const id of ['before-1', 'before-2']) await answered(keys.hard, id);
  await lost.backUp();
  await answered(keys.hard, 'before-3');
  const time = await now(lost.url);
  await answered(keys.gone, 'after-1');
  const listed = (await run(['keys', 'list'], lost.url)).out;
  const [, id = ''] = /^(\S+)\t\S+\tuser:gone@/m.exec(listed) ?? [];
  expect(await run(['keys', 'revoke', id], lost.url)).toMatchObject({ code: 0 });
  await eventually(async () => ((await modelsOf(keys.gone)) === 401 ? true : undefined));
  await lost.archived();
  journaled = await answered(keys.free, 'journaled', () => lost.stop());
  gateway.kill();
  await gateway.exited;
  restored = await lost.restoredTo(time);
  restoredRows = await ledger();
  const other = await makeTestFolder('recovery-other');
  await cp(path.join(folder, 'journal'), path.join(other, 'journal'), { recursive: true });
  gateway = await spawnGateway(config, restored.url, [], other);
});
afterAll(async () => {
  gateway?.kill();
  await upstream?.close();
  await restored?.stop();
  await lost?.stop();
  await lost?.remove();
});

describe('a database that was restored to a point in time', () => {
  it('has everything that was committed until then, and nothing later', async () => {
    expect(restoredRows).toEqual(['before-1', 'before-2', 'before-3']);
    expect(await run(['migrate', '--check'], restored.url)).toMatchObject({ code: 0 });
  });

  it('gets from the journal the record that the lost database missed, whose client had a complete response', async () => {
    expect(journaled).toMatchObject({ status: 200, body: expect.stringContaining('"all"') });
    await eventually(() => (gateway.output().includes('journal settled') ? true : undefined), 30_000);
    expect(await ledger()).toContain('journaled');
  });

  it('enforces a hard limit by the restored spend', async () => {
    expect(await answered(keys.hard, 'fourth')).toMatchObject({
      status: 429,
      body: expect.stringContaining('budget_exceeded'),
    });
  });

  it('accepts a key that was revoked later, and records a request id again that was recorded later', async () => {
    expect(await answered(keys.gone, 'after-1')).toMatchObject({ status: 200 });
    expect((await ledger()).filter((id) => id === 'after-1')).toEqual(['after-1']);
  });

  it('passes `ledger verify`, including the rows since then', async () => {
    expect(await run(['ledger', 'verify'], restored.url)).toMatchObject({
      code: 0,
      out: expect.stringContaining('5 priced rows recomputed, 0 differences'),
    });
  });
});
