import type { Either } from 'fp-ts/lib/Either.js';
import type { McpError } from '../../domain/mcp/mcp-error.ts';

/** What a session of a caller stands for. */
export interface McpSession {
  /** The id of a server, or `*` for the union of all. */
  readonly place: string;
  /** The servers' own sessions, by server. */
  readonly upstream: Readonly<Record<string, UpstreamSession>>;
}

export interface UpstreamSession {
  /** Undefined: the server keeps no sessions. */
  readonly id: string | undefined;
  /** The revision of the protocol that the gateway has settled on with it; undefined: the caller has. */
  readonly revision: string | undefined;
}

/** Sessions are in their ids: nothing is stored, and every replica reads what another one wrote. */
export interface McpSessions {
  /** An id that only this key can use. */
  readonly seal: (apiKeyId: string, session: McpSession) => Promise<Either<McpError, string>>;
  /** Left `session_not_found`: it was not made by a gateway of this database, or for another key or place. */
  readonly open: (apiKeyId: string, place: string, id: string) => Promise<Either<McpError, McpSession>>;
}
