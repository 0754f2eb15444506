import { spawnSync } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { constants } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { stringify } from 'yaml';
import type { ConfigFile } from '../support/gateway.ts';
import { makeTestFolder } from '../support/test-server.ts';
import { frames, wholeAnswer } from './held-upstream.ts';
import {
  key,
  model,
  models,
  type Asked,
  requestOf,
  begin,
  slowReader,
  operationsScene,
} from './operations-scene.ts';
import { logged, startCommand, times } from './processes.ts';
import { rawExchange, rawSocket } from './raw-http.ts';
import { eventually } from './traces.ts';

const { query, traceOf, databaseUrl, held, config } = operationsScene();

let folder = '';
beforeAll(async () => {
  folder = await makeTestFolder('operations');
});

/** `gateway serve` on a file that the test may change. */
async function serve(name: string, first: ConfigFile, args: readonly string[] = []) {
  const file = path.join(folder, `${name}.yaml`);
  const write = (next: ConfigFile | string) =>
    writeFile(file, typeof next === 'string' ? next : stringify(next));
  await write(first);
  const command = startCommand(['serve', ...args], { GATEWAY_CONFIG: file, DATABASE_URL: databaseUrl() });
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

/** The processes that this one has started. */
const childrenOf = (pid: number): readonly number[] =>
  spawnSync('ps', ['-o', 'pid=', '--ppid', String(pid)], { encoding: 'utf8' })
    .stdout.split('\n')
    .flatMap((line) => (line.trim() === '' ? [] : [Number(line)]));

/** Linux lists the signals that each process catches, as bits. */
async function hearsSigusr2(pid: number): Promise<true | undefined> {
  const [, caught = '0'] = /^SigCgt:\s*(\w+)/m.exec(await readFile(`/proc/${pid}/status`, 'utf8')) ?? [];
  return (BigInt(`0x${caught}`) & (1n << BigInt(constants.signals.SIGUSR2 - 1))) === 0n ? undefined : true;
}

describe('gateway serve, while it loads', () => {
  (process.platform === 'linux' ? it : it.skip)(
    'does not end on a SIGHUP to any one of its processes',
    async () => {
      const file = path.join(folder, 'loading.yaml');
      await writeFile(file, stringify(config()));
      const starting = startCommand(['serve'], { GATEWAY_CONFIG: file, DATABASE_URL: databaseUrl() });
      const supervisor = starting.child.pid ?? 0;
      await eventually(() => hearsSigusr2(supervisor));
      process.kill(supervisor, 'SIGHUP');
      const worker = await eventually(() => childrenOf(supervisor)[0]);
      await eventually(() => hearsSigusr2(worker));
      process.kill(worker, 'SIGHUP');
      await starting.says(/"url":"([^"]+)"/);
      expect(logged(starting, 'a worker died')).toEqual([]);
      starting.child.kill('SIGTERM');
      expect(await starting.exited).toEqual({ code: 0, signal: null });
    },
  );
});

describe('gateway serve: SIGHUP, logs, SIGTERM', () => {
  let serving: Serving;
  const takenUp = 'the configuration was applied';
  const refused = 'the configuration was refused, and the old one stays';

  beforeAll(async () => {
    serving = await serve('one', config());
  });
  afterAll(() => void serving?.child.kill('SIGKILL'));

  it('ignores the signals of log rotations: no debugger starts, and no process ends', async () => {
    const worker = Number(logged(serving, 'listening')[0]?.['pid']);
    for (const signal of ['SIGUSR1', 'SIGUSR2'] as const)
      for (const pid of [serving.child.pid ?? 0, worker]) process.kill(pid, signal);
    await sleep(500);
    expect(serving.err()).not.toContain('ebugger');
    expect(await modelIds(serving.url)).not.toEqual([]);
    expect(logged(serving, 'a worker died')).toEqual([]);
  });

  it('applies a valid file on SIGHUP', async () => {
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

  it('logs at each reload which changed keys need a restart, until the file has the old ones again', async () => {
    const wants = 'changed keys of the configuration need a restart';
    const server = { bind: '127.0.0.1:0', max_in_flight: 7, cors_origins: ['https://app.example.com'] };
    const before = logged(serving, takenUp).length;
    for (const [index, next] of [config({ server }), config({ server }), config()].entries()) {
      await serving.write(next);
      serving.child.kill('SIGHUP');
      await times(serving, takenUp, before + index + 1);
    }
    const keys = ['server.max_in_flight', 'server.max_in_flight_per_owner'];
    expect(logged(serving, wants)).toEqual(
      [1, 2].map(() => expect.objectContaining({ level: 'warn', keys })),
    );
    await serving.write(config({ models: [...models, model('newer')] }));
    serving.child.kill('SIGHUP');
    await times(serving, takenUp, before + 4);
  });

  it('refuses an invalid file, logs the place of the error, and keeps the old state', async () => {
    const before = logged(serving, takenUp).length;
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
    await times(serving, takenUp, before + 1);
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
      new URL(databaseUrl()).password,
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

  it('drains on SIGTERM: requests in flight complete and are recorded, then it exits with 0', async () => {
    const stream = begin(serving.url, { model: 'held', stream: true, requestId: 'drained' });
    const call = await held().next();
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
    // A client that reads slowly still receives everything.
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
    serving = await serve('two', config({ server: { bind: '127.0.0.1:0', shutdown_grace_secs: 6 } }), [
      '--workers',
      '2',
    ]);
    await times(serving, 'listening', 2);
  });
  afterAll(() => void serving?.child.kill('SIGKILL'));

  const pids = (): readonly number[] => logged(serving, 'listening').map((line) => Number(line['pid']));

  it('both workers serve; one that is killed breaks only its own requests, and is replaced', async () => {
    expect(new Set([serving.child.pid, ...pids()]).size).toBe(3);
    const streams = ['a', 'b'].map((name) =>
      begin(serving.url, { model: 'held', stream: true, requestId: `worker-${name}` }),
    );
    const calls = [await held().next(), await held().next()];
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
        server: { bind: '127.0.0.1:0', shutdown_grace_secs: 6 },
        models: [...models, model('newer')],
      }),
    );
    serving.child.kill('SIGHUP');
    await times(serving, 'the configuration was applied', 2);
    for (let round = 0; round < 4; round += 1) expect(await modelIds(serving.url)).toContain('newer');
  });

  it('SIGTERM drains all workers: a request that ends within the grace completes, another is cut off and recorded', async () => {
    const whole = begin(serving.url, { model: 'held', requestId: 'workers-whole' });
    const call = await held().next();
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
