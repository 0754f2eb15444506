import type { Either } from 'fp-ts/lib/Either.js';
import type { Caller } from '../../domain/identity/caller.ts';
import type { McpError, McpErrorCode } from '../../domain/mcp/mcp-error.ts';
import type { RequestId } from '../../domain/request-log/request-ids.ts';
import type { CallerLink } from '../model-request.ts';
import type { McpCallTelemetry } from '../ports/mcp-telemetry.ts';
import type { AnswerMemory } from '../ports/mcp-upstreams.ts';

/** One authenticated HTTP request to the path of an MCP server, as the HTTP layer passes it in. */
export interface McpRequest {
  readonly requestId: RequestId;
  /** Milliseconds since the epoch, taken before any handler ran. */
  readonly receivedAt: number;
  readonly caller: Caller;
  /** The caller to whom the key belongs now; left when the key is no longer valid. */
  readonly authenticateAgain: () => Promise<Either<McpError, Caller>>;
  /** The caller's key and its secret part, which must not be passed on. */
  readonly callerSecrets: readonly string[];
  /** As named in the path. */
  readonly serverId: string;
  /** `Mcp-Session-Id`. */
  readonly session: string | undefined;
  readonly headers: McpHeaders;
  readonly link: CallerLink;
  readonly memory: AnswerMemory;
  readonly telemetry: McpCallTelemetry;
}

/** The headers of the protocol; each is `undefined` when absent. */
export interface McpHeaders {
  readonly protocolVersion: string | undefined;
  readonly lastEventId: string | undefined;
  /** `Mcp-Method` and `Mcp-Name`, decoded, and all headers of 2026-07-28 as they arrived. */
  readonly method: string | undefined;
  readonly name: string | undefined;
  readonly mirrored: Readonly<Record<string, string>>;
}

/** What the caller gets. */
export type McpAnswer = {
  readonly status: number;
  /** `Mcp-Session-Id` of a new session. */
  readonly session?: string;
} & (
  | { readonly kind: 'empty' }
  /** `error` is set when the error is the gateway's own. */
  | { readonly kind: 'whole'; readonly text: string; readonly error?: McpErrorCode }
  /** Server-sent events, to be read to their end or closed with `return`. */
  | { readonly kind: 'events'; readonly events: AsyncIterable<string | Uint8Array> }
);

/** The first revision without sessions: each request carries what it needs. Revisions are dates. */
export const firstStateless = '2026-07-28';

export const isStateless = ({ protocolVersion }: McpHeaders): boolean =>
  protocolVersion !== undefined && protocolVersion >= firstStateless;

/** The method of a request whose answer has no end of its own (2026-07-28). */
const subscription = 'subscriptions/listen';

/** Whether such an answer is asked for, judged by the headers, because the decision is made before there is a body. */
export const isSubscription = (headers: McpHeaders): boolean =>
  isStateless(headers) && headers.method === subscription;
