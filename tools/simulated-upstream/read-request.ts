import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import type { Call } from './call.ts';
import { directivesOf } from './directive-sources.ts';
import type { Directives } from './directives.ts';
import { badRequest, type ErrorAnswer, missingParameter } from './error-answer.ts';
import { isJsonObject, type JsonObject } from './json-object.ts';
import { type Body, bytesOf } from './request-body.ts';

/** A valid request, with its directives for the simulation. */
export interface SimulatedRequest<R> {
  readonly request: R;
  readonly directives: Directives;
}

const objectIn = (body: Body): Either<ErrorAnswer, JsonObject> => {
  const parsed = E.tryCatch(
    () => JSON.parse(bytesOf(body).toString()) as unknown,
    () => undefined,
  );
  return E.isRight(parsed) && isJsonObject(parsed.right)
    ? E.right(parsed.right)
    : E.left(badRequest('The request body is not a JSON object.', null));
};

/**
 * Reads the body of a call with its family's reader. Directives are read before anything else is checked, so that
 * another error never hides a misspelt one.
 */
export function readRequest<R>(
  { body, headers }: Call,
  read: (object: JsonObject, model: string) => Either<ErrorAnswer, R>,
): Either<ErrorAnswer, SimulatedRequest<R>> {
  const object = objectIn(body);
  if (E.isLeft(object)) return object;
  const { model, simulate } = object.right;
  const directives = directivesOf(
    typeof model === 'string' ? model : '',
    headers['x-simulate']?.toString(),
    simulate,
  );
  if (E.isLeft(directives)) return E.left(badRequest(directives.left, 'simulate', 'unknown_directive'));
  if (typeof model !== 'string' || model === '') return E.left(missingParameter('model'));
  const request = read(object.right, model);
  return E.isLeft(request) ? request : E.right({ request: request.right, directives: directives.right });
}
