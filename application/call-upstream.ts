import * as E from 'fp-ts/lib/Either.js';
import { nothingObserved, type Observation } from '../domain/chat/observe-chat.ts';
import type { Attempt, AttemptStatus } from '../domain/request-log/request-log.ts';
import type { ResolvedRoute } from '../domain/routing/resolve-route.ts';
import type { GatewayError } from '../domain/shared/gateway-error.ts';
import type { JsonObject } from '../domain/shared/json.ts';
import { afterTerminalMs } from '../domain/shared/limits.ts';
import type { StreamEnd } from '../domain/shared/stream-event.ts';
import { upstreamError } from '../domain/upstream/upstream-fault.ts';
import type {
  Ask,
  CallerLink,
  Family,
  ModelAnswer,
  ServePolicy,
  ServePorts,
  WriteEvents,
} from './model-request.ts';
import type { UpstreamExecution, UpstreamReply } from './ports/upstream.ts';
import type { End, Facts } from './settle-request.ts';

type Settle = (facts: Facts, end: End) => Promise<E.Either<GatewayError, void>>;

/** Keeps reading upstream after the caller left, so that usage is known; only so many at once. */
export function drainSlots(max: () => number) {
  let taken = 0;
  return {
    take: (): boolean => {
      if (taken >= max()) return false;
      taken += 1;
      return true;
    },
    free: (): void => {
      taken -= 1;
    },
  };
}

type DrainSlots = ReturnType<typeof drainSlots>;

/** The one upstream execution of a request, what the caller sees of it, and its settlement. */
export function callUpstream(
  ports: ServePorts,
  policy: () => ServePolicy,
  settle: Settle,
  slots: DrainSlots,
) {
  return async function call<A extends Ask>(
    family: Family<A>,
    facts: Facts,
    resolved: ResolvedRoute,
    body: string,
  ): Promise<ModelAnswer> {
    const stream = facts.ask?.stream ?? false;
    const startedAt = ports.clock.now();
    const attempt = (status: AttemptStatus, statusCode?: number, failure?: End['failure']): Attempt =>
      ended(resolved, stream, startedAt, ports.clock.now(), status, statusCode, failure);

    const { route } = resolved;
    const { traceContext, link } = facts.request;
    const execution = ports.upstream.begin({ route, family: family.name, stream, body, traceContext });
    const departure = watchDeparture(link, execution, drains(facts, policy()) ? slots : undefined, policy());

    const reply = await execution.reply;
    if (E.isLeft(reply)) {
      departure.over();
      const error = upstreamError(reply.left);
      const failure = departure.early() ? 'client_closed' : error;
      const status = stream ? 'stream_start_error' : 'provider_error';
      await settle(facts, {
        failure,
        attempt: attempt(status, error.upstream?.upstreamStatus, failure),
        observation: nothingObserved,
        charged: failure === 'client_closed' && execution.accepted(),
      });
      return { kind: 'refused', error };
    }
    const answer = reply.right;
    if (answer.kind === 'stream')
      return { kind: 'stream', deliver: relay(family, facts, answer, departure, settle, attempt) };
    departure.over();
    return whole(family, facts, answer, departure, settle, attempt);
  };
}

type AttemptOf = (status: AttemptStatus, statusCode?: number, failure?: End['failure']) => Attempt;

async function whole<A extends Ask>(
  family: Family<A>,
  facts: Facts,
  reply: UpstreamReply & { kind: 'whole' },
  departure: Departure,
  settle: Settle,
  attempt: AttemptOf,
): Promise<ModelAnswer> {
  const settled = await settle(facts, {
    failure: departure.early() ? 'client_closed' : undefined,
    attempt: attempt('success', reply.status),
    observation: family.observeWhole(reply.answer.value),
    charged: true,
  });
  return E.isLeft(settled)
    ? { kind: 'refused', error: settled.left }
    : { kind: 'whole', answer: reply.answer };
}

/**
 * Passes a stream on as it comes. What ends it is held back until the settlement is committed: whoever received the
 * end is in the ledger. It runs to its end even when the caller has left.
 */
function relay<A extends Ask>(
  family: Family<A>,
  facts: Facts,
  reply: UpstreamReply & { kind: 'stream' },
  departure: Departure,
  settle: Settle,
  attempt: AttemptOf,
) {
  return async (write: WriteEvents): Promise<void> => {
    const observer = family.observer();
    const end = await reply.forward((chunks) => {
      for (const { chunk, terminal } of chunks) {
        observer.see(chunk);
        if (terminal && departure.answered()) reply.endWithin(afterTerminalMs);
      }
      return write(chunks);
    });
    departure.over();
    if (end.kind === 'failed' && end.chunk !== undefined) observer.see(end.chunk);
    const settled = await settle(facts, endOf(end, reply.status, departure, observer.observed(), attempt));
    await write([E.isLeft(settled) ? { kind: 'failed', error: settled.left } : end]);
  };
}

function endOf(
  last: StreamEnd<JsonObject>,
  status: number,
  departure: Departure,
  observation: Observation,
  attempt: AttemptOf,
): End {
  const left = departure.early() ? ('client_closed' as const) : undefined;
  if (last.kind === 'done')
    return { failure: left, attempt: attempt('success', status), observation, charged: true };
  const failure = left ?? last.error;
  return {
    failure,
    attempt: attempt('stream_error', status, failure),
    observation,
    charged: failure === 'client_closed',
  };
}

/** What happens when the caller leaves. */
interface Departure {
  /** The caller left before the answer was complete. */
  readonly early: () => boolean;
  /** The answer is complete: from now on leaving is a success. True the first time. */
  readonly answered: () => boolean;
  /** The upstream call has ended. */
  readonly over: () => void;
}

/** A caller that leaves early cancels the upstream call, or leaves it to be drained for a bounded time. */
function watchDeparture(
  link: CallerLink,
  execution: UpstreamExecution,
  slots: DrainSlots | undefined,
  policy: ServePolicy,
): Departure {
  let state: 'open' | 'answered' | 'draining' | 'left' | 'over' = 'open';
  let early = false;
  link.whenGone(() => {
    if (state !== 'open') return;
    early = true;
    if (slots?.take() === true) {
      state = 'draining';
      execution.cancelWithin(policy.drainTimeoutMs);
    } else {
      state = 'left';
      execution.cancel();
    }
  });
  return {
    early: () => early,
    answered: () => {
      if (state !== 'open') return false;
      state = 'answered';
      return true;
    },
    over: () => {
      if (state === 'draining') slots?.free();
      state = 'over';
    },
  };
}

const drains = ({ admission }: Facts, policy: ServePolicy): boolean =>
  policy.drainOnDisconnect === 'always' ||
  (policy.drainOnDisconnect === 'hard_budget' && admission?.budget?.terms.hardLimit === true);

function ended(
  { route, provider }: ResolvedRoute,
  stream: boolean,
  startedAt: number,
  completedAt: number,
  status: AttemptStatus,
  statusCode: number | undefined,
  failure: End['failure'],
): Attempt {
  const error = failure === 'client_closed' ? undefined : failure;
  return {
    attemptNumber: 1,
    providerKey: provider.id,
    upstreamModel: route.upstreamModel,
    status,
    statusCode,
    errorCode: failure === 'client_closed' ? failure : error?.code,
    errorDetail: error?.message,
    stream,
    startedAt,
    completedAt: Math.max(startedAt, completedAt),
  };
}
