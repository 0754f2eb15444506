import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { stringify } from 'yaml';
import { startSimulatedUpstream, type SimulatedUpstream } from '../../tools/simulated-upstream/server.ts';
import { createDatabase, withDatabase } from '../support/database.ts';
import {
  aKey,
  basicConfig,
  type ConfigFile,
  queries,
  startGateway,
  type TestGateway,
} from '../support/gateway.ts';
import { connected, makeTestFolder } from '../support/test-server.ts';
import { frames, type HeldUpstream, startHeldUpstream, wholeAnswer } from './held-upstream.ts';
import { logged, startCommand, times } from './processes.ts';
import { beginExchange, rawExchange, rawSocket } from './raw-http.ts';
import { eventually, outcomesOf, tracesIn } from './traces.ts';

const database = withDatabase();
const query = queries(database.url);
const traceOf = tracesIn(query);
const key = aKey();
let upstream: SimulatedUpstream;
let held: HeldUpstream;
let folder = '';

beforeAll(async () => {
  upstream = await startSimulatedUpstream({ port: 0 });
  held = await startHeldUpstream();
  folder = await makeTestFolder('operations');
});
afterAll(async () => {
  await upstream?.close();
  await held?.close();
});

const model = (id: string, directives = '') => ({
  id,
  routes: [
    {
      provider: 'up',
      upstream_model: 'simulated-fast',
      extra_headers: { 'x-simulate': directives },
    },
  ],
});

const models = [
  model('fast'),
  { id: 'held', routes: [{ provider: 'held', upstream_model: 'held' }] },
  model('endless', 'chunk-delay-ms=20&chunks=100000'),
  model('large', 'chunks=400&chunk-bytes=20000&usage=last'),
  model(
    'fails',
    'status=500&message=The token upstream-token-0123456789 at https://u:pw-canary@host/p?q-canary=1',
  ),
];

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

interface Asked {
  readonly model?: string;
  readonly stream?: boolean;
  readonly requestId?: string;
  readonly content?: string;
}

const requestOf = ({ model = 'fast', stream = false, requestId = randomUUID(), content = 'Hi' }: Asked) => ({
  path: '/v1/chat/completions',
  headers: [
    ['authorization', `Bearer ${key}`],
    ['content-type', 'application/json'],
    ['x-request-id', requestId],
  ] as const,
  body: JSON.stringify({ model, stream, messages: [{ role: 'user', content }] }),
});

/** A request of its own connection; `text` grows, and `ended` resolves when the connection does. */
function begin(url: string, asked: Asked) {
  const socket = beginExchange(url, requestOf(asked));
  let text = '';
  socket.on('data', (piece: Buffer) => void (text += piece.toString('latin1')));
  const ended = new Promise<string>((resolve) => socket.once('close', () => resolve(text)));
  return { socket, text: () => text, ended };
}

