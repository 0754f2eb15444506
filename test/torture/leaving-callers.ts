import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { beginExchange } from '../e2e/raw-http.ts';
import { chat, messages, responses, type Talk, talks } from '../e2e/talk.ts';

/** When a caller disconnects. */
const moments = [
  'at once',
  'before the first byte',
  'at the first byte',
  'in the middle',
  'before the usage frame',
  'after the terminal',
  'not at all',
] as const;
export type Moment = (typeof moments)[number];

/** The behaviour of the upstream by the requested model: directives of the simulated upstream. */
const upstreams = {
  quick: 'simulated-fast?chunks=6',
  slow: 'simulated-fast?latency-ms=15&chunk-delay-ms=3&chunks=6',
  refusing: 'simulated-fast?status=429',
  failing: 'simulated-fast?chunks=6&error-at=2',
  breaking: 'simulated-fast?chunks=6&break=3&latency-ms=5',
  garbled: 'simulated-fast?chunks=6&garbage=2',
  silent: 'simulated-fast?chunks=6&hang=2',
} as const;
export type Model = keyof typeof upstreams;

/** Most of the answers are ordinary. */
const models: readonly Model[] = [
  'quick',
  'quick',
  'quick',
  'slow',
  'slow',
  'slow',
  'refusing',
  'failing',
  'breaking',
  'garbled',
  'silent',
];

export const owners = ['free', 'soft', 'hard'] as const;
export type Owner = (typeof owners)[number];

/** One call, and how its caller disconnects. */
export interface Leaving {
  readonly requestId: string;
  readonly talk: Talk;
  readonly stream: boolean;
  readonly owner: Owner;
  readonly model: Model;
  readonly moment: Moment;
  /** With a TCP reset instead of an orderly end. */
  readonly rudely: boolean;
}

const one = <A>(random: () => number, list: readonly A[]): A => {
  const chosen = list[Math.floor(random() * list.length)];
  if (chosen === undefined) throw new Error('an empty list');
  return chosen;
};

export const aLeaving = (random: () => number, requestId: string): Leaving => ({
  requestId,
  talk: one(random, talks),
  stream: random() < 0.75,
  owner: one(random, owners),
  model: one(random, models),
  moment: one(random, moments),
  rudely: random() < 0.3,
});

/** The text that a caller has received if its answer is complete except for the usage. */
const beforeUsage: ReadonlyMap<Talk, string> = new Map([
  [chat, '"finish_reason":"stop"'],
  [messages, 'content_block_stop'],
  [responses, 'response.output_text.done'],
]);

const ended = '\r\n0\r\n\r\n';
/** The longest wait of a caller; timeouts of the upstream are shorter. */
const patienceMs = 10_000;

/** Makes one call; resolves when its connection is closed. */
export async function leave(url: string, key: string, leaving: Leaving, random: () => number): Promise<void> {
  const { requestId, talk, stream, model, moment, rudely } = leaving;
  const socket = beginExchange(url, {
    path: talk.path,
    headers: [
      ['authorization', `Bearer ${key}`],
      ['content-type', 'application/json'],
      ['x-request-id', requestId],
    ],
    body: JSON.stringify({ ...talk.body(stream), model }),
  });
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  await Promise.race([
    momentOf(socket, talk, moment, random),
    closed,
    sleep(patienceMs, undefined, { ref: false }),
  ]);
  if (rudely) socket.resetAndDestroy();
  else socket.destroy();
  await closed;
}

function momentOf(socket: Socket, talk: Talk, moment: Moment, random: () => number): Promise<unknown> {
  let text = '';
  const receives = (enough: (text: string) => boolean): Promise<void> =>
    new Promise((resolve) => {
      socket.on('data', (bytes: Buffer) => {
        text += bytes.toString('latin1');
        if (enough(text) || isOver(text)) resolve();
      });
    });
  switch (moment) {
    case 'at once':
      return new Promise((resolve) => socket.once('connect', () => setImmediate(resolve)));
    case 'before the first byte':
      return sleep(random() * 15);
    case 'at the first byte':
      return receives(() => true);
    case 'in the middle':
      return receives((text) => text.split('data: ').length > 3);
    case 'before the usage frame':
      return receives((text) => text.includes(beforeUsage.get(talk) ?? ended));
    case 'after the terminal':
      return receives((text) => text.includes(talk.end.stream));
    case 'not at all':
      return receives(isOver);
  }
}

/** Whether a non-streamed answer or a stream has ended. */
function isOver(text: string): boolean {
  const head = text.indexOf('\r\n\r\n');
  if (head < 0) return false;
  const length = /\r\ncontent-length: (\d+)/i.exec(text.slice(0, head));
  return length === null ? text.endsWith(ended) : text.length - head - 4 >= Number(length[1]);
}

/** Makes `count` calls by concurrent callers, each of which makes one after the other. */
export async function leaveAll(
  count: number,
  atOnce: number,
  one: (index: number) => Promise<void>,
): Promise<void> {
  let next = 0;
  const caller = async (): Promise<void> => {
    while (next < count) {
      const index = next;
      next += 1;
      await one(index);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, caller));
}

/** The configuration of the gateway for disconnects; `upstreamUrl` is that of a simulated upstream. */
export const disconnectsConfig = (
  upstreamUrl: string,
  keys: Readonly<Record<Owner, string>>,
  maxDrains: number,
) => ({
  server: { bind: '127.0.0.1:0', stream_keepalive_secs: 1 },
  accounting: { drain_on_disconnect: 'hard_budget', drain_timeout_secs: 1, max_drains: maxDrains },
  providers: [
    {
      id: 'up',
      type: 'compat',
      base_url: upstreamUrl,
      auth: { mode: 'none' },
      timeouts: { connect_ms: 2000, first_byte_ms: 600, idle_ms: 600, total_ms: 5000 },
    },
  ],
  models: [...Object.entries(upstreams), drained].map(([id, upstream_model]) => ({
    id,
    routes: [
      {
        provider: 'up',
        upstream_model,
        compatibility: { compat: { supports_stream_usage: true } },
      },
    ],
  })),
  pricing: {
    overrides: [...Object.values(upstreams), drained[1]].map((model) => ({
      provider: 'up',
      model,
      input_usd_per_million: '0.15',
      output_usd_per_million: '0.60',
    })),
  },
  users: owners.map((owner) => ({
    email: `${owner}@example.com`,
    ...(owner === 'free'
      ? {}
      : { budget: { cadence: 'monthly', amount_10000: 1_000_000_000, hard_limit: owner === 'hard' } }),
  })),
  api_keys: owners.map((owner) => ({ name: owner, owner: `user:${owner}@example.com`, value: keys[owner] })),
});

/** A model whose answers take long enough for all drains to be concurrent. */
export const drained = ['drained', 'simulated-fast?chunks=8&chunk-delay-ms=80'] as const;

/**
 * Requests with wrong rows. Right are: one log row, one ledger row for an answer, at most one for a client
 * disconnect, none for a failure.
 */
export const faultyRequests = `
  select l.request_id, l.status_code, count(distinct l.request_log_id) as logs, count(distinct u.ctid) as ledger_rows,
         count(distinct a.ctid) as attempts
  from request_logs l
  left join usage_cost_events u using (request_id)
  left join request_log_attempts a on a.request_log_id = l.request_log_id
  group by l.request_id, l.status_code
  having count(distinct l.request_log_id) <> 1
    or count(distinct a.ctid) > 1
    or count(distinct u.ctid) > 1
    or (l.status_code = 200 and count(distinct u.ctid) <> 1)
    or (l.status_code not in (200, 499) and count(distinct u.ctid) <> 0)`;
