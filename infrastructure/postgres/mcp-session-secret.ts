import * as t from 'io-ts';
import { type DatabasePool, sql } from 'slonik';
import { bytes } from './codecs.ts';
import { row } from './pool.ts';

/** The secret that seals the ids of MCP sessions. It never changes, so it is read once, by its first user. */
export function mcpSessionSecret(pool: DatabasePool): () => Promise<Buffer> {
  let known: Promise<Buffer> | undefined;
  return () => {
    const read = sql.type(row(secretRow))`select secret from mcp_session_secret`;
    known ??= pool.oneFirst(read).catch((error: unknown) => {
      known = undefined;
      throw error;
    });
    return known;
  };
}

const secretRow = t.type({ secret: bytes });
