import cluster, { type Worker } from 'node:cluster';
import { commands } from './composition/commands.ts';
import { brokenConstraint, lacksSchema, lossOf } from './infrastructure/postgres/database-fault.ts';
import { terminal, UsageError } from './interfaces/cli/command.ts';

/** The command line: `gateway COMMAND …`. */
export async function main([name = '', ...args]: readonly string[]): Promise<void> {
  const command = commands[name];
  try {
    if (command === undefined) throw new UsageError(`gateway ${Object.keys(commands).join(' | ')}`);
    process.exitCode = await command(args);
  } catch (error) {
    const usage = error instanceof UsageError;
    terminal.err(`${usage ? 'usage: ' : ''}${wordsOf(error)}`);
    process.exitCode = usage ? 2 : 1;
  } finally {
    if (cluster.worker !== undefined) endWorker(cluster.worker);
  }
}

function wordsOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  const broken = brokenConstraint(error);
  if (broken !== undefined) return `${message} (${broken})`;
  const loss = lossOf(error);
  if (loss !== undefined) return loss;
  return lacksSchema(error)
    ? `The database has not the schema of this release (${message}). Run \`npx gateway migrate\`, which brings it there.`
    : message;
}

/** So long a worker that is done may take to close what is still open, such as a connection that is frozen. */
const closeMs = 1000;

/** The channel to its supervisor would keep a worker alive. */
function endWorker(worker: Worker): void {
  worker.disconnect();
  setTimeout(() => process.exit(), closeMs).unref();
}
