import { spawn } from 'node:child_process';

/** How a command ended, and what it printed. */
export interface Ended {
  readonly code: number | null;
  readonly timedOut: boolean;
  readonly stdout: string;
  readonly stderr: string;
  readonly ms: number;
}

/** Characters of each output that are kept: far more than an agent prints in one turn. */
const outputMaxChars = 1_000_000;

/** Milliseconds between the request to end and the end. */
const graceMs = 3000;

/** Milliseconds between two looks at the clock. */
const lookMs = 100;

/** Where a command runs, and how long it may. */
export interface Terms {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Milliseconds that it has to begin. */
  readonly beginMaxMs: number;
  /** Whether it has begun with what is looked at. */
  readonly hasBegun: () => boolean;
  /** Milliseconds that it has from then on: a busy machine takes long to start it. */
  readonly maxMs: number;
  readonly signal: AbortSignal;
}

/** Runs a command to its end or its time limit; whatever it started ends with it. */
export function execute(
  command: string,
  args: readonly string[],
  { cwd, env, beginMaxMs, hasBegun, maxMs, signal }: Terms,
): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const startedAt = Date.now();
    let begunAt: number | undefined;
    // A process group of its own, so that nothing of it is left behind.
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
    // It has ended already.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
