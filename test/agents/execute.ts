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

/** Runs a command to its end or its time limit; whatever it started ends with it. */
export function execute(
  command: string,
  args: readonly string[],
  {
    cwd,
    env,
    maxMs,
    signal,
  }: {
    readonly cwd: string;
    readonly env: Readonly<Record<string, string>>;
    readonly maxMs: number;
    readonly signal: AbortSignal;
  },
): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const startedAt = Date.now();
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
    const limit = setTimeout(() => {
      timedOut = true;
      stop();
    }, maxMs);
    signal.addEventListener('abort', stop);
    child.once('error', reject);
    child.once('exit', () => endGroup(child.pid, 'SIGKILL'));
    child.once('close', (code) => {
      clearTimeout(limit);
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
