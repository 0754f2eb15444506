import type { GatewayError } from '../../../domain/shared/gateway-error.ts';
import { isString, type JsonObject, numberOf } from '../../../domain/shared/json.ts';
import { type Envelope, messagesError, openAiError } from '../error-presenter.ts';
import type { Spelling, StreamWords } from './stream-answer.ts';

/** How an endpoint speaks to its callers. */
export interface Words extends StreamWords {
  readonly envelope: Envelope;
}

const doneFrame = Buffer.from('data: [DONE]\n\n');
const comment = ': keep-alive\n\n';

const dataFrame = (payload: JsonObject): string => `data: ${JSON.stringify(payload)}\n\n`;
const namedFrame = (name: string | undefined, payload: JsonObject): string =>
  name === undefined ? dataFrame(payload) : `event: ${name}\n${dataFrame(payload)}`;

/** A chat stream: bytes that no rule touched go out as they came in; a failure is a chunk that holds `error` alone. */
export const chatWords: Words = {
  envelope: 'openai',
  keepAlive: comment,
  spelling: () => (event) => {
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

/** A responses stream; a fault that the gateway itself finds is an `error` event (CONTRACT §4). */
export const responsesWords: Words = {
  envelope: 'openai',
  keepAlive: comment,
  spelling: (): Spelling => {
    let sequence = -1;
    return (event) => {
      switch (event.kind) {
        case 'chunk':
          sequence = numberOf(event.chunk['sequence_number']) ?? sequence;
          return event.wire ?? namedFrame(event.name, event.chunk);
        case 'done':
          return doneFrame;
        case 'failed':
          return event.told === true ? '' : namedFrame('error', errorEvent(event.error, sequence + 1));
      }
    };
  },
};

const typedFrame = (payload: JsonObject): string =>
  namedFrame(isString(payload['type']) ? payload['type'] : undefined, payload);

/** Clients look for the message beside `type` or inside `error`. */
function errorEvent(error: GatewayError, sequence: number): JsonObject {
  const envelope = openAiError(error);
  return {
    type: 'error',
    sequence_number: sequence,
    code: error.code,
    message: envelope.error.message,
    param: envelope.error.param,
    ...envelope,
  };
}

/** A messages stream: named events, never `[DONE]`; a failure is `event: error`. */
export const messagesWords: Words = {
  envelope: 'messages',
  keepAlive: 'event: ping\ndata: {"type":"ping"}\n\n',
  spelling:
    ({ requestId }): Spelling =>
    (event) => {
      switch (event.kind) {
        case 'chunk':
          return event.wire ?? typedFrame(event.chunk);
        case 'done':
          return '';
        case 'failed':
          return namedFrame('error', messagesError(event.error, requestId, typeInStream(event.error)));
      }
    },
};

/** Agents that read `overloaded_error` in a stream ask again and again, each time at a price; `api_error` ends it. */
const typeInStream = ({ code }: GatewayError): string | undefined =>
  code === 'store_unavailable' || code === 'overloaded' ? 'api_error' : undefined;

/** Embeddings are never streamed; errors speak as in chat. */
export const embeddingsWords: Words = chatWords;
