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
import { maxBodyBytesHere } from '../../domain/shared/limits.ts';
import type { Arrivals, Arriving } from './body-pace.ts';
import type { Lease } from './load-gate.ts';
import { bodyFault, malformedBody } from './malformed-request.ts';
import { header } from './request-context.ts';

const tooLarge = (maxBytes: number): GatewayError => ({
  code: 'request_too_large',
  message: `The request body is larger than ${maxBytes} bytes.`,
});

const jsonType = /^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i;

/** What reading a body goes by. */
export interface BodyTerms {
  /** Of the body as it arrives, and of what it is when it is no longer compressed. */
  readonly maxBytes: number;
  readonly lease: Pick<Lease, 'hold'>;
  readonly arrivals: Arrivals;
  /** Undefined: compressed bodies are not read. */
  readonly decompress?: Decompress;
}

/**
 * A JSON body as text. What is over the bound, too slow, not JSON by its type, or not UTF-8, has an error of its own.
 */
export const readJsonText = async (
  req: IncomingMessage,
  terms: BodyTerms,
): Promise<Either<GatewayError, string>> =>
  pipe(await readPieces(req, terms), E.chain(utf8Of), E.map(textOf));

/** A body that may go on upstream. */
export interface ReadBody {
  /** In shared memory where it is so large that it is worked on beside the event loop. */
  readonly text: string | SharedText;
  /** The same in UTF-8, of a text that is not small. */
  readonly utf8?: Uint8Array;
}

/** Below so many bytes it costs less to encode a text again than to put pieces of it together. */
const minKeptBytes = 4096;

/** The same, for a body that may go on upstream. */
export const readJsonBody = async (
  req: IncomingMessage,
  terms: BodyTerms,
): Promise<Either<GatewayError, ReadBody>> =>
  pipe(
    await readPieces(req, terms),
    E.chain((pieces) => (sizeOf(pieces) > maxBodyBytesHere ? sharedBodyOf(pieces) : bodyOf(pieces))),
  );

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

/** The coding that a body comes in, unless its head already says that it is not to be read. */
function codingOf(
  req: IncomingMessage,
  { maxBytes, decompress }: BodyTerms,
): Either<GatewayError, ContentCoding | 'identity'> {
  const type = header(req, 'content-type');
  if (type !== undefined && !jsonType.test(type))
    return E.left(
      invalidRequest('The request body must be JSON: `content-type: application/json`.', 'content-type'),
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

/** A caller may have left while its key was looked up: an event that has passed by now does not come again. */
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
 * A body while it is read. Its pace is that of what arrives; the bounds hold for what arrives and for what that is when
 * it is no longer compressed, which is what the lease holds.
 */
class Reading {
  private readonly req: IncomingMessage;
  private readonly terms: BodyTerms;
  private readonly resolve: (read: Either<GatewayError, Pieces>) => void;
  private readonly decompression: Decompression | undefined;
  private arriving: Arriving | undefined;
  private readonly pieces: Uint8Array[] = [];
  private arrived = 0;
  private size = 0;

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
        full: () => void req.pause(),
        room: () => void req.resume(),
      });
  }

  begin(): void {
    const { req } = this;
    // What is here whole need not be watched.
    this.arriving = req.complete ? undefined : this.terms.arrivals((why) => this.stop(why));
    req.on('data', this.collect);
    req.once('end', this.end);
    req.once('error', this.breakOff);
    req.once('close', this.breakOff);
    req.once(malformedBody, (fault: GatewayError) => this.stop(fault));
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

  private stop(error: GatewayError): void {
    this.done(E.left(error));
    this.req.resume();
  }

  private done(read: Either<GatewayError, Pieces>): void {
    this.req.off('data', this.collect);
    this.req.off('end', this.end);
    this.arriving?.over();
    this.decompression?.cancel();
    this.resolve(read);
  }
}
