import { chmod, cp, lstat, mkdtemp, readFile, readdir, rename, rm, stat, symlink } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { orAbsent } from './secret-file.ts';
import { type DatabaseUser, runToEnd } from './native-process.ts';
import { type PlatformPackage, useOwnServer } from './platform-package.ts';

/** The database programs, in a folder from which the database user can run them. */
export interface NativePrograms {
  readonly initdb: string;
  readonly postgres: string;
  readonly pgCtl: string;
  /** Major version of the programs, for instance `18`. A cluster of another major version cannot be opened. */
  readonly major: string;
}

/** A program that only prints its version takes milliseconds; the rest is allowance for a slow disk. */
const versionTimeoutMs = 20_000;

/**
 * Makes the database programs ready to run. The library links that the package's install script would create are
 * created here, because install scripts may be disabled. The programs run from a copy if `user` cannot run them from
 * their own folder (root with a clone below a 0700 home) or the links cannot be created there (a read-only folder). The
 * copy is inside `dataDir` when `user` can reach that, otherwise in the folder for temporary files, where later starts
 * reuse it. Whether the programs run is tried, not derived from modes.
 */
export async function prepareNativePrograms(
  pkg: PlatformPackage,
  dataDir: string,
  user: DatabaseUser | undefined,
  log: (line: string) => void,
): Promise<NativePrograms> {
  const native = path.join(pkg.root, 'native');
  const linked = await makeLibraryLinks(pkg.root);
  const first = await tryPrograms(native, user);
  if ('major' in first) return first;
  const reachable = user === undefined || (await isReachable(native, user));
  if (linked && reachable) throw new Error(await explain(native, first.failure));

  const failures = [first.failure];
  for (const place of await placesForCopy(dataDir, user)) {
    const programs = await readableCopy(pkg, place, log).then(
      (copy) => tryPrograms(copy, user),
      (error: unknown) => ({ failure: String(error) }),
    );
    if ('major' in programs) return programs;
    failures.push(`in ${place}: ${programs.failure}`);
  }
  throw new Error(await explain(native, failures.join('; ')));
}

async function explain(native: string, failure: string): Promise<string> {
  const ours = `The embedded PostgreSQL in ${native}`;
  if ((await readdir(path.join(native, 'bin')).catch(orNone)).length === 0) {
    return `${ours} is incomplete: run npm ci again. ${useOwnServer}`;
  }
  if (!failure.includes('ENOENT')) return `${ours} cannot be run: ${failure}. ${useOwnServer}`;
  return (
    `${ours} cannot be run: this system lacks the loader of glibc, for which it is built ` +
    `(Alpine and other musl systems have another). ${useOwnServer}`
  );
}

async function tryPrograms(
  native: string,
  user: DatabaseUser | undefined,
): Promise<NativePrograms | { readonly failure: string }> {
  const suffix = process.platform === 'win32' ? '.exe' : '';
  const program = (name: string): string => path.join(native, 'bin', `${name}${suffix}`);
  const options = { user, cwd: path.parse(native).root, timeoutMs: versionTimeoutMs };
  for (const name of ['initdb', 'postgres']) {
    const ended = await runToEnd(program(name), ['--version'], options);
    const major = /PostgreSQL\) (\d+)/.exec(ended.output)?.[1];
    if (ended.code !== 0 || major === undefined)
      return { failure: ended.output || `exit code ${ended.code}` };
    if (name === 'postgres') {
      return { initdb: program('initdb'), postgres: program('postgres'), pgCtl: program('pg_ctl'), major };
    }
  }
  return { failure: 'no program' };
}

/** Creates the links listed in the package; false when the folder is not writable. */
async function makeLibraryLinks(root: string): Promise<boolean> {
  const list = await readFile(path.join(root, 'native', 'pg-symlinks.json'), 'utf8').catch(orAbsent);
  const links = JSON.parse(list ?? '[]') as readonly { readonly source: string; readonly target: string }[];
  for (const { source, target } of links) {
    const link = path.join(root, target);
    if ((await lstat(link).catch(orAbsent)) !== undefined) continue;
    try {
      await symlink(path.relative(path.dirname(target), source), link);
    } catch (error) {
      const code = codeOf(error);
      if (code === 'EACCES' || code === 'EPERM' || code === 'EROFS') return false;
      // EEXIST: another process has just created it.
      if (code !== 'EEXIST') throw error;
    }
  }
  return true;
}

