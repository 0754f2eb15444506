import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer, Server as TlsServer } from 'node:https';
import { Server as NetServer, type Socket } from 'node:net';
import { malformedRequests } from './malformed-request.ts';

/** Request headers up to 32 KiB (rule 33.11). Node bounds their number and refuses more than 1,000 in the same way. */
const maxHeaderBytes = 32 * 1024;
/**
 * How long a caller may take to send its headers. Bodies are bounded by pace instead, because large ones may come over
 * slow lines.
 */
const headersTimeoutMs = 60_000;
const noTimeoutMs = 0;
/**
 * Longer than load balancers keep idle connections, so that they close first: most keep them for 60 s, Google's
 * external ones for 600 s, which cannot be changed.
 */
const keepAliveMs = 620_000;
/**
 * Pipelined requests per connection whose answers are not sent yet. Each starts when it arrives and is answered after
 * the one before; few clients send even a second one early. A client that sends more is disconnected.
 */
const maxPipelined = 32;
/** A handshake is a few packets each way. A client that does not finish it holds a connection for nothing. */
const handshakeMs = 10_000;

/**
 * TCP probes on a connection that is silent for a minute, as it is while a model prepares a whole answer: Azure's load
 * balancers forget it after 4 minutes, AWS's and many firewalls after 6 (rule 33.44). A caller that answers no probe
 * for two minutes is gone.
 */
const probes = { silentMs: 60_000, everyMs: 15_000, unanswered: 8 } as const;

/**
 * What RFC 9325 recommends: under TLS 1.2 only suites with forward secrecy and authenticated encryption, and all of TLS
 * 1.3 (rule 55.30). Node's own list also has suites without either, which scanners report.
 */
const ciphers =
  'TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256:TLS_AES_128_GCM_SHA256:ECDHE+AESGCM:ECDHE+CHACHA20';

/** A certificate with its chain and its key, both PEM, and the oldest TLS version that is accepted. */
export interface TlsIdentity {
  readonly cert: string;
  readonly key: string;
  readonly minVersion: 'TLSv1.2' | 'TLSv1.3';
}

export interface ListenerTerms {
  readonly host: string;
  readonly port: number;
  readonly handle: (req: IncomingMessage, res: ServerResponse) => Promise<unknown>;
  readonly newId: () => string;
  /** Concurrent connections. Further ones are closed on arrival, and `full` is called for each. */
  readonly maxConnections: number;
  readonly full: () => void;
  /** `undefined`: plain HTTP. */
  readonly tls: TlsIdentity | undefined;
}

/** An HTTP listener on one address. */
export interface Listener {
  /**
   * Resolves once connections are accepted; otherwise the error says what to do. With `alone`, the process is alone on
   * the port and accepts connections itself rather than through its supervisor.
   */
  readonly open: (alone: boolean) => Promise<void>;
  /** Where it can be reached, with the port that was actually assigned. */
  readonly url: () => string;
  /**
   * Accepts no new connections. Open ones are left alone, and end with their next answer. The `close` of an HTTP server
   * would also cut off callers that are still reading an answer whose last byte was handed to the socket.
   */
  readonly stop: () => Promise<void>;
  /** Ends every connection. */
  readonly cut: () => void;
  /** New connections get this identity; existing ones keep theirs. */
  readonly identify: (tls: TlsIdentity) => void;
}

export function listener(terms: ListenerTerms): Listener {
  const { host, port, handle, newId, maxConnections, full, tls } = terms;
  const malformed = malformedRequests(newId);
  const connections = openConnections();
  const answer = (req: IncomingMessage, res: ServerResponse): void => {
    if (!connections.begins(req.socket, res)) return;
    malformed.answering(req, res);
    void handle(req, res);
  };
  const server = serverOf(tls, answer);
  server.on('checkContinue', (req, res) => {
    askForBody(req, res);
    answer(req, res);
  });
  // An unknown expectation is ignored, as RFC 9110, 10.1.1 allows.
  server.on('checkExpectation', answer).on('clientError', malformed.refuse);
  // Without `dropMaxConnection` Node would hand them to another process of the cluster, which is as full, because
  // connections are dealt out in turn.
  Object.assign(server, { maxConnections, dropMaxConnection: true }).on('drop', full);
  server.on('connection', probe);
  const cutHandshakes = server instanceof TlsServer ? watchHandshakes(server) : () => undefined;
  return {
    open: (alone) => opened(server, host, port, alone),
    url: () => urlOf(server, host),
    stop: () => {
      connections.end();
      return new Promise((resolve) => {
        NetServer.prototype.close.call(server, () => resolve());
      });
    },
    cut: () => {
      server.closeAllConnections();
      cutHandshakes();
    },
    identify: (identity) => {
      if (server instanceof TlsServer) server.setSecureContext({ ...identity, ciphers });
    },
  };
}

