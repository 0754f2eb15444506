import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { RequestContext } from './request-context.ts';

/** Pieces that are written together. An empty piece writes nothing. */
export type Pieces = readonly (string | Uint8Array)[];

/** The receiver of an answer. */
interface StreamedTo {
  readonly res: ServerResponse;
  readonly link: Pick<RequestContext['link'], 'gone'>;
}

/**
 * A 200 answer whose body is written as it comes. Pieces written together become one chunk of HTTP's chunked coding,
 * assembled here into one string: Node would make four writes of it and gather them at the end of the turn, an eighth
 * of the whole cost of passing an event on. It is a string with one character per byte rather than a buffer, because
 * small buffers are slices of larger ones, which slow callers would keep alive. Nothing is written after a client
 * disconnect.
 */
export class StreamedBody {
  private readonly res: ServerResponse;
  private readonly gone: () => boolean;
  /** HTTP/1.0 has no chunked coding: there the body ends with the connection. */
  private readonly isChunked: boolean;

  /** Sends the head at once. */
  constructor({ res, link }: StreamedTo, headers: OutgoingHttpHeaders) {
    this.res = res;
    this.gone = link.gone;
    if (!this.gone()) {
      res.writeHead(200, headers);
      // Not `flushHeaders`, which encodes the head in UTF-8: a caller's own request id is raw bytes, read by Node as
      // latin1.
      res.write('', 'latin1');
    }
    this.isChunked = res.chunkedEncoding;
    res.chunkedEncoding = false;
  }

  /** False when the caller reads more slowly than this writes. */
  write(pieces: Pieces): boolean {
    const { res } = this;
    if (this.gone()) return true;
    const bytes = pieces.map(asLatin1).join('');
    if (bytes.length > 0) {
      res.cork();
      res.write(this.isChunked ? `${bytes.length.toString(16)}\r\n${bytes}\r\n` : bytes, 'latin1');
      res.uncork();
    }
    return !res.writableNeedDrain;
  }

  /** Shows that the stream is alive, unless bytes that the caller has yet to read already do. */
  keepAlive(piece: string): void {
    if (!this.res.writableNeedDrain) this.write([piece]);
  }

  /** Writes the last chunk. Without it a caller knows that the body broke off. */
  end(): void {
    this.res.chunkedEncoding = this.isChunked;
    this.res.end();
  }
}

/** The bytes of a piece, one character each. */
function asLatin1(piece: string | Uint8Array): string {
  if (typeof piece !== 'string')
    return Buffer.from(piece.buffer, piece.byteOffset, piece.length).toString('latin1');
  return Buffer.byteLength(piece) === piece.length ? piece : Buffer.from(piece).toString('latin1');
}
