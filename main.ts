import cluster, { type Worker } from 'node:cluster';
import { keepNextTickFast } from './infrastructure/next-tick.ts';
import { surviveOutputErrors } from './infrastructure/output-errors.ts';
import { terminal, UsageError } from './interfaces/cli/command.ts';
import { howAllAreCalled, howCalled, isCommand } from './interfaces/cli/usage.ts';

/** The command line: `gateway COMMAND …`. */
export async function main(words: readonly string[]): Promise<void> {
  surviveOutputErrors();
  keepNextTickFast();
  const [name = '', ...args] = words[0] === 'help' ? words.slice(1) : words;
  const usage = isCommand(name) ? howCalled(name) : howAllAreCalled();
  try {
    if (asksForHelp(words) && (isCommand(name) || isNoName(name))) terminal.out(usage);
    else endWith(await run(name, args));
  } catch (error) {
    const misread = error instanceof UsageError;
    terminal.err(misread ? `usage: ${error.message}\n${usage}` : await wordsOf(error));
    endWith(misread ? 2 : 1);
  } finally {
    if (cluster.worker !== undefined) endWorker(cluster.worker);
  }
}

/** A terminal that could not write has said so, and set a code of its own. */
function endWith(code: number): void {
  if (code !== 0) process.exitCode = code;
}

const asksForHelp = (words: readonly string[]): boolean =>
  words[0] === 'help' || words.includes('--help') || words.includes('-h');

/** Nothing, or a flag. */
const isNoName = (name: string): boolean => name === '' || name.startsWith('-');

/** What commands work with is loaded where there is one: help, and a name that is none, take a tenth of its time. */
async function run(name: string, args: readonly string[]): Promise<number> {
  if (!isCommand(name)) throw new UsageError(`there is no command '${name}'`);
  const { commands } = await import('./composition/commands.ts');
  return commands[name](args);
}

async function wordsOf(error: unknown): Promise<string> {
  const { inWords } = await import('./infrastructure/postgres/database-fault.ts');
  return inWords(error);
}

/** So long a worker that is done may take to close what is still open, such as a connection that is frozen. */
const closeMs = 1000;

/** The channel to its supervisor would keep a worker alive. */
function endWorker(worker: Worker): void {
  worker.disconnect();
  setTimeout(() => process.exit(), closeMs).unref();
}
