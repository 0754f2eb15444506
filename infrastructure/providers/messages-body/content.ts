import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import {
  base64DataUrl,
  base64Of,
  type DataUrl,
  fileData,
  foreignMedia,
  isHttpsUrl,
  mediaUrl,
} from '../../../domain/chat/data-url.ts';
import { isThinkingPart } from '../../../domain/reasoning/reasoning-fields.ts';
import {
  isObject,
  isAbsent,
  isArray,
  isString,
  type Json,
  type JsonObject,
} from '../../../domain/shared/json.ts';
import { fieldError, unsupportedType, stringOf } from '../../../domain/shared/field-errors.ts';
import { maxBlockLevels } from '../../../domain/messages/blocks.ts';
import { withMarkOnLastBlock } from '../../../domain/messages/cache-marks.ts';
import type { GatewayError } from '../../../domain/shared/gateway-error.ts';
import type { BodyRules } from './rules.ts';

type Media = BodyRules['media'];

/** Content blocks of a messages body. */
export type Blocks = Either<GatewayError, readonly JsonObject[]>;

/** A text block. A blank text gives no block, because upstreams reject one. */
export const textBlocks = (text: string): readonly JsonObject[] =>
  text.trim() === '' ? [] : [{ type: 'text', text }];

/** The content of a chat message as blocks, with cache marks. Images and files only where the upstream takes them. */
export function contentBlocks(content: Json | undefined, path: string, media: Media): Blocks {
  if (isAbsent(content)) return E.right([]);
  if (isString(content)) return E.right(textBlocks(content));
  if (!isArray(content)) return E.left(fieldError(path, 'must be a string or an array of content parts.'));
  const blocks: (readonly JsonObject[])[] = [];
  for (const [index, part] of content.entries()) {
    const at = `${path}[${index}]`;
    if (!isObject(part)) return E.left(fieldError(at, 'must be a content part.'));
    const made = partBlocks(part, at, media);
    if (E.isLeft(made)) return made;
    blocks.push(withMarkOnLastBlock(made.right, part));
  }
  return E.right(blocks.flat());
}

function partBlocks(part: JsonObject, path: string, media: Media): Blocks {
  if (isThinkingPart(part)) return E.right([]);
  const { type } = part;
  switch (isString(type) ? type : '') {
    case 'text':
      return pipe(stringOf(part, 'text', path), E.map(textBlocks));
    case 'refusal':
      return pipe(stringOf(part, 'refusal', path), E.map(textBlocks));
    case 'image_url':
      return media === 'none' ? unsupportedType(part, path) : imageBlocks(part, path, media);
    case 'file':
      return media === 'any' ? documentBlocks(part['file'], `${path}.file`) : unsupportedType(part, path);
    case 'image': {
      const problem = mediaFault(part, path, media);
      return problem === undefined ? E.right([part]) : E.left(problem);
    }
    default:
      return unsupportedType(part, path);
  }
}

/** The images that models of the messages family take. */
const imageTypes = ['image/jpeg', 'image/png', 'image/gif', 'image/webp'];

function imageBlocks(part: JsonObject, path: string, media: Media): Blocks {
  const found = mediaUrl(part, 'image_url', path);
  if (E.isLeft(found)) return found;
  const { url, path: at } = found.right;
  const data = base64DataUrl(url);
  if (data !== undefined && !imageTypes.includes(data.mediaType))
    return E.left(foreignMedia(at, data.mediaType, imageTypes));
  if (data !== undefined) return blockOf('image', base64Source(data, at));
  if (media === 'any' && isHttpsUrl(url)) return blockOf('image', linkSource(url));
  return E.left(
    fieldError(
      at,
      media === 'any'
        ? 'must be a base64 data URL or an `https://` URL.'
        : "must be a base64 data URL: this model's route fetches no images.",
    ),
  );
}

/** A PDF, as its bytes or by its URL: the messages API takes no other file. The file name becomes the title. */
function documentBlocks(file: Json | undefined, path: string): Blocks {
  const found = fileData(file, path);
  if (E.isLeft(found)) return found;
  const { data, path: at, name } = found.right;
  const title = name === '' ? {} : { title: name };
  const embedded = base64DataUrl(data);
  if (embedded?.mediaType === 'application/pdf')
    return blockOf('document', base64Source(embedded, at), title);
  return isHttpsUrl(data)
    ? blockOf('document', linkSource(data), title)
    : E.left(fieldError(at, 'must be a PDF, as a base64 data URL or by its `https://` URL.'));
}

type Source = Either<GatewayError, JsonObject>;

const blockOf = (type: 'image' | 'document', made: Source, more: JsonObject = {}): Blocks =>
  pipe(
    made,
    E.map((source) => [{ type, source, ...more }]),
  );

const base64Source = ({ mediaType, data }: DataUrl, path: string): Source =>
  pipe(
    base64Of(data, path, 'standard'),
    E.map((bytes) => ({ type: 'base64', media_type: mediaType, data: bytes })),
  );

/** The upstream fetches no other URLs than `https://`. */
const linkSource = (url: string): Source => E.right({ type: 'url', url });

/** The error for the first image or document in a block, at any level, that the upstream does not take. */
export function mediaFault(
  block: JsonObject,
  path: string,
  media: Media,
  levels = maxBlockLevels,
): GatewayError | undefined {
  const { type, source, content } = block;
  if (media === 'any' || levels === 0) return undefined;
  if (media === 'none' && (type === 'image' || type === 'document'))
    return leftOf(unsupportedType(block, path));
  if (type === 'image' && !(isObject(source) && source['type'] === 'base64'))
    return fieldError(`${path}.source.type`, "must be `base64`: this model's route fetches no images.");
  return (
    firstFault(content, `${path}.content`, media, levels) ??
    (isObject(source) ? firstFault(source['content'], `${path}.source.content`, media, levels) : undefined)
  );
}

function firstFault(
  blocks: Json | undefined,
  path: string,
  media: Media,
  levels: number,
): GatewayError | undefined {
  if (!isArray(blocks)) return undefined;
  for (const [index, block] of blocks.entries()) {
    const found = isObject(block) ? mediaFault(block, `${path}[${index}]`, media, levels - 1) : undefined;
    if (found !== undefined) return found;
  }
  return undefined;
}

const leftOf = (left: Either<GatewayError, never>): GatewayError | undefined =>
  E.isLeft(left) ? left.left : undefined;