async function placesForCopy(dataDir: string, user: DatabaseUser | undefined): Promise<readonly string[]> {
  const temporary = process.platform === 'win32' ? [os.tmpdir()] : [os.tmpdir(), '/var/tmp', '/tmp'];
  const places: string[] = [];
  for (const place of new Set([dataDir, ...temporary])) {
    if ((await stat(place).catch(orAbsent)) === undefined) continue;
    if (user === undefined || (await isReachable(place, user))) places.push(place);
  }
  return places;
}

/** True when `user` may traverse `folder` and every folder above it, by the mode bits for owner and others. */
async function isReachable(folder: string, user: DatabaseUser): Promise<boolean> {
  for (let at = path.resolve(folder); ; at = path.dirname(at)) {
    const { mode, uid } = await stat(at);
    if ((mode & (uid === user.uid ? 0o100 : 0o001)) === 0) return false;
    if (at === path.dirname(at)) return true;
  }
}

/**
 * The folder `native` of a copy of the package at `place`. Its name contains the version and the owner, so later starts
 * reuse it. Files that a cleaner of temporary files deleted are restored. A folder of that name that somebody else
 * created or can write to is not trusted, because its contents would be executed.
 */
async function readableCopy(
  pkg: PlatformPackage,
  place: string,
  log: (line: string) => void,
): Promise<string> {
  const owner = process.getuid?.() ?? 0;
  const name = `gateway-postgresql-${pkg.version}-${process.platform}-${process.arch}-${owner}`;
  const copy = path.join(place, name);
  if ((await lstat(copy).catch(orAbsent)) === undefined) {
    log(`copying the PostgreSQL programs to ${copy}, where the database user can run them`);
    const fresh = await mkdtemp(`${copy}-`);
    await fillCopy(pkg.root, fresh);
    await rename(fresh, copy).catch(async (error: unknown) => {
      // A concurrent start was quicker: its copy is used.
      if (codeOf(error) !== 'ENOTEMPTY' && codeOf(error) !== 'EEXIST') throw error;
      await rm(fresh, { recursive: true, force: true });
    });
  }
  const made = await lstat(copy);
  const own = process.platform === 'win32' || (made.uid === owner && (made.mode & 0o022) === 0);
  if (!own || !made.isDirectory()) throw new Error(`${copy} was created by somebody else: remove it`);
  if (!(await isComplete(pkg.root, copy))) await fillCopy(pkg.root, copy);
  return path.join(copy, 'native');
}

/** Static libraries are not needed at run time. */
const isNeeded = (file: string): boolean => !file.endsWith('.a');

/** Copies only missing files, so that a file in use is never written. */
async function fillCopy(root: string, copy: string): Promise<void> {
  await cp(path.join(root, 'native'), path.join(copy, 'native'), {
    recursive: true,
    force: false,
    verbatimSymlinks: true,
    filter: isNeeded,
  });
  await makeLibraryLinks(copy);
  await openForReading(copy);
}

async function isComplete(root: string, copy: string): Promise<boolean> {
  const [wanted, found] = await Promise.all([fileNames(root), fileNames(copy)]);
  return [...wanted].every((name) => found.has(name) || !isNeeded(name));
}

async function fileNames(root: string): Promise<ReadonlySet<string>> {
  const native = path.join(root, 'native');
  const entries = await readdir(native, { recursive: true, withFileTypes: true }).catch(orNone);
  const files = entries.filter((entry) => !entry.isDirectory());
  return new Set(files.map((entry) => path.relative(native, path.join(entry.parentPath, entry.name))));
}

/** Makes everything readable by everybody and writable by the owner only, whatever the umask of `npm ci` was. */
async function openForReading(root: string): Promise<void> {
  await chmod(root, 0o755);
  for (const entry of await readdir(root, { recursive: true, withFileTypes: true })) {
    const file = path.join(entry.parentPath, entry.name);
    if (entry.isDirectory()) await chmod(file, 0o755);
    if (entry.isFile()) await chmod(file, ((await stat(file)).mode & 0o100) === 0 ? 0o644 : 0o755);
  }
}

const codeOf = (error: unknown): string | undefined => (error as NodeJS.ErrnoException).code;

function orNone(error: NodeJS.ErrnoException): [] {
  orAbsent(error);
  return [];
}
