import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import type { UpstreamCall } from '../../../application/ports/upstream.ts';
import {
  mayDeclareImageGeneration,
  withoutImageGeneration,
} from '../../../domain/responses/hosted-image-generation.ts';
import { mayHaveUnknownItems, withKnownItems } from '../../../domain/responses/platform-b-items.ts';
import type { GatewayError } from '../../../domain/shared/gateway-error.ts';
import { parseExactObject } from '../../../domain/shared/json.ts';
import { type ChatStyle, responsesDialect } from '../chat-style/dialects.ts';
import type { Dialect, ProviderContext } from '../provider.ts';

/**
 * The responses family, passed through except for the hosted image-generation tool, which this host does not have, and
 * for items that it knows by another name.
 */
export function endpointbResponses(style: ChatStyle, context: ProviderContext): Dialect {
  const dialect = responsesDialect(style, context);
  return {
    ...dialect,
    encode: (call) => {
      const ours = asHosted(call);
      return E.isLeft(ours) ? ours : dialect.encode(ours.right);
    },
  };
}

function asHosted(call: UpstreamCall): Either<GatewayError, UpstreamCall> {
  if (!mayDeclareImageGeneration(call.body) && !mayHaveUnknownItems(call.body)) return E.right(call);
  const body = parseExactObject(call.body);
  return pipe(
    withoutImageGeneration(withKnownItems(body)),
    E.map((left) => (left === body ? call : { ...call, body: JSON.stringify(left) })),
  );
}
