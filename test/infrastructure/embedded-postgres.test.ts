import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, readdir, stat, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from '../../infrastructure/embedded-postgres/start.ts';
import { makeTestFolder } from '../support/test-server.ts';
import { timed } from '../support/undisturbed.ts';
import {
  beginElsewhere,
  isLinux,
  isRoot,
  kill,
  projectRoot,
  query,
  runs,
  serverPid,
  startElsewhere,
} from './embedded-postgres-bench.ts';

describe('the embedded PostgreSQL', () => {
  let dataDir: string;
  let server: EmbeddedPostgres;
  const lines: string[] = [];

  beforeAll(async () => {
    dataDir = path.join(await makeTestFolder('embedded'), 'not', 'there', 'yet');
    server = await startEmbeddedPostgres({
      dataDir,
      log: (line) => lines.push(line),
      settings: { work_mem: '5MB', listen_addresses: '*', port: '1' },
    });
  });

  afterAll(() => server.stop());

  it('has a database `gateway` in UTF-8 and UTC, with fsync', async () => {
    expect(server.reused).toBe(false);
    expect(
      await query(
        server.url,
        `SELECT current_user AS user, current_database() AS database, current_setting('server_encoding') AS encoding,
           current_setting('TimeZone') AS zone, current_setting('fsync') AS fsync,
           current_setting('max_connections') AS connections, current_setting('shared_buffers') AS buffers,
           current_setting('work_mem') AS work_mem, lower('Ä') AS lower, 'Z' < 'a' AS by_code_point`,
      ),
    ).toEqual({
      user: 'gateway',
      database: 'gateway',
      encoding: 'UTF8',
      zone: 'UTC',
      fsync: 'on',
      connections: '200',
      buffers: '64MB',
      work_mem: '5MB',
      lower: 'ä',
      by_code_point: true,
    });
  });

  it('listens on loopback only and has no Unix socket, regardless of the settings', async () => {
    expect(
      await query(
        server.url,
        `SELECT current_setting('listen_addresses') AS tcp, current_setting('unix_socket_directories') AS unix`,
      ),
    ).toEqual({ tcp: '127.0.0.1', unix: '' });
    const port = Number(new URL(server.url).port);
    const addresses = Object.values(os.networkInterfaces()).flatMap((list) => list ?? []);
    for (const { address, internal, scopeid } of addresses) {
      if (internal || scopeid !== undefined) continue;
      const socket = connect({ host: address, port });
      const error = await once(socket, 'connect').catch((reason: NodeJS.ErrnoException) => reason);
      expect(error).toMatchObject({ code: 'ECONNREFUSED' });
    }
  });

  it('keeps a random password in a file that only its owner can read', async () => {
    const file = path.join(dataDir, 'password');
    const { mode, uid } = await stat(file);
    expect(mode & 0o777).toBe(0o600);
    expect(uid).toBe(process.getuid?.() ?? 0);
    const password = (await readFile(file, 'utf8')).trim();
    expect(password).toMatch(/^[0-9a-f]{64}$/);
    expect(server.url).toContain(`:${password}@127.0.0.1:`);
    expect((await readdir(dataDir)).toSorted()).toEqual(['cluster', 'password', 'postgres.log']);
    expect((await stat(path.join(dataDir, 'cluster'))).mode & 0o777).toBe(0o700);
    expect((await stat(path.join(dataDir, 'postgres.log'))).mode & 0o777).toBe(0o600);
    expect(lines.join('\n')).not.toContain(password);
    expect(await readFile(path.join(dataDir, 'postgres.log'), 'utf8')).not.toContain(password);
  });

  it('is reached by the psql command in docs/operations.md', async () => {
    const text = await readFile(path.join(projectRoot, 'docs', 'operations.md'), 'utf8');
    const lines = /```sh\n(data=[^]*?)```/.exec(text)?.[1] ?? '';
    const shown = `psql() { printf '%s\\n' "$PGPASSWORD" "$@"; }\n${lines}`;
    const env = { ...process.env, GATEWAY_DATA_DIR: dataDir };
    const said = execFileSync('sh', ['-c', shown], { env, encoding: 'utf8' });
    const { username, password, hostname, port, pathname } = new URL(server.url);
    expect(said.trim().split('\n')).toEqual([
      password,
      '-h',
      hostname,
      '-p',
      port,
      '-U',
      username,
      pathname.slice(1),
    ]);
  });

  it('rejects a wrong password', async () => {
    await expect(query(server.url.replace(/:[0-9a-f]{64}@/, ':wrong@'), 'SELECT 1')).rejects.toMatchObject({
      code: '28P01',
    });
  });

  (isLinux ? it : it.skip)(
    'does not run as root, and does not inherit the environment of the gateway',
    async () => {
      const pid = await serverPid(dataDir);
      expect((await stat(`/proc/${pid}`)).uid).not.toBe(0);
      const environment = (await readFile(`/proc/${pid}/environ`, 'utf8')).split('\0');
      expect(environment.filter((entry) => entry !== '')).toEqual([
        'LC_ALL=C',
        'TZ=UTC',
        'PATH=/usr/bin:/bin',
      ]);
    },
  );

  it('is reused by a second start, and stops only with the last user', async () => {
    const second = await startElsewhere({ dataDir });
    const pid = await serverPid(dataDir);
    expect(second).toMatchObject({ url: server.url, reused: true });
    await second.stop();
    expect(await runs(pid)).toBe(true);
    expect(await query(server.url, 'SELECT 1 AS one')).toEqual({ one: 1 });
  });

  it('keeps its data after a stop, which leaves no process', async () => {
    await query(server.url, 'CREATE TABLE kept AS SELECT 7 AS seven');
    const pid = await serverPid(dataDir);
    await Promise.all([server.stop(), server.stop()]);
    expect(await runs(pid)).toBe(false);
    expect(await readdir(path.join(dataDir, 'cluster'))).not.toContain('postmaster.pid');

    server = await startEmbeddedPostgres({ dataDir, testing: true });
    expect(server.reused).toBe(false);
    expect(await query(server.url, `SELECT seven, current_setting('fsync') AS fsync FROM kept`)).toEqual({
      seven: 7,
      fsync: 'off',
    });
  });

  it('stops although it is suspended', async () => {
    const pid = await serverPid(dataDir);
    process.kill(pid, 'SIGSTOP');
    const { ms } = await timed(() => server.stop());
    expect(await runs(pid)).toBe(false);
    expect(ms).toBeLessThan(15_000);
    server = await startEmbeddedPostgres({ dataDir, testing: true });
  }, 60_000);

  it('starts again while the old server is still stopping', async () => {
    const stopping = server.stop();
    server = await startEmbeddedPostgres({ dataDir, testing: true });
    await stopping;
    expect(await query(server.url, 'SELECT seven FROM kept')).toEqual({ seven: 7 });
  });

  it('rotates a long log at the start', async () => {
    await server.stop();
    const logFile = path.join(dataDir, 'postgres.log');
    await writeFile(logFile, 'x'.repeat(5_000_000));
    server = await startEmbeddedPostgres({ dataDir, testing: true });
    while ((await stat(logFile)).size > 1_000_000) await sleep(10);
    expect((await stat(`${logFile}.1`)).size).toBeGreaterThan(4_000_000);
  });
});

