import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { copyFile, rename, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { stringify } from 'yaml';
import { tcpProxy, type TcpProxy } from '../contract/tcp-proxy.ts';
import { withDatabase } from '../support/database.ts';
import { aKey, basicConfig, queries } from '../support/gateway.ts';
import { makeTestFolder } from '../support/test-server.ts';
import { timed, undisturbed } from '../support/undisturbed.ts';
import { frames, type HeldCall, type HeldUpstream, startHeldUpstream } from './held-upstream.ts';
import {
  logged,
  type RunningCommand,
  startCommand,
  startInShell,
  startUnderNpm,
  times,
} from './processes.ts';
import { beginExchange, rawExchange } from './raw-http.ts';
import { eventually, tracesIn } from './traces.ts';
import { freePort } from '../support/free-port.ts';

const database = withDatabase();
const traceOf = tracesIn(queries(database.url));
const hard = aKey();
const soft = aKey();
/** The time that `serve` may take beyond the grace. */
const endSecs = 15;
const briefSecs = 1;
let held: HeldUpstream;
let proxy: TcpProxy;
let folder = '';

beforeAll(async () => {
  held = await startHeldUpstream();
  proxy = await tcpProxy();
  folder = await makeTestFolder('life');
  const budget = { cadence: 'monthly', amount_10000: 1_000_000, hard_limit: true };
  const config = basicConfig(held.url, hard, { user: { budget } });
  const users = [...(config['users'] as readonly object[]), { email: 'b@example.com', name: 'B' }];
  const keys = [
    ...(config['api_keys'] as readonly object[]),
    { name: 'soft', owner: 'user:b@example.com', value: soft },
  ];
  for (const [name, secs] of Object.entries({ patient: 40, brief: briefSecs }))
    await writeFile(
      path.join(folder, `${name}.yaml`),
      stringify({
        ...config,
        users,
        api_keys: keys,
        server: { bind: '127.0.0.1:0', shutdown_grace_secs: secs },
      }),
    );
});
const running: RunningCommand[] = [];
afterAll(async () => {
  for (const each of running) for (const pid of processesOf(each)) end(pid);
  await held?.close();
  await proxy?.close();
});

/** The process ids of the supervisor and its workers, from the log. */
const processesOf = (command: RunningCommand): readonly number[] =>
  ['supervising', 'listening'].flatMap((message) => logged(command, message).map(({ pid }) => Number(pid)));

const workersOf = (command: RunningCommand): readonly number[] =>
  logged(command, 'listening').map(({ pid }) => Number(pid));

function end(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** An ended process may stay in the list of processes until its parent reads its exit code. */
const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return process.platform !== 'linux' || readFileSync(`/proc/${pid}/cmdline`, 'utf8') !== '';
  } catch {
    return false;
  }
};

const variables = (grace: 'patient' | 'brief' = 'patient'): Readonly<Record<string, string>> => ({
  GATEWAY_CONFIG: path.join(folder, `${grace}.yaml`),
  GATEWAY_DATA_DIR: folder,
  DATABASE_URL: database.url(),
});

async function listening(command: RunningCommand, workers = 1) {
  running.push(command);
  const [, url = ''] = await command.says(/"url":"([^"]+)"/);
  await times(command, 'listening', workers);
  await times(command, 'supervising', 1);
  return { ...command, url };
}

interface Stream {
  readonly requestId: string;
  readonly call: HeldCall;
  readonly text: () => string;
  readonly ended: Promise<unknown>;
}

/** Sends a request for a stream. */
function ask(url: string, key: string) {
  const requestId = randomUUID();
  const socket = beginExchange(url, {
    path: '/v1/chat/completions',
    headers: [
      ['authorization', `Bearer ${key}`],
      ['content-type', 'application/json'],
      ['x-request-id', requestId],
    ],
    body: JSON.stringify({ model: 'fast', stream: true, messages: [{ role: 'user', content: 'Hi' }] }),
  });
  let text = '';
  socket.on('data', (piece: Buffer) => void (text += piece.toString()));
  const ended = new Promise((resolve) => socket.once('close', resolve));
  return { requestId, text: () => text, ended };
}

/** A stream whose upstream has sent its first content, and sends more on demand. */
async function stream(url: string, key: string): Promise<Stream> {
  const asked = ask(url, key);
  const call = await held.next();
  call.head('stream');
  call.write(frames.content);
  await eventually(() => (asked.text().includes('piece') ? true : undefined));
  return { ...asked, call };
}

