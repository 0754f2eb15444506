import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { RequestContext } from './request-context.ts';

/** What is written together; an empty piece is nothing. */
export type Pieces = readonly (string | Uint8Array)[];

/** Whom an answer goes to. */
interface StreamedTo {
  readonly res: ServerResponse;
  readonly link: Pick<RequestContext['link'], 'gone'>;
}

/**
 * An answer with status 200 whose body is written as it comes. What is written together is one chunk of HTTP's chunked
 * coding, spelled here into one text: Node makes four writes of it and gathers them at the end of the turn, which takes
 * an eighth of what it takes to pass an event on. It is a text, a character for each byte, and no buffer: small buffers
 * are cut out of larger ones, which callers who read slowly would keep. To a caller who has left nothing is written.
 */
export class StreamedBody {
  private readonly res: ServerResponse;
  private readonly gone: () => boolean;
  /** Callers of HTTP/1.0 know no coding: their body ends with the connection. */
  private readonly isChunked: boolean;

  /** Sends the head at once. */
  constructor({ res, link }: StreamedTo, headers: OutgoingHttpHeaders) {
    this.res = res;
    this.gone = link.gone;
    if (!this.gone()) {
      res.writeHead(200, headers);
      // Not flushHeaders, which spells a head in UTF-8: a caller's own request id is bytes, and Node's latin1.
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

  /** Says that the stream is alive, unless there is something to be taken that says so. */
  keepAlive(piece: string): void {
    if (!this.res.writableNeedDrain) this.write([piece]);
  }

  /** The last chunk: without it a caller knows that the body broke off. */
  end(): void {
    this.res.chunkedEncoding = this.isChunked;
    this.res.end();
  }
}

/** The bytes of a piece, a character each. */
function asLatin1(piece: string | Uint8Array): string {
  if (typeof piece !== 'string')
    return Buffer.from(piece.buffer, piece.byteOffset, piece.length).toString('latin1');
  return Buffer.byteLength(piece) === piece.length ? piece : Buffer.from(piece).toString('latin1');
}
