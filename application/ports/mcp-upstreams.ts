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

/** The process memory that answers take (`server.max_buffered_bytes`), released when the caller's request ends. */
export type AnswerMemory = Pick<HeldMemory, 'hold' | 'holdUnfinished'>;

/** One HTTP exchange with a server. */
export interface McpExchange {
  readonly method: 'POST' | 'GET' | 'DELETE';
  /** The message; `undefined` when there is none. */
  readonly text: string | undefined;
  /** The server's own session. */
  readonly session: string | undefined;
  /** Headers of the protocol and of the trace, with names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** Replaces the server's own timeout where it is shorter; `Infinity` for a stream that lasts. */
  readonly withinMs?: number;
  /**
   * Set when nobody else resumes the answer: if the server ends a stream of its session before this is true, the rest
   * is asked for.
   */
  readonly isComplete?: () => boolean;
  /** Aborts the exchange. */
  readonly signal: AbortSignal;
  /** When it has no room for the server's answer, the exchange ends with `overloaded`. */
  readonly memory: AnswerMemory;
}

/** The items of a stream: whole events, and at most one fault, which is the last item. */
export type McpFrame =
  | { readonly kind: 'event'; readonly data: string; readonly wire: Uint8Array }
  | { readonly kind: 'failed'; readonly error: McpError };

export interface McpReply {
  readonly status: number;
  /** The session that the server opened. */
  readonly session: string | undefined;
  readonly body:
    | { readonly kind: 'none' }
    | { readonly kind: 'json'; readonly text: string }
    | { readonly kind: 'events'; readonly frames: AsyncIterable<McpFrame> };
}

export interface McpUpstreams {
  /** The servers in the current configuration, in file order. */
  readonly servers: () => readonly McpServer[];
  /** Left: the server gave no answer within its timeout and bounds, or could not be asked. */
  readonly send: (server: McpServer, exchange: McpExchange) => Promise<Either<McpError, McpReply>>;
}
