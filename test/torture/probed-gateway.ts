import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Held, Question } from './probe.ts';

/** A gateway with one process, which reports what it holds on request. */
export interface ProbedGateway {
  readonly url: string;
  readonly child: ChildProcess;
  readonly holds: (question: Question) => Promise<Held>;
  /** The number of outcome lines by label, and the requests with more than one. */
  readonly outcomes: Map<string, number>;
  readonly doubles: Set<string>;
  /** Returns the requests in flight at the start of the shutdown, and the exit code. */
  readonly stop: () => Promise<{ readonly inFlight: unknown; readonly code: number }>;
  readonly errors: string[];
}

export async function startProbedGateway(
  configFile: string,
  databaseUrl: string,
  folder: string,
): Promise<ProbedGateway> {
  const child = fork(path.join(import.meta.dirname, 'serve-alone.ts'), {
    execArgv: ['--expose-gc', '--import', path.join(import.meta.dirname, 'probe.ts')],
    env: {
      PATH: process.env['PATH'],
      GATEWAY_CONFIG: configFile,
      DATABASE_URL: databaseUrl,
      GATEWAY_DATA_DIR: folder,
    },
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
  // Otherwise it would continue after this process.
  process.once('exit', () => child.kill('SIGKILL'));
  const outcomes = new Map<string, number>();
  const seen = new Set<string>();
  const doubles = new Set<string>();
  const errors: string[] = [];
  let inFlight: unknown;
  let rest = '';
  const listening = Promise.withResolvers<string>();
  const read = (line: string): void => {
    const { level, message, msg, url, outcome, request_id, in_flight } = JSON.parse(line) as Record<
      string,
      unknown
    >;
    if (typeof url === 'string') listening.resolve(url);
    if (level === 'error') errors.push(line);
    if ((message ?? msg) === 'draining') inFlight = in_flight;
    if (typeof outcome !== 'string') return;
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
    if (seen.has(String(request_id))) doubles.add(String(request_id));
    seen.add(String(request_id));
  };
  child.stdout?.on('data', (bytes: Buffer) => {
    const lines = (rest + bytes.toString()).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) if (line.startsWith('{')) read(line);
  });
  child.once('exit', (code) => listening.reject(new Error(`the gateway ended with ${code}`)));
  return {
    url: await listening.promise,
    child,
    outcomes,
    doubles,
    errors,
    holds: async (question) => {
      const before = errors.length;
      const answer = once(child, 'message');
      child.send(question);
      const [held] = (await answer) as [Held];
      // Counting objects stops the process for seconds: what it waits for in this time arrives too late.
      await sleep(500);
      if (question === 'objects')
        errors.push(...errors.splice(before).filter((line) => !cameTooLate.test(line)));
      return held;
    },
    stop: async () => {
      child.kill('SIGTERM');
      const [code] = (await once(child, 'exit')) as [number];
      return { inFlight, code };
    },
  };
}

/** Log lines of a process that was stopped: a connection or the result of a statement was late. */
const cameTooLate = /timeout expired|"fault":"late"/;

export const mebibytes = (bytes: number): string => `${(bytes / 1024 / 1024).toFixed(1)} MiB`;
