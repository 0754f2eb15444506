import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import type { Route } from '../../../domain/routing/model.ts';
import { type GatewayError, invalidRequest } from '../../../domain/shared/gateway-error.ts';
import { deepMerge, isAbsent, isString, type JsonObject, objectsOf } from '../../../domain/shared/json.ts';

/**
 * The oracle accepts one question and no conversation; fields that would change the answer are rejected by
 * name.
 */
export function oracleRequest(
  body: JsonObject,
  { extraBody }: Pick<Route, 'extraBody'>,
): Either<GatewayError, JsonObject> {
  if (!isAbsent(body['temperature']))
    return E.left(invalidRequest('`temperature` cannot be set: the oracle has none.', 'temperature'));
  const last = objectsOf(body['messages']).at(-1)?.['content'];
  if (!isString(last)) return E.left(invalidRequest('The last message must be text.', 'messages'));
  return E.right(deepMerge({ question: last }, extraBody));
}
