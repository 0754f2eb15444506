import { randomBytes } from 'node:crypto';
import { chmod, readFile, realpath, stat } from 'node:fs/promises';
import path from 'node:path';
import { privateFolder } from './private-folder.ts';
import { folderFault } from './folder-fault.ts';
import type { DatabaseUser } from './native-process.ts';
import { useOwnServer } from './platform-package.ts';
import { orAbsent, readOrCreate } from './secret-file.ts';

/** The paths of one embedded database. */
export interface DataDir {
  readonly root: string;
  /** The PostgreSQL cluster. It gets this name only once it is complete. */
  readonly cluster: string;
  /** The superuser's password, 64 hexadecimal digits, mode 0600. */
  readonly passwordFile: string;
  readonly logFile: string;
}

const clusterName = 'cluster';

/** `nobody` and its group on Linux. */
const nobody: DatabaseUser = { uid: 65534, gid: 65534 };

/** Length of the superuser's password before it is written as hexadecimal digits. */
const passwordBytes = 32;

/** Opens the data folder, creating it when it is missing. */
export async function openDataDir(dataDir: string): Promise<DataDir> {
  try {
    await privateFolder(dataDir);
  } catch (cause) {
    throw new Error(`The data folder ${dataDir} cannot be created: ${(cause as Error).message}`, { cause });
  }
  const root = await realpath(dataDir);
  const fault = await folderFault(root);
  if (fault !== undefined)
    throw new Error(
      `The data folder cannot be used: ${fault}. Start as its owner, make it writable, or name another one.`,
    );
  return {
    root,
    cluster: path.join(root, clusterName),
    passwordFile: path.join(root, 'password'),
    logFile: path.join(root, 'postgres.log'),
  };
}

/**
 * The user that runs the server. Root runs it as the owner of the cluster, or as `nobody` at the first start. Any other
 * user runs it as itself (`undefined`) and cannot use a cluster that belongs to another user.
 */
export async function databaseUser(dir: DataDir): Promise<DatabaseUser | undefined> {
  const self = process.getuid?.();
  if (self === undefined) return undefined;
  const owner = await stat(dir.cluster).catch(orAbsent);
  if (self === 0) {
    if (process.platform !== 'linux') {
      throw new Error(`PostgreSQL does not run as root. Start as an ordinary user. ${useOwnServer}`);
    }
    return owner === undefined || owner.uid === 0 ? nobody : { uid: owner.uid, gid: owner.gid };
  }
  if (owner !== undefined && owner.uid !== self) {
    throw new Error(
      `The database in ${dir.cluster} belongs to user id ${owner.uid}, but this process has ${self}. ` +
        `It was created by another user, probably root: start as that user, or name another data folder.`,
    );
  }
  return undefined;
}

/** The major version of PostgreSQL of the cluster, or `undefined` when there is no complete cluster. */
export const clusterVersion = async (dir: Pick<DataDir, 'cluster'>): Promise<string | undefined> =>
  (await readFile(path.join(dir.cluster, 'PG_VERSION'), 'utf8').catch(orAbsent))?.trim();

/**
 * Whether a data folder has a database; creates nothing. A folder that cannot be read may have one, so it counts:
 * opening it then reports why it cannot be used.
 */
export const hasDatabase = async (dataDir: string): Promise<boolean> =>
  (await clusterVersion({ cluster: path.join(dataDir, clusterName) }).catch(() => '')) !== undefined;

/**
 * The superuser's password, which is created at the first start. If the cluster exists and its password file is
 * missing, this is an error: a new password would not open the cluster.
 */
export async function readOrMakePassword(
  dir: DataDir,
  clusterExists: boolean,
  log: (line: string) => void,
): Promise<string> {
  const file = dir.passwordFile;
  if (clusterExists && (await stat(file).catch(orAbsent)) === undefined) {
    throw new Error(`The password file ${file} of the database in ${dir.cluster} is missing: put it back.`);
  }
  const password = await readOrCreate(file, randomBytes(passwordBytes).toString('hex'));
  if (process.platform !== 'win32' && ((await stat(file)).mode & 0o077) !== 0) {
    log(`${file} was readable by others; its mode is 0600 again`);
    await chmod(file, 0o600);
  }
  if (!/^[0-9a-f]{64}$/.test(password)) {
    throw new Error(`The password file ${file} does not hold 64 hexadecimal digits.`);
  }
  return password;
}