describe('after a kill', () => {
  let dataDir: string;

  beforeAll(async () => {
    dataDir = await makeTestFolder('killed');
  });

  it('of a process during the first start, the next start works', async () => {
    const folder = await makeTestFolder('first');
    const { child } = beginElsewhere({ dataDir: folder, testing: true });
    while (!(await readdir(folder)).some((name) => name.startsWith('cluster-new-'))) await sleep(5);
    await sleep(100);
    await kill(child);
    const server = await startEmbeddedPostgres({ dataDir: folder, testing: true });
    expect(await query(server.url, 'SELECT 1 AS one')).toEqual({ one: 1 });
    await server.stop();
  });

  it('of the process that started the server, the server is reused and can be stopped', async () => {
    const killed = await startElsewhere({ dataDir, testing: true });
    await query(killed.url, 'CREATE TABLE kept AS SELECT 7 AS seven');
    const pid = await serverPid(dataDir);
    await kill(killed.child);
    expect(await runs(pid)).toBe(true);

    const server = await startEmbeddedPostgres({ dataDir, testing: true });
    expect(server).toMatchObject({ url: killed.url, reused: true });
    expect(await serverPid(dataDir)).toBe(pid);
    expect(await query(server.url, 'SELECT seven FROM kept')).toEqual({ seven: 7 });
    await server.stop();
    expect(await runs(pid)).toBe(false);
  });

  it('of the server, the next start recovers committed data', async () => {
    const before = await startEmbeddedPostgres({ dataDir, testing: true });
    await query(before.url, 'UPDATE kept SET seven = 8');
    process.kill(await serverPid(dataDir), 'SIGKILL');
    const after = await startEmbeddedPostgres({ dataDir, testing: true });
    expect(after.reused).toBe(false);
    expect(await query(after.url, 'SELECT seven FROM kept')).toEqual({ seven: 8 });
    await before.stop();
    expect(await query(after.url, 'SELECT seven FROM kept')).toEqual({ seven: 8 });
    await after.stop();
  });

  it('of the server, another process with its process id is not mistaken for it', async () => {
    const before = await startEmbeddedPostgres({ dataDir, testing: true });
    const pid = await serverPid(dataDir);
    const { uid, gid } = await stat(path.join(dataDir, 'cluster'));
    process.kill(pid, 'SIGKILL');
    while (await runs(pid)) await sleep(10);
    const stranger = spawn('sleep', ['600'], isRoot ? { uid, gid } : {});
    await once(stranger, 'spawn');
    const file = path.join(dataDir, 'cluster', 'postmaster.pid');
    await writeFile(file, (await readFile(file, 'utf8')).replace(/^\d+/, String(stranger.pid)));

    const lines: string[] = [];
    const after = await startEmbeddedPostgres({ dataDir, testing: true, log: (line) => lines.push(line) });
    expect(lines.join('\n')).toContain(`named process ${stranger.pid}, which is not PostgreSQL`);
    expect(await query(after.url, 'SELECT seven FROM kept')).toEqual({ seven: 8 });
    await after.stop();
    await before.stop();
    expect(stranger.exitCode ?? stranger.signalCode).toBeNull();
    await kill(stranger);
  });
});

