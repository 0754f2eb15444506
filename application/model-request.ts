import type { Either } from 'fp-ts/lib/Either.js';
import type { Caller } from '../domain/identity/caller.ts';
import type { PayloadHeaders } from '../domain/payload/wrap.ts';
import type { RateLimit } from '../domain/limits/rate-limit.ts';
import type { OfferedTool } from '../domain/mcp/referenced-servers.ts';
import type { CallerTags } from '../domain/request-log/caller-tags.ts';
import type { BodySummary } from '../domain/request-log/refused-body.ts';
import type { RequestId, RequestLogId } from '../domain/request-log/request-ids.ts';
import type { Capability, CapabilityFields } from '../domain/routing/capabilities.ts';
import type { KnownCalls } from '../domain/routing/generation-request.ts';
import type { ApiFamily, ResolvedRoute } from '../domain/routing/model.ts';
import type { GatewayError } from '../domain/shared/gateway-error.ts';
import type { JsonDocument } from '../domain/shared/json-document.ts';
import type { JsonObject } from '../domain/shared/json.ts';
import type { OutboundText } from '../domain/shared/outbound-text.ts';
import type { StreamEvent } from '../domain/shared/stream-event.ts';
import type { Run } from '../domain/shared/stream-machine.ts';
import type { Observation, StreamObserver } from '../domain/upstream/observation.ts';
import type { UpstreamFault } from '../domain/upstream/upstream-fault.ts';
import type { RequestTelemetry } from './ports/telemetry.ts';
import type { WholeAnswer } from './ports/upstream.ts';
import type { SharedText } from './ports/shared-text.ts';

/** One authenticated request to a path that serves models, as the HTTP layer passes it in. */
export interface ModelRequest {
  /** The gateway's own id of this request: of its log row, its ledger row and its claim. */
  readonly requestLogId: RequestLogId;
  /** The `x-request-id`: the caller's, unchanged, or a generated one. */
  readonly requestId: RequestId;
  readonly callerChoseRequestId: boolean;
  /** Milliseconds since the epoch, taken before any handler ran. */
  readonly receivedAt: number;
  readonly caller: Caller;
  readonly tags: Either<GatewayError, CallerTags>;
  readonly userAgent: string | undefined;
  /** Names in lower case. */
  readonly headers: PayloadHeaders;
  /** The key that came with it, both whole and its secret alone, so that both are hidden wherever they are echoed. */
  readonly callerKey: readonly string[];
  readonly telemetry: RequestTelemetry;
  /** The values of `anthropic-beta`. */
  readonly betas: readonly string[];
  /** The body as text, in shared memory when it is large; or why there is none. */
  readonly body: Either<GatewayError, string | SharedText>;
  /**
   * The same text in UTF-8, as it arrived. It is returned only once and then released, because the upstream may take
   * minutes. `undefined` when the body is small, and quickly encoded again.
   */
  readonly takeUtf8?: () => Uint8Array | undefined;
  readonly memory: HeldMemory;
  readonly link: CallerLink;
}

/**
 * The process memory that a request and its answer take (`server.max_buffered_bytes`), released when the request ends.
 */
export interface HeldMemory {
  /** Reserves that many more bytes; false when the process has reached its limit. */
  readonly hold: (bytes: number) => boolean;
  /**
   * The same for the upstream's answer, whole or an incomplete event of a stream; the bytes replace those reserved
   * before.
   */
  readonly holdUnfinished: (bytes: number) => boolean;
  readonly heldBytes: () => number;
  /** Keeps the memory reserved beyond the end of the request, until the returned function is called. */
  readonly keep: () => () => void;
}

/** The caller's connection, as far as the pipeline needs it. */
export interface CallerLink {
  /** Why the answer will not be completed; `undefined` while it may be. */
  readonly lost: () => CallerLoss | undefined;
  /** Calls back once when the answer is lost, at once if it is lost already. */
  readonly whenLost: (callback: (why: CallerLoss) => void) => void;
}

/** Whichever came first: the client disconnected, or the gateway cut the answer off at the end of its grace. */
export type CallerLoss = 'client_closed' | 'shutting_down';

/** Writes events to the caller; when it returns a promise, there is no room for more until that resolves. */
export type WriteEvents = (events: readonly StreamEvent<JsonObject>[]) => Promise<void> | undefined;

/** What the caller gets. A stream must be delivered to its end even when nobody is left to write to. */
export type ModelAnswer = (
  | { readonly kind: 'refused'; readonly error: GatewayError }
  | { readonly kind: 'whole'; readonly text: WholeAnswer['text'] }
  | { readonly kind: 'stream'; readonly deliver: (write: WriteEvents) => Promise<void> }
) & {
  /** The rate limits that apply to the request; absent when it ended before its model was known. */
  readonly limits?: readonly RateLimit[];
};

/** What the reading view of every family extracts from a body. */
export interface RequestTerms {
  readonly model: string;
  readonly stream: boolean;
  readonly needs: readonly Capability[];
  /** `undefined` when the family has no such dimension; both tool counts are null then. */
  readonly exposedToolCount: number | undefined;
  /** The fields that ask for what it needs, if they are not those of chat completions. */
  readonly fields?: CapabilityFields;
  /** Its tools that may belong to an MCP server; absent when the family has no tools. */
  readonly mcpTools?: readonly OfferedTool[] | undefined;
  readonly calls?: KnownCalls | undefined;
}

/** The reading view with the body itself. */
export interface ParsedRequest extends RequestTerms {
  readonly document: Pick<JsonDocument, 'value' | 'valueCount'>;
}

/** An API family, as data for the one pipeline of a model request. */
export interface Family<A extends ParsedRequest> {
  readonly name: ApiFamily;
  /** The refusal when no route has what the request needs, for a family whose callers do not know capabilities. */
  readonly unserved?: (model: string) => GatewayError;
  /** Rejects a body with more than `maxValues` JSON values before parsing it. */
  readonly read: (body: string, maxValues?: number) => Either<ReadFault, A>;
  /** The body that goes upstream. */
  readonly write: (parsed: A, resolved: ResolvedRoute) => Either<GatewayError, OutboundText>;
  /**
   * Renames the fields in a provider's refusal to those that the caller wrote, because the provider sees another body.
   */
  readonly inCallersNames?: (error: GatewayError, parsed: A, resolved: ResolvedRoute) => GatewayError;
  /** A translated answer gets its id from the request's own. */
  readonly answerPath: (
    parsed: Pick<RequestTerms, 'model' | 'calls'>,
    resolved: ResolvedRoute,
    requestLogId: RequestLogId,
  ) => AnswerPath;
}

/** Why a body could not be read. */
export type ReadFault = GatewayError & { readonly tooManyValues?: true; readonly bodySummary?: BodySummary };

/** How an answer gets from the family that the upstream speaks to the caller's. */
export interface AnswerPath {
  readonly speaks: UpstreamFamily;
  /** Absent when the caller speaks the upstream's family: then the answer stays as it is. */
  readonly translation?: Translation;
}

/** The family of the body that goes upstream, and how usage and tool calls are read from its answers. */
export interface UpstreamFamily {
  readonly family: ApiFamily;
  readonly observeWhole: (answer: JsonObject) => Observation;
  readonly observer: () => StreamObserver;
}

/** Translates an answer into the caller's family. Usage is read before that, from what the upstream itself sent. */
export interface Translation {
  readonly whole: (answer: JsonObject) => Either<UpstreamFault, JsonObject>;
  readonly stream: () => Run<StreamEvent<JsonObject>, StreamEvent<JsonObject>>;
}
