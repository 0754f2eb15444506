import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { type GatewayError, invalidRequest } from '../shared/gateway-error.ts';
import { isArray, isObject, isString, type Json, type JsonObject, numberOf } from '../shared/json.ts';
import { namedKey } from '../shared/named-key.ts';
import { markOf } from './cache-marks.ts';

/** An object with fields; a number that is kept as raw JSON is none. */
export const isRecord = (value: Json | undefined): value is JsonObject =>
  isObject(value) && numberOf(value) === undefined;

/** A field that cannot be taken, named by its path. */
export const fault = (path: string, problem: string): GatewayError =>
  invalidRequest(`\`${path}\` ${problem}`, path);

/** A block, source or tool that the messages API has and chat completions cannot say, or one that nobody knows. */
export const foreignType = ({ type }: JsonObject, path: string): Either<GatewayError, never> =>
  E.left(
    fault(
      `${path}.type`,
      isString(type)
        ? `is \`${namedKey(type)}\`, which is not available on this model's route.`
        : 'must be a string.',
    ),
  );

/** Content blocks: an array of objects, each with a string `type`. */
export function blocksOf(
  content: Json | undefined,
  path: string,
): Either<GatewayError, readonly JsonObject[]> {
  if (!isArray(content)) return E.left(fault(path, 'must be a string or an array of content blocks.'));
  const index = content.findIndex((block) => !isRecord(block) || !isString(block['type']));
  if (index < 0) return E.right(content as readonly JsonObject[]);
  return E.left(
    isRecord(content[index])
      ? fault(`${path}[${index}].type`, 'must be a string.')
      : fault(`${path}[${index}]`, 'must be a content block.'),
  );
}

/** A string that a block must have. */
export function stringOf(object: JsonObject, field: string, path: string): Either<GatewayError, string> {
  const value = object[field];
  return isString(value) ? E.right(value) : E.left(fault(`${path}.${field}`, 'must be a string.'));
}

/** The same, and it must say something. */
export function nameOf(object: JsonObject, field: string, path: string): Either<GatewayError, string> {
  const value = object[field];
  return isString(value) && value !== ''
    ? E.right(value)
    : E.left(fault(`${path}.${field}`, 'must be a non-empty string.'));
}

/** Text of the system: a string, or text blocks, which are paragraphs of it. */
export const systemText = (content: Json | undefined, path: string): Either<GatewayError, string> =>
  E.map(textOfSystem)(systemBlocks(content, path));

/** The same as text blocks with their cache marks, none of them empty. */
export function systemBlocks(
  content: Json | undefined,
  path: string,
): Either<GatewayError, readonly JsonObject[]> {
  if (isString(content)) return E.right(content === '' ? [] : [{ type: 'text', text: content }]);
  const blocks = blocksOf(content, path);
  if (E.isLeft(blocks)) return blocks;
  const texts: JsonObject[] = [];
  for (const [index, block] of blocks.right.entries()) {
    const at = `${path}[${index}]`;
    if (block['type'] !== 'text') return foreignType(block, at);
    const text = stringOf(block, 'text', at);
    if (E.isLeft(text)) return text;
    if (text.right !== '') texts.push({ type: 'text', text: text.right, ...markOf(block) });
  }
  return E.right(texts);
}

/** Text blocks as one text. */
export const textOfSystem = (blocks: readonly JsonObject[]): string =>
  paragraphs(blocks.flatMap(({ text }) => (isString(text) ? [text] : [])));

/** Texts that stand on their own, as one; the empty ones say nothing. */
export const paragraphs = (texts: readonly string[]): string =>
  texts.filter((text) => text !== '').join('\n\n');