describe('a server with `keepRunning`', () => {
  const lines: string[] = [];
  const one = async (url: string): Promise<unknown> => {
    const answer = await query(url, 'SELECT 1 AS one').catch(() => undefined);
    return answer?.['one'];
  };
  const answers = async (url: string): Promise<void> => {
    while ((await one(url)) !== 1) await sleep(20);
  };

  it('is restarted on its port each time its postmaster dies', async () => {
    const dataDir = await makeTestFolder('kept');
    const log = (line: string): void => void lines.push(line);
    const kept = { dataDir, testing: true, keepRunning: true, log };
    const both = [await startEmbeddedPostgres(kept), await startEmbeddedPostgres(kept)];
    const url = both[0]!.url;
    const joinedAgain = (): number => lines.filter((line) => line.startsWith('PostgreSQL runs again')).length;
    for (const [times, end] of (['SIGKILL', 'SIGQUIT'] as const).entries()) {
      const pid = await serverPid(dataDir);
      process.kill(pid, end);
      while (await runs(pid)) await sleep(10);
      await answers(url);
      expect(await serverPid(dataDir)).not.toBe(pid);
      // It answers as soon as one of the two has started it; the other does not hold it until it has joined.
      while (joinedAgain() < both.length * (times + 1)) await sleep(20);
    }
    expect(lines.join('\n')).toContain('has ended, and is started again');
    const last = await serverPid(dataDir);
    await both[0]!.stop();
    expect(await one(url)).toBe(1);
    await both[1]!.stop();
    expect(await runs(last)).toBe(false);
  });
});

describe('two concurrent first starts', () => {
  it('end with one database that both use', async () => {
    const dataDir = await makeTestFolder('twice');
    const both = await Promise.all([1, 2].map(() => startElsewhere({ dataDir, testing: true })));
    expect(both[0]?.url).toBe(both[1]?.url);
    expect(both.filter(({ reused }) => reused)).toHaveLength(1);
    const pid = await serverPid(dataDir);
    await both[0]!.stop();
    expect(await runs(pid)).toBe(true);
    await both[1]!.stop();
    expect(await runs(pid)).toBe(false);
    expect((await readdir(dataDir)).toSorted()).toEqual(['cluster', 'password', 'postgres.log']);
  });
});
