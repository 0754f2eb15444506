import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** How often the starter is looked for: a process that it left behind holds the port for so much longer. */
const lookMs = 500;

/** How package managers show in the list of processes. */
const packageManager = /^(?:npm|npx|pnpm|yarn|bun)\b|\b(?:npm|npx|pnpm|yarn)(?:-cli)?\.c?js\b/;

/**
 * Resolves when the package manager that started this process is gone: `npx` and `npm start` end on a signal without
 * passing it on. Never for any other starter: the shell of a daemon ends, too, and the daemon is meant to stay.
 */
export function starterGone(): Promise<void> {
  const parent = process.ppid;
  const grandparent = parentOf(parent);
  const startedBy = isPackageManager(parent)
    ? 'parent'
    : grandparent !== undefined && isPackageManager(grandparent)
      ? 'grandparent'
      : undefined;
  // In a session of its own it was set free on purpose.
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

/** Empty where the system does not tell. */
function commandLine(pid: number): string {
  if (process.platform === 'linux') return read(`/proc/${pid}/cmdline`).replaceAll('\0', ' ');
  if (process.platform === 'win32') return '';
  try {
    return execFileSync('ps', ['-o', 'args=', '-p', String(pid)], { encoding: 'utf8' });
  } catch {
    // It has ended meanwhile.
    return '';
  }
}

const parentOf = (pid: number): number | undefined => statusField(pid, 1);
const sessionOf = (pid: number): number | undefined => statusField(pid, 3);

/** A number of `/proc/PID/stat` by its place behind the name, which may hold anything. */
function statusField(pid: number, place: number): number | undefined {
  const stat = read(`/proc/${pid}/stat`);
  const field = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[place];
  return field === undefined ? undefined : Number(field);
}

/** Empty for a process that is gone, and where there is no such file system. */
function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
