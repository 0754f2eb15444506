import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { type GatewayError, invalidRequest } from './gateway-error.ts';
import { isAbsent, isArray, isObject, isString, type Json, type JsonObject, objectsOf } from './json.ts';
import { namedKey } from './named-key.ts';

/** An error about one field of the request, named by its path. */
export const fieldError = (path: string, problem: string): GatewayError =>
  invalidRequest(`\`${path}\` ${problem}`, path);

/** Two fields contradict each other. The error names the first. */
export const disagreement = (field: string, other: string): GatewayError =>
  invalidRequest(`\`${field}\` and \`${other}\` disagree.`, field);

const unavailable = "is not available on this model's route";

/** A field that the route's upstream has no equivalent for. `instead` says what to do instead. */
export const unavailableField = (path: string, instead?: string): GatewayError =>
  fieldError(path, instead === undefined ? `${unavailable}.` : `${unavailable}: ${instead}.`);

/** A value, such as a role, that the upstream has no equivalent for, or that is unknown. */
export const unavailableWord = (word: Json | undefined, path: string): GatewayError =>
  fieldError(path, isString(word) ? `is \`${namedKey(word)}\`, which ${unavailable}.` : 'must be a string.');

/** The same for the `type` of a part, block, source, tool or format. */
export const unsupportedType = ({ type }: JsonObject, path: string): Either<GatewayError, never> =>
  E.left(unavailableWord(type, `${path}.type`));

/** For a conversation with nothing left to send once empty messages and parts are dropped. */
export const emptyConversation = fieldError('messages', 'says nothing that can be sent to the model.');

export const choiceOfNoTool = fieldError('tool_choice', 'asks for a tool, but the request has none.');

export const choiceOfOther = (path: string): GatewayError =>
  fieldError(path, 'is the name of none of the `tools`.');

/** For the result of a tool, in the message at this path. */
export const answersNoCall = (path: string): GatewayError =>
  fieldError(`${path}.tool_call_id`, 'answers no call that came before it.');

/** A list of objects; empty if it is absent. */
export function listIn(
  object: JsonObject,
  field: string,
  path: string,
): Either<GatewayError, readonly JsonObject[]> {
  const list = object[field];
  const at = `${path}.${field}`;
  if (isAbsent(list)) return E.right([]);
  if (!isArray(list)) return E.left(fieldError(at, 'must be an array.'));
  const other = list.findIndex((item) => !isObject(item));
  return other < 0 ? E.right(objectsOf(list)) : E.left(fieldError(`${at}[${other}]`, 'must be an object.'));
}

/** A required string field. */
export function stringOf(object: JsonObject, field: string, path: string): Either<GatewayError, string> {
  const value = object[field];
  return isString(value) ? E.right(value) : E.left(fieldError(`${path}.${field}`, 'must be a string.'));
}

/** A required string field that must not be empty. */
export function nameOf(object: JsonObject, field: string, path: string): Either<GatewayError, string> {
  const value = object[field];
  return isString(value) && value !== ''
    ? E.right(value)
    : E.left(fieldError(`${path}.${field}`, 'must be a non-empty string.'));
}
