import { afterAll, beforeAll } from '@jest/globals';
import { type SimulatedUpstream, startSimulatedUpstream } from '../../tools/simulated-upstream/server.ts';
import { aKey, basicConfig, type ConfigFile } from '../support/gateway.ts';
import { type Answer, type Asked, scene } from './scene.ts';
import { messages } from './talk.ts';

export const keys = { narrow: aKey(), poor: aKey(), tight: aKey() };
export const budget = (amount_10000: number) => ({ cadence: 'daily', amount_10000, hard_limit: true });

/** The answer of an upstream that must not be called. */
export const unanswered = { status: 500, body: '' };

export const ownId = /^msg_[0-9a-f]{32}$/;
export const usage = (input_tokens: number, output_tokens: number, cached = 0) => ({
  input_tokens,
  output_tokens,
  cache_read_input_tokens: cached,
  cache_creation_input_tokens: 0,
});

/** Beside `fast`: models of the simulation, of routes that lack something, and of routes that change the body. */
function config(url: string, key: string, simulatedUrl: string): ConfigFile {
  const basic = basicConfig(url, key);
  const route = (id: string, over: object) => ({
    id,
    routes: [{ provider: 'up', upstream_model: id, ...over }],
  });
  const sim = (id: string, upstream_model: string) => ({ id, routes: [{ provider: 'sim', upstream_model }] });
  return {
    ...basic,
    server: { bind: '127.0.0.1:0', body_max_bytes: 200_000 },
    accounting: { duplicate_request_ids: 'reject' },
    providers: [
      ...(basic['providers'] as object[]),
      { id: 'sim', type: 'compat', base_url: simulatedUrl, auth: { mode: 'none' } },
    ],
    models: [
      ...(basic['models'] as object[]),
      sim('text', 'simulated-fast'),
      sim('slow', 'simulated-fast?latency-ms=400'),
      sim('thinking', 'simulated-reasoning'),
      sim('tools', 'simulated-fast?parallel-tools'),
      route('no-stream', { capabilities: { stream: false } }),
      route('no-tools', { capabilities: { tools: false } }),
      route('no-vision', { capabilities: { vision: false } }),
      route('no-schema', { capabilities: { json_schema: false } }),
      route('no-chat', { capabilities: { chat_completions: false } }),
      route('nothing', { enabled: false }),
      route('shimmed', {
        compatibility: {
          compat: {
            max_tokens_field: 'max_tokens',
            reasoning_effort: 'reasoning_object',
            supports_stream_usage: true,
          },
          router: { provider: { zdr: true, order: ['one', 'two'] } },
        },
        extra_headers: { 'x-route': 'yes' },
        extra_body: { temperature: 0.5, provider_options: { a: 1 } },
      }),
    ],
    users: [
      ...(basic['users'] as object[]),
      { email: 'poor@example.com', budget: budget(0) },
      // One 1/10000 USD: the first answer of 0.0000135 USD fits, and a dear one does not.
      { email: 'tight@example.com', budget: budget(1) },
    ],
    api_keys: [
      ...(basic['api_keys'] as object[]),
      { name: 'narrow', owner: 'user:a@example.com', value: keys.narrow, allowed_models: ['text', 'slow'] },
      { name: 'poor', owner: 'user:poor@example.com', value: keys.poor },
      { name: 'tight', owner: 'user:tight@example.com', value: keys.tight },
    ],
  };
}

/** A gateway with two upstreams: one that replays what a test gives, and the simulated one. */
export function messagesScene() {
  let simulated: SimulatedUpstream;
  beforeAll(async () => {
    simulated = await startSimulatedUpstream({ port: 0 });
  });
  afterAll(() => simulated?.close());
  const gateway = scene((url, key) => config(url, key, simulated.url));
  const simulation = (asked: Asked): Promise<Answer> => gateway.ask(messages, unanswered, asked);
  return { ...gateway, simulated: () => simulated, simulation };
}
