import { isAbsent, isFilled, isObject, isString, type Json, type JsonObject } from '../shared/json.ts';
import { upstreamMessage } from './upstream-words.ts';

/**
 * Whether an `error` beside an answer means anything. Some upstreams always send the field, with an empty string, an
 * empty list, an object without a filled member, or false when there is no error.
 */
export const hasError = (error: Json | undefined): boolean =>
  isObject(error) ? Object.values(error).some(isFilled) : isFilled(error) && error !== false;

/** Members that upstreams put beside the message of an error without an envelope, and beside nothing else. */
const signs = ['code', 'error_code', 'errors', 'detail'] as const;

/** Members that identify answers, events and chunks. */
const names = ['object', 'type', 'usage'] as const;

/** `server_error`, `InternalServerError`. */
const errorType = /error$/i;

/** Whether the object calls itself an error. */
export const isNamedError = ({ object, type }: JsonObject): boolean => object === 'error' || type === 'error';

/**
 * Whether something in place of an answer is an error without an envelope. It either calls itself an error, or has a
 * message together with a sign of an error, a type that ends in `error`, or none of the members of an answer.
 */
export function isBareError(payload: JsonObject): boolean {
  if (isNamedError(payload)) return true;
  const { type } = payload;
  const looksLikeOne =
    signs.some((sign) => isFilled(payload[sign])) ||
    names.every((name) => isAbsent(payload[name])) ||
    (isString(type) && errorType.test(type));
  return looksLikeOne && upstreamMessage(payload) !== undefined;
}
