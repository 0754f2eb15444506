import { parseArgs } from 'node:util';

/** Where a command writes its output. */
export interface Terminal {
  readonly out: (line: string) => void;
  readonly err: (line: string) => void;
}

export const terminal: Terminal = {
  out: (line) => void process.stdout.write(`${line}\n`, orFail),
  err: (line) => void process.stderr.write(`${line}\n`),
};

/**
 * The command fails when its output could not be written, for example to a full disk. A closed pipe is no failure: a
 * reader such as `head` wanted no more.
 */
function orFail(error?: NodeJS.ErrnoException | null): void {
  if (error === undefined || error === null || error.code === 'EPIPE') return;
  if (process.exitCode === undefined) terminal.err(`Not all of the output could be written (${error.code}).`);
  process.exitCode = 1;
}

/** An invalid command line. The message is for the person who typed it. */
export class UsageError extends Error {}

type Options = NonNullable<NonNullable<Parameters<typeof parseArgs>[0]>['options']>;

/**
 * The flags and the positional words of a command. An unknown flag, a surplus word or a repeated flag is a usage error.
 */
export function flags<O extends Options>(args: readonly string[], options: O, words = 0) {
  const parsed = parsedArgs(args, options);
  const surplus = parsed.positionals[words];
  if (surplus !== undefined) throw new UsageError(`Unexpected argument '${surplus}'`);
  const given = new Set<string>();
  for (const token of parsed.tokens) {
    if (token.kind !== 'option' || options[token.name]?.multiple === true) continue;
    if (given.has(token.name)) throw new UsageError(`--${token.name} is given twice`);
    given.add(token.name);
  }
  return parsed;
}

/** What Node adds to an unknown flag: how to pass it as a word, which no command takes. */
const positionalAdvice = /\. To specify a positional argument .*$/s;

function parsedArgs<O extends Options>(args: readonly string[], options: O) {
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true, strict: true, tokens: true });
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    throw new UsageError(message.replace(positionalAdvice, ''), { cause: error });
  }
}

/** A flag that must be a whole number in a range. */
export function wholeNumber(
  name: string,
  text: string | undefined,
  from: number,
  to: number,
): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= from && value <= to) return value;
  throw new UsageError(`--${name} must be a whole number from ${from} to ${to}.`);
}
