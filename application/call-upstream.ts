import * as E from 'fp-ts/lib/Either.js';
import type { Attempt, AttemptStatus } from '../domain/request-log/request-log.ts';
import { isCharged, type ResolvedRoute } from '../domain/routing/model.ts';
import { type GatewayError, overloaded } from '../domain/shared/gateway-error.ts';
import type { JsonObject } from '../domain/shared/json.ts';
import type { StreamChunk, StreamEnd } from '../domain/shared/stream-event.ts';
import { type UpstreamFault, upstreamError } from '../domain/upstream/upstream-fault.ts';
import { scopeOf } from '../domain/identity/caller.ts';
import { StreamPayload } from '../domain/payload/stream-payload.ts';
import { nothingObserved, type Observation } from '../domain/upstream/observation.ts';
import { failuresWithoutSecrets, withoutSecretsOf } from './keep-payload.ts';
import { type Departure, type DrainSlots, watchDeparture } from './departure.ts';
import type { AnswerPath, HeldMemory, ModelAnswer, ServePolicy, ServePorts } from './model-request.ts';
import type { CallTerms, Hold, PreparedCall, UpstreamReply } from './ports/upstream.ts';
import { type ToldAnswer, toldAnswer } from './told-answer.ts';
import { relayStream, type SettleStream } from './relay-stream.ts';
import type { End, Facts } from './settle-request.ts';

type Settle = (facts: Facts, end: End) => Promise<E.Either<GatewayError, void>>;

/** The one upstream execution of a request, what the caller sees of it, and its settlement. */
export function callUpstream(
  ports: ServePorts,
  policy: () => ServePolicy,
  settle: Settle,
  slots: DrainSlots,
) {
  return async function call(
    facts: Facts,
    resolved: ResolvedRoute,
    path: AnswerPath,
    terms: CallTerms,
    prepared: PreparedCall,
  ): Promise<ModelAnswer> {
    const upstream = facts.request.telemetry.upstream(resolved);
    const settled = (end: Ended): ReturnType<Settle> => {
      upstream.ended(end.attempt, end.observation, end.failure);
      return settle(facts, end);
    };
    const stream = facts.ask?.stream ?? false;
    const { link, memory } = facts.request;
    const startedAt = ports.clock.now();
    const attempt = (status: AttemptStatus, statusCode?: number, failure?: End['failure']): Attempt =>
      ended(resolved, stream, startedAt, ports.clock.now(), status, statusCode, failure);

    const clean = (error: GatewayError): GatewayError => withoutSecretsOf(error, facts.request, policy());
    const execution = prepared.begin(upstream.traceContext);
    const departure = watchDeparture(link, execution, drains(facts, policy()) ? slots : undefined, policy());

    const replied = await readReply(await execution.reply, ports, facts, path, terms, policy);
    if (E.isLeft(replied)) {
      departure.over();
      const error = clean(upstreamError(replied.left));
      const end = unanswered(error, stream, departure, execution.accepted(), attempt);
      await settled(end);
      return { kind: 'refused', error: end.failure === 'client_closed' ? error : end.failure };
    }
    const answer = replied.right;
    if (answer.kind === 'stream') {
      const payload = new StreamPayload(policy().payloads);
      const settleStream: SettleStream = (end, observation) =>
        settled({
          ...endOf(end, answer.status, departure, observation, attempt),
          answered: { kind: 'stream', held: () => payload.held() },
        });
      const cancel = (): void => execution.cancel();
      const fit = (chunks: Chunks): Chunks => failuresWithoutSecrets(chunks, facts.request, policy());
      const forward = async (pass: Pass, room: Hold) =>
        cleanEnd(await answer.forward((chunks) => pass(fit(chunks)), room), clean);
      const reply = { ...answer, forward };
      const { firstContent } = upstream;
      const relay = { path, reply, hold: holdOf(memory), departure, cancel, payload, firstContent };
      return { kind: 'stream', deliver: relayStream({ ...relay, settle: settleStream }) };
    }
    departure.over();
    return whole(answer.answer, answer.status, departure, settled, attempt);
  };
}

