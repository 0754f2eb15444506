import cluster, { type Worker } from 'node:cluster';
import { keepNextTickFast } from './infrastructure/next-tick.ts';
import { surviveOutputErrors } from './infrastructure/output-errors.ts';
import { terminal, UsageError } from './interfaces/cli/command.ts';
import { allUsages, commandUsage, isCommand } from './interfaces/cli/usage.ts';

/** The command line: `gateway COMMAND …`. */
export async function main(words: readonly string[]): Promise<void> {
  surviveOutputErrors();
  keepNextTickFast();
  const [name = '', ...args] = words[0] === 'help' ? words.slice(1) : words;
  const usage = isCommand(name) ? commandUsage(name) : allUsages();
  try {
    if (asksForHelp(words) && (isCommand(name) || isNoName(name))) terminal.out(usage);
    else endWith(await run(name, args));
  } catch (error) {
    const misread = error instanceof UsageError;
    terminal.err(misread ? `usage: ${error.message}\n${usage}` : await wordsOf(error));
    endWith(misread ? 2 : 1);
    endSoon();
  } finally {
    if (cluster.worker !== undefined) endWorker(cluster.worker);
  }
}

/** A terminal that could not write has already reported it and set an exit code of its own. */
function endWith(code: number): void {
  if (code !== 0) process.exitCode = code;
}

const asksForHelp = (words: readonly string[]): boolean =>
  words[0] === 'help' || words.includes('--help') || words.includes('-h');

/** Empty, or a flag. */
const isNoName = (name: string): boolean => name === '' || name.startsWith('-');

/**
 * The commands' modules are loaded only when one runs: without them, help and unknown commands take a tenth of the
 * time.
 */
async function run(name: string, args: readonly string[]): Promise<number> {
  if (!isCommand(name))
    throw new UsageError(name === '' ? 'name a command' : `there is no command '${name}'`);
  const { commands } = await import('./composition/commands.ts');
  return commands[name](args);
}

async function wordsOf(error: unknown): Promise<string> {
  const { inWords } = await import('./infrastructure/postgres/database-fault.ts');
  return inWords(error);
}

/** How long a failed command or a finished worker may take to close what is still open, such as a frozen connection. */
const closeMs = 1000;

const endSoon = (): void => void setTimeout(() => process.exit(), closeMs).unref();

/** Closes the channel to the supervisor, which would otherwise keep the worker alive. */
function endWorker(worker: Worker): void {
  worker.disconnect();
  endSoon();
}
