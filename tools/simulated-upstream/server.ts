import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { bodyMaxBytes, headersMaxBytes, idleConnectionMs } from './bounds.ts';
import type { Call } from './call.ts';
import { sendError } from './deliver.ts';
import { chatDialect } from './dialect.ts';
import { badRequest } from './error-answer.ts';
import { bytesOf, readBody } from './request-body.ts';
import { type Route, simulatedRoutes } from './routes.ts';

/** A request as the simulated upstream received it. `path` includes the query string. */
export interface SeenRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** How to start the simulated upstream. Port 0 takes any free one. Delays are in milliseconds and 0 by default. */
export interface SimulatedUpstreamOptions {
  readonly host?: string;
  readonly port: number;
  readonly latencyMs?: number;
  readonly chunkDelayMs?: number;
  /** Called for each request once its body has been read. */
  readonly onRequest?: (seen: SeenRequest) => void;
}

/** A running simulated upstream. */
export interface SimulatedUpstream {
  /** Base URL, `http://HOST:PORT/v1`. */
  readonly url: string;
  /** Requests received so far, on any path. */
  readonly requests: () => number;
  /** Requests received whose answer has not ended. */
  readonly inFlight: () => number;
  /**
   * Requests whose client disconnected before the end of the answer. Breaks that a directive asked for do not count.
   */
  readonly aborted: () => number;
  /** Stops listening and closes every connection, whatever is in flight. */
  readonly close: () => Promise<void>;
}

interface Counts {
  requests: number;
  inFlight: number;
  aborted: number;
  closing: boolean;
}

/** Starts the simulated upstream. Rejects when it cannot listen on the address. */
export async function startSimulatedUpstream(options: SimulatedUpstreamOptions): Promise<SimulatedUpstream> {
  const counts: Counts = { requests: 0, inFlight: 0, aborted: 0, closing: false };
  const pace = { latencyMs: options.latencyMs ?? 0, chunkDelayMs: options.chunkDelayMs ?? 0 };
  const routes = simulatedRoutes();
  const server = createServer({ maxHeaderSize: headersMaxBytes, keepAliveTimeout: idleConnectionMs });
  server.on('request', (request, response) => {
    const breakOff = counted(counts, response);
    const serial = counts.requests;
    answer(routes, request, { response, pace, serial, breakOff }, options.onRequest).catch(
      (defect: unknown) => {
        failed(response, serial, defect);
      },
    );
  });
  const host = options.host ?? '127.0.0.1';
  const port = await listening(server, host, options.port);
  return {
    url: `http://${reachable(host)}:${port}/v1`,
    requests: () => counts.requests,
    inFlight: () => counts.inFlight,
    aborted: () => counts.aborted,
    close: () => closed(server, counts),
  };
}

/** Counts a request until its response closes. Returns a function that closes the socket on purpose. */
function counted(counts: Counts, response: ServerResponse): () => void {
  let onPurpose = false;
  counts.requests += 1;
  counts.inFlight += 1;
  response.once('close', () => {
    counts.inFlight -= 1;
    if (!response.writableFinished && !onPurpose && !counts.closing) counts.aborted += 1;
  });
  return () => {
    onPurpose = true;
    response.destroy();
  };
}

async function answer(
  routes: readonly Route[],
  request: IncomingMessage,
  opened: Pick<Call, 'response' | 'pace' | 'serial' | 'breakOff'>,
  onRequest: SimulatedUpstreamOptions['onRequest'],
): Promise<void> {
  const { method = '', url: path = '', headers } = request;
  const [plainPath = ''] = path.split('?', 1);
  const route = routes.find(({ suffix }) => plainPath.endsWith(suffix));
  const call = { ...opened, dialect: route?.dialect ?? chatDialect };
  const read = await readBody(request);
  if (read.kind === 'gone') return;
  if (read.kind === 'too_large') {
    const message = `The request body is larger than ${bodyMaxBytes} bytes.`;
    sendError(call, { ...badRequest(message, null), status: 413 });
    return;
  }
  onRequest?.({ method, path, headers, body: bytesOf(read.body).toString() });
  if (route === undefined)
    return sendError(call, { ...badRequest(`Unknown path ${plainPath}.`, null), status: 404 });
  if (route.method !== method) {
    return sendError(call, { ...badRequest(`${plainPath} takes ${route.method}.`, null), status: 405 });
  }
  await route.family({ ...call, headers, body: read.body });
}

/**
 * Reports a defect of the simulation itself to the client as plainly as possible, and breaks off an answer that has
 * begun.
 */
function failed(response: ServerResponse, serial: number, defect: unknown): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  sendError(
    { response, serial, dialect: chatDialect },
    { status: 500, message: `Defect in the simulation: ${String(defect)}`, param: null, code: 'defect' },
  );
}

const reachable = (host: string): string => {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1';
  return host.includes(':') ? `[${host}]` : host;
};

const listening = (server: Server, host: string, port: number): Promise<number> =>
  new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve((server.address() as AddressInfo).port);
    });
  });

const closed = (server: Server, counts: Counts): Promise<void> =>
  new Promise((resolve) => {
    counts.closing = true;
    server.close(() => resolve());
    server.closeAllConnections();
  });
