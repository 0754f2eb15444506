import { createServer, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll } from '@jest/globals';
import { type SimulatedUpstream, startSimulatedUpstream } from '../../tools/simulated-upstream/server.ts';
import type { ExpectedLabels } from '../recordings/expectations.ts';
import { type Answer, rehearsal, replayConfig } from '../recordings/rehearsal.ts';
import type { ConfigFile } from '../support/gateway.ts';
import type { Replay } from '../support/replay-upstream.ts';

/** One line of 1 GiB without a line end. */
const GIB = 1024 ** 3;
const endlessLine = `simulated-fast?long-line=${GIB}`;

/** A credential of the provider `up`; upstreams quote such values in their error messages. */
export const upstreamToken = 'upstream-token-0123456789';

const listening = (server: Server): Promise<Server> =>
  new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server)));
const portOf = (server: Server): number => (server.address() as { port: number }).port;

/** The timeouts of providers; the model of each name is served by the provider of the same name. */
const patience = {
  quick_head: { first_byte_ms: 300, total_ms: 5000 },
  quick_idle: { idle_ms: 300 },
  quick_total: { total_ms: 700 },
};

export const json = { 'content-type': 'application/json' };
export const sse = { 'content-type': 'text/event-stream' };

/** A chunk of a chat stream, as an upstream sends it. */
export const chunk = (delta: object, finish: string | null = null, more: object = {}): string =>
  `data: ${JSON.stringify({
    id: 'c1',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'm',
    choices: [{ index: 0, delta, finish_reason: finish }],
    ...more,
  })}\n\n`;

export const hello = chunk({ role: 'assistant', content: 'Hello' });
export const stop = chunk({}, 'stop');
export const done = 'data: [DONE]\n\n';
export const usage = { prompt_tokens: 5, completion_tokens: 7, total_tokens: 12 };
export const usageChunk = (reported: unknown): string =>
  `data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[],"usage":${
    typeof reported === 'string' ? reported : JSON.stringify(reported)
  }}\n\n`;

export const completion = (reported: unknown = usage): string =>
  `{"id":"c1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Hello"},"finish_reason":"stop"}],"usage":${
    typeof reported === 'string' ? reported : JSON.stringify(reported)
  }}`;

export const errorBody = (message: string): string =>
  JSON.stringify({ error: { message, type: 't', ...labels } });

/** The `param` and `code` of the upstream's error. */
export const labels: ExpectedLabels = { param: 'p', code: 'c' };

/** Waits until the condition holds; after 20 s it returns anyway, and the assertion that follows fails. */
export async function until(isSo: () => boolean): Promise<void> {
  for (let tries = 0; tries < 2000 && !isSo(); tries += 1) await sleep(10);
}

/** A gateway whose upstreams replay what a test gives, are slow, refuse connections, or never answer. */
export function malformedScene() {
  let sim: SimulatedUpstream;
  let deaf: Server;
  let gone: Server;
  const deafSockets = new Set<Socket>();
  beforeAll(async () => {
    sim = await startSimulatedUpstream({ port: 0 });
    // Accepts connections and never answers: a TLS handshake with it never completes.
    deaf = await listening(createServer((socket) => void deafSockets.add(socket)));
    gone = await listening(createServer());
  });
  afterAll(async () => {
    await sim?.close();
    for (const socket of deafSockets) socket.destroy();
    deaf?.close();
  });

  function config(url: string, key: string): ConfigFile {
    const auth = { mode: 'bearer', token: upstreamToken };
    const base = replayConfig(url, key, ['up', ...Object.keys(patience)], { auth });
    const closedPort = portOf(gone);
    gone.close();
    const more = [
      ...Object.entries(patience).map(([id, timeouts]) => ({
        id,
        base_url: url,
        pricing_provider_id: 'up',
        timeouts,
      })),
      { id: 'refused', base_url: `http://127.0.0.1:${closedPort}/v1` },
      { id: 'deaf', base_url: `https://127.0.0.1:${portOf(deaf)}/v1`, timeouts: { connect_ms: 300 } },
      { id: 'simulated', base_url: sim.url },
    ];
    return {
      ...base,
      providers: [
        ...(base['providers'] as object[]),
        ...more.map((each) => ({ type: 'compat', auth: { mode: 'none' }, ...each })),
      ],
      models: [
        ...(base['models'] as object[]).slice(0, 1),
        ...more.map(({ id }) => ({
          id,
          routes: [{ provider: id, upstream_model: id === 'simulated' ? endlessLine : id }],
        })),
      ],
    };
  }

  const scene = rehearsal(config, () => '/v1/chat/completions');
  const whole = (replay: Replay, model = 'up'): Promise<Answer> =>
    scene.ask(replay, { model, stream: false });
  const streamed = (replay: Replay, model = 'up'): Promise<Answer> =>
    scene.ask(replay, { model, stream: true });
  return { ...scene, sim: () => sim, whole, streamed };
}
