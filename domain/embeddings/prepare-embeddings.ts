import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import { overridden } from '../routing/extra-body.ts';
import type { Route } from '../routing/model.ts';
import type { GatewayError } from '../shared/gateway-error.ts';
import { editedMembers, type MemberChanges } from '../shared/json-document.ts';
import type { OutboundText } from '../shared/outbound-text.ts';
import type { EmbeddingsRequest } from './embeddings-request.ts';

/** The outbound embeddings body: no transforms, the model's upstream name, and `extra_body` as the final override. */
export function prepareEmbeddings(
  request: EmbeddingsRequest,
  route: Route,
): Either<GatewayError, OutboundText> {
  const { document, model } = request;
  const named: MemberChanges =
    model === route.upstreamModel ? new Map() : new Map([['model', route.upstreamModel]]);
  return pipe(
    overridden(document, named, route.extraBody),
    E.map((all) => editedMembers(document, all)),
  );
}
