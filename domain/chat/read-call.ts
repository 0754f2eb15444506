import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { fieldError, stringOf } from '../shared/field-errors.ts';
import type { GatewayError } from '../shared/gateway-error.ts';
import { isString, type JsonObject } from '../shared/json.ts';
import { calledFunction } from './chat-functions.ts';

/** A call in a chat message. Its arguments are the text that the model wrote, which may be no JSON. */
interface ReadCall {
  readonly id: string;
  readonly name: string;
  readonly text: string;
}

/** Reads a call for an upstream that has calls of another form. */
export function readCall(call: JsonObject, path: string): Either<GatewayError, ReadCall> {
  const called = calledFunction(call, path);
  if (E.isLeft(called)) return called;
  const { name, members } = called.right;
  const id = stringOf(call, 'id', path);
  if (E.isLeft(id)) return id;
  const text = members['arguments'] ?? '';
  return isString(text)
    ? E.right({ id: id.right, name, text })
    : E.left(fieldError(`${path}.function.arguments`, 'must be a string.'));
}
