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

/** W3C `traceparent` and perhaps `tracestate`, names in lower case; empty where there is no valid one. */
export type TraceContext = Readonly<Record<string, string>>;

/** A request to a path that serves models, before anything of it was read. */
export interface Arrival {
  readonly family: ApiFamily;
  /** Of the connection that it came over. */
  readonly scheme: 'http' | 'https';
  /** Of it only the program that it names is exported: it may hold anything. */
  readonly userAgent: string | undefined;
  /** The caller's own. */
  readonly traceContext: TraceContext;
}

/** What is recorded of requests: a log line each, and spans and metrics where an operator collects them. */
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
  /** The one call upstream begins now. */
  readonly upstream: (resolved: ResolvedRoute) => UpstreamTelemetry;
  /** Its one outcome; whatever comes after the first is ignored. */
  readonly finished: (request: FinishedRequest) => void;
  /** Nothing more is sent; the status is undefined where the caller got none. */
  readonly over: (status: number | undefined) => void;
}

export interface UpstreamTelemetry {
  /** What goes upstream. */
  readonly traceContext: TraceContext;
  /** The first chunk with content has come. */
  readonly firstContent: () => void;
  /** The call is over; its settlement comes now. */
  readonly ended: (attempt: Attempt, observation: Observation, failure: RequestFailure | undefined) => void;
}

/** Everything that logs, metrics and spans tell of an ended request; no bodies, no secrets. */
export interface FinishedRequest {
  readonly requestId: RequestId;
  /** Undefined where it ended at the door: then it has no row. */
  readonly requestLogId: RequestLogId | undefined;
  readonly family: ApiFamily;
  readonly stream: boolean;
  readonly outcome: Outcome;
  readonly statusCode: number;
  readonly errorCode: EndCode | undefined;
  /** What the runtime calls the fault of the connection to the upstream. */
  readonly upstreamFault?: string | undefined;
  /** The rate limit that refused it. */
  readonly rateLimit?: GatewayError['rateLimit'] | undefined;
  readonly latencyMs: number;
  readonly caller: Caller | undefined;
  /** Of the catalogue; undefined where the request names none that is there. */
  readonly modelKey: string | undefined;
  /** Undefined where no route was chosen. */
  readonly resolved: ResolvedRoute | undefined;
  /** How the call upstream ended; undefined where there was none. */
  readonly attemptStatus: AttemptStatus | undefined;
  readonly usage: TokenUsage | undefined;
  readonly usageUnusable: boolean;
  /** What has, or will have, a ledger row. */
  readonly cost: UsageCost | undefined;
  readonly unbilled: readonly Unbilled[];
  /** What became of its records; `lost` when the database could not take them. */
  readonly settled: Verdict['kind'] | 'lost';
  readonly exposedToolCount: number | undefined;
  readonly invokedToolCount: number | undefined;
  readonly tags: CallerTags;
}

/** Why a cost that was seen is in no ledger row. */
export const unbilledReasons = ['advisor', 'blocked', 'compaction', 'duplicate', 'failed', 'lost'] as const;

/** A cost that an upstream may bill and that is in no ledger row, and why. */
export interface Unbilled {
  readonly reason: (typeof unbilledReasons)[number];
  readonly cost: Picodollars;
}
