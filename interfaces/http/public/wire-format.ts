import type { GatewayError } from '../../../domain/shared/gateway-error.ts';
import { isObject, isString, type JsonObject, numberOf } from '../../../domain/shared/json.ts';
import { type Envelope, messagesErrorInStream, openAiError } from '../error-presenter.ts';
import type { EventWriter, StreamFormat } from './stream-answer.ts';

/** How an endpoint writes events, errors and keep-alives. */
export interface WireFormat extends StreamFormat {
  readonly envelope: Envelope;
}

const doneFrame = Buffer.from('data: [DONE]\n\n');
const comment = ': keep-alive\n\n';

const dataFrame = (payload: JsonObject): string => `data: ${JSON.stringify(payload)}\n\n`;
const namedFrame = (name: string | undefined, payload: JsonObject): string =>
  name === undefined ? dataFrame(payload) : `event: ${name}\n${dataFrame(payload)}`;

/**
 * A chat stream: bytes that no rule changed are forwarded as received. A failure is a chunk that contains only `error`.
 */
export const chatFormat: WireFormat = {
  envelope: 'openai',
  keepAlive: comment,
  writer: () => (event) => {
    switch (event.kind) {
      case 'chunk':
        return event.wire ?? dataFrame(event.chunk);
      case 'done':
        return doneFrame;
      case 'failed':
        return dataFrame(openAiError(event.error));
    }
  },
};

/**
 * A responses stream. A fault found by the gateway itself is an `error` event; for a blocked cost, `response.failed`
 * follows it (rules 35.15, 35.17).
 */
export const responsesFormat: WireFormat = {
  envelope: 'openai',
  keepAlive: comment,
  writer: (): EventWriter => {
    let sequence = -1;
    let begun: JsonObject = {};
    return (event) => {
      switch (event.kind) {
        case 'chunk':
          sequence = numberOf(event.chunk['sequence_number']) ?? sequence;
          begun = beginningOf(event.chunk) ?? begun;
          return event.wire ?? namedFrame(event.name, event.chunk);
        case 'done':
          return doneFrame;
        case 'failed':
          return event.alreadyShown === true ? '' : failureFrames(event.error, begun, sequence + 1);
      }
    };
  },
};

/** What identifies the response, taken from the `response.created` event. */
function beginningOf({ type, response }: JsonObject): JsonObject | undefined {
  if (type !== 'response.created' || !isObject(response)) return undefined;
  const { id, created_at, model } = response;
  return { id, created_at, model };
}

function failureFrames(error: GatewayError, begun: JsonObject, sequence: number): string {
  const frame = namedFrame('error', errorEvent(error, sequence));
  return error.code === 'budget_exceeded'
    ? frame + typedFrame(outOfQuota(error, begun, sequence + 1))
    : frame;
}

/** Agents that ignore an `error` event, and would retry, stop at this code. */
const outOfQuota = (error: GatewayError, begun: JsonObject, sequence: number): JsonObject => ({
  type: 'response.failed',
  sequence_number: sequence,
  response: {
    ...begun,
    object: 'response',
    status: 'failed',
    error: { code: 'insufficient_quota', message: error.message },
    incomplete_details: null,
    output: [],
    usage: null,
  },
});

const typedFrame = (payload: JsonObject): string =>
  namedFrame(isString(payload['type']) ? payload['type'] : undefined, payload);

/** Clients look for the message either beside `type` or inside `error`. */
function errorEvent(error: GatewayError, sequence: number): JsonObject {
  const envelope = openAiError(error);
  return {
    type: 'error',
    sequence_number: sequence,
    code: envelope.error.code,
    message: envelope.error.message,
    param: envelope.error.param,
    ...envelope,
  };
}

/** A messages stream: named events, never `[DONE]`; a failure is `event: error`. */
export const messagesFormat: WireFormat = {
  envelope: 'messages',
  keepAlive: 'event: ping\ndata: {"type":"ping"}\n\n',
  writer:
    ({ requestId }): EventWriter =>
    (event) => {
      switch (event.kind) {
        case 'chunk':
          return event.wire ?? typedFrame(event.chunk);
        case 'done':
          return '';
        case 'failed':
          return namedFrame('error', messagesErrorInStream(event.error, requestId));
      }
    },
};

/** Embeddings are never streamed; their errors are written as chat's. */
export const embeddingsFormat: WireFormat = chatFormat;
