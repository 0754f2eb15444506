import { isAbsent, isFilled, isObject, isString, type Json, type JsonObject } from '../shared/json.ts';
import { upstreamMessage } from './upstream-words.ts';

/**
 * Whether an `error` beside an answer says anything. Some upstreams send the field always, and mean nothing by an empty
 * text, an empty list, an object without a filled member, or false.
 */
export const saysError = (error: Json | undefined): boolean =>
  isObject(error) ? Object.values(error).some(isFilled) : isFilled(error) && error !== false;

/** What upstreams put beside the words of an error that has no envelope, and beside nothing else. */
const signs = ['code', 'error_code', 'errors', 'detail'] as const;

/** What answers, events and chunks are told by. */
const names = ['object', 'type', 'usage'] as const;

/** `server_error`, `InternalServerError`. */
const errorType = /error$/i;

/** An error that calls itself one. */
export const isNamedError = ({ object, type }: JsonObject): boolean => object === 'error' || type === 'error';

/**
 * Whether what stands where an answer should be is an error without an envelope: it calls itself one, or has words for
 * one, with a sign of it beside them or nothing that an answer has.
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
