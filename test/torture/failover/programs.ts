import { execFileSync } from 'node:child_process';
import { accessSync, constants, readdirSync } from 'node:fs';
import path from 'node:path';

/** Where what the drills start is, and as whom it is started. */
export interface Programs {
  readonly etcd: string;
  readonly patroni: string;
  readonly haproxy: string;
  readonly pgbouncer: string;
  /** Folder of `postgres`, `initdb`, `pg_rewind` and the others. */
  readonly postgresBin: string;
}

type Name = keyof Programs;

/** Debian's packages. */
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
    // not Debian's
  }
  const found = versions
    .map((version) => path.join(root, version, 'bin', 'postgres'))
    .concat(onPath('postgres') ?? [])
    .find(isProgram);
  return found === undefined ? undefined : path.dirname(found);
}

/** All that a drill needs, or the packages that are missing. */
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

/** What a command says that cannot run. */
export const toldMissing = (command: string, missing: readonly string[]): string =>
  `${command} did not run: missing packages: ${missing.join(' ')}\n` +
  `apt-get install --no-install-recommends ${missing.join(' ')}`;

/** PostgreSQL does not run as root: then everything runs as `postgres`, whom Debian's package makes, or as nobody. */
export function unprivileged(): { readonly uid: number; readonly gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  for (const user of ['postgres', 'nobody']) {
    try {
      const id = (flag: string): number =>
        Number(execFileSync('id', [flag, user], { stdio: 'pipe' }).toString());
      return { uid: id('-u'), gid: id('-g') };
    } catch {
      // the next one
    }
  }
  throw new Error('There is no user to start PostgreSQL as: neither postgres nor nobody.');
}
