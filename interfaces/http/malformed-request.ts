import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { type GatewayError, invalidRequest } from '../../domain/shared/gateway-error.ts';
import { errorHeaders, openAiError } from './error-presenter.ts';
import { commonHeaders } from './send-json.ts';

/**
 * Errors for bytes that are not a valid request or body, by Node's code. Any other code means that they are not HTTP.
 */
const faults: Readonly<Record<string, readonly [status: string, error: GatewayError]>> = {
  HPE_HEADER_OVERFLOW: [
    '431 Request Header Fields Too Large',
    invalidRequest('The request headers are larger than 32 KiB, or more than 1,000.'),
  ],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: [
    '413 Payload Too Large',
    { code: 'request_too_large', message: 'The chunk extensions of the body are too large.' },
  ],
  ERR_HTTP_REQUEST_TIMEOUT: ['408 Request Timeout', invalidRequest('The request did not arrive in time.')],
};
const noHttp = ['400 Bad Request', invalidRequest('The request is not valid HTTP.')] as const;

/**
 * The client disconnected, perhaps in the middle of its body. For its request that is an ordinary client disconnect.
 */
const endOfInput = 'HPE_INVALID_EOF_STATE';

/** Emitted, with the error, by a request whose body turns out not to be HTTP. A late reader calls {@link bodyFault}. */
export const malformedBody = 'malformedBody';

const faultyBodies = new WeakMap<IncomingMessage, GatewayError>();

/** Why the rest of a body cannot be read; `undefined` when it can. */
export const bodyFault = (req: IncomingMessage): GatewayError | undefined => faultyBodies.get(req);

/**
 * Handles bytes that cannot be parsed as a request: they too are answered in the OpenAI envelope, and the connection
 * ends. Inside a request's body the error is the answer to that request, and is sent once. Behind a request that is not
 * answered yet, the connection ends after that answer, because it may have been paid for.
 */
export function malformedRequests(newId: () => string) {
  const answers = new WeakMap<Duplex, ServerResponse>();
  return {
    /** Called for each request, so that nothing is written in place of its answer, or into the middle of it. */
    answering: (req: IncomingMessage, res: ServerResponse): void => void answers.set(req.socket, res),
    refuse: ({ code }: NodeJS.ErrnoException, socket: Duplex): void => {
      const answer = answers.get(socket);
      const fault = faults[code ?? ''] ?? noHttp;
      if (!socket.writable || code === 'ECONNRESET') socket.destroy();
      else if (answer !== undefined && isUnderWay(answer)) endWith(answer, socket, code);
      else if (answer?.req.complete === false && code !== endOfInput) refuseBody(answer, fault[1]);
      else socket.end(refusal(fault, newId()), () => socket.destroy());
    },
  };
}

/**
 * A handler that reads the body gets the error and answers with it; one that does not answers as usual. Either way the
 * connection ends.
 */
function refuseBody(answer: ServerResponse, error: GatewayError): void {
  answer.shouldKeepAlive = false;
  faultyBodies.set(answer.req, error);
  answer.req.emit(malformedBody, error);
}

/** Whether the answer is under way, so that nothing else can be sent to its caller. */
const isUnderWay = ({ req, headersSent, writableFinished }: ServerResponse): boolean =>
  req.complete ? !writableFinished : headersSent;

/** Bytes after a complete request do not cancel its answer. A malformed body or a client disconnect does. */
function endWith(answer: ServerResponse, socket: Duplex, code: string | undefined): void {
  if (!answer.req.complete || code === endOfInput) return void socket.destroy();
  // Further bytes are just as malformed: once is enough. An answer that closes its connection anyway needs nothing.
  if (!answer.shouldKeepAlive) return;
  answer.shouldKeepAlive = false;
  answer.once('finish', () => socket.end(() => socket.destroy()));
}

function refusal([status, error]: readonly [string, GatewayError], requestId: string): string {
  const body = JSON.stringify(openAiError(error));
  return [
    `HTTP/1.1 ${status}`,
    `x-request-id: ${requestId}`,
    `request-id: ${requestId}`,
    'content-type: application/json; charset=utf-8',
    ...Object.entries({ ...errorHeaders(error, Number.parseInt(status, 10)), ...commonHeaders }).map(
      ([name, value]) => `${name}: ${value}`,
    ),
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
    '',
    body,
  ].join('\r\n');
}
