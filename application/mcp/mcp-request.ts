import type { Either } from 'fp-ts/lib/Either.js';
import type { Caller } from '../../domain/identity/caller.ts';
import type { McpError, McpErrorCode } from '../../domain/mcp/mcp-error.ts';
import type { RequestId } from '../../domain/request-log/request-ids.ts';
import type { CallerLink } from '../model-request.ts';
import type { McpCallTelemetry } from '../ports/mcp-telemetry.ts';
import type { AnswerMemory } from '../ports/mcp-upstreams.ts';

/** One authenticated HTTP request to the path of an MCP server, as the door hands it in. */
export interface McpRequest {
  readonly requestId: RequestId;
  /** Milliseconds since the epoch, taken before any handler ran. */
  readonly receivedAt: number;
  readonly caller: Caller;
  /** Whose the key is by now; Left: it is no longer good. */
  readonly authenticateAgain: () => Promise<Either<McpError, Caller>>;
  /** The caller's key and its secret part, which go nowhere. */
  readonly callerSecrets: readonly string[];
  /** As the path names it. */
  readonly serverId: string;
  /** `Mcp-Session-Id`. */
  readonly session: string | undefined;
  readonly headers: McpHeaders;
  readonly link: CallerLink;
  readonly memory: AnswerMemory;
  readonly telemetry: McpCallTelemetry;
}

/** The headers of the protocol, each undefined where it is absent. */
export interface McpHeaders {
  readonly protocolVersion: string | undefined;
  readonly lastEventId: string | undefined;
  /** `Mcp-Method` and `Mcp-Name`, decoded, and all of the headers of 2026-07-28 as they came. */
  readonly method: string | undefined;
  readonly name: string | undefined;
  readonly mirrored: Readonly<Record<string, string>>;
}

/** What the caller gets. */
export type McpAnswer = {
  readonly status: number;
  /** `Mcp-Session-Id` of a session that begins. */
  readonly session?: string;
} & (
  | { readonly kind: 'empty' }
  /** `error`: it is the gateway that says so. */
  | { readonly kind: 'whole'; readonly text: string; readonly error?: McpErrorCode }
  /** Server-sent events, to be read to their end or returned from. */
  | { readonly kind: 'events'; readonly events: AsyncIterable<string | Uint8Array> }
);

/** The first revision without sessions: a request says itself what it needs. Revisions are dates. */
const firstStateless = '2026-07-28';

export const isStateless = ({ protocolVersion }: McpHeaders): boolean =>
  protocolVersion !== undefined && protocolVersion >= firstStateless;

/** A request whose answer has no end of its own (2026-07-28). */
const subscription = 'subscriptions/listen';

/** Whether such an answer is asked for: by the headers, because they are judged before there is a body. */
export const isSubscription = (headers: McpHeaders): boolean =>
  isStateless(headers) && headers.method === subscription;
