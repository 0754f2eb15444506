import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { type GatewayError, invalidRequest } from './gateway-error.ts';
import { isString, type Json, type JsonObject } from './json.ts';
import { namedKey } from './named-key.ts';

/** A field that cannot be taken, named by its path. */
export const fieldError = (path: string, problem: string): GatewayError =>
  invalidRequest(`\`${path}\` ${problem}`, path);

/** Two fields that say different things; the first is the one that the error names. */
export const disagreement = (field: string, other: string): GatewayError =>
  invalidRequest(`\`${field}\` and \`${other}\` disagree.`, field);

const unavailable = "is not available on this model's route";

/** A field that the route's upstream has no word for; `instead` is what to do in its place. */
export const unavailableField = (path: string, instead?: string): GatewayError =>
  fieldError(path, instead === undefined ? `${unavailable}.` : `${unavailable}: ${instead}.`);

/** A word, such as a role, that cannot be said upstream, or one that nobody knows. */
export const unavailableWord = (word: Json | undefined, path: string): GatewayError =>
  fieldError(path, isString(word) ? `is \`${namedKey(word)}\`, which ${unavailable}.` : 'must be a string.');

/** The same of the `type` of a part, block, source, tool or format. */
export const foreignType = ({ type }: JsonObject, path: string): Either<GatewayError, never> =>
  E.left(unavailableWord(type, `${path}.type`));

/** Of a conversation of which nothing is left once what says nothing is gone. */
export const emptyConversation = fieldError('messages', 'says nothing that can be sent to the model.');

export const choiceOfNoTool = fieldError('tool_choice', 'asks for a tool, but the request has none.');

/** A string that a block must have. */
export function stringOf(object: JsonObject, field: string, path: string): Either<GatewayError, string> {
  const value = object[field];
  return isString(value) ? E.right(value) : E.left(fieldError(`${path}.${field}`, 'must be a string.'));
}

/** The same, and it must say something. */
export function nameOf(object: JsonObject, field: string, path: string): Either<GatewayError, string> {
  const value = object[field];
  return isString(value) && value !== ''
    ? E.right(value)
    : E.left(fieldError(`${path}.${field}`, 'must be a non-empty string.'));
}