const finish = ({ call }: Stream): void => {
  call.write(frames.finish + frames.usage + frames.done);
  call.end();
};

const statusOf = async (url: string): Promise<number> =>
  (await rawExchange(url, { method: 'GET', path: '/readyz' })).status;

const signalGroup = ({ child }: RunningCommand, signal: NodeJS.Signals): true =>
  process.kill(-(child.pid ?? 0), signal);

/** Only Linux has the device that is always full. */
const onFullDisk = existsSync('/dev/full') ? it : it.skip;

describe('a command whose output does not fit on the disk', () => {
  onFullDisk('exits with 1 and an error message', async () => {
    const command = startInShell('exec "$@" > /dev/full', ['--version'], {});
    expect(await command.exited).toEqual({ code: 1, signal: null });
    expect(command.err()).toBe('Not all of the output could be written (ENOSPC).\n');
  });
});

describe('gateway serve', () => {
  it('replaces its one worker if that dies, and its supervisor keeps running', async () => {
    const gateway = await listening(startCommand(['serve'], variables()));
    const [first = 0] = workersOf(gateway);
    expect(first).not.toBe(gateway.child.pid);
    end(first);
    await times(gateway, 'listening', 2);
    expect(logged(gateway, 'a worker died')).toMatchObject([{ pid: first, signal: 'SIGKILL' }]);
    const url = String(logged(gateway, 'listening')[1]?.['url']);
    expect(await statusOf(url)).toBe(200);
    gateway.child.kill('SIGTERM');
    expect(await gateway.exited).toEqual({ code: 0, signal: null });
    await expect(statusOf(url)).rejects.toThrow('ECONNREFUSED');
  });

  it('keeps serving if its output streams are closed', async () => {
    const gateway = await listening(startCommand(['serve', '--workers', '2'], variables()), 2);
    gateway.child.stdout?.destroy();
    gateway.child.stderr?.destroy();
    // The supervisor logs this.
    end(workersOf(gateway)[0] ?? 0);
    await sleep(1500);
    expect(await statusOf(gateway.url)).toBe(200);
    await sleep(300);
    expect(await statusOf(gateway.url)).toBe(200);
    gateway.child.kill('SIGTERM');
    expect(await gateway.exited).toEqual({ code: 0, signal: null });
  });

  it('stops within 6 seconds if the reader of its output is stalled', async () => {
    const gateway = await listening(startCommand(['serve'], variables()));
    const ended = new Promise((resolve) => gateway.child.once('exit', (code) => resolve(code)));
    gateway.child.stdout?.pause();
    // More lines than fit into a pipe and the buffer of its reader.
    for (let round = 0; round < 60; round += 1)
      await Promise.all(
        Array.from({ length: 20 }, () =>
          fetch(`${gateway.url}/v1/chat/completions`, {
            method: 'POST',
            headers: { 'x-request-id': 'x'.repeat(128) },
          }).then((answer) => answer.arrayBuffer()),
        ),
      );
    const { value, ms } = await timed(() => {
      gateway.child.kill('SIGTERM');
      return ended;
    });
    gateway.child.stdout?.resume();
    expect(value).toBe(0);
    expect(ms).toBeLessThan(6000);
    expect(logged(gateway, 'stopped')).toEqual([]);
  });

  onFullDisk('keeps serving if the disk of its log is full', async () => {
    const port = await freePort();
    const env = { ...variables(), GATEWAY_BIND: `127.0.0.1:${port}` };
    const gateway = startInShell('exec "$@" > /dev/full', ['serve'], env);
    const url = `http://127.0.0.1:${port}`;
    try {
      await eventually(() => statusOf(url).catch(() => undefined), 30_000);
      await sleep(300);
      expect(await statusOf(url)).toBe(200);
      gateway.child.kill('SIGTERM');
      expect(await gateway.exited).toEqual({ code: 0, signal: null });
    } finally {
      gateway.child.kill('SIGKILL');
    }
  });

  it('exits with 2 and an error message if `--workers` is not a number', async () => {
    const command = startCommand(['serve', '--workers', 'many'], variables());
    expect(await command.exited).toEqual({ code: 2, signal: null });
    expect(command.err()).toContain('--workers must be a whole number');
  });

  it.each(['1', '2'])(
    'exits with 1 and one error message if it cannot start, with %s workers',
    async (workers) => {
      const invalid = path.join(folder, 'invalid.yaml');
      await writeFile(invalid, 'server: { bind: nowhere }\n');
      const other = createServer();
      const port = await new Promise<number>((resolve) =>
        other.listen(0, '127.0.0.1', () => resolve((other.address() as AddressInfo).port)),
      );
      for (const [env, message] of [
        [{ GATEWAY_CONFIG: invalid }, 'server.bind'],
        [
          { GATEWAY_BIND: `127.0.0.1:${port}` },
          `cannot listen on 127.0.0.1:${port}: another process listens there`,
        ],
      ] as const) {
        const command = startCommand(['serve', '--workers', workers], { ...variables(), ...env });
        expect(await command.exited).toEqual({ code: 1, signal: null });
        expect(command.err().split(message)).toHaveLength(2);
      }
      await new Promise((resolve) => other.close(resolve));
    },
  );

  it('stops as on SIGTERM if its supervisor is killed: the open stream completes and is recorded', async () => {
    const gateway = await listening(startCommand(['serve'], variables()));
    const [worker = 0] = workersOf(gateway);
    const one = await stream(gateway.url, hard);
    gateway.child.kill('SIGKILL');
    await times(gateway, 'draining', 1);
    await expect(statusOf(gateway.url)).rejects.toThrow('ECONNREFUSED');
    finish(one);
    await eventually(() => (one.text().includes('[DONE]') ? true : undefined));
    await eventually(() => (isAlive(worker) ? undefined : true));
    expect((await traceOf(one.requestId)).ledger).toMatchObject([{ pricing_status: 'priced' }]);
  });
});

