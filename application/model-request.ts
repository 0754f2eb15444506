import type { Either } from 'fp-ts/lib/Either.js';
import type { Observation } from '../domain/chat/observe-chat.ts';
import type { Caller } from '../domain/identity/caller.ts';
import type { CallerTags } from '../domain/request-log/caller-tags.ts';
import type { PayloadPolicy } from '../domain/request-log/capture-policy.ts';
import type { Capability } from '../domain/routing/capabilities.ts';
import type { ApiFamily, Route } from '../domain/routing/model.ts';
import type { GatewayError } from '../domain/shared/gateway-error.ts';
import type { JsonObject } from '../domain/shared/json.ts';
import type { StreamEvent } from '../domain/shared/stream-event.ts';
import type { Catalogue } from './ports/catalogue.ts';
import type { Clock } from './ports/clock.ts';
import type { Ledger } from './ports/ledger.ts';
import type { RequestObserver } from './ports/request-observer.ts';
import type { Upstream, WholeAnswer } from './ports/upstream.ts';

/** One authenticated request to a path that serves models, as the door hands it in. */
export interface ModelRequest {
  /** The gateway's own id of this request: its log row, its ledger row, its claim. */
  readonly requestLogId: string;
  /** The `x-request-id`: the caller's, unchanged, or one generated once. */
  readonly requestId: string;
  readonly callerChoseRequestId: boolean;
  /** Milliseconds since the epoch, taken before any handler ran. */
  readonly receivedAt: number;
  readonly caller: Caller;
  readonly tags: Either<GatewayError, CallerTags>;
  readonly userAgent: string | undefined;
  readonly traceContext: Readonly<Record<string, string>>;
  /** The body as text, or why there is none. */
  readonly body: Either<GatewayError, string>;
  readonly link: CallerLink;
}

/** The caller's connection, as far as the story needs it. */
export interface CallerLink {
  readonly gone: () => boolean;
  /** Calls back once when the caller leaves, at once if it has left already. */
  readonly whenGone: (callback: () => void) => void;
}

/** Writes events to the caller; a promise says that there is no room for more until it resolves. */
export type WriteEvents = (events: readonly StreamEvent<JsonObject>[]) => Promise<void> | undefined;

/** What the caller gets. A stream is to be delivered to its end even when nobody is left to write to. */
export type ModelAnswer =
  | { readonly kind: 'refused'; readonly error: GatewayError }
  | { readonly kind: 'whole'; readonly answer: WholeAnswer }
  | { readonly kind: 'stream'; readonly deliver: (write: WriteEvents) => Promise<void> };

/** What every family's reading view tells. */
export interface Ask {
  readonly model: string;
  readonly stream: boolean;
  readonly needs: readonly Capability[];
  readonly exposedToolCount: number;
}

/** An API family, as data for the one story of a model request. */
export interface Family<A extends Ask> {
  readonly name: ApiFamily & 'chat_completions';
  readonly read: (body: string) => Either<GatewayError, A>;
  /** The outbound body, as JSON text. */
  readonly prepare: (ask: A, route: Route) => Either<GatewayError, string>;
  readonly observeWhole: (answer: JsonObject) => Observation;
  readonly observer: () => StreamObserver;
}

/** Reads chunks beside the pipeline. */
export interface StreamObserver {
  see(chunk: JsonObject): void;
  observed(): Observation;
}

export interface ServePorts {
  readonly catalogue: Catalogue;
  readonly ledger: Ledger;
  readonly upstream: Upstream;
  readonly observer: RequestObserver;
  readonly clock: Clock;
}

/** The operator's choices that the story follows (CONTRACT §2 `accounting`, `request_logging`). */
export interface ServePolicy {
  readonly payloads: PayloadPolicy;
  readonly duplicateRequestIds: 'allow' | 'reject';
  readonly drainOnDisconnect: 'never' | 'hard_budget' | 'always';
  readonly drainTimeoutMs: number;
  /** Streams that may be drained at once. */
  readonly maxDrains: number;
}
