import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import type { Decompress, Decompression } from '../../application/ports/decompression.ts';
import { type SharedText, sharedText } from '../../application/ports/shared-text.ts';
import { withoutMark } from '../../domain/shared/byte-order-mark.ts';
import { type ContentCoding, contentCodingOf, contentCodings } from '../../domain/shared/content-coding.ts';
import { addFragment } from '../../domain/shared/fragments.ts';
import { type GatewayError, invalidRequest, overloaded } from '../../domain/shared/gateway-error.ts';
import { maxEventLoopBodyBytes } from '../../domain/shared/limits.ts';
import type { Arrivals, BodyInProgress } from './body-pace.ts';
import type { BodyTurns } from './body-turns.ts';
import type { Lease } from './load-gate.ts';
import { bodyFault, malformedBody } from './malformed-request.ts';
import { header } from './request-context.ts';

const tooLarge = (maxBytes: number): GatewayError => ({
  code: 'request_too_large',
  message: `The request body is larger than ${maxBytes} bytes.`,
});

const jsonType = /^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i;

/** How a body is read. */
export interface BodyTerms {
  /** Applies to the body as it arrives, and again to its decompressed size. */
  readonly maxBytes: number;
  readonly lease: Pick<Lease, 'hold' | 'giveBack'>;
  readonly arrivals: Arrivals;
  /** `undefined`: compressed bodies are rejected. */
  readonly decompress?: Decompress;
}

/**
 * A JSON body as text. A body that is too large, too slow, not of a JSON content type, or not UTF-8 has its own error.
 */
export const readJsonText = async (
  req: IncomingMessage,
  terms: BodyTerms,
): Promise<Either<GatewayError, string>> =>
  pipe(await readPieces(req, terms), E.chain(utf8Of), E.map(textOf));

/** A body that may be sent upstream. */
export interface ReadBody {
  /** In shared memory when it is so large that a worker thread processes it. */
  readonly text: string | SharedText;
  /** The same text in UTF-8, unless it is small. */
  readonly utf8?: Uint8Array;
}

/** Below this size, encoding the text again costs less than assembling it from pieces of its bytes. */
const minKeptBytes = 4096;

/** Like {@link readJsonText}, for a body that may be sent upstream. It and its request are begun in their turn. */
export async function readJsonBody(
  req: IncomingMessage,
  { turns, ...terms }: BodyTerms & { readonly turns: BodyTurns },
): Promise<Either<GatewayError, ReadBody>> {
  const pieces = await readPieces(req, terms);
  if (E.isLeft(pieces)) return pieces;
  const bytes = sizeOf(pieces.right);
  const turn = turns(bytes < minKeptBytes ? 0 : bytes);
  if (turn !== undefined) await turn;
  return bytes > maxEventLoopBodyBytes ? sharedBodyOf(pieces.right) : bodyOf(pieces.right);
}

type Pieces = readonly Uint8Array[];

const sizeOf = (pieces: Pieces): number => pieces.reduce((sum, { length }) => sum + length, 0);

const notUtf8 = E.left(invalidRequest('The request body is not valid UTF-8.', 'body'));

function utf8Of(all: Pieces): Either<GatewayError, Uint8Array> {
  const pieces = withoutMark(all);
  const bytes = pieces.length === 1 && pieces[0] !== undefined ? pieces[0] : Buffer.concat(pieces);
  return isUtf8(bytes) ? E.right(bytes) : notUtf8;
}

const textOf = ({ buffer, byteOffset, length }: Uint8Array): string =>
  Buffer.from(buffer, byteOffset, length).toString('utf8');

const bodyOf = (pieces: Pieces): Either<GatewayError, ReadBody> =>
  pipe(
    utf8Of(pieces),
    E.map((utf8) => (utf8.length < minKeptBytes ? { text: textOf(utf8) } : { text: textOf(utf8), utf8 })),
  );

function sharedBodyOf(pieces: Pieces): Either<GatewayError, ReadBody> {
  const text = sharedText(withoutMark(pieces));
  return isUtf8(text) ? E.right({ text }) : notUtf8;
}

/** Node undoes this transfer coding alone, and would hand on the body in any other (rule 33.51). */
const isOnlyChunked = (req: IncomingMessage): boolean =>
  /^\s*chunked\s*$/i.test(header(req, 'transfer-encoding') ?? 'chunked');

/** The coding of a body, unless the request head already rules out reading it. */
function codingOf(
  req: IncomingMessage,
  { maxBytes, decompress }: BodyTerms,
): Either<GatewayError, ContentCoding | 'identity'> {
  const type = header(req, 'content-type');
  if (type !== undefined && !jsonType.test(type))
    return E.left(
      invalidRequest('The request body must be JSON: `content-type: application/json`.', 'content-type'),
    );
  if (!isOnlyChunked(req))
    return E.left(
      invalidRequest('A request body has no transfer coding but `chunked`.', 'transfer-encoding'),
    );
  const coding = contentCodingOf(header(req, 'content-encoding'));
  if (coding !== 'identity' && decompress === undefined)
    return E.left(invalidRequest('Compressed request bodies are not read here.', 'content-encoding'));
  if (coding === undefined)
    return E.left(
      invalidRequest(
        `A request body is compressed in one of these ways, or not at all: ${contentCodings.join(', ')}.`,
        'content-encoding',
      ),
    );
  return Number(header(req, 'content-length') ?? 0) > maxBytes ? E.left(tooLarge(maxBytes)) : E.right(coding);
}

