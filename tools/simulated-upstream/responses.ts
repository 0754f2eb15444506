import * as E from 'fp-ts/lib/Either.js';
import { readRequest } from './read-request.ts';
import type { Call } from './call.ts';
import { deliver, sendError } from './deliver.ts';
import { endedResponseJson, planResponse } from './responses-answer.ts';
import { readResponsesRequest } from './responses-request.ts';
import { responsesDeltaCount, responsesFrames } from './responses-stream.ts';
import { tooLongToJoin } from './turn.ts';

/** The responses family. Streams have the limits of whole answers, because their last events repeat the whole text. */
export async function simulatedResponses(call: Call): Promise<void> {
  const asked = readRequest(call, readResponsesRequest);
  if (E.isLeft(asked)) return sendError(call, asked.left);
  const { request, directives } = asked.right;
  const plan = planResponse(request, directives, call.serial);
  const tooLong = tooLongToJoin(plan);
  if (tooLong !== undefined) return sendError(call, tooLong);
  const createdSecs = Math.floor(Date.now() / 1000);
  if (!request.stream)
    return deliver(call, directives, { kind: 'whole', json: endedResponseJson(plan, createdSecs) });
  const frames = responsesFrames(plan, createdSecs, call.serial);
  return deliver(call, directives, { kind: 'stream', frames, deltaCount: responsesDeltaCount(plan) });
}
