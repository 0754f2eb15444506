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

/** No initdb runs this long, so an unfinished cluster older than this was left behind by a start that was killed. */
const leftoverMs = 5 * initdbTimeoutMs;

const unfinishedPrefix = 'cluster-new-';

/**
 * The path by which the programs name the cluster. When started by root, the server runs as a user who may not be able
 * to traverse the folders above the cluster (a home with mode 0700). It is therefore started inside the cluster, which
 * it never leaves, and names it by its working directory, which needs no permission above.
 */
export const clusterPath = (cluster: string, user: DatabaseUser | undefined): string =>
  user === undefined ? cluster : '/proc/self/cwd';

/**
 * Creates the cluster under another name and renames it when complete. A start that is killed leaves no half-made
 * cluster, and when two starts race, one wins and both use the same cluster.
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
    // The locale is built into PostgreSQL, so text sorts by code point on any machine that the folder is moved to.
    args.push('--locale-provider=builtin', '--builtin-locale=C.UTF-8');
    if (!options.durable) args.push('--no-sync');
    const run = { user, cwd: fresh, timeoutMs: initdbTimeoutMs, descriptor: forUser?.fd };
    return await runToEnd(programs.initdb, args, run);
  } finally {
    await forUser?.close();
  }
}

/**
 * An unlinked file that holds the password for initdb, which runs as `user` and may not read root's password file. The
 * name is removed before `user` owns the file, so no other process of `user` can open it.
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
    // A concurrent start was quicker: its cluster has the same password and is used.
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

/** The output of initdb, or what to do about it where that is known. */
export function explain(ended: Ended, user: DatabaseUser | undefined): string {
  if (/could not look up effective user ID/.test(ended.output)) {
    const uid = user?.uid ?? process.getuid?.();
    return (
      `PostgreSQL cannot create a database as user id ${uid}, because this system has no user of that id ` +
      `(no line in /etc/passwd). Start as a user that exists. ${useOwnServer}`
    );
  }
  return `PostgreSQL could not create its database (initdb, exit code ${ended.code}): ${ended.output}`;
}
