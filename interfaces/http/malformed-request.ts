import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { type GatewayError, invalidRequest } from '../../domain/shared/gateway-error.ts';
import { errorHeaders, openAiError } from './error-presenter.ts';
import { everyAnswer } from './send-json.ts';

/** What is wrong with bytes that are no request, or no body, by Node's own code; anything else is no HTTP. */
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

/** A caller that left, perhaps in the middle of its body: to its request it is one who left. */
const endOfInput = 'HPE_INVALID_EOF_STATE';

/** Emitted by a request whose body turns out to be no HTTP, with the error; who begins to read later asks {@link bodyFault}. */
export const malformedBody = 'malformedBody';

const faultyBodies = new WeakMap<IncomingMessage, GatewayError>();

/** Why what is left of a body cannot be read; undefined: it can. */
export const bodyFault = (req: IncomingMessage): GatewayError | undefined => faultyBodies.get(req);

/**
 * Bytes that cannot be read as a request: answered in the OpenAI envelope as well, then the connection ends. Where they
 * are the body of a request, that is what is answered, and once. Where they come behind a request whose answer is not
 * out, the connection ends behind that answer: it may have been paid for.
 */
export function malformedRequests(newId: () => string) {
  const answers = new WeakMap<Duplex, ServerResponse>();
  return {
    /** Called for each request, so that nothing is written in the place of its answer, or into the middle of it. */
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

/** Who reads the body is told, and answers; who does not read it answers as ever. Either way the connection ends. */
function refuseBody(answer: ServerResponse, error: GatewayError): void {
  answer.shouldKeepAlive = false;
  faultyBodies.set(answer.req, error);
  answer.req.emit(malformedBody, error);
}

/** Nothing else can be said to its caller. */
const isUnderWay = ({ req, headersSent, writableFinished }: ServerResponse): boolean =>
  req.complete ? !writableFinished : headersSent;

/** What follows a whole request does not take its answer away; a body that is wrong, or a caller that left, does. */
function endWith(answer: ServerResponse, socket: Duplex, code: string | undefined): void {
  if (!answer.req.complete || code === endOfInput) return void socket.destroy();
  // Further bytes are as wrong: once is enough. An answer that ends its connection by itself needs nothing.
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
    ...Object.entries({ ...errorHeaders(error, Number.parseInt(status, 10)), ...everyAnswer }).map(
      ([name, value]) => `${name}: ${value}`,
    ),
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
    '',
    body,
  ].join('\r\n');
}
