import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { invalidRequest } from '../../domain/shared/gateway-error.ts';
import { errorHeaders, openAiError } from './error-presenter.ts';
import { everyAnswer } from './send-json.ts';

/** What is wrong with bytes that never became a request, by Node's own code; anything else is no HTTP. */
const faults: Readonly<Record<string, readonly [status: string, message: string]>> = {
  HPE_HEADER_OVERFLOW: ['431 Request Header Fields Too Large', 'The request headers are larger than 32 KiB.'],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: ['413 Payload Too Large', 'The chunk extensions of the body are too large.'],
  ERR_HTTP_REQUEST_TIMEOUT: ['408 Request Timeout', 'The request did not arrive in time.'],
};
const noHttp = ['400 Bad Request', 'The request is not valid HTTP.'] as const;

/** Bytes that cannot be read as a request: answered in the OpenAI envelope as well, then the connection ends. */
export function malformedRequests(newId: () => string) {
  const answers = new WeakMap<Duplex, ServerResponse>();
  return {
    /** Called for each request, so that nothing is written into the middle of its answer. */
    answering: (req: IncomingMessage, res: ServerResponse): void => void answers.set(req.socket, res),
    refuse: (error: NodeJS.ErrnoException, socket: Duplex): void => {
      const answer = answers.get(socket);
      const underWay = answer?.headersSent === true && !answer.writableFinished;
      if (!socket.writable || underWay || error.code === 'ECONNRESET') socket.destroy();
      else socket.end(refusal(faults[error.code ?? ''] ?? noHttp, newId()), () => socket.destroy());
    },
  };
}

function refusal([status, message]: readonly [string, string], requestId: string): string {
  const error = invalidRequest(message);
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
