import type { Terminal } from './command.ts';

/** A problem or a warning, with its place in the file. */
export interface Placed {
  readonly path: string;
  readonly line: number;
  readonly column: number;
  readonly message: string;
}

export interface Checked {
  readonly problems: readonly Placed[];
  readonly warnings: readonly Placed[];
}

export const placedLine = (file: string, { path, line, column, message }: Placed): string =>
  `${file}:${line}:${column}: ${path === '' ? '' : `${path}: `}${message}`;

/** `gateway check-config [FILE]`: problems make it fail, warnings do not. */
export const checkConfigCommand =
  (check: (file: string) => Promise<Checked>, defaultFile: string, { out, err }: Terminal) =>
  async ([file = defaultFile]: readonly string[]): Promise<number> => {
    const { problems, warnings } = await check(file);
    for (const problem of problems) err(`error ${placedLine(file, problem)}`);
    for (const warning of warnings) out(`warning ${placedLine(file, warning)}`);
    if (problems.length === 0) out(`${file} is valid; ${warnings.length} warnings.`);
    return problems.length === 0 ? 0 : 1;
  };
