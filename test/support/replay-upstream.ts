import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** How a body is split into writes. Each write is sent as a separate HTTP chunk. */
export type Cuts =
  | { readonly kind: 'whole' }
  /** A write ends at each of these byte offsets. */
  | { readonly kind: 'at'; readonly offsets: readonly number[] }
  /** Pieces of random sizes, the same for the same seed and length. */
  | { readonly kind: 'random'; readonly seed: number }
  | { readonly kind: 'bytes' };

/**
 * How an answer ends once its body, or the first `after` bytes of it, is sent. `end`: cleanly. `break`: the
 * connection is closed in the middle of the answer. `reset`: the same with a TCP reset. `hang`: silence.
 */
export interface ReplayEnding {
  readonly kind: 'end' | 'break' | 'reset' | 'hang';
  readonly after?: number;
}

/** One answer, byte for byte. */
export interface Replay {
  /** 200 by default. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: Uint8Array | string;
  /** `whole` by default. */
  readonly cuts?: Cuts;
  /** Milliseconds between two writes; 0 by default. */
  readonly pauseMs?: number;
  /** A clean end after the whole body by default. */
  readonly ending?: ReplayEnding;
  /**
   * The body is written to the bare socket, including its status line; `status` and `headers` are ignored
   * then.
   */
  readonly raw?: boolean;
}

/** A received request. */
export interface ReplayRequest {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** The JSON body. */
  readonly body: Readonly<Record<string, unknown>>;
  /** The body as received. */
  readonly text: string;
}

export interface ReplayUpstream {
  /** Base URL, `http://127.0.0.1:PORT/v1`. */
  readonly url: string;
  readonly requests: () => readonly ReplayRequest[];
  /** HTTP answers that the client gave up before they ended, without those that were to be broken off. */
  readonly aborted: () => number;
  readonly close: () => Promise<void>;
}

/** A server that answers each request with the bytes that `answer` chooses for it; undefined is a 404. */
export async function startReplayUpstream(
  answer: (request: ReplayRequest) => Replay | undefined,
): Promise<ReplayUpstream> {
  const seen: ReplayRequest[] = [];
  const broken = new WeakSet<ServerResponse>();
  let aborted = 0;
  const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
    const pieces: Buffer[] = [];
    request.on('data', (piece: Buffer) => void pieces.push(piece));
    response.once('close', () => {
      if (!response.writableFinished && !broken.has(response)) aborted += 1;
    });
    request.once('end', () => {
      const text = Buffer.concat(pieces).toString();
      const body = JSON.parse(text) as ReplayRequest['body'];
      const told = { path: request.url ?? '', headers: request.headers, body, text };
      seen.push(told);
      const replay = answer(told) ?? { status: 404, body: '{"error":{"message":"No such recording."}}' };
      void play(response, replay, () => void broken.add(response));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    requests: () => seen,
    aborted: () => aborted,
    close: () => closed(server),
  };
}

/** A reset discards data in transit, so the bytes before it get this long to arrive. */
const beforeResetMs = 20;

const ordinary: Required<Pick<Replay, 'cuts' | 'pauseMs' | 'ending' | 'raw'>> = {
  cuts: { kind: 'whole' },
  pauseMs: 0,
  ending: { kind: 'end' },
  raw: false,
};

async function play(response: ServerResponse, replay: Replay, breaks: () => void): Promise<void> {
  const { socket } = response;
  if (socket === null) return;
  const { raw, body, cuts, pauseMs, ending } = { ...ordinary, ...replay };
  if (raw || ['break', 'reset'].includes(ending.kind)) breaks();
  if (!raw) beginHttp(response, replay);
  const out = raw ? socket : response;
  for (const piece of pieces(Buffer.from(body as Uint8Array).subarray(0, ending.after), cuts)) {
    if (!(await written(out, piece))) return;
    // It does not keep a process alive whose suite has ended.
    if (pauseMs > 0) await sleep(pauseMs, undefined, { ref: false });
  }
  await finish(out, socket, ending);
}

function beginHttp(response: ServerResponse, { status = 200, headers = {} }: Replay): void {
  response.writeHead(status, { ...headers });
  response.flushHeaders();
}

async function finish(out: ServerResponse | Socket, socket: Socket, { kind }: ReplayEnding): Promise<void> {
  if (kind === 'end') out.end();
  if (kind === 'break') socket.destroy();
  if (kind !== 'reset') return;
  await sleep(beforeResetMs);
  socket.resetAndDestroy();
}

/** Writes one piece and yields to the event loop; false if the client has disconnected. */
function written(out: ServerResponse | Socket, piece: Buffer): Promise<boolean> {
  return new Promise((resolve) => {
    const gone = (): void => resolve(false);
    if (out.destroyed) return gone();
    out.once('close', gone);
    out.write(piece, () =>
      setImmediate(() => {
        out.off('close', gone);
        resolve(!out.destroyed);
      }),
    );
  });
}

function* pieces(bytes: Buffer, cuts: Cuts): Generator<Buffer> {
  let from = 0;
  for (const at of [...cutsOf(bytes.length, cuts), bytes.length]) {
    const to = Math.min(at, bytes.length);
    if (to > from) yield bytes.subarray(from, to);
    from = Math.max(from, to);
  }
}

function* cutsOf(length: number, cuts: Cuts): Generator<number> {
  if (cuts.kind === 'at') yield* cuts.offsets.toSorted((a, b) => a - b);
  if (cuts.kind === 'bytes') for (let at = 1; at < length; at += 1) yield at;
  if (cuts.kind !== 'random') return;
  const random = randomNumbers(cuts.seed);
  const most = Math.max(16, Math.ceil(length / 50));
  for (let at = 0; at < length; ) {
    at += 1 + Math.floor(random() * most);
    yield at;
  }
}

/** Numbers in [0, 1), the same for the same seed. */
export function randomNumbers(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const closed = (server: Server): Promise<void> =>
  new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