describe('a process with a low limit on open files', () => {
  const fewFiles = 'the limit on open files is too low for server.max_connections';
  const told = (gateway: RunningCommand) =>
    gateway
      .out()
      .split('\n')
      .filter((line) => line.includes(fewFiles));

  it('logs one warning at its start, with the limits that are higher', async () => {
    const gateway = await listening(
      startInShell('ulimit -n 2000; exec "$@"', ['serve', '--workers', '2'], variables()),
      2,
    );
    signalGroup(gateway, 'SIGTERM');
    await gateway.exited;
    if (process.platform !== 'linux') return;
    const [line = '', ...more] = told(gateway);
    expect(JSON.parse(line)).toMatchObject({
      open_files: 2000,
      max_connections: 16_384,
      max_in_flight: 2000,
    });
    expect(more).toEqual([]);
  });
});

describe('gateway serve on a machine that cannot start another process', () => {
  it('keeps serving with the other workers, and replaces the one that died as soon as it can', async () => {
    const node = path.join(folder, 'node');
    await copyFile(process.execPath, node);
    const line = `shift; exec '${node}' "$@"`;
    const gateway = await listening(startInShell(line, ['serve', '--workers', '2'], variables()), 2);
    await rename(node, `${node}.away`);
    end(workersOf(gateway)[1] ?? 0);
    await times(gateway, 'a worker could not be started', 2);
    expect(logged(gateway, 'a worker could not be started')[0]).toMatchObject({ error: 'ENOENT' });
    expect(await statusOf(gateway.url)).toBe(200);
    await rename(`${node}.away`, node);
    await times(gateway, 'listening', 3);
    gateway.child.kill('SIGTERM');
    expect(await gateway.exited).toEqual({ code: 0, signal: null });
  });
});

describe('a starting worker', () => {
  it.each([0, 300, 900])('ends if its supervisor is killed %i ms after its start', async (afterMs) => {
    const gateway = await listening(startCommand(['serve', '--workers', '2'], variables()), 2);
    end(workersOf(gateway)[0] ?? 0);
    await times(gateway, 'a worker died', 1);
    await sleep(afterMs);
    const { ms } = await timed(() => {
      gateway.child.kill('SIGKILL');
      // Its output ends with its last process.
      return gateway.exited;
    });
    expect(ms).toBeLessThan(10_000);
  });
});