/** The types of Node do not have all arguments yet. */
type Probed = Socket & {
  setKeepAlive(enable: boolean, silentMs: number, everyMs: number, unanswered: number): Socket;
};

const probe = (socket: Socket): void =>
  void (socket as Probed).setKeepAlive(true, probes.silentMs, probes.everyMs, probes.unanswered);

/**
 * `Expect: 100-continue`: the body is requested only when the gateway starts to read it, and not when the answer is a
 * refusal.
 */
function askForBody(req: IncomingMessage, res: ServerResponse): void {
  req.once('resume', () => {
    if (!res.headersSent && !res.destroyed) res.writeContinue();
  });
}

interface Connection {
  underWay: number;
  /** The answer to the latest request; dropped when it ends, since an idle connection must not hold its memory. */
  latest: ServerResponse | undefined;
}

/** The connections that have sent a request, with what is under way on each. */
function openConnections() {
  const open = new Map<Socket, Connection>();
  let ending = false;
  const opened = (socket: Socket): Connection => {
    const connection = { underWay: 0, latest: undefined };
    open.set(socket, connection);
    socket.once('close', () => open.delete(socket));
    return connection;
  };
  return {
    /** Whether a connection may have one more request under way. If not, nothing else that it sent is started. */
    begins: (socket: Socket, res: ServerResponse): boolean => {
      if (socket.destroyed) return false;
      const connection = open.get(socket) ?? opened(socket);
      if (connection.underWay === maxPipelined) {
        socket.destroy();
        return false;
      }
      connection.underWay += 1;
      connection.latest = res;
      if (ending) res.shouldKeepAlive = false;
      res.once('close', () => {
        connection.underWay -= 1;
        if (connection.latest === res) connection.latest = undefined;
      });
      return true;
    },
    /**
     * Each connection ends with the answer to its latest request, which says so if its head is not sent yet: a client
     * that does not know would send its next request into a connection that is being closed.
     */
    end: (): void => {
      ending = true;
      for (const { latest } of open.values()) if (latest !== undefined) latest.shouldKeepAlive = false;
    },
  };
}

function serverOf(
  tls: TlsIdentity | undefined,
  answer: (req: IncomingMessage, res: ServerResponse) => void,
): Server | TlsServer {
  const terms = {
    maxHeaderSize: maxHeaderBytes,
    headersTimeout: headersTimeoutMs,
    requestTimeout: noTimeoutMs,
    keepAliveTimeout: keepAliveMs,
    // The gateway checks `Host` itself, to answer with its own error.
    requireHostHeader: false,
  };
  return tls === undefined
    ? createServer(terms, answer)
    : createTlsServer({ ...terms, ...tls, ciphers, handshakeTimeout: handshakeMs }, answer);
}

/**
 * An HTTP server knows connections only from the end of their TLS handshake. Returns a function that also ends those
 * that are still in it.
 */
function watchHandshakes(server: TlsServer): () => void {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  // A client that does not speak TLS could not read an answer.
  server.removeAllListeners('tlsClientError').on('tlsClientError', (_, socket) => socket.destroy());
  return () => {
    for (const socket of sockets) socket.destroy();
  };
}

/** Fails as a listener would that is opened there. */
export async function tryListening({ host, port }: Pick<ListenerTerms, 'host' | 'port'>): Promise<void> {
  const server = new NetServer((socket) => socket.destroy());
  await opened(server, host, port, true);
  await new Promise<void>((resolve) => {
    server.close(() => resolve());
  });
}

const whyNot: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another process listens there',
  EACCES: 'this process is not allowed to',
  EADDRNOTAVAIL: 'this machine has no such address',
};

const otherAddress =
  'Another address is set by GATEWAY_BIND, or in the file by server.bind and server.admin_bind.';

const opened = (server: NetServer, host: string, port: number, alone: boolean): Promise<void> =>
  new Promise((resolve, reject) => {
    const refused = (error: NodeJS.ErrnoException): void => {
      const why = whyNot[error.code ?? ''] ?? error.message;
      const message = `The gateway cannot listen on ${host}:${port}: ${why}. ${otherAddress}`;
      reject(new Error(message, { cause: error }));
    };
    // A supervisor that dies while it is asked for a port never answers, and Node would wait forever.
    const orphaned = (): void =>
      reject(new Error('The supervisor ended before the gateway could listen. Start the gateway again.'));
    if (!alone && !process.connected) return orphaned();
    if (!alone) process.once('disconnect', orphaned);
    server.once('error', refused);
    server.listen({ port, host, exclusive: alone }, () => {
      server.off('error', refused);
      process.off('disconnect', orphaned);
      resolve();
    });
  });

function urlOf(server: Server | TlsServer, host: string): string {
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const scheme = server instanceof TlsServer ? 'https' : 'http';
  return `${scheme}://${host.includes(':') ? `[${host}]` : host}:${port}`;
}
