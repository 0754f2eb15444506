import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import type { UpstreamCall } from '../../application/ports/upstream.ts';
import type { GatewayError } from '../../domain/shared/gateway-error.ts';
import type { PartRequest, Reached, WrittenRequest } from './provider.ts';

/** The requests of one call, as they are sent: one, or as many as a fan-out needs. */
export type WrittenCall = readonly WrittenPart[];

export type WrittenPart = WrittenRequest & Pick<PartRequest, 'inputs'>;

/** Writes them; left is what of the caller's request the upstream cannot express. */
export const writtenCall = (
  dialect: Reached['dialect'],
  call: UpstreamCall,
): Either<GatewayError, WrittenCall> =>
  'encodeMany' in dialect
    ? dialect.encodeMany(call)
    : pipe(
        dialect.encode(call),
        E.map((request): WrittenCall => [{ ...request, inputs: 1 }]),
      );
