import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import type { Call } from '../../tools/simulated-upstream/call.ts';
import type { Dialect } from '../../tools/simulated-upstream/dialect.ts';
import { isJsonObject, type JsonObject } from '../../tools/simulated-upstream/json-object.ts';

/** A request as received on the socket. */
export interface Arrival {
  readonly method: string;
  /** Path and query, as written in the request line. */
  readonly target: string;
  readonly headers: IncomingHttpHeaders;
  /** Names and values alternately, as received. */
  readonly rawHeaders: readonly string[];
  readonly body: Buffer;
  readonly response: ServerResponse;
  /** The number of the request, beginning with 1. */
  readonly serial: number;
  /** Closes the socket on purpose: the request does not count as given up by the client. */
  readonly breakOff: () => void;
}

/** A request to a platform; the body is undefined if it is not a JSON object. */
export interface SeenCall {
  readonly target: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: JsonObject | undefined;
}

/** A listening fake platform. */
export interface PlatformServer {
  /** `http://127.0.0.1:PORT`. */
  readonly url: string;
  readonly seen: SeenCall[];
  /** Requests received and not yet answered completely. */
  readonly inFlight: () => number;
  /** Requests whose client disconnected before the end of the answer. */
  readonly aborted: () => number;
  readonly close: () => Promise<void>;
}

/**
 * A server that passes every request with its body to `serve`; an exception there is a 500 with its message.
 */
export async function startPlatformServer(
  serve: (arrival: Arrival) => void | Promise<void>,
): Promise<PlatformServer> {
  const seen: SeenCall[] = [];
  let requests = 0;
  let inFlight = 0;
  let aborted = 0;
  let closing = false;

  const arrive = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    let onPurpose = false;
    requests += 1;
    inFlight += 1;
    const serial = requests;
    response.once('close', () => {
      inFlight -= 1;
      if (!response.writableFinished && !onPurpose && !closing) aborted += 1;
    });
    const { method = '', url: target = '', headers, rawHeaders } = request;
    const body = await buffer(request);
    seen.push({ target, headers, body: objectIn(body) });
    const breakOff = (): void => {
      onPurpose = true;
      response.destroy();
    };
    await serve({ method, target, headers, rawHeaders, body, response, serial, breakOff });
  };
  const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
    arrive(request, response).catch((defect: unknown) => {
      if (response.headersSent || response.destroyed) response.destroy();
      else response.writeHead(500).end(JSON.stringify({ message: `Defect in the fake: ${String(defect)}` }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    inFlight: () => inFlight,
    aborted: () => aborted,
    close: () =>
      new Promise((resolve) => {
        closing = true;
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** The JSON object in a body, if there is one. */
export function objectIn(body: Buffer): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(body.toString());
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The same request for one of the simulation's families, with a body for that family. */
export function callOf(arrival: Arrival, dialect: Dialect, body: JsonObject): Call {
  const bytes = Buffer.from(JSON.stringify(body));
  const { headers, response, serial, breakOff } = arrival;
  return {
    headers,
    body: { length: bytes.length, pieces: [bytes] },
    response,
    pace: { latencyMs: 0, chunkDelayMs: 0 },
    dialect,
    serial,
    breakOff,
  };
}

/** Sends a JSON answer with a status. */
export function sendJson(
  { response }: Arrival,
  status: number,
  value: unknown,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(value));
}
