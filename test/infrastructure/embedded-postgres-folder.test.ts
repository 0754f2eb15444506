import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmod,
  chown,
  mkdir,
  mkdtemp,
  readFile,
  readdir,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { privateFolder } from '../../infrastructure/embedded-postgres/private-folder.ts';
import { folderFault } from '../../infrastructure/embedded-postgres/folder-fault.ts';
import {
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from '../../infrastructure/embedded-postgres/start.ts';
import { makeTestFolder } from '../support/test-server.ts';
import { isLinux, isRoot, kill, projectRoot, query, serverPid } from './embedded-postgres-bench.ts';

describe('the data folder', () => {
  let dataDir: string;

  const start = (): Promise<EmbeddedPostgres> => startEmbeddedPostgres({ dataDir, testing: true });

  beforeAll(async () => {
    dataDir = await makeTestFolder('folder');
    await (await start()).stop();
  });

  it('has its password file made private again at a start', async () => {
    const file = path.join(dataDir, 'password');
    await chmod(file, 0o644);
    await (await start()).stop();
    expect((await stat(file)).mode & 0o777).toBe(0o600);
  });

  it('is made private to its owner at a start, and a folder with a sticky bit is not', async () => {
    await chmod(dataDir, 0o711);
    await (await start()).stop();
    expect((await stat(dataDir)).mode & 0o777).toBe(0o700);
    const everybodys = await makeTestFolder('everybodys');
    await chmod(everybodys, 0o1777);
    await privateFolder(everybodys);
    expect((await stat(everybodys)).mode & 0o1777).toBe(0o1777);
  });

  it('is rejected without its password file, or with a wrong password in it', async () => {
    const file = path.join(dataDir, 'password');
    const password = await readFile(file, 'utf8');
    await rm(file);
    await expect(start()).rejects.toThrow(`The password file ${file} of the database`);
    await writeFile(file, 'short');
    await expect(start()).rejects.toThrow('does not hold 64 hexadecimal digits');
    await writeFile(file, 'f'.repeat(64));
    await expect(start()).rejects.toThrow(`has a different password than ${file} says`);
    expect(await serverPid(dataDir)).toBe(0);
    await writeFile(file, password);
    await (await start()).stop();
  });

  it('is rejected when another major version created it', async () => {
    const file = path.join(dataDir, 'cluster', 'PG_VERSION');
    const version = await readFile(file, 'utf8');
    await writeFile(file, '12\n');
    await expect(start()).rejects.toThrow('was made by PostgreSQL 12, but this release brings 18');
    await writeFile(file, version);
    await (await start()).stop();
  });

  it('is rejected with the message of the server when a setting is invalid', async () => {
    await expect(startEmbeddedPostgres({ dataDir, settings: { work_mem: 'much' } })).rejects.toThrow(
      /PostgreSQL ended while it started \(exit code 1\): .*invalid value for parameter "work_mem": "much"/,
    );
  });

  it.each(['', '\0\0\0\0', '\n'])(
    'is used when a crash left a lock file without a process id: %j',
    async (left) => {
      const file = path.join(dataDir, 'cluster', 'postmaster.pid');
      await writeFile(file, left);
      const server = await start();
      expect(await query(server.url, 'SELECT 1 AS one')).toEqual({ one: 1 });
      await server.stop();
    },
  );

  (isLinux ? it : it.skip)(
    'is not used while processes of a killed server run, even if the lock file is empty',
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

  it('is rejected when another file is in its place', async () => {
    const folder = await makeTestFolder('way');
    await writeFile(path.join(folder, 'file'), '');
    await expect(startEmbeddedPostgres({ dataDir: path.join(folder, 'file') })).rejects.toThrow(
      `The data folder ${path.join(folder, 'file')} cannot be created`,
    );
    await mkdir(path.join(folder, 'cluster'));
    await writeFile(path.join(folder, 'cluster', 'notes.txt'), '');
    await expect(startEmbeddedPostgres({ dataDir: folder, testing: true })).rejects.toThrow(
      'is in the way: it is not a PostgreSQL cluster',
    );
  });

  (isRoot && isLinux ? it : it.skip)(
    'of an ordinary user is served by a process of that user when root starts it',
    async () => {
      const owner = 12_345;
      const cluster = path.join(dataDir, 'cluster');
      for (const name of await readdir(cluster, { recursive: true })) {
        await chown(path.join(cluster, name), owner, owner);
      }
      await chown(cluster, owner, owner);
      const server = await start();
      expect((await stat(`/proc/${await serverPid(dataDir)}`)).uid).toBe(owner);
      await server.stop();
    },
  );
});

describe('a data folder that is not writable', () => {
  /** The error of a start; root, who may write anywhere, starts as another user. */
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

  it('is reported at the start, with the reason', async () => {
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

  it('is not reported if it can be created, and is reported if a file is in its place', async () => {
    const folder = await makeTestFolder('fault');
    expect(await folderFault(path.join(folder, 'not', 'yet'))).toBeUndefined();
    await writeFile(path.join(folder, 'file'), '');
    expect(await folderFault(path.join(folder, 'file'))).toBe(`${path.join(folder, 'file')} is not a folder`);
  });

  it('is reported if it is a link to nothing, such as to a disk that is not mounted, which no folder can replace', async () => {
    const folder = await makeTestFolder('fault-link');
    const link = path.join(folder, 'link');
    await symlink(path.join(folder, 'disk'), link);
    for (const within of [link, path.join(link, 'journal')])
      expect(await folderFault(within)).toBe(`${link} is a link to nothing`);
    await mkdir(path.join(folder, 'disk'));
    expect(await folderFault(path.join(link, 'journal'))).toBeUndefined();
  });
});
