import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** How often the parent process is checked. A process left behind holds its port for up to this much longer. */
const lookMs = 500;

/** How package managers appear in the process list. */
const packageManager = /^(?:npm|npx|pnpm|yarn|bun)\b|\b(?:npm|npx|pnpm|yarn)(?:-cli)?\.c?js\b/;

/**
 * Resolves when the package manager that started this process is gone: `npx` and `npm start` end on a signal without
 * passing it on. Never resolves for any other parent: the shell that starts a daemon ends, too, and the daemon is meant
 * to stay.
 */
export function packageManagerExited(): Promise<void> {
  const parent = process.ppid;
  const grandparent = parentOf(parent);
  const startedBy = isPackageManager(parent)
    ? 'parent'
    : grandparent !== undefined && isPackageManager(grandparent)
      ? 'grandparent'
      : undefined;
  // A process in a session of its own was detached on purpose.
  if (startedBy === undefined || sessionOf(process.pid) === process.pid) return new Promise(() => undefined);
  // Between the two is the shell of a script; either may end alone.
  const isThere = (): boolean =>
    process.ppid === parent && (startedBy === 'parent' || parentOf(parent) === grandparent);
  return new Promise((resolve) => {
    const timer = setInterval(() => {
      if (isThere()) return;
      clearInterval(timer);
      resolve();
    }, lookMs).unref();
  });
}

const isPackageManager = (pid: number): boolean => packageManager.test(commandLine(pid));

/** Empty where the system does not report it. */
function commandLine(pid: number): string {
  if (process.platform === 'linux') return read(`/proc/${pid}/cmdline`).replaceAll('\0', ' ');
  if (process.platform === 'win32') return '';
  try {
    return execFileSync('ps', ['-o', 'args=', '-p', String(pid)], { encoding: 'utf8' });
  } catch {
    // The process has ended meanwhile.
    return '';
  }
}

const parentOf = (pid: number): number | undefined => statusField(pid, 1);
const sessionOf = (pid: number): number | undefined => statusField(pid, 3);

/** A number of `/proc/PID/stat`, by its position after the name, which may contain anything. */
function statusField(pid: number, place: number): number | undefined {
  const stat = read(`/proc/${pid}/stat`);
  const field = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[place];
  return field === undefined ? undefined : Number(field);
}

/** Empty for a process that is gone, and where there is no `/proc`. */
function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
