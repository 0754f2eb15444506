import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { answerFaults } from './description.ts';

/** Bytes of an answer that are kept to be checked; a longer answer is not checked. */
const maxBytes = 4 * 1024 * 1024;

/** Checks every answer of a server of this process, by its port, against the description of the API. */
export function watchAnswers(port: number): { readonly end: () => readonly string[] } {
  const faults: string[] = [];
  const onRequest = (message: unknown): void => {
    const { request, response } = message as { request: IncomingMessage; response: ServerResponse };
    if (request.socket.localPort === port) watch(request, response, (found) => faults.push(...found));
  };
  subscribe('http.server.request.start', onRequest);
  return {
    end: () => {
      unsubscribe('http.server.request.start', onRequest);
      return faults;
    },
  };
}

function watch(
  request: IncomingMessage,
  response: ServerResponse,
  report: (faults: readonly string[]) => void,
): void {
  const chunks: Buffer[] = [];
  let length = 0;
  const keep = (chunk: unknown, encoding: unknown): void => {
    if (typeof chunk !== 'string' && !(chunk instanceof Uint8Array)) return;
    const latin1 = encoding === 'latin1' ? encoding : 'utf8';
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk, latin1) : Buffer.from(chunk);
    length += bytes.length;
    if (length <= maxBytes) chunks.push(bytes);
  };
  const original = {
    head: response.writeHead.bind(response),
    write: response.write.bind(response),
    end: response.end.bind(response),
  };
  let head: OutgoingHttpHeaders = {};
  response.writeHead = (...args: unknown[]) => {
    const given = args.find((each) => typeof each === 'object' && each !== null);
    head = { ...given };
    return Reflect.apply(original.head, response, args);
  };
  response.write = (...args: unknown[]) => {
    keep(args[0], args[1]);
    return Reflect.apply(original.write, response, args);
  };
  response.end = (...args: unknown[]) => {
    keep(args[0], args[1]);
    return Reflect.apply(original.end, response, args);
  };
  response.once('finish', () => {
    if (length > maxBytes || request.method === 'HEAD') return;
    report(
      answerFaults({
        method: request.method ?? '',
        path: (request.url ?? '').split('?')[0] ?? '',
        status: response.statusCode,
        contentType: String(head['content-type'] ?? response.getHeader('content-type') ?? ''),
        body: Buffer.concat(chunks).toString(),
      }),
    );
  });
}
