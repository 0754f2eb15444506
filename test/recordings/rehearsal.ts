import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll } from '@jest/globals';
import { withDatabase } from '../support/database.ts';
import { aKey, type ConfigFile, queries, startGateway, type TestGateway } from '../support/gateway.ts';
import {
  type Replay,
  type ReplayRequest,
  type ReplayUpstream,
  startReplayUpstream,
} from '../support/replay-upstream.ts';
import { type Aftermath, aftermaths } from './aftermath.ts';

/** The answer that a caller received, and the rows and log lines of the request. */
export interface Answer {
  readonly requestId: string;
  readonly status: number;
  readonly headers: Headers;
  readonly bytes: Buffer;
  readonly after: Aftermath;
  /** The body of the request. */
  readonly sent: string;
  /** What the upstream received; undefined when nothing was sent to it. */
  readonly upstream: ReplayRequest | undefined;
}

/** The path of each family below `/v1`, of the gateway and of the upstream, and its smallest body. */
const doors = {
  chat_completions: { path: '/chat/completions', body: { messages: [{ role: 'user', content: 'Hi' }] } },
  messages: { path: '/messages', body: { max_tokens: 100, messages: [{ role: 'user', content: 'Hi' }] } },
  responses: { path: '/responses', body: { input: 'Hi' } },
  embeddings: { path: '/embeddings', body: { input: 'Hi' } },
};

export type RehearsedFamily = keyof typeof doors;

export interface Ask {
  readonly model: string;
  readonly stream: boolean;
  /** `chat_completions` unless given. */
  readonly family?: RehearsedFamily;
  /** More members of the body, as JSON text. */
  readonly more?: string;
  /** Another key than that of the configuration. */
  readonly key?: string;
}

/** USD per million tokens of every model of a rehearsal, and the same in picodollars per token. */
export const usdPerMillion = { input: '0.15', output: '0.60' };
export const picousdPerToken = { input: 150_000n, output: 600_000n };

/** Models of the provider `up`, each with a price; a model has the same name upstream. */
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

/** The trace id, by which the upstream finds the answer for a request: every provider passes it on. */
const traceIdOf = (requestId: string): string => requestId.replaceAll('-', '');

const traceIn = ({ headers }: ReplayRequest): string | undefined =>
  headers['traceparent']?.toString().split('-')[1];

/** One answer for all upstream requests of a request, or one for each. */
export type Replaying = Replay | ((request: ReplayRequest) => Replay);

/** The path of an upstream that supports the caller's family. */
const sameDoor = ({ family = 'chat_completions' }: Ask): string => `/v1${doors[family].path}`;

/** The body of a request. */
function bodyOf({ model, stream, family = 'chat_completions', more }: Ask, user: string): string {
  const body = {
    model,
    ...(family === 'embeddings' ? {} : { stream }),
    ...(family === 'messages' ? {} : { user }),
    ...doors[family].body,
  };
  if (more === undefined) return JSON.stringify(body);
  const own = new Set(Object.keys(JSON.parse(`{${more}}`) as object));
  const rest = Object.fromEntries(Object.entries(body).filter(([name]) => !own.has(name)));
  return `${JSON.stringify(rest).slice(0, -1)},${more}}`;
}

/**
 * A whole gateway for the calling suite, over sockets, in front of an upstream that answers each request with the
 * replay that the test gives, if the request is on the expected path.
 */
export function rehearsal(
  config: (upstreamUrl: string, key: string) => ConfigFile,
  upstreamPath: (ask: Ask) => string = sameDoor,
) {
  const database = withDatabase();
  const query = queries(database.url);
  const devKey = aKey();
  const replays = new Map<string | undefined, { readonly replay: Replaying; readonly path: string }>();
  let upstream: ReplayUpstream;
  let gateway: TestGateway;
  // Rows are read through one connection, for one request after the other.
  let looking: Promise<unknown> = Promise.resolve();
  beforeAll(async () => {
    upstream = await startReplayUpstream((request) => {
      const { path, replay } = replays.get(traceIn(request)) ?? {};
      if (request.path !== path) return undefined;
      return typeof replay === 'function' ? replay(request) : replay;
    });
    gateway = await startGateway(config(upstream.url, devKey), database.url());
  });
  afterAll(async () => {
    await gateway?.stop();
    await upstream?.close();
  });

  /** Sends a request and returns when the head of the answer has arrived; the body is not read yet. */
  const open = async (
    replay: Replaying,
    ask: Ask,
  ): Promise<{ requestId: string; sent: string; response: Response }> => {
    const requestId = randomUUID();
    const sent = bodyOf(ask, requestId);
    const { path } = doors[ask.family ?? 'chat_completions'];
    replays.set(traceIdOf(requestId), { replay, path: upstreamPath(ask) });
    const response = await fetch(`${gateway.url}/v1${path}`, {
      method: 'POST',
      redirect: 'manual',
      headers: {
        authorization: `Bearer ${ask.key ?? devKey}`,
        'content-type': 'application/json',
        'x-request-id': requestId,
        traceparent: `00-${traceIdOf(requestId)}-00f067aa0ba902b7-01`,
      },
      body: sent,
    });
    return { requestId, sent, response };
  };

  /** The rows and log lines of a request, and the request that the upstream received. */
  const traceOf = async (requestId: string): Promise<Pick<Answer, 'after' | 'upstream'>> => {
    replays.delete(traceIdOf(requestId));
    const look = looking.then(() => aftermaths(query, () => gateway.log.lines)(requestId));
    looking = look;
    return {
      after: await look,
      upstream: upstream.requests().find((request) => traceIn(request) === traceIdOf(requestId)),
    };
  };

  const ask = async (replay: Replaying, asked: Ask): Promise<Answer> => {
    const { requestId, sent, response } = await open(replay, asked);
    const bytes = Buffer.from(await response.arrayBuffer());
    const { status, headers } = response;
    return { requestId, sent, status, headers, bytes, ...(await traceOf(requestId)) };
  };
  return { ask, open, traceOf, query, upstream: () => upstream, gateway: () => gateway };
}
