import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import type { UpstreamCall } from '../../application/ports/upstream.ts';
import type { GatewayError } from '../../domain/shared/gateway-error.ts';
import type { PartRequest, CalledUpstream, WrittenRequest } from './provider.ts';

/** The requests of one call as they are sent: one, or as many as a fan-out needs. */
export type WrittenCall = readonly WrittenPart[];

export type WrittenPart = WrittenRequest & Pick<PartRequest, 'inputs'>;

/**
 * Encodes the requests of a call. Left: the error for a part of the caller's request that the upstream cannot express.
 * A body that the dialect leaves unchanged is sent as the bytes of the call's `utf8`, if it has them.
 */
export const writtenCall = (
  dialect: CalledUpstream['dialect'],
  call: UpstreamCall,
): Either<GatewayError, WrittenCall> =>
  'encodeMany' in dialect
    ? dialect.encodeMany(call)
    : pipe(
        dialect.encode(call),
        E.map((request): WrittenCall => [{ ...request, body: sentBody(request.body, call), inputs: 1 }]),
      );

const sentBody = (body: string, { body: before, utf8 }: UpstreamCall): WrittenRequest['body'] =>
  utf8 !== undefined && body === before ? joined(utf8) : body;

const joined = (pieces: readonly Uint8Array[]): Uint8Array =>
  pieces.length === 1 && pieces[0] !== undefined ? pieces[0] : Buffer.concat(pieces);
