import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';

/** What is written together; an empty piece is nothing. */
export type Pieces = readonly (string | Uint8Array)[];

/**
 * An answer with status 200 whose body is written as it comes. What is written together is one chunk of HTTP's chunked
 * coding, spelled here into one buffer: Node makes four of it and gathers them at the end of the turn, which takes a
 * quarter of what it takes to pass an event on.
 */
export class StreamedBody {
  private readonly res: ServerResponse;
  /** Callers of HTTP/1.0 know no coding: their body ends with the connection. */
  private readonly isChunked: boolean;

  /** Sends the head at once. */
  constructor(res: ServerResponse, headers: OutgoingHttpHeaders) {
    this.res = res;
    res.writeHead(200, headers);
    // Not flushHeaders, which spells a head in UTF-8: a caller's own request id is bytes, and Node's latin1.
    res.write('', 'latin1');
    this.isChunked = res.chunkedEncoding;
    res.chunkedEncoding = false;
  }

  /** False when the caller reads more slowly than this writes. */
  write(pieces: Pieces): boolean {
    const { res } = this;
    const size = pieces.reduce((sum, piece) => sum + sizeOf(piece), 0);
    if (size > 0) {
      res.cork();
      res.write(joined(pieces, size, this.isChunked));
      res.uncork();
    }
    return !res.writableNeedDrain;
  }

  /** The last chunk: without it a caller knows that the body broke off. */
  end(): void {
    this.res.chunkedEncoding = this.isChunked;
    this.res.end();
  }
}

const sizeOf = (piece: string | Uint8Array): number =>
  typeof piece === 'string' ? Buffer.byteLength(piece) : piece.length;

function joined(pieces: Pieces, size: number, isChunked: boolean): Buffer {
  const [head, tail] = isChunked ? [`${size.toString(16)}\r\n`, '\r\n'] : ['', ''];
  const bytes = Buffer.allocUnsafe(head.length + size + tail.length);
  let at = bytes.write(head, 0, 'latin1');
  for (const piece of pieces) {
    if (typeof piece === 'string') at += bytes.write(piece, at);
    else {
      bytes.set(piece, at);
      at += piece.length;
    }
  }
  bytes.write(tail, at, 'latin1');
  return bytes;
}
