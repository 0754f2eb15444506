import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import type { Answer } from './answer.ts';
import { preparedDeltasMax, wholeTextMaxChars } from './bounds.ts';
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
import { directivesOf } from './directive-sources.ts';
import type { Directives } from './directives.ts';
import { badRequest, type ErrorAnswer } from './error-answer.ts';
import { isJsonObject, type JsonObject } from './json-object.ts';
import { type Body, bytesOf } from './request-body.ts';
import { type Prepared, preparedAnswers, sendFrames, sendWhole } from './prepared.ts';

interface Asked {
  readonly request: ChatRequest;
  readonly directives: Directives;
}

const objectIn = (body: Body): Either<ErrorAnswer, JsonObject> => {
  const parsed = E.tryCatch(
    () => JSON.parse(bytesOf(body).toString()) as unknown,
    () => undefined,
  );
  return E.isRight(parsed) && isJsonObject(parsed.right)
    ? E.right(parsed.right)
    : E.left(badRequest('The request body is not a JSON object.', null));
};

/** The directives are read before the rest is checked, so that a misspelt one is never hidden by another fault. */
function ask({ body, headers }: Call): Either<ErrorAnswer, Asked> {
  const object = objectIn(body);
  if (E.isLeft(object)) return object;
  const { model, simulate } = object.right;
  const directives = directivesOf(
    typeof model === 'string' ? model : '',
    headers['x-simulate']?.toString(),
    simulate,
  );
  if (E.isLeft(directives)) return E.left(badRequest(directives.left, 'simulate', 'unknown_directive'));
  const request = readChatRequest(object.right);
  return E.isLeft(request) ? request : E.right({ request: request.right, directives: directives.right });
}

const headOf = (kind: Answer['kind'], id: string): string =>
  chatHead(id, kind === 'whole' ? 'chat.completion' : 'chat.completion.chunk', Math.floor(Date.now() / 1000));

const serialId = (serial: number): string => `chatcmpl-sim-${serial.toString(36)}`;

const withoutDelay = ({ headers, pace }: Call): boolean =>
  pace.latencyMs === 0 && pace.chunkDelayMs === 0 && headers['x-simulate'] === undefined;

/** An answer to keep: only without directives, and without tool calls, whose ids differ each time. */
function prepare({ request, directives }: Asked, plan: ChatPlan): Prepared | undefined {
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

function answerOf({ request, directives }: Asked, plan: ChatPlan, serial: number): Answer {
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
    const asked = ask(call);
    if (E.isLeft(asked)) return sendError(call, asked.left);
    const plan = planChat(asked.right.request, asked.right.directives, call.serial);
    if (!asked.right.request.stream && plan.content.chars > wholeTextMaxChars) {
      return sendError(
        call,
        badRequest(`A whole answer has at most ${wholeTextMaxChars} characters.`, 'simulate'),
      );
    }
    const prepared = quick ? prepare(asked.right, plan) : undefined;
    if (prepared === undefined)
      return deliver(call, asked.right.directives, answerOf(asked.right, plan, call.serial));
    kept.keep(call.body, prepared);
    return sendPrepared(call, prepared);
  };
}
