import * as E from 'fp-ts/lib/Either.js';
import { scopeOf } from '../domain/identity/caller.ts';
import { type StreamLimits, StreamPayload } from '../domain/payload/stream-payload.ts';
import { isKept } from '../domain/request-log/capture-policy.ts';
import { isCharged } from '../domain/routing/model.ts';
import { type GatewayError, overloaded, shuttingDown } from '../domain/shared/gateway-error.ts';
import type { JsonObject } from '../domain/shared/json.ts';
import type { StreamEnd } from '../domain/shared/stream-event.ts';
import { nothingObserved, type Observation } from '../domain/upstream/observation.ts';
import {
  answeredWith,
  type UpstreamFault,
  upstreamError,
  withoutMessagesType,
} from '../domain/upstream/upstream-fault.ts';
import { type CallerAnswer, callerAnswer } from './caller-answer.ts';
import { type ClientDisconnect, type DrainSlots, watchClientDisconnect } from './client-disconnect.ts';
import type { AnswerPath, HeldMemory, ModelAnswer } from './model-request.ts';
import type { ServePolicy, ServePorts } from './serve-ports.ts';
import type { UpstreamTelemetry } from './ports/telemetry.ts';
import type { Hold, UpstreamExecution, UpstreamReply } from './ports/upstream.ts';
import { relayStream } from './relay-stream.ts';
import { type Called, callEnds, type CallEnds, failureOf, type SentStream } from './request-end.ts';
import type { Admitted } from './request-stages.ts';
import type { SettleRequest } from './settle-request.ts';

/** The one upstream call of a request, from its beginning to its settlement. */
interface Call {
  readonly facts: Admitted;
  readonly execution: UpstreamExecution;
  readonly disconnect: ClientDisconnect;
  readonly telemetry: UpstreamTelemetry;
  readonly ends: CallEnds;
  readonly settle: (end: Called) => ReturnType<SettleRequest['called']>;
}

/** The one upstream execution of a request, what the caller sees of it, and its settlement. */
export function callUpstream(
  ports: ServePorts,
  policy: () => ServePolicy,
  settle: SettleRequest['called'],
  slots: DrainSlots,
) {
  return async function call(facts: Admitted): Promise<ModelAnswer> {
    const { request, resolved, prepared } = facts;
    const telemetry = request.telemetry.upstream(resolved);
    const ends = callEnds(facts, ports.clock);
    const execution = prepared.begin(telemetry.traceContext, holdOf(request.memory));
    const drains = mayDrain(facts, policy()) ? slots : undefined;
    const disconnect = watchClientDisconnect(request.link, execution, drains, policy());
    const settled: Call['settle'] = (end) => {
      telemetry.ended(end.call.attempt, end.call.observation, failureOf(end));
      return settle(facts, end);
    };
    const called: Call = { facts, execution, disconnect, telemetry, ends, settle: settled };

    const replied = await readReply(await execution.reply, ports, facts, policy);
    if (E.isLeft(replied)) return unanswered(called, replied.left);
    const reply = replied.right;
    if (reply.kind === 'stream') return streamed(called, reply, new StreamPayload(heldOf(policy(), facts)));
    return whole(called, reply.answer, reply.status);
  };
}

/** Resolves with a stream, or with a whole answer in the caller's form; a large one is read in a worker thread. */
async function readReply(
  reply: E.Either<UpstreamFault, UpstreamReply>,
  { largeBodies }: ServePorts,
  { request, family, terms, path }: Admitted,
  policy: () => ServePolicy,
): Promise<E.Either<Unanswered, Answered>> {
  if (E.isLeft(reply)) return E.left({ fault: reply.left, observation: seenBeside(reply.left, path) });
  const { right: answer } = reply;
  if (answer.kind === 'stream') return E.right(answer);
  const { kind, status } = answer;
  if (kind === 'whole') return E.right({ kind, status, answer: callerAnswer(path, answer.answer) });
  const read = await largeBodies.readAnswer({
    requestLogId: request.requestLogId,
    scope: scopeOf(request.caller),
    family,
    terms,
    parts: answer.parts,
    source: policy().redactionSource,
  });
  const observation = E.isRight(read) ? read.right.observation : seenBeside(read.left, path);
  if (answer.fault !== undefined) return E.left({ fault: answer.fault, observation });
  if (E.isRight(read)) return E.right({ kind: 'whole', status, answer: read.right });
  return E.left({ fault: answeredWith(status, read.left), observation });
}

