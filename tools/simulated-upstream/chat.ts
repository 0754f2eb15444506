import * as E from 'fp-ts/lib/Either.js';
import type { Answer } from './answer.ts';
import { type SimulatedRequest, readRequest } from './read-request.ts';
import { preparedDeltasMax } from './bounds.ts';
import type { Call, Family } from './call.ts';
import {
  chatDeltaCount,
  chatFrames,
  chatHead,
  type ChatPlan,
  planChat,
  wholeChatTail,
} from './chat-answer.ts';
import { type ChatRequest, readChatRequest } from './chat-request.ts';
import { deliver, sendError } from './deliver.ts';
import { type Prepared, preparedAnswers, sendFrames, sendWhole } from './prepared.ts';
import { tooLongToJoin } from './turn.ts';

const headOf = (kind: Answer['kind'], id: string): string =>
  chatHead(id, kind === 'whole' ? 'chat.completion' : 'chat.completion.chunk', Math.floor(Date.now() / 1000));

const serialId = (serial: number): string => `chatcmpl-sim-${serial.toString(36)}`;

const withoutDelay = ({ headers, pace }: Call): boolean =>
  pace.latencyMs === 0 && pace.chunkDelayMs === 0 && headers['x-simulate'] === undefined;

/** An answer to cache: only without directives, and without tool calls, whose ids differ each time. */
function prepare(
  { request, directives }: SimulatedRequest<ChatRequest>,
  plan: ChatPlan,
): Prepared | undefined {
  const plain = Object.keys(directives).length === 0 && plan.toolCalls.length === 0;
  if (!plain || plan.content.count > preparedDeltasMax) return undefined;
  if (!request.stream) return { kind: 'whole', tails: [wholeChatTail(plan)] };
  const frames = [...chatFrames(plan, '')].filter((frame) => frame.mark !== 'done');
  return { kind: 'stream', tails: frames.map((frame) => `${frame.data}\n\n`) };
}

const sendPrepared = ({ response, serial }: Call, prepared: Prepared): void =>
  (prepared.kind === 'whole' ? sendWhole : sendFrames)(
    response,
    headOf(prepared.kind, serialId(serial)),
    prepared,
  );

function answerOf(
  { request, directives }: SimulatedRequest<ChatRequest>,
  plan: ChatPlan,
  serial: number,
): Answer {
  const kind = request.stream ? 'stream' : 'whole';
  const head = headOf(kind, directives.id ?? serialId(serial));
  return kind === 'whole'
    ? { kind, json: head + wholeChatTail(plan) }
    : { kind, frames: chatFrames(plan, head), deltaCount: chatDeltaCount(plan) };
}

/** The chat-completions family. Answers without directives and delays are prepared once and then only sent. */
export function simulatedChat(): Family {
  const kept = preparedAnswers();
  return (call) => {
    const quick = withoutDelay(call);
    const known = quick ? kept.find(call.body) : undefined;
    if (known !== undefined) return sendPrepared(call, known);
    const asked = readRequest(call, readChatRequest);
    if (E.isLeft(asked)) return sendError(call, asked.left);
    const plan = planChat(asked.right.request, asked.right.directives, call.serial);
    const tooLong = asked.right.request.stream ? undefined : tooLongToJoin(plan);
    if (tooLong !== undefined) return sendError(call, tooLong);
    const prepared = quick ? prepare(asked.right, plan) : undefined;
    if (prepared === undefined)
      return deliver(call, asked.right.directives, answerOf(asked.right, plan, call.serial));
    kept.keep(call.body, prepared);
    return sendPrepared(call, prepared);
  };
}
