import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import type { GatewayError } from '../shared/gateway-error.ts';
import type { JsonDocument } from '../shared/json-document.ts';
import { type JsonObject, without } from '../shared/json.ts';
import { restrictedGeo } from './inference-geo.ts';
import { readConversation } from './messages-request.ts';
import type { GenerationRequest } from '../routing/generation-request.ts';

/**
 * A messages body whose tokens are to be counted. Its tools are shown to no model, so `exposedToolCount` is undefined.
 */
export interface CountRequest extends Omit<GenerationRequest, 'exposedToolCount'> {
  readonly exposedToolCount: undefined;
}

/** The count goes where the message itself would go, except that no streaming is needed: a count is returned whole. */
export const readCountRequest = (document: JsonDocument): Either<GatewayError, CountRequest> =>
  pipe(
    readConversation(document),
    E.map(
      (request): CountRequest => ({
        ...request,
        stream: false,
        needs: request.needs.filter((need) => need !== 'stream'),
        exposedToolCount: undefined,
      }),
    ),
  );

/** Fields that concern only the answer. They do not change the count, and upstreams that count tokens refuse them. */
const answerFields = [
  'max_tokens',
  'temperature',
  'top_p',
  'top_k',
  'stop_sequences',
  'stream',
  'metadata',
  'service_tier',
] as const;

/** The part of a messages body that is counted. A region stays: the conversation may not leave it for a count either. */
export const countedBody = (body: JsonObject): JsonObject =>
  without(body, ...answerFields, ...(restrictedGeo(body) === undefined ? ['inference_geo'] : []));
