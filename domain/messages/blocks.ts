import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import { fieldError, unsupportedType, stringOf } from '../shared/field-errors.ts';
import type { GatewayError } from '../shared/gateway-error.ts';
import { isArray, isObject, isString, type Json, type JsonObject } from '../shared/json.ts';
import { paragraphs } from '../shared/message-content.ts';
import { withoutAttribution } from './attribution.ts';
import { markOf } from './cache-marks.ts';

/** The depth of nested blocks: a tool result, a document in it, and the blocks of that document. */
export const maxBlockLevels = 3;

/** Content blocks: an array of objects, each with a string `type`. */
export function blocksOf(
  content: Json | undefined,
  path: string,
): Either<GatewayError, readonly JsonObject[]> {
  if (!isArray(content)) return E.left(fieldError(path, 'must be a string or an array of content blocks.'));
  const index = content.findIndex((block) => !isObject(block) || !isString(block['type']));
  if (index < 0) return E.right(content as readonly JsonObject[]);
  return E.left(
    isObject(content[index])
      ? fieldError(`${path}[${index}].type`, 'must be a string.')
      : fieldError(`${path}[${index}]`, 'must be a content block.'),
  );
}

type Parts = Either<GatewayError, readonly JsonObject[]>;

/** Translates each content block into parts. */
export const partsOfBlocks = (
  content: Json | undefined,
  path: string,
  partsOfBlock: (block: JsonObject, path: string) => Parts,
): Parts =>
  pipe(
    blocksOf(content, path),
    E.chain(E.traverseArrayWithIndex((index, block: JsonObject) => partsOfBlock(block, `${path}[${index}]`))),
    E.map((parts) => parts.flat()),
  );

/** The system text: a string, or text blocks, each of which is a paragraph. */
export const systemText = (content: Json | undefined, path: string): Either<GatewayError, string> =>
  pipe(systemBlocks(content, path), E.map(textOfSystem));

/** The system text as text blocks with their cache marks, without empty ones. */
export function systemBlocks(
  content: Json | undefined,
  path: string,
): Either<GatewayError, readonly JsonObject[]> {
  if (isString(content)) return E.right(shownText(content, {}));
  const blocks = blocksOf(content, path);
  if (E.isLeft(blocks)) return blocks;
  const texts: JsonObject[] = [];
  for (const [index, block] of blocks.right.entries()) {
    const at = `${path}[${index}]`;
    if (block['type'] !== 'text') return unsupportedType(block, at);
    const text = stringOf(block, 'text', at);
    if (E.isLeft(text)) return text;
    texts.push(...shownText(text.right, markOf(block)));
  }
  return E.right(texts);
}

function shownText(given: string, mark: JsonObject): readonly JsonObject[] {
  const text = withoutAttribution(given);
  return text === '' ? [] : [{ type: 'text', text, ...mark }];
}

/** Text blocks as one text. */
export const textOfSystem = (blocks: readonly JsonObject[]): string =>
  paragraphs(blocks.flatMap(({ text }) => (isString(text) ? [text] : [])));
