import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { type SharedText, sharedText } from '../../application/ports/shared-text.ts';
import { type GatewayError, invalidRequest, overloaded } from '../../domain/shared/gateway-error.ts';
import { maxBodyBytesHere } from '../../domain/shared/limits.ts';
import type { Arrivals } from './body-pace.ts';
import type { Lease } from './load-gate.ts';
import { header } from './request-context.ts';

const tooLarge = (maxBytes: number): GatewayError => ({
  code: 'request_too_large',
  message: `The request body is larger than ${maxBytes} bytes.`,
});

const jsonType = /^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i;

type Holding = Pick<Lease, 'hold'>;

/** A JSON body as text. What is over the bound, too slow, not JSON by its type, or not UTF-8, is told by name. */
export const readJsonText = async (
  req: IncomingMessage,
  maxBytes: number,
  lease: Holding,
  arrivals: Arrivals,
): Promise<Either<GatewayError, string>> => E.chain(textOf)(await readPieces(req, maxBytes, lease, arrivals));

/** The same, in shared memory where it is so large that it is worked on beside the event loop. */
export const readJsonBody = async (
  req: IncomingMessage,
  maxBytes: number,
  lease: Holding,
  arrivals: Arrivals,
): Promise<Either<GatewayError, string | SharedText>> =>
  E.chain(
    (pieces: Pieces): Either<GatewayError, string | SharedText> =>
      sizeOf(pieces) > maxBodyBytesHere ? sharedTextOf(pieces) : textOf(pieces),
  )(await readPieces(req, maxBytes, lease, arrivals));

type Pieces = readonly Buffer[];

const sizeOf = (pieces: Pieces): number => pieces.reduce((sum, { length }) => sum + length, 0);

const notUtf8 = E.left(invalidRequest('The request body is not valid UTF-8.', 'body'));

function textOf(pieces: Pieces): Either<GatewayError, string> {
  const bytes = pieces.length === 1 && pieces[0] !== undefined ? pieces[0] : Buffer.concat(pieces);
  return isUtf8(bytes) ? E.right(bytes.toString('utf8')) : notUtf8;
}

function sharedTextOf(pieces: Pieces): Either<GatewayError, SharedText> {
  const text = sharedText(pieces);
  return isUtf8(text) ? E.right(text) : notUtf8;
}

function headFault(req: IncomingMessage, maxBytes: number): GatewayError | undefined {
  const type = header(req, 'content-type');
  if (type !== undefined && !jsonType.test(type))
    return invalidRequest('The request body must be JSON: `content-type: application/json`.', 'content-type');
  const encoding = header(req, 'content-encoding')?.toLowerCase() ?? 'identity';
  if (encoding !== 'identity')
    return invalidRequest('Compressed request bodies are not supported.', 'content-encoding');
  return Number(header(req, 'content-length') ?? 0) > maxBytes ? tooLarge(maxBytes) : undefined;
}

const brokenOff: Either<GatewayError, never> = E.left(invalidRequest('The request body broke off.', 'body'));

/** A caller may have left while its key was looked up: what has happened by now is not told again. */
async function readPieces(
  req: IncomingMessage,
  maxBytes: number,
  lease: Holding,
  arrivals: Arrivals,
): Promise<Either<GatewayError, Pieces>> {
  const refusal = headFault(req, maxBytes);
  if (refusal !== undefined) return E.left(refusal);
  if (req.destroyed) return brokenOff;
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const done = (result: Either<GatewayError, Pieces>): void => {
      arriving?.over();
      resolve(result);
    };
    const stop = (error: GatewayError): void => {
      req.off('data', collect);
      req.resume();
      done(E.left(error));
    };
    // What is here whole need not be watched.
    const arriving = req.complete ? undefined : arrivals(stop);
    const collect = (chunk: Buffer): void => {
      size += chunk.length;
      arriving?.received(chunk.length);
      if (size > maxBytes) stop(tooLarge(maxBytes));
      else if (lease.hold(chunk.length)) chunks.push(chunk);
      else stop(overloaded);
    };
    req.on('data', collect);
    req.once('end', () => done(E.right(chunks)));
    req.once('error', () => done(brokenOff));
    req.once('close', () => done(brokenOff));
  });
}
