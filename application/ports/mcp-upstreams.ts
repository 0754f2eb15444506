import type { Either } from 'fp-ts/lib/Either.js';
import type { McpError } from '../../domain/mcp/mcp-error.ts';
import type { ServerPolicy } from '../../domain/mcp/server-policy.ts';
import type { HeldMemory } from '../model-request.ts';

/** A configured MCP server. */
export interface McpServer {
  readonly id: string;
  readonly displayName: string;
  readonly policy: ServerPolicy;
}

/** What answers hold of the process's memory (`server.max_buffered_bytes`), given back when the caller's request ends. */
export type AnswerMemory = Pick<HeldMemory, 'hold' | 'holdUnfinished'>;

/** One HTTP exchange with a server. */
export interface McpAsk {
  readonly method: 'POST' | 'GET' | 'DELETE';
  /** The message; undefined without one. */
  readonly text: string | undefined;
  /** The server's own session. */
  readonly session: string | undefined;
  /** Those of the protocol and of the trace, names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** In the place of the server's own time, where it is shorter; `Infinity`: a stream that lasts. */
  readonly withinMs?: number;
  /** Ends the exchange. */
  readonly signal: AbortSignal;
  /** Where it has no room for what the server answers, the exchange ends with `overloaded`. */
  readonly memory: AnswerMemory;
}

/** What comes of a stream: whole events, and at most one fault, behind which nothing comes. */
export type McpFrame =
  | { readonly kind: 'event'; readonly data: string; readonly wire: Uint8Array }
  | { readonly kind: 'failed'; readonly error: McpError };

export interface McpReply {
  readonly status: number;
  /** The session that the server has opened. */
  readonly session: string | undefined;
  readonly body:
    | { readonly kind: 'none' }
    | { readonly kind: 'json'; readonly text: string }
    | { readonly kind: 'events'; readonly frames: AsyncIterable<McpFrame> };
}

export interface McpUpstreams {
  /** As they are configured at the moment, in the file's order. */
  readonly servers: () => readonly McpServer[];
  /** Left: it was not answered, within the server's time and bounds. */
  readonly send: (server: McpServer, ask: McpAsk) => Promise<Either<McpError, McpReply>>;
}
