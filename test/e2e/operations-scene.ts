import { randomUUID } from 'node:crypto';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { afterAll, beforeAll } from '@jest/globals';
import { startSimulatedUpstream, type SimulatedUpstream } from '../../tools/simulated-upstream/server.ts';
import { withDatabase } from '../support/database.ts';
import { aKey, basicConfig, type ConfigFile, queries } from '../support/gateway.ts';
import { type HeldUpstream, startHeldUpstream } from './held-upstream.ts';
import { beginExchange, rawExchange } from './raw-http.ts';
import { tracesIn } from './traces.ts';

export const key = aKey();

export const model = (id: string, directives = '') => ({
  id,
  routes: [
    {
      provider: 'up',
      upstream_model: 'simulated-fast',
      extra_headers: { 'x-simulate': directives },
    },
  ],
});

export const models = [
  model('fast'),
  { id: 'held', routes: [{ provider: 'held', upstream_model: 'held' }] },
  model('endless', 'chunk-delay-ms=20&chunks=100000'),
  model('large', 'chunks=400&chunk-bytes=20000&usage=last'),
  model(
    'fails',
    'status=500&message=The token upstream-token-0123456789 at https://u:pw-canary@host/p?q-canary=1',
  ),
];

export interface Asked {
  readonly model?: string;
  readonly stream?: boolean;
  readonly requestId?: string;
  readonly content?: string;
}

export const requestOf = ({
  model = 'fast',
  stream = false,
  requestId = randomUUID(),
  content = 'Hi',
}: Asked) => ({
  path: '/v1/chat/completions',
  headers: [
    ['authorization', `Bearer ${key}`],
    ['content-type', 'application/json'],
    ['x-request-id', requestId],
  ] as const,
  body: JSON.stringify({ model, stream, messages: [{ role: 'user', content }] }),
});

/** A request of its own connection; `text` grows, and `ended` resolves when the connection does. */
export function begin(url: string, asked: Asked) {
  const socket = beginExchange(url, requestOf(asked));
  let text = '';
  socket.on('data', (piece: Buffer) => void (text += piece.toString('latin1')));
  const ended = new Promise<string>((resolve) => socket.once('close', () => resolve(text)));
  return { socket, text: () => text, ended };
}

/** Reads the head of an answer, and the rest only on request. */
export function slowReader(url: string, asked: Asked) {
  const socket = beginExchange(url, requestOf(asked));
  const pieces: Buffer[] = [];
  const ended = new Promise((resolve) => socket.once('close', resolve));
  const begun = new Promise((resolve) =>
    socket.once('data', (piece: Buffer) => {
      pieces.push(piece);
      resolve(socket.pause());
    }),
  );
  return {
    begun,
    readAll: async () => {
      socket.on('data', (piece: Buffer) => pieces.push(piece));
      socket.resume();
      await ended;
      return Buffer.concat(pieces).toString('latin1');
    },
  };
}

export const statusOf = async (url: string, at: string): Promise<number> =>
  (await rawExchange(url, { method: 'GET', path: at })).status;

/** A connection to the database that can be cut and restored. */
export async function cuttable(url: string) {
  const target = new URL(url);
  const { hostname, port } = target;
  const open = new Set<Socket>();
  let cut = false;
  const server = createServer((socket) => {
    if (cut) return void socket.destroy();
    const other = connect(Number(port), hostname);
    for (const [from, to] of [
      [socket, other],
      [other, socket],
    ] as const) {
      open.add(from);
      from.on('error', () => undefined);
      from.once('close', () => {
        open.delete(from);
        to.destroy();
      });
      from.pipe(to);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  target.hostname = '127.0.0.1';
  target.port = String((server.address() as AddressInfo).port);
  return {
    url: target.href,
    cut: () => {
      cut = true;
      for (const socket of open) socket.destroy();
    },
    mend: () => {
      cut = false;
    },
    close: () => {
      server.close();
      for (const socket of open) socket.destroy();
    },
  };
}

/** A database and two upstreams for gateways that are stopped, drained or overloaded. */
export function operationsScene() {
  const database = withDatabase();
  let upstream: SimulatedUpstream;
  let held: HeldUpstream;
  beforeAll(async () => {
    upstream = await startSimulatedUpstream({ port: 0 });
    held = await startHeldUpstream();
  });
  afterAll(async () => {
    await upstream?.close();
    await held?.close();
  });

  function config(more: ConfigFile = {}): ConfigFile {
    const basic = basicConfig(upstream.url, key, { more: { models, ...more } });
    const { overrides } = basic['pricing'] as { readonly overrides: readonly object[] };
    const price = { input_usd_per_million: '0.15', output_usd_per_million: '0.60' };
    return {
      ...basic,
      providers: [
        ...(basic['providers'] as readonly object[]),
        { id: 'held', type: 'compat', base_url: held.url },
      ],
      pricing: { overrides: [...overrides, { provider: 'held', model: 'held', ...price }] },
    };
  }

  const query = queries(database.url);
  return {
    query,
    traceOf: tracesIn(query),
    databaseUrl: database.url,
    upstream: () => upstream,
    held: () => held,
    config,
  };
}
