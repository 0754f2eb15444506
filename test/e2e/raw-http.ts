import { connect, type Socket } from 'node:net';

/** A request as bytes on a socket, because no client library would send it. */
export interface RawRequest {
  readonly method?: string;
  readonly path: string;
  /** In order, with repeats; values are latin1. `host` is added, and `connection: close` unless given. */
  readonly headers?: readonly (readonly [name: string, value: string])[];
  readonly body?: string | Buffer;
  /** `length` (default): with content-length. `chunked`: without, in 64 KiB pieces. `none`: bytes only. */
  readonly framing?: 'length' | 'chunked' | 'none';
}

export interface RawAnswer {
  readonly status: number;
  /** Names in lower case, values latin1; the last value of a repeated header. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const chunkBytes = 64 * 1024;

function bytesOf({ method = 'POST', path, headers = [], body = '', framing = 'length' }: RawRequest) {
  const bytes = typeof body === 'string' ? Buffer.from(body) : body;
  const named = new Set(headers.map(([name]) => name.toLowerCase()));
  const lines = [`${method} ${path} HTTP/1.1`, 'host: 127.0.0.1'];
  for (const [name, value] of headers) lines.push(`${name}: ${value}`);
  if (!named.has('connection')) lines.push('connection: close');
  if (framing === 'length') lines.push(`content-length: ${bytes.length}`);
  if (framing === 'chunked') lines.push('transfer-encoding: chunked');
  const head = Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');
  return Buffer.concat([head, ...(framing === 'chunked' ? chunked(bytes) : [bytes])]);
}

function chunked(bytes: Buffer): readonly Buffer[] {
  const pieces: Buffer[] = [];
  for (let from = 0; from < bytes.length; from += chunkBytes) {
    const piece = bytes.subarray(from, from + chunkBytes);
    pieces.push(Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from('\r\n'));
  }
  return [...pieces, Buffer.from('0\r\n\r\n')];
}

/** Sends a request and reads the response to the end of the connection. */
export function rawExchange(url: string, request: RawRequest): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    const socket = rawSocket(url);
    const pieces: Buffer[] = [];
    let broken: Error | undefined;
    socket.on('data', (piece: Buffer) => pieces.push(piece));
    socket.on('error', (error) => (broken = error));
    socket.on('close', () => {
      const answer = parseAnswer(Buffer.concat(pieces));
      if (answer === undefined) reject(broken ?? new Error('the connection ended without an answer'));
      else resolve(answer);
    });
    socket.write(bytesOf(request));
  });
}

/** A connection to the gateway for tests that write to it and close it themselves. */
export function rawSocket(url: string): Socket {
  const { hostname, port } = new URL(url);
  return connect(Number(port), hostname);
}

/** Opens a connection, sends a complete request and returns the connection: for client disconnects. */
export function beginExchange(url: string, request: RawRequest): Socket {
  const socket = rawSocket(url);
  socket.on('error', () => undefined);
  socket.write(bytesOf({ ...request, headers: [['connection', 'keep-alive'], ...(request.headers ?? [])] }));
  return socket;
}

function parseAnswer(bytes: Buffer): RawAnswer | undefined {
  const text = bytes.toString('latin1');
  const end = text.indexOf('\r\n\r\n');
  if (end < 0) return undefined;
  const [statusLine = '', ...lines] = text.slice(0, end).split('\r\n');
  const headers: Record<string, string> = {};
  for (const line of lines) {
    const colon = line.indexOf(':');
    headers[line.slice(0, colon).toLowerCase()] = line.slice(colon + 1).trim();
  }
  const raw = bytes.subarray(end + 4);
  const body = headers['transfer-encoding'] === 'chunked' ? unchunked(raw) : raw;
  return { status: Number(statusLine.split(' ')[1]), headers, body: body.toString('utf8') };
}

function unchunked(bytes: Buffer): Buffer {
  const pieces: Buffer[] = [];
  let at = 0;
  for (;;) {
    const end = bytes.indexOf('\r\n', at);
    const size = Number.parseInt(bytes.toString('latin1', at, Math.max(at, end)), 16);
    if (end < 0 || !(size > 0)) return Buffer.concat(pieces);
    pieces.push(bytes.subarray(end + 2, end + 2 + size));
    at = end + 2 + size + 2;
  }
}
