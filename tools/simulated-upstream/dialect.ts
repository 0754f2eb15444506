import type { ServerSentEvent } from './answer.ts';
import type { ErrorAnswer } from './error-answer.ts';

/** How a family writes errors and other things that are not answers. */
export interface Dialect {
  /** The JSON text of an error; `serial` is the number of the request. */
  readonly errorBody: (error: ErrorAnswer, serial: number) => string;
  /** The event that ends a stream with an error. `sequence` is the number of events before it. */
  readonly errorEvent: (error: ErrorAnswer, serial: number, sequence: number) => ServerSentEvent;
  /** The beginning of a JSON text of this family, without its end. */
  readonly malformed: ServerSentEvent;
  /** An event of another family, which does not belong in a stream of this one. */
  readonly foreign: ServerSentEvent;
}

const openAiType = (status: number): string => {
  if (status === 401) return 'authentication_error';
  if (status === 403) return 'permission_error';
  if (status === 429) return 'rate_limit_error';
  return status >= 500 ? 'server_error' : 'invalid_request_error';
};

/** The members of an error of chat completions, responses and embeddings. */
const openAiError = ({ status, message, param, code }: ErrorAnswer): object => ({
  message,
  type: openAiType(status),
  param,
  code,
});

const openAiErrorBody = (error: ErrorAnswer): string => JSON.stringify({ error: openAiError(error) });

const textDelta = 'response.output_text.delta';

const chatChunk: ServerSentEvent = {
  data: '{"id":"simulated","object":"chat.completion.chunk","created":0,"model":"simulated","choices":[{"index":0,"delta":{"content":"foreign"},"finish_reason":null}]}',
};

/** The dialect of chat completions and embeddings. */
export const chatDialect: Dialect = {
  errorBody: openAiErrorBody,
  errorEvent: (error) => ({ data: openAiErrorBody(error) }),
  malformed: { data: '{"id":"simulated","choices":[{"index":0,' },
  foreign: {
    name: textDelta,
    data: `{"type":"${textDelta}","item_id":"simulated","output_index":0,"content_index":0,"delta":"foreign"}`,
  },
};

/**
 * The dialect of responses. The error in a stream is nested, as providers send it, although the documentation has it
 * flat.
 */
export const responsesDialect: Dialect = {
  errorBody: openAiErrorBody,
  errorEvent: (error, _, sequence) => ({
    name: 'error',
    data: JSON.stringify({ type: 'error', sequence_number: sequence, error: openAiError(error) }),
  }),
  malformed: { name: textDelta, data: `{"type":"${textDelta}","item_id":"simulated",` },
  foreign: chatChunk,
};

const messagesTypes: ReadonlyMap<number, string> = new Map([
  [401, 'authentication_error'],
  [402, 'billing_error'],
  [403, 'permission_error'],
  [404, 'not_found_error'],
  [413, 'request_too_large'],
  [429, 'rate_limit_error'],
  [504, 'timeout_error'],
  [529, 'overloaded_error'],
]);

const messagesType = (status: number): string =>
  messagesTypes.get(status) ?? (status >= 500 ? 'api_error' : 'invalid_request_error');

const messagesErrorBody = ({ status, message }: ErrorAnswer, serial: number): string =>
  JSON.stringify({
    type: 'error',
    error: { type: messagesType(status), message },
    request_id: `req_sim_${serial.toString(36)}`,
  });

/** The dialect of messages. */
export const messagesDialect: Dialect = {
  errorBody: messagesErrorBody,
  errorEvent: (error, serial) => ({ name: 'error', data: messagesErrorBody(error, serial) }),
  malformed: { name: 'content_block_delta', data: '{"type":"content_block_delta","index":0,' },
  foreign: chatChunk,
};
