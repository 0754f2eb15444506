import type { Either } from 'fp-ts/lib/Either.js';
import type { Caller } from '../../domain/identity/caller.ts';
import type { UsageCost } from '../../domain/ledger/usage-cost-event.ts';
import type { TokenUsage } from '../../domain/ledger/usage.ts';
import type { Picodollars } from '../../domain/money/money.ts';
import type { CallerTags } from '../../domain/request-log/caller-tags.ts';
import type { RequestId, RequestLogId } from '../../domain/request-log/request-ids.ts';
import type { Attempt, AttemptStatus } from '../../domain/request-log/request-log.ts';
import type { ApiFamily, ResolvedRoute } from '../../domain/routing/model.ts';
import type { GatewayError, Outcome } from '../../domain/shared/gateway-error.ts';
import type { EndCode, RequestFailure } from '../../domain/shared/request-failure.ts';
import type { Observation } from '../../domain/upstream/observation.ts';
import type { Verdict } from './ledger.ts';

/** W3C `traceparent` and perhaps `tracestate`, with names in lower case; empty when there is no valid one. */
export type TraceContext = Readonly<Record<string, string>>;

/** A request to a path that serves models, before anything of it was read. */
export interface Arrival {
  readonly family: ApiFamily;
  /** The scheme of its connection. */
  readonly scheme: 'http' | 'https';
  /** It may hold anything, so only the program that it names is exported. */
  readonly userAgent: string | undefined;
  /** The caller's own trace context. */
  readonly traceContext: TraceContext;
}

/** Telemetry of requests: a log line for each, and spans and metrics where an operator collects them. */
export interface Telemetry {
  readonly begin: (arrival: Arrival) => RequestTelemetry;
}

/** A part of a request that waits for the database. */
export type Step = 'admission' | 'settlement';

/** One request, from its arrival to the last byte of its answer. */
export interface RequestTelemetry {
  readonly during: <L extends GatewayError, A>(
    step: Step,
    work: () => Promise<Either<L, A>>,
  ) => Promise<Either<L, A>>;
  /** The one upstream call begins now. */
  readonly upstream: (resolved: ResolvedRoute) => UpstreamTelemetry;
  /** The request's one outcome; calls after the first are ignored. */
  readonly finished: (request: FinishedRequest) => void;
  /** Nothing more is sent; the status is `undefined` when the caller got none. */
  readonly over: (status: number | undefined) => void;
}

export interface UpstreamTelemetry {
  /** The trace context that goes upstream. */
  readonly traceContext: TraceContext;
  /** The first chunk with content has arrived. */
  readonly firstContent: () => void;
  /** The call has ended; settlement follows. */
  readonly ended: (attempt: Attempt, observation: Observation, failure: RequestFailure | undefined) => void;
}

/** What logs, metrics and spans record of an ended request; no bodies, no secrets. */
export interface FinishedRequest {
  readonly requestId: RequestId;
  /** `undefined` when the request ended in the HTTP layer: then it has no row. */
  readonly requestLogId: RequestLogId | undefined;
  readonly family: ApiFamily;
  readonly stream: boolean;
  readonly outcome: Outcome;
  readonly statusCode: number;
  readonly errorCode: EndCode | undefined;
  /** The runtime's name for the fault of the upstream connection. */
  readonly upstreamFault?: string | undefined;
  /** The rate limit that refused the request. */
  readonly rateLimit?: GatewayError['rateLimit'] | undefined;
  readonly latencyMs: number;
  readonly caller: Caller | undefined;
  /** The id in the catalogue; `undefined` when the request names no model that exists. */
  readonly modelKey: string | undefined;
  /** `undefined` when no route was chosen. */
  readonly resolved: ResolvedRoute | undefined;
  /** How the upstream call ended; `undefined` when there was none. */
  readonly attemptStatus: AttemptStatus | undefined;
  readonly usage: TokenUsage | undefined;
  readonly usageUnusable: boolean;
  /** The cost that has, or will have, a ledger row. */
  readonly cost: UsageCost | undefined;
  readonly unbilled: readonly Unbilled[];
  /** The outcome of its settlement; `lost` when the database could not take the records. */
  readonly settled: Verdict['kind'] | 'lost';
  readonly exposedToolCount: number | undefined;
  readonly invokedToolCount: number | undefined;
  readonly tags: CallerTags;
}

/** Why an observed cost is in no ledger row. */
export const unbilledReasons = [
  'advisor',
  'blocked',
  'compaction',
  'duplicate',
  'failed',
  'image_generation',
  'lost',
] as const;

/** A cost that an upstream may bill but that is in no ledger row, and why. */
export interface Unbilled {
  readonly reason: (typeof unbilledReasons)[number];
  readonly cost: Picodollars;
}
