import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import {
  base64DataUrl,
  base64Of,
  fileData,
  foreignMedia,
  isUrl,
  mediaUrl,
} from '../../../domain/chat/data-url.ts';
import { isThinkingPart } from '../../../domain/reasoning/reasoning-fields.ts';
import { blocksOf } from '../../../domain/messages/blocks.ts';
import { isObject, isAbsent, isString, type Json, type JsonObject } from '../../../domain/shared/json.ts';
import { fieldError, unsupportedType, stringOf } from '../../../domain/shared/field-errors.ts';
import { withMarkOnLastBlock } from '../../../domain/messages/cache-marks.ts';
import type { GatewayError } from '../../../domain/shared/gateway-error.ts';
import { documentFormat, type DocumentNames } from './unified-documents.ts';
import { documentFormats, imageFormats } from './unified-limits.ts';

/** Content blocks of a converse message. */
export type Blocks = Either<GatewayError, readonly JsonObject[]>;
type Block = Either<GatewayError, JsonObject>;

/** A text block. A blank text gives no block, because the platform rejects one. */
export const textBlocks = (text: string): readonly JsonObject[] => (text.trim() === '' ? [] : [{ text }]);

/** Reads a string, or parts by `take`. Blocks keep their cache marks until cache points are placed. */
export function contentBlocks(
  content: Json | undefined,
  path: string,
  take: (part: JsonObject, path: string) => Blocks,
): Blocks {
  if (isAbsent(content)) return E.right([]);
  if (isString(content)) return E.right(textBlocks(content));
  const parts = blocksOf(content, path);
  if (E.isLeft(parts)) return parts;
  const blocks = E.traverseArrayWithIndex((index: number, part: JsonObject) =>
    pipe(
      take(part, `${path}[${index}]`),
      E.map((made) => withMarkOnLastBlock(made, part)),
    ),
  )(parts.right);
  return pipe(
    blocks,
    E.map((all) => all.flat()),
  );
}

/** Content of users: text, images and documents. */
export const userPart =
  (names: DocumentNames) =>
  (part: JsonObject, path: string): Blocks => {
    switch (isString(part['type']) ? part['type'] : '') {
      case 'text':
        return pipe(stringOf(part, 'text', path), E.map(textBlocks));
      case 'image_url':
        return alone(imageBlock(part, path));
      case 'file':
        return alone(documentBlock(part['file'], `${path}.file`, names));
      default:
        return unsupportedType(part, path);
    }
  };

/** Content of tool results: the same, and JSON. The platform takes only JSON objects; other JSON is sent as text. */
export const resultPart =
  (names: DocumentNames) =>
  (part: JsonObject, path: string): Blocks =>
    part['type'] === 'json' && part['json'] !== undefined
      ? E.right([jsonBlock(part['json'])])
      : userPart(names)(part, path);

export const jsonBlock = (value: Json): JsonObject =>
  isObject(value) ? { json: value } : { text: JSON.stringify(value) };

/** Content of assistants: text and refusals. Thinking is dropped. */
export const assistantPart = (part: JsonObject, path: string): Blocks => {
  if (isThinkingPart(part)) return E.right([]);
  switch (isString(part['type']) ? part['type'] : '') {
    case 'text':
      return pipe(stringOf(part, 'text', path), E.map(textBlocks));
    case 'refusal':
      return pipe(stringOf(part, 'refusal', path), E.map(textBlocks));
    default:
      return unsupportedType(part, path);
  }
};

const alone = (block: Block): Blocks =>
  pipe(
    block,
    E.map((only) => [only]),
  );

/** Only base64 images, because the platform does not fetch URLs. */
function imageBlock(part: JsonObject, path: string): Block {
  const found = mediaUrl(part, 'image_url', path);
  if (E.isLeft(found)) return found;
  const { url, path: at } = found.right;
  const data = base64DataUrl(url);
  if (data === undefined)
    return E.left(fieldError(at, "must be a base64 data URL: this model's route reads no remote images."));
  const named = data.mediaType.replace(/^image\//, '');
  const format = imageFormats.find((each) => each === named);
  if (format === undefined) return E.left(foreignMedia(at, data.mediaType, imageFormats));
  return pipe(
    base64Of(data.data, at, 'standard'),
    E.map((bytes) => ({ image: { format, source: { bytes } } })),
  );
}

function documentBlock(file: Json | undefined, path: string, names: DocumentNames): Block {
  const found = fileData(file, path);
  if (E.isLeft(found)) return found;
  const { data: given, path: at, name } = found.right;
  const data = base64DataUrl(given) ?? { mediaType: undefined, data: given };
  if (data.mediaType === undefined && isUrl(given))
    return E.left(fieldError(at, "must be a base64 data URL: this model's route reads no remote files."));
  const format = documentFormat(data.mediaType, name);
  if (format === undefined) return E.left(foreignMedia(at, data.mediaType ?? name, documentFormats));
  return pipe(
    base64Of(data.data, at, 'standard'),
    E.map((bytes) => ({ document: { format, name: names.nameOf(name), source: { bytes } } })),
  );
}