const brokenOff: GatewayError = invalidRequest('The request body broke off.', 'body');

const notDecoded = (coding: string): GatewayError =>
  invalidRequest(
    `The request body is not what its \`content-encoding\` says: ${coding}.`,
    'content-encoding',
  );

/**
 * The caller may have disconnected while its key was looked up, and an event that has already fired does not fire
 * again.
 */
async function readPieces(req: IncomingMessage, terms: BodyTerms): Promise<Either<GatewayError, Pieces>> {
  const coding = codingOf(req, terms);
  if (E.isLeft(coding)) return coding;
  if (req.destroyed) return E.left(brokenOff);
  const fault = bodyFault(req);
  if (fault !== undefined) return E.left(fault);
  return new Promise((resolve) => {
    const reading = new Reading(req, coding.right, terms, resolve);
    reading.begin();
  });
}

/**
 * A body while it is read. The pace is that of the bytes that arrive. The size limit applies to the bytes that arrive
 * and to the decompressed bytes; the lease counts the decompressed ones.
 */
class Reading {
  private readonly req: IncomingMessage;
  private readonly terms: BodyTerms;
  private readonly resolve: (read: Either<GatewayError, Pieces>) => void;
  private readonly decompression: Decompression | undefined;
  private arriving: BodyInProgress | undefined;
  private readonly pieces: Uint8Array[] = [];
  private arrived = 0;
  private size = 0;
  private isOver = false;

  constructor(
    req: IncomingMessage,
    coding: ContentCoding | 'identity',
    terms: BodyTerms,
    resolve: (read: Either<GatewayError, Pieces>) => void,
  ) {
    this.req = req;
    this.terms = terms;
    this.resolve = resolve;
    if (coding !== 'identity')
      this.decompression = terms.decompress?.(coding, {
        take: (piece) => this.take(piece),
        over: (whole) => (whole ? this.done(E.right(this.pieces)) : this.stop(notDecoded(coding))),
        full: () => {
          req.pause();
          this.arriving?.paused(true);
        },
        room: () => {
          req.resume();
          this.arriving?.paused(false);
        },
      });
  }

  begin(): void {
    const { req } = this;
    // A body that has already arrived in full need not be watched.
    this.arriving = req.complete ? undefined : this.terms.arrivals((why) => this.stop(why));
    req.on('data', this.collect);
    req.once('end', this.end);
    req.once('error', this.breakOff);
    req.once('close', this.breakOff);
    req.once(malformedBody, this.refuse);
  }

  private readonly collect = (piece: Buffer): void => {
    this.arriving?.received(piece.length);
    this.arrived += piece.length;
    if (this.arrived > this.terms.maxBytes) this.stop(tooLarge(this.terms.maxBytes));
    else if (this.decompression === undefined) this.take(piece);
    else this.decompression.write(piece);
  };

  private take(piece: Buffer): void {
    const { maxBytes, lease } = this.terms;
    this.size += piece.length;
    if (this.size > maxBytes) this.stop(tooLarge(maxBytes));
    else if (lease.hold(piece.length)) addFragment(this.pieces, piece);
    else this.stop(overloaded);
  }

  private readonly end = (): void => {
    this.req.off('close', this.breakOff);
    this.arriving?.over();
    if (this.decompression === undefined) this.done(E.right(this.pieces));
    else this.decompression.end();
  };

  private readonly breakOff = (): void => this.done(E.left(brokenOff));
  private readonly refuse = (fault: GatewayError): void => this.stop(fault);

  private stop(error: GatewayError): void {
    this.done(E.left(error));
    this.req.resume();
  }

  /** The request keeps none of the listeners, which have the body: its answer may take minutes. */
  private done(read: Either<GatewayError, Pieces>): void {
    if (this.isOver) return;
    this.isOver = true;
    const { req } = this;
    req.off('data', this.collect).off('end', this.end).off(malformedBody, this.refuse);
    req.off('error', this.breakOff).off('close', this.breakOff);
    this.arriving?.over();
    this.decompression?.cancel();
    if (E.isLeft(read)) this.drop();
    this.resolve(read);
  }

  /**
   * Frees the room at once, and not when the refusal is sent: of bodies that arrive together and are too many, each
   * would take some of it, and all would be refused (rule 27.17).
   */
  private drop(): void {
    this.terms.lease.giveBack(sizeOf(this.pieces));
    this.pieces.length = 0;
  }
}