/** Usage that a failure reports, since the upstream may bill for it all the same (rule 38.5). */
const seenBeside = ({ usage }: UpstreamFault, { speaks }: AnswerPath): Observation =>
  usage === undefined ? nothingObserved : speaks.observeWhole({ usage });

/** A reply that can be given to a caller. */
type Answered =
  | Extract<UpstreamReply, { kind: 'stream' }>
  | { readonly kind: 'whole'; readonly status: number; readonly answer: CallerAnswer };

/** A call without an answer, or whose answer is a failure. */
interface Unanswered {
  readonly fault: UpstreamFault;
  readonly observation: Observation;
}

async function unanswered(
  { facts, execution, disconnect, ends, settle }: Call,
  { fault, observation }: Unanswered,
): Promise<ModelAnswer> {
  disconnect.over();
  const error = facts.redaction.fit(callersError(fault, facts.path));
  const end = ends.failed(disconnect.early(), error, {
    status: facts.parsed.stream ? 'stream_start_error' : 'provider_error',
    statusCode: error.upstream?.upstreamStatus,
    observation,
    accepted: execution.accepted(),
  });
  await settle(end);
  return refusal(end, error);
}

const callersError = (fault: UpstreamFault, { translation }: AnswerPath): GatewayError =>
  translation === undefined ? upstreamError(fault) : withoutMessagesType(upstreamError(fault));

/** A caller that was cut off gets the reason. After a client disconnect nobody reads the error, so any will do. */
const refusal = (end: Called, error: GatewayError): ModelAnswer => ({
  kind: 'refused',
  error: end.kind === 'left' && end.why === 'shutting_down' ? shuttingDown() : error,
});

async function whole(
  { facts, disconnect, ends, settle }: Call,
  { observation, text }: CallerAnswer,
  statusCode: number,
): Promise<ModelAnswer> {
  disconnect.over();
  const early = disconnect.early();
  if (E.isLeft(text)) {
    const error = facts.redaction.fit(upstreamError(text.left));
    const broken = { status: 'provider_error', statusCode, observation, accepted: true } as const;
    const end = ends.failed(early, error, broken);
    await settle(end);
    return refusal(end, error);
  }
  const answer = { kind: 'whole', body: text.right } as const;
  const settled = await settle(ends.answered(early, answer, { statusCode, observation }));
  return E.isLeft(settled) ? { kind: 'refused', error: settled.left } : { kind: 'whole', text: text.right };
}

function streamed(
  { facts, execution, disconnect, telemetry, ends, settle }: Call,
  reply: UpstreamReply & { kind: 'stream' },
  payload: StreamPayload,
): ModelAnswer {
  const { request, redaction, path } = facts;
  const answer: SentStream = { kind: 'stream', held: () => payload.held() };
  const deliver = relayStream({
    path,
    reply: {
      ...reply,
      forward: async (pass, hold) =>
        fitEnd(await reply.forward((chunks) => pass(redaction.fitChunks(chunks)), hold), redaction.fit),
    },
    hold: holdOf(request.memory),
    disconnect,
    cancel: () => execution.cancel(),
    payload,
    firstContent: () => {
      telemetry.firstContent();
      if (disconnect.early() === undefined) ends.firstContent();
    },
    settle: (last, observation) => {
      const early = disconnect.early();
      const seen = { statusCode: reply.status, observation };
      if (last.kind === 'done') return settle(ends.answered(early, answer, seen));
      const broken = { ...seen, status: 'stream_error', accepted: true, answer } as const;
      return settle(ends.failed(early, last.error, broken));
    },
  });
  return { kind: 'stream', deliver };
}

const fitEnd = (
  end: StreamEnd<JsonObject>,
  fit: (error: GatewayError) => GatewayError,
): StreamEnd<JsonObject> => (end.kind === 'failed' ? { ...end, error: fit(end.error) } : end);

/** Counts the upstream's bytes as buffered by the process, because many large answers would exhaust its memory. */
const holdOf =
  (memory: HeldMemory): Hold =>
  (bytes) =>
    memory.holdUnfinished(bytes) ? undefined : overloaded;

/** Captures no events of a stream whose payload is not kept. */
const heldOf = ({ payloads }: ServePolicy, { request }: Admitted): StreamLimits =>
  isKept(payloads.captureMode, request.caller) ? payloads : { ...payloads, streamMaxEvents: 0 };

/** Whether a stream is drained after a client disconnect, so that its cost is known. */
const mayDrain = ({ admission, family }: Admitted, policy: ServePolicy): boolean =>
  isCharged(family) &&
  (policy.drainOnDisconnect === 'always' ||
    (policy.drainOnDisconnect === 'hard_budget' && admission.budget?.terms.hardLimit === true));
