import { type ChildProcess, spawn } from 'node:child_process';
import path from 'node:path';
import { eventually } from './traces.ts';

const scriptPath = ['interfaces', 'cli', 'gateway.mjs'] as const;
const script = path.join(import.meta.dirname, '..', '..', ...scriptPath);
const children = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of children) child.kill('SIGKILL');
});

/** A command of the gateway that runs until it is stopped. */
export interface RunningCommand {
  readonly child: ChildProcess;
  readonly out: () => string;
  readonly err: () => string;
  /** Resolves with the first match on standard output; rejects if the process ends before. */
  readonly says: (pattern: RegExp, withinMs?: number) => Promise<RegExpExecArray>;
  readonly exited: Promise<{ readonly code: number | null; readonly signal: string | null }>;
}

/** Starts `gateway ARGS` with only these variables and PATH; if `root` is given, that copy of the product. */
export const startCommand = (
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  root?: string,
): RunningCommand =>
  run([process.execPath, root === undefined ? script : path.join(root, ...scriptPath), ...args], env);

/** The same as a shell command, such as `"$@" & sleep 1`, in a process group of its own. */
export const startInShell = (
  line: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): RunningCommand =>
  run(['sh', '-c', line, 'sh', process.execPath, script, ...args], env, { detached: true });

/** The same under npm's two processes: npm, which ends on a signal at once, and the shell of a script. */
export function startUnderNpm(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): RunningCommand {
  const npm = `process.title = 'npm exec gateway';
    require('node:child_process').spawn('sh', ['-c', '"$@"; exit $?', 'sh', ...process.argv.slice(1)], { stdio: 'inherit' });`;
  return run([process.execPath, '-e', npm, '--', process.execPath, script, ...args], env, { detached: true });
}

/** The lines that a command logged with this message. */
export const logged = (
  { out }: Pick<RunningCommand, 'out'>,
  message: string,
): readonly Record<string, unknown>[] =>
  out()
    .split('\n')
    .filter((line) => line.startsWith('{') && line.endsWith('}'))
    .map((line) => JSON.parse(line) as Record<string, unknown>)
    .filter((line) => line['msg'] === message);

/** Waits for `count` of them. */
export const times = (command: RunningCommand, message: string, count: number): Promise<true> =>
  eventually(() => (logged(command, message).length >= count ? true : undefined));

function run(
  [file = '', ...args]: readonly string[],
  env: Readonly<Record<string, string>>,
  options: { readonly detached?: boolean } = {},
): RunningCommand {
  const child = spawn(file, args, {
    ...options,
    env: { PATH: process.env['PATH'], ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  children.add(child);
  let out = '';
  let err = '';
  let ended = false;
  child.stdout.on('data', (chunk: Buffer) => void (out += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => void (err += chunk.toString()));
  const exited = new Promise<{ code: number | null; signal: string | null }>((resolve) => {
    child.once('close', (code, signal) => {
      ended = true;
      children.delete(child);
      resolve({ code, signal });
    });
  });
  return {
    child,
    out: () => out,
    err: () => err,
    says: (pattern, withinMs?: number) =>
      eventually(() => {
        const found = pattern.exec(out);
        if (found === null && ended) throw new Error(`it ended without saying ${pattern}: ${out}${err}`);
        return found ?? undefined;
      }, withinMs),
    exited,
  };
}
