import type { CapturedEvents } from '../domain/payload/stream-payload.ts';
import type { BodySummary } from '../domain/request-log/refused-body.ts';
import type { Attempt, AttemptStatus } from '../domain/request-log/request-log.ts';
import { elapsedMs } from '../domain/shared/elapsed.ts';
import { type GatewayError, shuttingDown } from '../domain/shared/gateway-error.ts';
import { clientClosed, faultCodeOf, type RequestFailure } from '../domain/shared/request-failure.ts';
import { nothingObserved, type Observation } from '../domain/upstream/observation.ts';
import type { CallerLoss } from './model-request.ts';
import type { Clock } from './ports/clock.ts';
import type { WholeAnswer } from './ports/upstream.ts';
import type { Admitted } from './request-stages.ts';

/** What the caller of a stream was sent. */
export interface SentStream {
  readonly kind: 'stream';
  readonly held: () => CapturedEvents;
}

/** An answer as its caller gets it. Outbound bodies, and upstream answers in another family, are not kept. */
export type Answer =
  /** JSON text, or its bytes. */
  { readonly kind: 'whole'; readonly body: WholeAnswer['text'] } | SentStream;

/** An upstream call that has ended. */
export interface EndedCall {
  readonly attempt: Attempt;
  readonly observation: Observation;
  /** The upstream answered 2xx, so it may bill. */
  readonly accepted: boolean;
  /** As stored in the log row. */
  readonly firstTokenMs: number | undefined;
}

/** A request that ended before anything was sent upstream. */
export type Unsent =
  | { readonly kind: 'refused'; readonly error: GatewayError; readonly call?: undefined }
  | { readonly kind: 'left'; readonly why: CallerLoss; readonly call?: undefined };

/** A request whose upstream call has ended. */
export type Called =
  | { readonly kind: 'answered'; readonly call: EndedCall; readonly answer: Answer }
  /** The upstream failed, before its answer or during it. */
  | {
      readonly kind: 'failed';
      readonly error: GatewayError;
      readonly call: EndedCall;
      readonly answer: SentStream | undefined;
    }
  /** The client disconnected, or was cut off, before the answer was complete. */
  | {
      readonly kind: 'left';
      readonly why: CallerLoss;
      readonly call: EndedCall;
      readonly answer: SentStream | undefined;
    };

/** How a request ended, before its settlement, which may still block a complete answer. */
export type RequestEnd = Unsent | Called;

/** Nothing is observed without a call. */
export const observed = ({ call }: RequestEnd): Observation => call?.observation ?? nothingObserved;

/** `undefined` when the family has no tools; 0 when no answer came, because nothing was invoked then. */
export const invokedTools = (bodySummary: BodySummary | undefined, end: RequestEnd): number | undefined =>
  bodySummary?.exposedToolCount === undefined ? undefined : observed(end).invokedToolCount;

/** Which ends write a ledger row, in a family that uses a model (rules 38.3, 38.4, 38.5). */
export function writesLedgerRow(end: RequestEnd): boolean {
  switch (end.kind) {
    case 'answered':
      return true;
    // A disconnect after an upstream 2xx is charged, because the upstream bills what nobody waits for.
    case 'left':
      return end.call?.accepted === true;
    case 'refused':
    case 'failed':
      return false;
  }
}

/** Why it did not end well. */
export function failureOf(end: RequestEnd): RequestFailure | undefined {
  switch (end.kind) {
    case 'answered':
      return undefined;
    case 'left':
      return failureOfLoss(end.why);
    case 'refused':
    case 'failed':
      return end.error;
  }
}

const failureOfLoss = (why: CallerLoss): RequestFailure =>
  why === 'shutting_down' ? shuttingDown() : clientClosed;

/** The error text for operators: what callers are told, and the runtime's name for the fault of the connection. */
function detailOf(failure: RequestFailure | undefined): string | undefined {
  if (failure === undefined || failure.code === 'client_closed') return undefined;
  const faultCode = faultCodeOf(failure);
  return faultCode === undefined ? failure.message : `${failure.message} (${faultCode})`;
}

/** The possible ends of a call that begins now, each with the attempt that records it. */
export function callEnds(facts: Admitted, clock: Clock) {
  const {
    request: { receivedAt },
    parsed: { stream },
    resolved: { route, provider },
  } = facts;
  const startedAt = clock.now();
  let firstTokenMs: number | undefined;
  const attempt = (status: AttemptStatus, statusCode?: number, failure?: RequestFailure): Attempt => ({
    attemptNumber: 1,
    providerKey: provider.id,
    upstreamModel: route.upstreamModel,
    status,
    statusCode,
    errorCode: failure?.code,
    errorDetail: detailOf(failure),
    stream,
    startedAt,
    completedAt: startedAt + elapsedMs(startedAt, clock.now()),
  });
  return {
    /** The first content of a stream goes to its caller now. */
    firstContent: (): void => {
      firstTokenMs = elapsedMs(receivedAt, clock.now());
    },
    /**
     * The whole answer arrived. If the caller was lost before that, it was drained for its usage and is not an answer.
     */
    answered: (
      early: CallerLoss | undefined,
      answer: Answer,
      { statusCode, observation }: { readonly statusCode: number; readonly observation: Observation },
    ): Called => {
      const call = { attempt: attempt('success', statusCode), observation, accepted: true, firstTokenMs };
      if (early === undefined) return { kind: 'answered', call, answer };
      return { kind: 'left', why: early, call, answer: answer.kind === 'stream' ? answer : undefined };
    },
    /** The call failed. If the caller was lost before that, the failure is only the result of the cancelled call. */
    failed: (early: CallerLoss | undefined, error: GatewayError, broken: BrokenCall): Called => {
      const { status, statusCode, observation, accepted, answer } = broken;
      const failure = early === undefined ? error : failureOfLoss(early);
      const call = { attempt: attempt(status, statusCode, failure), observation, accepted, firstTokenMs };
      return early === undefined
        ? { kind: 'failed', error, call, answer }
        : { kind: 'left', why: early, call, answer };
    },
  };
}

export type CallEnds = ReturnType<typeof callEnds>;

/** What is known of a call that brought no whole answer. */
interface BrokenCall {
  readonly status: Exclude<AttemptStatus, 'success'>;
  /** The upstream's status, if it answered. */
  readonly statusCode: number | undefined;
  readonly observation: Observation;
  readonly accepted: boolean;
  readonly answer?: SentStream;
}
