import { spawn } from 'node:child_process';

/** The unprivileged user that the database programs run as; PostgreSQL refuses to run as root. */
export interface DatabaseUser {
  readonly uid: number;
  readonly gid: number;
}

/** The result of a program: its exit code (`null` when a signal ended it or it never started) and what it printed. */
export interface Ended {
  readonly code: number | null;
  readonly output: string;
}

/**
 * The whole environment of the database programs. Nothing of the gateway's own environment is passed on: it holds
 * provider keys, and variables such as PGDATA or PGOPTIONS would change what the programs do.
 */
export const nativeEnvironment = { LC_ALL: 'C', TZ: 'UTC', PATH: '/usr/bin:/bin' } as const;

/** Printed output that is kept, in characters: enough for any error message of initdb or the loader. */
const outputMaxChars = 20_000;

/** Runs one of the database programs until it exits. Failing to start it is a result as well, not an exception. */
export const runToEnd = (
  file: string,
  args: readonly string[],
  options: {
    readonly user: DatabaseUser | undefined;
    readonly cwd: string;
    readonly timeoutMs: number;
    /** A file descriptor that the program sees as its descriptor 3. */
    readonly descriptor?: number | undefined;
  },
): Promise<Ended> =>
  new Promise((resolve) => {
    let output = '';
    const child = spawn(file, args, {
      ...options.user,
      cwd: options.cwd,
      env: nativeEnvironment,
      timeout: options.timeoutMs,
      windowsHide: true,
      stdio: ['ignore', 'pipe', 'pipe', options.descriptor ?? 'ignore'],
    });
    const keep = (data: Buffer): void => {
      output = (output + data.toString()).slice(-outputMaxChars);
    };
    child.stdout?.on('data', keep);
    child.stderr?.on('data', keep);
    child.once('error', (error) => resolve({ code: null, output: `${output}${error.message}` }));
    child.once('close', (code) => resolve({ code, output: output.trim() }));
  });
