import * as E from 'fp-ts/lib/Either.js';
import type { Frame } from '../../tools/simulated-upstream/answer.ts';
import { readRequest } from '../../tools/simulated-upstream/read-request.ts';
import { deliver, sendError } from '../../tools/simulated-upstream/deliver.ts';
import type { Dialect } from '../../tools/simulated-upstream/dialect.ts';
import { badRequest } from '../../tools/simulated-upstream/error-answer.ts';
import { isJsonObject, type JsonObject } from '../../tools/simulated-upstream/json-object.ts';
import {
  messagesDeltaCount,
  messagesFrames,
  planMessage,
  wholeMessageJson,
} from '../../tools/simulated-upstream/messages-answer.ts';
import { readMessagesRequest } from '../../tools/simulated-upstream/messages-request.ts';
import { type MessagesHost, messagesBodyFault } from './messages-body-faults.ts';
import { type Arrival, callOf } from './platform-server.ts';

/** How a platform serves the messages API. */
export interface ServedMessages extends MessagesHost {
  readonly model: string;
  /** The platform's error format. */
  readonly dialect: Dialect;
  /** Text before each event of a stream. */
  readonly interleaved?: Frame;
}

/** Answers a messages body as the simulation does, after the platform has found no fault in it. */
export async function serveMessages(arrival: Arrival, body: JsonObject, host: ServedMessages): Promise<void> {
  const call = callOf(arrival, host.dialect, { ...body, model: host.model });
  const fault = messagesBodyFault(body, host);
  if (fault !== undefined) return sendError(call, badRequest(fault, null));
  const asked = readRequest(call, readMessagesRequest);
  if (E.isLeft(asked)) return sendError(call, asked.left);
  const { request, directives } = asked.right;
  const thinking = isJsonObject(body['thinking']) && body['thinking']['type'] === 'adaptive';
  const plan = planMessage({ ...request, thinking: request.thinking || thinking }, directives, call.serial);
  if (host.stream !== true) return deliver(call, directives, { kind: 'whole', json: wholeMessageJson(plan) });
  const frames = interleave(messagesFrames(plan), host.interleaved);
  return deliver(call, directives, { kind: 'stream', frames, deltaCount: messagesDeltaCount(plan) });
}

function* interleave(frames: Iterable<Frame>, between: Frame | undefined): Generator<Frame> {
  for (const frame of frames) {
    if (between !== undefined) yield between;
    yield frame;
  }
}
