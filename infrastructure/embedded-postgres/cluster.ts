import { type FileHandle, chmod, chown, mkdtemp, open, readdir, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { type DataDir, clusterVersion } from './data-dir.ts';
import type { NativePrograms } from './native-files.ts';
import { type DatabaseUser, type Ended, runToEnd } from './native-process.ts';
import { useOwnServer } from './platform-package.ts';

/** Name of the superuser and of the gateway's database. */
export const gatewayName = 'gateway';

/** initdb takes about a second; the rest is allowance for slow disks. */
const initdbTimeoutMs = 120_000;

/** An unfinished cluster older than this was left by a start that was killed: no initdb runs so long. */
const leftoverMs = 5 * initdbTimeoutMs;

const unfinishedPrefix = 'cluster-new-';

/**
 * How the programs name the cluster. Root's server runs as a user who may not pass through the folders above the
 * cluster (a home with mode 0700), so it is started inside and names the cluster by its working directory, which
 * needs no permission above; the server never leaves it.
 */
export const clusterPath = (cluster: string, user: DatabaseUser | undefined): string =>
  user === undefined ? cluster : '/proc/self/cwd';

/**
 * Makes the cluster. It is built under another name and renamed when complete, so a start that is killed leaves no
 * half-made one, and of two starts at once one wins and both use the same.
 */
export async function makeCluster(
  dir: DataDir,
  programs: NativePrograms,
  user: DatabaseUser | undefined,
  options: { readonly password: string; readonly durable: boolean },
): Promise<void> {
  await removeLeftovers(dir.root);
  const fresh = await mkdtemp(path.join(dir.root, unfinishedPrefix));
  try {
    if (user !== undefined) await handOver(fresh, user);
    await chmod(fresh, 0o700);
    const ended = await runInitdb(dir, fresh, programs, user, options);
    if (ended.code !== 0) throw new Error(explain(ended, user));
    await moveIntoPlace(dir, fresh);
  } finally {
    await rm(fresh, { recursive: true, force: true });
  }
}

async function runInitdb(
  dir: DataDir,
  fresh: string,
  programs: NativePrograms,
  user: DatabaseUser | undefined,
  options: { readonly password: string; readonly durable: boolean },
): Promise<Ended> {
  const forUser = user === undefined ? undefined : await passwordDescriptor(dir.root, options.password, user);
  try {
    const pwfile = forUser === undefined ? dir.passwordFile : '/proc/self/fd/3';
    const args = ['-D', clusterPath(fresh, user), '-U', gatewayName, '-A', 'scram-sha-256'];
    args.push(`--pwfile=${pwfile}`, '-E', 'UTF8', '--locale=C', '--no-instructions');
    // The locale is built into PostgreSQL, so text sorts by code point wherever the folder is moved.
    args.push('--locale-provider=builtin', '--builtin-locale=C.UTF-8');
    if (!options.durable) args.push('--no-sync');
    const run = { user, cwd: fresh, timeoutMs: initdbTimeoutMs, descriptor: forUser?.fd };
    return await runToEnd(programs.initdb, args, run);
  } finally {
    await forUser?.close();
  }
}

/**
 * A file without a name that holds the password for initdb, which runs as `user` and may not read root's password
 * file. The name is gone before `user` owns it, so no other process of `user` can open it.
 */
async function passwordDescriptor(root: string, password: string, user: DatabaseUser): Promise<FileHandle> {
  const file = path.join(root, `password-for-initdb-${process.pid}-${Date.now()}`);
  const handle = await open(file, 'wx+', 0o600);
  await rm(file);
  await handle.writeFile(`${password}\n`);
  await handle.chown(user.uid, user.gid);
  await handle.chmod(0o400);
  return handle;
}

async function handOver(folder: string, user: DatabaseUser): Promise<void> {
  try {
    await chown(folder, user.uid, user.gid);
  } catch (cause) {
    throw new Error(
      `PostgreSQL does not run as root, and ${folder} cannot be given to user id ${user.uid} ` +
        `(${(cause as Error).message}). Start as an ordinary user. ${useOwnServer}`,
      { cause },
    );
  }
}

async function moveIntoPlace(dir: DataDir, fresh: string): Promise<void> {
  try {
    await rename(fresh, dir.cluster);
  } catch (cause) {
    // Another start at the same moment was quicker: its cluster has the same password and is used.
    if ((await clusterVersion(dir)) !== undefined) return;
    throw new Error(`${dir.cluster} is in the way: it is not a PostgreSQL cluster. Remove it.`, { cause });
  }
  if (process.platform === 'win32') return;
  const folder = await open(dir.root, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

async function removeLeftovers(root: string): Promise<void> {
  for (const name of await readdir(root)) {
    if (!name.startsWith(unfinishedPrefix)) continue;
    const folder = path.join(root, name);
    const { mtimeMs } = await stat(folder);
    if (Date.now() - mtimeMs > leftoverMs) await rm(folder, { recursive: true, force: true });
  }
}

/** What initdb said, with the way out where it is known. */
export function explain(ended: Ended, user: DatabaseUser | undefined): string {
  if (/could not look up effective user ID/.test(ended.output)) {
    const uid = user?.uid ?? process.getuid?.();
    return (
      `PostgreSQL cannot make a database as user id ${uid}, because this system has no user of that id ` +
      `(no line in /etc/passwd). Start as a user that exists. ${useOwnServer}`
    );
  }
  return `PostgreSQL could not make its database (initdb, exit code ${ended.code}): ${ended.output}`;
}
