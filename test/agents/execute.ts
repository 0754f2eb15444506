import { spawn } from 'node:child_process';

/** How a command ended, and what it printed. */
export interface Ended {
  readonly code: number | null;
  readonly timedOut: boolean;
  readonly stdout: string;
  readonly stderr: string;
  readonly ms: number;
}

/** Maximum number of characters kept of each output: far more than an agent prints in one turn. */
const outputMaxChars = 1_000_000;

/** Milliseconds between SIGTERM and SIGKILL. */
const graceMs = 3000;

/** Milliseconds between two checks of the time limits. */
const lookMs = 100;

/** Where a command runs, and its time limits. */
export interface Terms {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Milliseconds that it has until it begins. */
  readonly beginMaxMs: number;
  /** Whether it has begun, for example made its first call. */
  readonly hasBegun: () => boolean;
  /** Milliseconds that it has after that: the start is excluded, since it takes long on a busy machine. */
  readonly maxMs: number;
  readonly signal: AbortSignal;
}

/** Runs a command to its end or its time limit; the processes that it started end with it. */
export function execute(
  command: string,
  args: readonly string[],
  { cwd, env, beginMaxMs, hasBegun, maxMs, signal }: Terms,
): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const startedAt = Date.now();
    let begunAt: number | undefined;
    // It has its own process group, so that all of its processes can be ended.
    const child = spawn(command, args, { cwd, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
    const printed = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr'] as const)
      child[name].on('data', (chunk: Buffer) => {
        printed[name] = (printed[name] + chunk.toString()).slice(0, outputMaxChars);
      });
    let timedOut = false;
    let kill: NodeJS.Timeout | undefined;
    const stop = (): void => {
      endGroup(child.pid, 'SIGTERM');
      kill ??= setTimeout(() => endGroup(child.pid, 'SIGKILL'), graceMs);
    };
    const look = setInterval(() => {
      const now = Date.now();
      if (hasBegun()) begunAt ??= now;
      if (begunAt === undefined ? now - startedAt < beginMaxMs : now - begunAt < maxMs) return;
      clearInterval(look);
      timedOut = true;
      stop();
    }, lookMs);
    signal.addEventListener('abort', stop);
    child.once('error', reject);
    child.once('exit', () => endGroup(child.pid, 'SIGKILL'));
    child.once('close', (code) => {
      clearInterval(look);
      clearTimeout(kill);
      signal.removeEventListener('abort', stop);
      resolve({ code, timedOut, ...printed, ms: Date.now() - startedAt });
    });
  });
}

function endGroup(pid: number | undefined, how: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, how);
  } catch (error) {
    // ESRCH: the group has already ended.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