/** Takes the head of an answer, and the rest of it only when told to. */
function slowReader(url: string, asked: Asked) {
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

const statusOf = async (url: string, at: string): Promise<number> =>
  (await rawExchange(url, { method: 'GET', path: at })).status;

/** A way to the database that can be cut and mended. */
async function cuttable(url: string) {
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

describe('health and readiness', () => {
  it('without its database the process is alive and not ready, and it recovers by itself', async () => {
    const line = await cuttable(database.url());
    const gateway = await startGateway(config(), line.url);
    try {
      expect(await statusOf(gateway.url, '/readyz')).toBe(200);
      expect((await rawExchange(gateway.url, requestOf({}))).status).toBe(200);
      line.cut();
      const notReady = await eventually(async () => {
        const answer = await rawExchange(gateway.url, { method: 'GET', path: '/readyz' });
        return answer.status === 503 ? answer : undefined;
      });
      expect(JSON.parse(notReady.body)).toMatchObject({ status: 'not_ready', reason: /database/ });
      expect(await statusOf(gateway.url, '/healthz')).toBe(200);
      const before = upstream.requests();
      const refused = await rawExchange(gateway.url, requestOf({ requestId: 'no-database' }));
      expect(refused.status).toBe(503);
      expect(JSON.parse(refused.body)).toMatchObject({
        error: { type: 'overloaded_error', code: 'store_unavailable' },
      });
      expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
      expect(upstream.requests()).toBe(before);
      expect(outcomesOf(gateway, 'no-database')).toMatchObject([{ outcome: 'overloaded' }]);
      line.mend();
      await eventually(async () => ((await statusOf(gateway.url, '/readyz')) === 200 ? true : undefined));
      expect((await rawExchange(gateway.url, requestOf({}))).status).toBe(200);
    } finally {
      await gateway.stop();
      line.close();
    }
  });

  it('is not ready while migrations are pending', async () => {
    const behind = await createDatabase();
    const gateway = await startGateway(config(), behind.url);
    try {
      const rows = await connected(behind.url, (client) =>
        client.query<object>(
          'delete from schema_migrations where version = (select max(version) from schema_migrations) returning *',
        ),
      );
      const answer = await rawExchange(gateway.url, { method: 'GET', path: '/readyz' });
      expect(answer.status).toBe(503);
      expect(answer.body).toContain('migrations are pending');
      await connected(behind.url, (client) =>
        client.query(
          'insert into schema_migrations values ($1, $2, $3, $4)',
          Object.values(rows.rows[0] ?? {}),
        ),
      );
      await eventually(async () => ((await statusOf(gateway.url, '/readyz')) === 200 ? true : undefined));
    } finally {
      await gateway.stop();
      await behind.drop();
    }
  });
});

describe('overload', () => {
  const overloaded = (answer: Awaited<ReturnType<typeof rawExchange>>): void => {
    expect(answer.status).toBe(503);
    expect(JSON.parse(answer.body)).toMatchObject({
      error: { type: 'overloaded_error', code: 'overloaded', param: null },
    });
    expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
  };

  async function with_<A>(server: object, body: (gateway: TestGateway) => Promise<A>): Promise<A> {
    const gateway = await startGateway(
      config({ server: { bind: '127.0.0.1:0', ...server } }),
      database.url(),
    );
    try {
      return await body(gateway);
    } finally {
      await gateway.stop();
    }
  }

  it('over max_in_flight requests are turned away, before anything else is looked at', () =>
    with_({ max_in_flight: 2, max_in_flight_per_owner: 2 }, async (gateway) => {
      const callers = [false, true].map((stream) => begin(gateway.url, { model: 'held', stream }));
      const calls = [await held.next(), await held.next()];
      overloaded(await rawExchange(gateway.url, requestOf({ requestId: 'over-1' })));
      expect(outcomesOf(gateway, 'over-1')).toMatchObject([{ outcome: 'overloaded', status: 503 }]);
      expect((await traceOf('over-1')).logs).toEqual([]);
      expect(await statusOf(gateway.url, '/readyz')).toBe(200);
      for (const call of calls) call.refuse(500);
      await eventually(async () =>
        (await rawExchange(gateway.url, requestOf({}))).status === 200 ? true : undefined,
      );
      for (const each of callers) each.socket.destroy();
    }));

  it('over max_buffered_bytes bodies are turned away, and room comes back', () =>
    with_({ max_buffered_bytes: 100_000, body_max_bytes: 100_000 }, async (gateway) => {
      const content = 'x'.repeat(60_000);
      const caller = begin(gateway.url, { model: 'held', content });
      const call = await held.next();
      const before = upstream.requests();
      overloaded(await rawExchange(gateway.url, requestOf({ content, requestId: 'over-2' })));
      const { logs, attempts } = await traceOf('over-2');
      expect(logs).toMatchObject([{ status_code: 503, error_code: 'overloaded' }]);
      expect(attempts).toEqual([]);
      expect(upstream.requests()).toBe(before);
      expect((await rawExchange(gateway.url, requestOf({}))).status).toBe(200);
      call.refuse(500);
      await eventually(async () =>
        (await rawExchange(gateway.url, requestOf({ content }))).status === 200 ? true : undefined,
      );
      caller.socket.destroy();
    }));

  it('an upstream event that is not complete yet counts into max_buffered_bytes: over it its stream ends', () =>
    with_({ max_buffered_bytes: 400_000, body_max_bytes: 100_000 }, async (gateway) => {
      const requestId = 'over-3';
      const caller = begin(gateway.url, { model: 'held', stream: true, requestId });
      const call = await held.next();
      call.head('stream');
      call.write(`${frames.content}data: {"x":"${'x'.repeat(450_000)}`);
      await eventually(() => caller.text().includes('"code":"overloaded"') || undefined);
      expect(caller.text()).not.toContain('[DONE]');
      await eventually(() => call.left() || undefined);
      expect(outcomesOf(gateway, requestId)).toMatchObject([{ outcome: 'overloaded', status: 503 }]);
      expect((await traceOf(requestId)).attempts).toMatchObject([
        { status: 'stream_error', error_code: 'overloaded' },
      ]);
      caller.socket.destroy();
    }));

  it('events that are complete count no more, however many there are', () =>
    with_({ max_buffered_bytes: 400_000, body_max_bytes: 100_000 }, async (gateway) => {
      const caller = begin(gateway.url, { model: 'held', stream: true });
      const call = await held.next();
      call.head('stream');
      for (let count = 0; count < 5; count += 1) call.write(`data: {"x":"${'x'.repeat(300_000)}"}\n\n`);
      call.write(frames.finish + frames.done);
      call.end();
      await eventually(() => caller.text().includes('[DONE]') || undefined);
      expect(caller.text()).not.toContain('"error"');
      caller.socket.destroy();
    }));

  it('what was turned away or left in the middle holds nothing', () =>
    with_({ max_in_flight: 3, max_buffered_bytes: 50_000, body_max_bytes: 50_000 }, async (gateway) => {
      for (let round = 0; round < 20; round += 1) {
        const socket = rawSocket(gateway.url);
        socket.write(
          `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\n` +
            `content-type: application/json\r\ncontent-length: 40000\r\n\r\n${'x'.repeat(30_000)}`,
        );
        await sleep(15);
        socket.destroy();
        await rawExchange(gateway.url, requestOf({ content: 'x'.repeat(60_000) }));
      }
      await eventually(async () => {
        const answer = await rawExchange(gateway.url, requestOf({ content: 'x'.repeat(40_000) }));
        return answer.status === 200 ? true : undefined;
      });
    }));
});

/** `gateway serve` on a file that the test may change. */
async function serve(name: string, first: ConfigFile, args: readonly string[] = []) {
  const file = path.join(folder, `${name}.yaml`);
  const write = (next: ConfigFile | string) =>
    writeFile(file, typeof next === 'string' ? next : stringify(next));
  await write(first);
  const command = startCommand(['serve', ...args], { GATEWAY_CONFIG: file, DATABASE_URL: database.url() });
  const [, url = ''] = await command.says(/"url":"([^"]+)"/);
  return { ...command, url, write };
}

type Serving = Awaited<ReturnType<typeof serve>>;

async function modelIds(url: string): Promise<readonly string[]> {
  const answer = await rawExchange(url, {
    method: 'GET',
    path: '/v1/models',
    headers: [['authorization', `Bearer ${key}`]],
  });
  return (JSON.parse(answer.body) as { data: { id: string }[] }).data.map(({ id }) => id);
}

describe('gateway serve: SIGHUP, logs, SIGTERM', () => {
  let serving: Serving;
  const takenUp = 'the configuration was taken up';
  const refused = 'the configuration was refused, and the old one stays';

  beforeAll(async () => {
    serving = await serve('one', config());
  });
  afterAll(() => void serving?.child.kill('SIGKILL'));

  it('takes up a good file', async () => {
    const prices = {
      overrides: [
        {
          provider: 'up',
          model: 'simulated-fast',
          input_usd_per_million: '1000',
          output_usd_per_million: '2000',
        },
      ],
    };
    await serving.write(config({ models: [...models, model('newer')], pricing: prices }));
    serving.child.kill('SIGHUP');
    await times(serving, takenUp, 1);
    expect(await modelIds(serving.url)).toContain('newer');
    const answer = await rawExchange(serving.url, requestOf({ model: 'newer', requestId: 'new-price' }));
    expect(answer.status).toBe(200);
    const [row] = (await traceOf('new-price')).ledger;
    expect(row).toMatchObject({
      input_picousd_per_token: '1000000000',
      output_picousd_per_token: '2000000000',
    });
  });

  it('refuses a bad file loudly, with its place, and the old state stays', async () => {
    await serving.write(`${stringify(config())}\nmodles: []\n`);
    serving.child.kill('SIGHUP');
    await times(serving, refused, 1);
    expect(logged(serving, refused)).toEqual([
      expect.objectContaining({
        path: 'modles',
        line: expect.any(Number),
        problem: expect.stringContaining('`models`'),
      }),
    ]);
    await serving.write('models: [');
    serving.child.kill('SIGHUP');
    await times(serving, refused, 2);
    expect(await modelIds(serving.url)).toContain('newer');
    expect((await rawExchange(serving.url, requestOf({ model: 'newer' }))).status).toBe(200);
    await serving.write(config());
    serving.child.kill('SIGHUP');
    await times(serving, takenUp, 2);
    expect(await modelIds(serving.url)).not.toContain('newer');
  });

  it('logs one line for each request, and no secret and no body', async () => {
    const send = (asked: Asked, headers: readonly (readonly [string, string])[] = []) => {
      const request = requestOf(asked);
      return rawExchange(serving.url, { ...request, headers: [...request.headers, ...headers] });
    };
    const canaries = [
      key.split('.')[1] ?? '',
      'upstream-token-0123456789',
      'body-canary',
      'header-canary',
      'query-canary',
      'pw-canary',
      'q-canary',
      'secret-of-another-key-0123456789abcdef',
      new URL(database.url()).password,
    ];
    await send({ content: 'body-canary', requestId: 'log-1' }, [
      ['cookie', 'header-canary'],
      ['x-other', 'header-canary'],
    ]);
    await send({ content: 'body-canary', stream: true, requestId: 'log-2' });
    await send({ model: 'fails', content: 'body-canary', requestId: 'log-3' });
    await send({ model: 'body-canary', requestId: 'log-4' });
    await rawExchange(serving.url, {
      ...requestOf({}),
      headers: [
        ['authorization', 'Bearer gwk_0123456789.secret-of-another-key-0123456789abcdef'],
        ['x-request-id', 'log-5'],
      ],
    });
    await rawExchange(serving.url, {
      ...requestOf({ requestId: 'log-6' }),
      path: '/v1/chat/completions?key=query-canary',
      body: '{"body-canary',
    });
    await rawExchange(serving.url, { method: 'GET', path: '/nothing/query-canary?key=query-canary' });
    await query("alter table request_logs add constraint no_canary check (request_id <> 'log-7')");
    await send({ content: 'body-canary', requestId: 'log-7' });
    await query('alter table request_logs drop constraint no_canary');
    await times(serving, 'database statement failed', 1);
    await times(serving, 'request', 7);
    const outcomes = Object.fromEntries(
      logged(serving, 'request').map((line) => [line['request_id'], line['outcome']]),
    );
    expect(outcomes).toMatchObject({
      'log-1': 'success',
      'log-2': 'success',
      'log-3': 'upstream_error',
      'log-4': 'not_found',
      'log-5': 'unauthenticated',
      'log-6': 'invalid_request',
      'log-7': 'internal_error',
    });
    const [first] = logged(serving, 'request').filter((line) => line['request_id'] === 'log-1');
    expect(first).toMatchObject({
      family: 'chat_completions',
      stream: false,
      status: 200,
      model: 'fast',
      provider: 'up',
      pricing_status: 'priced',
      cost_usd: expect.stringMatching(/^0\.0000\d+$/),
      latency_ms: expect.any(Number),
    });
    for (const canary of canaries) {
      expect(canary.length).toBeGreaterThan(7);
      expect(serving.out() + serving.err()).not.toContain(canary);
    }
  });

  it('drains on SIGTERM: what is in flight ends whole and is written, then it exits with 0', async () => {
    const stream = begin(serving.url, { model: 'held', stream: true, requestId: 'drained' });
    const call = await held.next();
    call.head('stream');
    call.write(frames.content);
    const large = ['large-stream', 'large-whole'].map((requestId) =>
      slowReader(serving.url, { model: 'large', stream: requestId === 'large-stream', requestId }),
    );
    for (const each of large) await each.begun;
    const probe = rawSocket(serving.url);
    let answer = '';
    probe.on('data', (piece: Buffer) => void (answer += piece.toString()));
    probe.write('GET /readyz HTTP/1.1\r\nhost: x\r\n\r\n');
    await eventually(() => (answer.includes('"ready"') ? true : undefined));
    probe.write('GET /readyz HTTP/1.1\r\nhost: x\r\n');
    await eventually(() => (stream.text().includes('piece') ? true : undefined));
    serving.child.kill('SIGTERM');
    await times(serving, 'draining', 1);
    expect(logged(serving, 'draining')).toMatchObject([{ in_flight: 3 }]);

    const probed = new Promise((resolve) => probe.once('close', resolve));
    probe.write('\r\n');
    await probed;
    expect(answer).toContain('HTTP/1.1 503 ');
    expect(answer).toContain('"reason":"draining"');
    expect(answer.toLowerCase()).toContain('connection: close');
    await expect(rawExchange(serving.url, { method: 'GET', path: '/readyz' })).rejects.toThrow(
      'ECONNREFUSED',
    );

    call.write(frames.content + frames.finish + frames.usage + frames.done);
    call.end();
    await eventually(() => (stream.text().includes('data: [DONE]') ? true : undefined));
    // A caller that reads slowly gets everything all the same.
    const [streamed = '', whole = ''] = await Promise.all(large.map((each) => each.readAll()));
    expect(streamed.endsWith('data: [DONE]\n\n\r\n0\r\n\r\n')).toBe(true);
    expect(() => JSON.parse(whole.slice(whole.indexOf('{'))) as unknown).not.toThrow();
    expect(await serving.exited).toEqual({ code: 0, signal: null });
    expect(logged(serving, 'stopped')).toHaveLength(1);
    expect(serving.err()).toBe('');
    for (const requestId of ['drained', 'large-stream', 'large-whole']) {
      const { logs, ledger } = await traceOf(requestId);
      expect(logs).toMatchObject([{ status_code: 200 }]);
      expect(ledger).toMatchObject([{ pricing_status: 'priced' }]);
    }
  });
});

describe('gateway serve --workers 2', () => {
  let serving: Serving;

  beforeAll(async () => {
    serving = await serve('two', config({ server: { bind: '127.0.0.1:0', shutdown_grace_secs: 2 } }), [
      '--workers',
      '2',
    ]);
    await times(serving, 'listening', 2);
  });
  afterAll(() => void serving?.child.kill('SIGKILL'));

  const pids = (): readonly number[] => logged(serving, 'listening').map((line) => Number(line['pid']));

  it('both serve; one that is killed breaks only its own requests, and is replaced', async () => {
    expect(new Set([serving.child.pid, ...pids()]).size).toBe(3);
    const streams = ['a', 'b'].map((name) =>
      begin(serving.url, { model: 'held', stream: true, requestId: `worker-${name}` }),
    );
    const calls = [await held.next(), await held.next()];
    for (const call of calls) {
      call.head('stream');
      call.write(frames.content);
    }
    await eventually(() => (streams.every((each) => each.text().includes('piece')) ? true : undefined));
    process.kill(pids()[0] ?? 0, 'SIGKILL');
    await eventually(() => (calls.some((call) => call.left()) ? true : undefined));
    for (const call of calls.filter((each) => !each.left())) {
      call.write(frames.finish + frames.usage + frames.done);
      call.end();
    }
    await eventually(() => (streams.some((each) => each.text().includes('[DONE]')) ? true : undefined));
    expect(calls.filter((call) => call.left())).toHaveLength(1);
    expect(streams.filter((each) => each.text().includes('[DONE]'))).toHaveLength(1);
    for (const each of streams) each.socket.destroy();
    await times(serving, 'a worker died', 1);
    expect(logged(serving, 'a worker died')).toMatchObject([{ pid: pids()[0], signal: 'SIGKILL' }]);
    await times(serving, 'listening', 3);
    for (let round = 0; round < 6; round += 1)
      expect((await rawExchange(serving.url, requestOf({}))).status).toBe(200);
  });

  it('SIGHUP reaches every worker', async () => {
    await serving.write(
      config({
        server: { bind: '127.0.0.1:0', shutdown_grace_secs: 2 },
        models: [...models, model('newer')],
      }),
    );
    serving.child.kill('SIGHUP');
    await times(serving, 'the configuration was taken up', 2);
    for (let round = 0; round < 4; round += 1) expect(await modelIds(serving.url)).toContain('newer');
  });

  it('SIGTERM drains them all: what ends within the grace is whole, the rest is cut and settled', async () => {
    const whole = begin(serving.url, { model: 'held', requestId: 'workers-whole' });
    const call = await held.next();
    const cut = begin(serving.url, { model: 'endless', stream: true, requestId: 'workers-cut' });
    await eventually(() => (cut.text().includes('simulated') ? true : undefined));
    serving.child.kill('SIGTERM');
    await times(serving, 'draining', 2);
    call.head('whole');
    call.write(wholeAnswer);
    call.end();
    expect(await whole.ended).toContain('"content":"all"');
    expect(await cut.ended).not.toContain('[DONE]');
    expect(await serving.exited).toEqual({ code: 0, signal: null });
    expect(logged(serving, 'stopped')).toHaveLength(2);
    expect(serving.err()).toBe('');
    expect((await traceOf('workers-whole')).logs).toMatchObject([{ status_code: 200 }]);
    const { logs, ledger } = await traceOf('workers-cut');
    expect(logs).toHaveLength(1);
    expect(ledger).toMatchObject([{ pricing_status: 'usage_missing' }]);
  });
});