describe('a signal to the process group', () => {
  it.each([1, 2])(
    'is one request to stop: with %i workers every stream completes and is recorded',
    (workers) =>
      undisturbed(1000, async () => {
        const gateway = await listening(
          startInShell('exec "$@"', ['serve', '--workers', String(workers)], variables()),
          workers,
        );
        const streams = [
          await stream(gateway.url, hard),
          await stream(gateway.url, soft),
          await stream(gateway.url, hard),
        ];
        signalGroup(gateway, 'SIGTERM');
        await times(gateway, 'draining', workers);
        // A terminal or a service manager may repeat it at once.
        signalGroup(gateway, 'SIGINT');
        await sleep(300);
        for (const each of streams) finish(each);
        expect(await gateway.exited).toEqual({ code: 0, signal: null });
        for (const each of streams) {
          expect(each.text()).toContain('data: [DONE]');
          const { logs, ledger } = await traceOf(each.requestId);
          expect(logs).toMatchObject([{ status_code: 200 }]);
          expect(ledger).toMatchObject([{ pricing_status: 'priced' }]);
        }
      }),
  );

  it('sent again after 2 seconds ends the grace: interrupted streams are recorded, and the exit code is 1', async () => {
    const gateway = await listening(startInShell('exec "$@"', ['serve', '--workers', '2'], variables()), 2);
    const streams = [await stream(gateway.url, hard), await stream(gateway.url, soft)];
    signalGroup(gateway, 'SIGTERM');
    await times(gateway, 'draining', 2);
    await sleep(2100);
    const { value, ms } = await timed(async () => {
      signalGroup(gateway, 'SIGTERM');
      await streams[1]!.ended;
      // For the hard budget's owner, the upstream is read for its usage before the client is answered.
      finish(streams[0]!);
      return gateway.exited;
    });
    expect(value).toEqual({ code: 1, signal: null });
    expect(ms).toBeLessThan(endSecs * 1000);
    for (const { text } of streams) expect(text()).toContain('shutting_down');
    const rows = await Promise.all(streams.map(({ requestId }) => traceOf(requestId)));
    expect(rows.map(({ logs }) => logs.length)).toEqual([1, 1]);
    expect(rows.map(({ ledger }) => ledger.map((row) => row['pricing_status']))).toEqual([
      ['priced'],
      ['usage_missing'],
    ]);
  });
});

describe('a gateway whose parent process has ended', () => {
  it.each(['SIGTERM', 'SIGKILL'] as const)('stops if the parent was npm and ended by %s', async (signal) => {
    const npm = await listening(startUnderNpm(['serve'], variables()));
    const one = await stream(npm.url, hard);
    npm.child.kill(signal);
    await times(npm, 'draining', 1);
    finish(one);
    // Its output ends with the last process that writes to it.
    await npm.exited;
    expect(one.text()).toContain('data: [DONE]');
    expect(processesOf(npm).filter(isAlive)).toEqual([]);
    expect(logged(npm, 'stopped')).toHaveLength(1);
  });

  it('keeps serving if the parent was the shell of a daemon', async () => {
    const shell = await listening(startInShell('"$@" & sleep 2', ['serve'], variables()));
    await eventually(() => shell.child.exitCode ?? undefined);
    await sleep(1200);
    expect(await statusOf(shell.url)).toBe(200);
    process.kill(Number(logged(shell, 'supervising')[0]?.['pid']), 'SIGTERM');
    await shell.exited;
    expect(logged(shell, 'stopped')).toHaveLength(1);
  });
});

describe('a shutdown while the database is frozen', () => {
  it('answers every request within the grace and its limit, and the next start records a journaled stream', async () => {
    const own = { ...variables('brief'), GATEWAY_DATA_DIR: await makeTestFolder('frozen') };
    const gateway = await listening(
      startCommand(['serve'], { ...own, DATABASE_URL: proxy.to(database.url()) }),
    );
    const [torn, whole] = [await stream(gateway.url, hard), await stream(gateway.url, soft)];
    // For the owner of a hard budget the upstream is read on for its usage; this one never ends.
    const steady = setInterval(() => torn.call.write(frames.content), 100);
    proxy.freeze();
    finish(whole);
    const waiting = [ask(gateway.url, hard), ask(gateway.url, soft)];
    await sleep(300);
    const { value, ms } = await timed(() => {
      gateway.child.kill('SIGTERM');
      return gateway.exited;
    });
    clearInterval(steady);
    expect(value).toEqual({ code: 0, signal: null });
    expect(ms).toBeLessThan((briefSecs + endSecs) * 1000);
    expect(torn.text()).toContain('shutting_down');
    expect(torn.text()).not.toContain('[DONE]');
    expect(whole.text()).toContain('[DONE]');
    for (const { text } of waiting) expect(text()).toMatch(/^HTTP\/1.1 503 [^]*"code":"shutting_down"/);
    const next = await listening(startCommand(['serve'], own));
    await eventually(async () => ((await traceOf(whole.requestId)).ledger.length === 1 ? true : undefined));
    next.child.kill('SIGTERM');
    await next.exited;
  });
});
