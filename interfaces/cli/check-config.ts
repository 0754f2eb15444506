import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { flags, type Terminal } from './command.ts';

/** A problem or a warning, with its position in the file. */
export interface Placed {
  readonly path: string;
  readonly line: number;
  readonly column: number;
  readonly message: string;
}

/** The result of checking one MCP server of the file. */
export interface CheckedServer {
  readonly id: string;
  /** `undefined`: it is healthy. */
  readonly error: string | undefined;
  readonly says: string;
}

export interface Checked {
  readonly problems: readonly Placed[];
  readonly warnings: readonly Placed[];
  /** Connects to the MCP servers of a file without problems. */
  readonly mcpServers?: () => Promise<readonly CheckedServer[]>;
  /** Asks the database of such a file whether it fits: why it does not, or what is found. */
  readonly database?: () => Promise<Either<string, string>>;
}

/** With its position in the file if it has one. A variable has none, nor has a file that cannot be read. */
export const placedLine = (file: string, { path, line, column, message }: Placed): string =>
  [...(line === 0 ? [] : [`${file}:${line}:${column}`]), ...(path === '' ? [] : [path]), message].join(': ');

/**
 * `gateway check-config [FILE] [--mcp] [--database]`: problems make it fail, warnings do not. With `--mcp` it connects
 * to the MCP servers, and fails if one does not answer. With `--database` it connects to the database, and fails if
 * that does not fit the file.
 */
export const checkConfigCommand =
  (check: (file: string) => Promise<Checked>, defaultFile: string, { out, err }: Terminal) =>
  async (args: readonly string[]): Promise<number> => {
    const options = { mcp: { type: 'boolean' }, database: { type: 'boolean' } } as const;
    const { values, positionals } = flags(args, options, 1);
    const [file = defaultFile] = positionals;
    const { problems, warnings, mcpServers, database } = await check(file);
    tellFile(file, { problems, warnings }, { out, err });
    const areWell = values.mcp !== true || tellServers((await mcpServers?.()) ?? [], { out, err });
    const fits = values.database !== true || tellDatabase(await database?.(), { out, err });
    return problems.length === 0 && areWell && fits ? 0 : 1;
  };

function tellFile(file: string, { problems, warnings }: Checked, { out, err }: Terminal): void {
  for (const problem of problems) err(`error ${placedLine(file, problem)}`);
  for (const warning of warnings) out(`warning ${placedLine(file, warning)}`);
  if (problems.length === 0) out(`${file} is valid; ${warnings.length} warnings.`);
}

/** Returns true if all of them are healthy. */
function tellServers(servers: readonly CheckedServer[], { out, err }: Terminal): boolean {
  for (const { id, error, says } of servers)
    if (error === undefined) out(`MCP server ${id}: ${says}`);
    else err(`error MCP server ${id}: ${error}`);
  return servers.every(({ error }) => error === undefined);
}

/** Returns true if it fits. The database of a file with problems is not asked. */
function tellDatabase(found: Either<string, string> | undefined, { out, err }: Terminal): boolean {
  if (found === undefined) return true;
  if (E.isLeft(found)) err(`error the database: ${found.left}`);
  else out(`the database: ${found.right}`);
  return E.isRight(found);
}
