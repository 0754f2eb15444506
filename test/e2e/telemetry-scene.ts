import { aKey, basicConfig, type ConfigFile, type TestGateway } from '../support/gateway.ts';
import { until } from '../support/otlp-receiver.ts';
import type { Replay, ReplayRequest, ReplayUpstream } from '../support/replay-upstream.ts';
import { streamed, whole } from './scene.ts';
import { chat, messages, responses, type Talk } from './talk.ts';

export type Family = 'chat_completions' | 'messages' | 'responses' | 'embeddings';
export const families: readonly Family[] = ['chat_completions', 'messages', 'responses', 'embeddings'];

const talkOf: Readonly<Record<Exclude<Family, 'embeddings'>, Talk>> = {
  chat_completions: chat,
  messages,
  responses,
};
export const pathOf = (family: Family): string =>
  family === 'embeddings' ? '/v1/embeddings' : talkOf[family].path;
const bodyOf = (family: Family, stream: boolean): object =>
  family === 'embeddings' ? { input: 'Hi' } : talkOf[family].body(stream);

export const keys = {
  user: aKey(),
  team: aKey(),
  limited: aKey(),
  poor: aKey(),
  tight: aKey(),
  narrow: aKey(),
};

const modelNames = ['good', 'free', 'mute', 'odd', 'dear', 'silent', 'broken'] as const;

const hard = (amount: number) => ({ cadence: 'monthly', amount_10000: amount, hard_limit: true });

export const config = (upstreamUrl: string, server: object): ConfigFile => ({
  ...basicConfig(upstreamUrl, keys.user),
  server: { bind: '127.0.0.1:0', ...server },
  models: [
    ...modelNames.map((id) => ({ id, routes: [{ provider: 'up', upstream_model: `up-${id}` }] })),
    { id: 'off', routes: [{ provider: 'up', upstream_model: 'up-off', enabled: false }] },
  ],
  mcp_servers: [{ id: 'gone', url: 'http://127.0.0.1:9/mcp' }],
  pricing: {
    overrides: modelNames
      .filter((id) => id !== 'free')
      .map((id) => ({
        provider: 'up',
        model: `up-${id}`,
        input_usd_per_million: id === 'dear' ? '600' : '0.15',
        output_usd_per_million: '0.60',
      })),
  },
  teams: [{ id: 'platform', name: 'Platform' }],
  users: [
    { email: 'a@example.com', name: 'A' },
    { email: 'poor@example.com', name: 'Poor', budget: hard(0) },
    { email: 'tight@example.com', name: 'Tight', budget: hard(1) },
  ],
  api_keys: [
    { name: 'user', owner: 'user:a@example.com', value: keys.user },
    { name: 'team', owner: 'team:platform', value: keys.team },
    { name: 'limited', owner: 'user:a@example.com', value: keys.limited, allowed_models: ['free'] },
    { name: 'poor', owner: 'user:poor@example.com', value: keys.poor },
    { name: 'tight', owner: 'user:tight@example.com', value: keys.tight },
    { name: 'narrow', owner: 'team:platform', value: keys.narrow, limits: { requests_in_flight: 1 } },
  ],
});

const usages: Readonly<Record<string, object>> = { mute: {}, odd: { usage: { prompt_tokens: -1 } } };

/** The name of the model selects the response of the upstream. */
export function answer({ path, body }: ReplayRequest): Replay {
  const model = String(body['model']).replace('up-', '');
  if (model === 'broken') return whole({ error: { message: 'fell over' } }, { status: 500 });
  const over = model === 'silent' ? { ending: { kind: 'hang' as const, after: 10 } } : {};
  if (path === '/v1/embeddings')
    return whole(
      { object: 'list', data: [], model: 'm', usage: { prompt_tokens: 10, total_tokens: 10 } },
      over,
    );
  const { upstream } = path === '/v1/responses' ? responses : chat;
  const { begin, piece, finish, usage, done } = upstream;
  if (body['stream'] === true)
    return streamed(begin + piece + finish + usage + done, {
      ...over,
      cuts: { kind: 'at', offsets: [begin.length + piece.length] },
      pauseMs: 30,
    });
  const { usage: reported, ...rest } = JSON.parse(upstream.whole) as Record<string, unknown>;
  return whole({ ...rest, ...(usages[model] ?? { usage: reported }) }, over);
}

export interface Asked {
  readonly model?: string;
  readonly stream?: boolean;
  readonly key?: string;
  readonly body?: string;
  readonly more?: object;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

export async function ask(gateway: TestGateway, family: Family, asked: Asked = {}): Promise<number> {
  const { model = 'good', stream = false, key = keys.user, headers = {}, signal } = asked;
  const body = asked.body ?? JSON.stringify({ ...bodyOf(family, stream), model, ...asked.more });
  const response = await fetch(`${gateway.url}${pathOf(family)}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
    body,
    ...(signal === undefined ? {} : { signal }),
  });
  await response.text();
  return response.status;
}

/** A `ping` to the MCP server that is unavailable. */
export async function askMcp(gateway: TestGateway): Promise<void> {
  const response = await fetch(`${gateway.url}/mcp/gone`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${keys.user}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' }),
  });
  await response.text();
}

/** The client disconnects as soon as its request is upstream. */
export async function leave(
  gateway: TestGateway,
  upstream: ReplayUpstream,
  family: Family,
  asked: Asked,
): Promise<void> {
  const before = upstream.requests().length;
  const finished = gateway.log.lines.length;
  const leaving = new AbortController();
  const left = ask(gateway, family, { ...asked, signal: leaving.signal }).catch(() => undefined);
  await until(() => upstream.requests().length > before);
  // The upstream's head is on its way.
  await new Promise((resolve) => setTimeout(resolve, 50));
  leaving.abort();
  await left;
  await until(() => gateway.log.lines.slice(finished).some(({ message }) => message === 'request'));
}
