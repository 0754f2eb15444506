import type { Either } from 'fp-ts/lib/Either.js';
import type { McpError } from '../../domain/mcp/mcp-error.ts';

/** What a caller's session stands for. */
export interface McpSession {
  /** The id of a server, or `*` for the union of all servers. */
  readonly place: string;
  /** The servers' own sessions, by server id. */
  readonly upstream: Readonly<Record<string, UpstreamSession>>;
}

export interface UpstreamSession {
  /** `undefined` when the server keeps no sessions. */
  readonly id: string | undefined;
  /** The protocol revision that the gateway negotiated with the server; `undefined` when the caller did. */
  readonly revision: string | undefined;
}

/** A session is encoded in its id: nothing is stored, and every replica can read the ids of the others. */
export interface McpSessions {
  /** Makes an id that only this key can use. */
  readonly seal: (apiKeyId: string, session: McpSession) => Promise<Either<McpError, string>>;
  /** Left `session_not_found`: the id was not made by a gateway of this database, or is for another key or place. */
  readonly open: (apiKeyId: string, place: string, id: string) => Promise<Either<McpError, McpSession>>;
}
