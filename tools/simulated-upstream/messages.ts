import * as E from 'fp-ts/lib/Either.js';
import { readRequest } from './read-request.ts';
import type { Call } from './call.ts';
import { deliver, sendError } from './deliver.ts';
import { messagesDeltaCount, messagesFrames, planMessage, wholeMessageJson } from './messages-answer.ts';
import { readMessagesRequest } from './messages-request.ts';
import { tooLongToJoin } from './turn.ts';

/** The messages family. */
export async function simulatedMessages(call: Call): Promise<void> {
  const asked = readRequest(call, readMessagesRequest);
  if (E.isLeft(asked)) return sendError(call, asked.left);
  const { request, directives } = asked.right;
  const plan = planMessage(request, directives, call.serial);
  if (request.stream) {
    const frames = messagesFrames(plan);
    return deliver(call, directives, { kind: 'stream', frames, deltaCount: messagesDeltaCount(plan) });
  }
  const tooLong = tooLongToJoin(plan);
  if (tooLong !== undefined) return sendError(call, tooLong);
  return deliver(call, directives, { kind: 'whole', json: wholeMessageJson(plan) });
}
