import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll } from '@jest/globals';
import { withDatabase } from '../support/database.ts';
import { aKey, type ConfigFile, queries, startGateway, type TestGateway } from '../support/gateway.ts';
import { type Replay, type ReplayUpstream, startReplayUpstream } from '../support/replay-upstream.ts';
import { type Aftermath, aftermaths } from './aftermath.ts';

/** What a caller received, and what the request left behind. */
export interface Answer {
  readonly requestId: string;
  readonly status: number;
  readonly headers: Headers;
  readonly bytes: Buffer;
  readonly after: Aftermath;
}

export interface Ask {
  readonly model: string;
  readonly stream: boolean;
}

/** USD per million tokens of every model of a rehearsal, and the same in picodollars per token. */
const usdPerMillion = { input: '0.15', output: '0.60' };
export const picousdPerToken = { input: 150_000n, output: 600_000n };

/** Models of the provider `up`, each with a price; a model's name is its upstream's name too. */
export const replayConfig = (
  upstreamUrl: string,
  key: string,
  models: readonly string[],
  provider: object = {},
): ConfigFile => ({
  server: { bind: '127.0.0.1:0' },
  providers: [{ id: 'up', type: 'compat', base_url: upstreamUrl, auth: { mode: 'none' }, ...provider }],
  models: models.map((id) => ({ id, routes: [{ provider: 'up', upstream_model: id }] })),
  pricing: {
    overrides: models.map((model) => ({
      provider: 'up',
      model,
      input_usd_per_million: usdPerMillion.input,
      output_usd_per_million: usdPerMillion.output,
    })),
  },
  users: [{ email: 'a@example.com', name: 'A' }],
  api_keys: [{ name: 'dev', owner: 'user:a@example.com', value: key }],
});

/**
 * A whole gateway for the calling suite, over sockets, in front of an upstream that answers each request with what
 * the test wants it to answer. The request tells the upstream which one by the `user` of its body.
 */
export function rehearsal(config: (upstreamUrl: string, key: string) => ConfigFile) {
  const database = withDatabase();
  const query = queries(database.url);
  const key = aKey();
  const replays = new Map<unknown, Replay & Pick<Ask, 'model'>>();
  let upstream: ReplayUpstream;
  let gateway: TestGateway;
  // One connection looks at the rows: one request after the other.
  let looking: Promise<unknown> = Promise.resolve();
  beforeAll(async () => {
    upstream = await startReplayUpstream(({ body }) => {
      const replay = replays.get(body['user']);
      return replay?.model === body['model'] ? replay : undefined;
    });
    gateway = await startGateway(config(upstream.url, key), database.url());
  });
  afterAll(async () => {
    await gateway?.stop();
    await upstream?.close();
  });

  const ask = async (replay: Replay, { model, stream }: Ask): Promise<Answer> => {
    const requestId = randomUUID();
    replays.set(requestId, { ...replay, model });
    const response = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      redirect: 'manual',
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        'x-request-id': requestId,
      },
      body: JSON.stringify({ model, stream, user: requestId, messages: [{ role: 'user', content: 'Hi' }] }),
    });
    const bytes = Buffer.from(await response.arrayBuffer());
    replays.delete(requestId);
    const look = looking.then(() => aftermaths(query, () => gateway.log.lines)(requestId));
    looking = look;
    const after = await look;
    return { requestId, status: response.status, headers: response.headers, bytes, after };
  };
  return { ask, upstream: () => upstream, gateway: () => gateway };
}