/** A stream, or a whole answer as it is told; a large one is read beside the event loop. */
async function readReply(
  reply: E.Either<UpstreamFault, UpstreamReply>,
  { largeBodies }: ServePorts,
  { request, family }: Facts,
  path: AnswerPath,
  terms: CallTerms,
  policy: () => ServePolicy,
) {
  if (E.isLeft(reply)) return reply;
  const { right: answer } = reply;
  if (answer.kind === 'stream') return E.right(answer);
  const { kind, status } = answer;
  if (kind === 'whole') return E.right({ kind, status, answer: toldAnswer(path, answer.answer) });
  const told = await largeBodies.told({
    requestLogId: request.requestLogId,
    scope: scopeOf(request.caller),
    family,
    terms,
    parts: answer.parts,
    source: policy().redactionSource,
  });
  if (E.isRight(told)) return E.right({ kind: 'whole' as const, status, answer: told.right });
  return E.left(told.left.kind === 'protocol' ? { ...told.left, status } : told.left);
}

/** What of a stream is not complete yet counts among what the process holds. */
const holdOf =
  (memory: HeldMemory): Hold =>
  (bytes) =>
    memory.holdUnfinished(bytes) ? undefined : overloaded;

/** With the call upstream that it is the end of. */
type Ended = End & { readonly attempt: Attempt };

type Chunks = readonly StreamChunk<JsonObject>[];
type Pass = Parameters<(UpstreamReply & { kind: 'stream' })['forward']>[0];

const cleanEnd = (
  end: StreamEnd<JsonObject>,
  clean: (error: GatewayError) => GatewayError,
): StreamEnd<JsonObject> => (end.kind === 'failed' ? { ...end, error: clean(end.error) } : end);

type AttemptOf = (status: AttemptStatus, statusCode?: number, failure?: End['failure']) => Attempt;

/** The upstream gave no answer, or one that is a failure. */
function unanswered(
  error: GatewayError,
  stream: boolean,
  departure: Departure,
  accepted: boolean,
  attempt: AttemptOf,
) {
  const early = departure.early();
  const failure = early ?? error;
  const status = stream ? 'stream_start_error' : 'provider_error';
  return {
    failure,
    attempt: attempt(status, error.upstream?.upstreamStatus, failure),
    observation: nothingObserved,
    charged: early !== undefined && accepted,
  };
}

async function whole(
  { observation, told }: ToldAnswer,
  status: number,
  departure: Departure,
  settle: (end: Ended) => ReturnType<Settle>,
  attempt: AttemptOf,
): Promise<ModelAnswer> {
  const left = departure.early();
  if (E.isLeft(told)) {
    const error = upstreamError(told.left);
    const failure = left ?? error;
    const failed = attempt('provider_error', status, failure);
    await settle({ failure, attempt: failed, observation, charged: left !== undefined });
    return { kind: 'refused', error };
  }
  const settled = await settle({
    failure: left,
    attempt: attempt('success', status),
    observation,
    answered: { kind: 'whole', body: told.right },
    charged: true,
  });
  if (E.isLeft(settled)) return { kind: 'refused', error: settled.left };
  return { kind: 'whole', text: told.right };
}

function endOf(
  last: StreamEnd<JsonObject>,
  status: number,
  departure: Departure,
  observation: Observation,
  attempt: AttemptOf,
): Ended {
  const left = departure.early();
  if (last.kind === 'done')
    return { failure: left, attempt: attempt('success', status), observation, charged: true };
  const failure = left ?? last.error;
  return {
    failure,
    attempt: attempt('stream_error', status, failure),
    observation,
    charged: left !== undefined,
  };
}

const drains = ({ admission, family }: Facts, policy: ServePolicy): boolean =>
  isCharged(family) &&
  (policy.drainOnDisconnect === 'always' ||
    (policy.drainOnDisconnect === 'hard_budget' && admission?.budget?.terms.hardLimit === true));

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
