import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll } from '@jest/globals';
import { startSimulatedUpstream, type SimulatedUpstream } from '../../tools/simulated-upstream/server.ts';
import { clockKind, clockOnEveryNode } from '../support/citus-database.ts';
import { withDatabase } from '../support/database.ts';
import {
  aKey,
  basicConfig,
  type ConfigFile,
  queries,
  startGateway,
  type TestGateway,
} from '../support/gateway.ts';

const behaving = (id: string, directives: string, more: object = {}) => ({
  id,
  routes: [
    {
      provider: 'up',
      upstream_model: 'simulated-fast',
      extra_headers: { 'x-simulate': directives },
      compatibility: { compat: { supports_stream_usage: true } },
    },
  ],
  ...more,
});

/** 10 prompt tokens and 20 completion tokens. */
const tokens = 'prompt-tokens=10&completion-tokens=20';

/** The limits of one key per case, so that cases do not use up each other's limits. */
const limits = {
  few: { requests_per_minute: 3 },
  streams: { requests_per_minute: 9, tokens_per_minute: 1000 },
  thirsty: { tokens_per_minute: 50 },
  narrow: { requests_in_flight: 1 },
  blocked: { requests_per_minute: 5, requests_in_flight: 1 },
  told: { requests_per_minute: 50, tokens_per_minute: 5000 },
  refused: { requests_per_minute: 5 },
  changing: { requests_per_minute: 1 },
  anthropic: { requests_per_minute: 2, tokens_per_minute: 100_000 },
  openai: { requests_per_minute: 2, tokens_per_minute: 100_000 },
  shared: { requests_per_minute: 4 },
} as const;
export type Pipeline = keyof typeof limits | 'free' | 'other' | 'another' | 'member' | 'account' | 'team';

const keys = new Map<string, string>();
export const keyOf = (name: Pipeline): string => {
  const key = keys.get(name) ?? aKey();
  keys.set(name, key);
  return key;
};

export function limitsConfig(
  upstreamUrl: string,
  over: Readonly<Record<string, object | undefined>> = {},
): ConfigFile {
  const pipelines = Object.entries({ ...limits, ...over });
  const key = (name: Pipeline, owner: string, more: object = {}) => ({
    name,
    owner,
    value: keyOf(name),
    ...more,
  });
  return basicConfig(upstreamUrl, keyOf('free'), {
    more: {
      models: [
        behaving('fast', tokens),
        behaving('slow', `${tokens}&latency-ms=700`),
        behaving('fails', 'status=429&retry-after=7'),
        behaving('scarce', tokens, { limits: { requests_per_minute: 2 } }),
      ],
      teams: [{ id: 'crew', limits: { requests_per_minute: 3 } }],
      service_accounts: [{ id: 'ci', team: 'crew' }],
      users: [
        { email: 'a@example.com' },
        { email: 'member@example.com', team: 'crew' },
        { email: 'owner@example.com', limits: { requests_per_minute: 2 } },
        {
          email: 'poor@example.com',
          budget: { cadence: 'daily', amount_10000: 0, hard_limit: true },
        },
      ],
      api_keys: [
        key('free', 'user:a@example.com'),
        key('other', 'user:owner@example.com'),
        key('another', 'user:owner@example.com'),
        key('member', 'user:member@example.com'),
        key('team', 'team:crew'),
        key('account', 'service_account:ci'),
        ...pipelines.map(([name, each]) =>
          key(
            name as Pipeline,
            name === 'blocked' ? 'user:poor@example.com' : 'user:a@example.com',
            each === undefined ? {} : { limits: each },
          ),
        ),
      ],
    },
  });
}

export interface Reply {
  readonly requestId: string;
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** Two replicas on one database, whose clock a test can shift. */
export function limitsScene() {
  const database = withDatabase();
  const query = queries(database.url);
  let upstream: SimulatedUpstream;
  const gateways: TestGateway[] = [];
  beforeAll(async () => {
    upstream = await startSimulatedUpstream({ host: '127.0.0.1', port: 0 });
    await query('create table test_clock (shift interval)');
    await clockOnEveryNode(query);
    await query(`insert into test_clock values ('0')`);
    await query(`create or replace function gateway_now() returns timestamptz language sql ${clockKind()}
      as 'select clock_timestamp() + (select shift from test_clock)'`);
    for (let index = 0; index < 2; index += 1)
      gateways.push(await startGateway(limitsConfig(upstream.url), database.url()));
  });
  afterAll(async () => {
    for (const gateway of gateways) await gateway.stop();
    await upstream?.close();
  });
  /** Shifts the clock to this many seconds before the end of a later minute. */
  const secondsBeforeEnd = (seconds: number) =>
    query(
      `update test_clock set shift = shift + interval '2 minutes'
         + (date_trunc('minute', gateway_now()) - gateway_now()) - make_interval(secs => $1)`,
      [seconds],
    );
  const ask = async (
    pipeline: Pipeline,
    {
      path = '/v1/chat/completions',
      replica = 0,
      key = keyOf(pipeline),
      headers = {},
      body = {},
    }: Asked = {},
  ): Promise<Reply> => {
    const requestId = randomUUID();
    const isGet = path.startsWith('/v1/models');
    const response = await fetch(`${gateways[replica]?.url}${path}`, {
      method: isGet ? 'GET' : 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        'x-request-id': requestId,
        'content-type': 'application/json',
        ...headers,
      },
      ...(isGet
        ? {}
        : {
            body: JSON.stringify({
              model: 'fast',
              max_tokens: 100,
              messages: [{ role: 'user', content: 'Hello' }],
              ...body,
            }),
          }),
    });
    return { requestId, status: response.status, headers: response.headers, text: await response.text() };
  };
  return { query, ask, secondsBeforeEnd, gateways, upstream: () => upstream, databaseUrl: database.url };
}

interface Asked {
  readonly path?: string;
  readonly replica?: 0 | 1;
  readonly key?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: object;
}

/** The rate-limit headers of a reply, by name. */
export const limitHeadersOf = ({ headers }: Pick<Reply, 'headers'>): Record<string, string> =>
  Object.fromEntries([...headers].filter(([name]) => name.includes('ratelimit-')));
