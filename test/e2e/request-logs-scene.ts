import { beforeAll, expect } from '@jest/globals';
import { withClock } from '../contract/ledger-bench.ts';
import { withAdmin } from '../support/admin.ts';
import { aKey, basicConfig, type ConfigFile } from '../support/gateway.ts';
import { simulatedScene } from './simulated-scene.ts';

export const keys = { ann: aKey(), silent: aKey(), platform: aKey(), worker: aKey() };

export const root = '/api/v1/admin/observability';

interface Call {
  readonly key: string;
  readonly model?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: object;
}

export const minute = (minutes: number): string => new Date(Date.UTC(2028, 2, 1, 12, minutes)).toISOString();

const workersTags = {
  'x-gateway-service': 'checkout',
  'x-gateway-component': 'cart',
  'x-gateway-env': 'prod',
  'x-gateway-tags': 'customer=acme; feature=search',
};

/** Each request comes a minute after the one before; its id has its index. */
const calls: readonly Call[] = [
  { key: keys.ann, headers: { 'user-agent': 'claude-cli/2.0.1 (external, cli)' } },
  { key: keys.silent },
  {
    key: keys.worker,
    headers: workersTags,
    body: {
      stream: true,
      tools: [{ type: 'function', function: { name: 'look', parameters: { type: 'object' } } }],
    },
  },
  { key: keys.platform, model: 'broken', headers: { ...workersTags, 'x-gateway-env': 'dev' } },
  { key: keys.worker, model: 'nowhere', headers: { 'x-gateway-tags': 'customer=acme' } },
];
const statuses = [200, 200, 200, 502, 404];

type Body = Readonly<Record<string, unknown>>;
interface ListBody {
  readonly items: readonly Body[];
  readonly page: number;
  readonly page_size: number;
  readonly total: number;
  readonly total_is_lower_bound: boolean;
}

const model = (id: string, simulate: string) => ({
  id,
  routes: [{ provider: 'up', upstream_model: 'simulated-fast', extra_headers: { 'x-simulate': simulate } }],
});

const config = (upstreamUrl: string): ConfigFile =>
  basicConfig(upstreamUrl, aKey(), {
    more: {
      request_logging: { payloads: { capture_mode: 'summary_only' } },
      models: [model('fast', 'usage=last'), model('broken', 'status=500')],
      users: [
        { email: 'ann@example.com', name: 'Ann' },
        { email: 'silent@example.com', name: 'Silent', request_logging_enabled: false },
      ],
      service_accounts: [{ id: 'worker', name: 'Worker', team: 'platform' }],
      api_keys: [
        { name: 'ann', owner: 'user:ann@example.com', value: keys.ann },
        { name: 'silent', owner: 'user:silent@example.com', value: keys.silent },
        { name: 'platform', owner: 'team:platform', value: keys.platform },
        { name: 'worker', owner: 'service_account:worker', value: keys.worker },
      ],
    },
  });

/** A gateway that has served `calls`, and an admin who reads their records. */
export function requestLogsScene() {
  const stage = simulatedScene(config);
  const clock = withClock(stage.query);
  /** Sends a chat request, reads its response to the end, and returns its status. */
  async function chat({ key, model = 'fast', headers = {}, body = {} }: Call): Promise<number> {
    const answer = await fetch(`${stage.gateway().url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'x-api-key': key, 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Hi' }], ...body }),
    });
    await answer.arrayBuffer();
    return answer.status;
  }

  beforeAll(async () => {
    for (const [place, call] of calls.entries()) {
      await clock.standAt(minute(place));
      const status = await chat({ ...call, headers: { ...call.headers, 'x-request-id': `r-${place}` } });
      expect([place, status]).toEqual([place, statuses[place]]);
    }
  });
  const admin = withAdmin(stage.databaseUrl, stage.gateway);

  async function list(of: string, search = ''): Promise<ListBody> {
    const answer = await admin('GET', `${root}/${of}?${search}`);
    expect([search, answer.status]).toEqual([search, 200]);
    return answer.data as ListBody;
  }
  const placesIn = async (search: string): Promise<readonly unknown[]> =>
    (await list('request-logs', search)).items.map((item) => item['request_id']);

  const idOf = async (table: string, name: string): Promise<unknown> =>
    (await stage.query(`select * from ${table} where name = $1`, [name]))[0]?.[`${table.slice(0, -1)}_id`];

  const logIdOf = async (requestId: string): Promise<string> =>
    (
      await stage.query<{ id: string }>(
        'select request_log_id as id from request_logs where request_id = $1',
        [requestId],
      )
    )[0]!.id;

  return { ...stage, clock, admin, list, placesIn, idOf, logIdOf };
}
