import { execFileSync } from 'node:child_process';
import { accessSync, constants, readdirSync } from 'node:fs';
import path from 'node:path';

/** The paths of the programs that the drills start. */
export interface Programs {
  readonly etcd: string;
  readonly patroni: string;
  readonly haproxy: string;
  readonly pgbouncer: string;
  /** Folder of `postgres`, `initdb`, `pg_rewind` and the others. */
  readonly postgresBin: string;
}

type Name = keyof Programs;

/** The Debian packages of the programs. */
const packages: Readonly<Record<Name, string>> = {
  etcd: 'etcd-server',
  patroni: 'patroni',
  haproxy: 'haproxy',
  pgbouncer: 'pgbouncer',
  postgresBin: 'postgresql-15',
};

const isProgram = (file: string): boolean => {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
};

const searched = [...(process.env['PATH'] ?? '').split(':'), '/usr/sbin', '/usr/bin', '/usr/local/bin'];

const onPath = (name: string): string | undefined =>
  searched.map((folder) => path.join(folder, name)).find(isProgram);

/** The newest PostgreSQL of Debian, or the one on the path. */
function postgresBin(): string | undefined {
  const root = '/usr/lib/postgresql';
  let versions: readonly string[] = [];
  try {
    versions = readdirSync(root).toSorted((one, other) => Number(other) - Number(one));
  } catch {
    // Not a Debian package.
  }
  const found = versions
    .map((version) => path.join(root, version, 'bin', 'postgres'))
    .concat(onPath('postgres') ?? [])
    .find(isProgram);
  return found === undefined ? undefined : path.dirname(found);
}

/** The programs that a drill needs, or the missing packages. */
export function findPrograms<const Wanted extends readonly Name[]>(
  wanted: Wanted,
): Pick<Programs, Wanted[number]> | { readonly missing: readonly string[] } {
  const found = new Map<Name, string | undefined>(
    wanted.map((name) => [name, name === 'postgresBin' ? postgresBin() : onPath(name)]),
  );
  const missing = wanted.filter((name) => found.get(name) === undefined).map((name) => packages[name]);
  if (missing.length > 0) return { missing };
  return Object.fromEntries(found) as Pick<Programs, Wanted[number]>;
}

/** The message of a command that cannot run. */
export const toldMissing = (command: string, missing: readonly string[]): string =>
  `${command} did not run: missing packages: ${missing.join(' ')}\n` +
  `apt-get install --no-install-recommends ${missing.join(' ')}`;

/** PostgreSQL does not run as root: then all run as `postgres` of Debian's package, or as `nobody`. */
export function unprivileged(): { readonly uid: number; readonly gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  for (const user of ['postgres', 'nobody']) {
    try {
      const id = (flag: string): number =>
        Number(execFileSync('id', [flag, user], { stdio: 'pipe' }).toString());
      return { uid: id('-u'), gid: id('-g') };
    } catch {
      // The next user is tried.
    }
  }
  throw new Error('There is no user to start PostgreSQL as: neither postgres nor nobody.');
}
