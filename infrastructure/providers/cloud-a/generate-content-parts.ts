import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import {
  base64DataUrl,
  base64Of,
  isDataUrl,
  isHttpsUrl,
  isUrl,
  mediaUrl,
} from '../../../domain/chat/data-url.ts';
import { partsOfBlocks } from '../../../domain/messages/blocks.ts';
import { isObject, isString, type Json, type JsonObject, membersOf } from '../../../domain/shared/json.ts';
import { fieldError, unsupportedType, nameOf, stringOf } from '../../../domain/shared/field-errors.ts';
import type { GatewayError } from '../../../domain/shared/gateway-error.ts';
import { mediaTypeOf } from './media-types.ts';
import { mayRead, type ReadableBuckets } from './readable-buckets.ts';

/** Parts of a generate-content turn. */
export type Parts = Either<GatewayError, readonly JsonObject[]>;
type Part = Either<GatewayError, JsonObject>;

/** Content of a user or tool message: a string, or an array of content parts, which may refer to these buckets. */
export const partsOf = (content: Json | undefined, path: string, buckets: ReadableBuckets): Parts =>
  isString(content)
    ? E.right(textParts(content))
    : partsOfBlocks(content, path, (block, at) => partOf(block, at, buckets));

/** A text part. An empty text gives no part. */
export const textParts = (text: string): readonly JsonObject[] => (text === '' ? [] : [{ text }]);

function partOf(block: JsonObject, path: string, buckets: ReadableBuckets): Parts {
  switch (isString(block['type']) ? block['type'] : '') {
    case 'text':
      return pipe(stringOf(block, 'text', path), E.map(textParts));
    case 'image_url':
      return alone(linked(block, 'image_url', path, buckets));
    case 'video_url':
      return alone(linked(block, 'video_url', path, buckets));
    case 'input_audio':
      return alone(audioPart(block['input_audio'], `${path}.input_audio`));
    case 'file':
      return alone(filePart(block['file'], `${path}.file`, buckets));
    default:
      return unsupportedType(block, path);
  }
}

const alone = (part: Part): Parts =>
  pipe(
    part,
    E.map((only) => [only]),
  );

/** The media type of a reference that does not show it, by the kind of its content part. */
const otherwise = { image_url: 'image/jpeg', video_url: 'video/mp4' } as const;

function linked(
  block: JsonObject,
  field: keyof typeof otherwise,
  path: string,
  buckets: ReadableBuckets,
): Part {
  const found = mediaUrl(block, field, path);
  if (E.isLeft(found)) return found;
  const { url } = found.right;
  const type = formatOf(membersOf(block[field])) ?? mediaTypeOf(url) ?? otherwise[field];
  return mediaPart(url, type, found.right.path, buckets);
}

/** The media type that the caller names. */
const formatOf = ({ format }: JsonObject): string | undefined =>
  isString(format) && format !== '' ? format : undefined;

const isReference = (url: string): boolean => url.startsWith('gs://') || isHttpsUrl(url);

/**
 * Bytes inside the request become inline data. Remote `gs://` and public HTTPS inputs become file-data references; the
 * queries of signed URLs are sent unchanged.
 */
function mediaPart(url: string, mimeType: string, path: string, buckets: ReadableBuckets): Part {
  if (isDataUrl(url)) return inline(url, path);
  if (isReference(url)) return reference(url, mimeType, path, buckets);
  return E.left(fieldError(path, 'must be a data URL, a `gs://` URL or an `https://` URL.'));
}

const reference = (url: string, mimeType: string, path: string, buckets: ReadableBuckets): Part =>
  mayRead(buckets, url)
    ? E.right({ fileData: { mimeType, fileUri: url } })
    : E.left(fieldError(path, "is in a bucket that is not open to this model's route."));

function inline(url: string, path: string): Part {
  const found = base64DataUrl(url);
  return found?.mediaType.includes('/')
    ? bytesPart(found.data, found.mediaType, path)
    : E.left(fieldError(path, 'must have a media type and be in base64, where it is a data URL.'));
}

/** The platform reads base64 in either alphabet. */
const bytesPart = (text: string, mimeType: string, path: string): Part =>
  pipe(
    base64Of(text, path, 'any'),
    E.map((data) => ({ inlineData: { mimeType, data } })),
  );

function audioPart(audio: Json | undefined, path: string): Part {
  if (!isObject(audio)) return E.left(fieldError(path, 'must be an object.'));
  const data = stringOf(audio, 'data', path);
  if (E.isLeft(data)) return data;
  return pipe(
    nameOf(audio, 'format', path),
    E.chain((format) => bytesPart(data.right, `audio/${format}`, `${path}.data`)),
  );
}

/** A file as its bytes, or as a URL in any of the fields that clients use for one. */
function filePart(file: Json | undefined, path: string, buckets: ReadableBuckets): Part {
  if (!isObject(file)) return E.left(fieldError(path, 'must be an object.'));
  const field = ['file_data', 'file_url', 'file_id'].find((name) => isString(file[name]));
  const value = field === undefined ? undefined : file[field];
  if (!isString(value)) return E.left(fieldError(path, 'must have `file_data` or a URL.'));
  const at = `${path}.${field}`;
  if (isDataUrl(value)) return inline(value, at);
  if (field !== 'file_data' && !isReference(value))
    return E.left(fieldError(at, "must be a URL: this model's route cannot read uploaded files."));
  const mimeType = formatOf(file) ?? typeIn(value) ?? typeIn(file['filename']);
  if (mimeType === undefined)
    return E.left(fieldError(at, 'does not show its media type: add it to the part as `file.format`.'));
  return isReference(value) ? reference(value, mimeType, at, buckets) : fileBytes(value, mimeType, at);
}

const fileBytes = (text: string, mimeType: string, path: string): Part =>
  isUrl(text)
    ? E.left(fieldError(path, 'must be base64, a data URL, a `gs://` URL or an `https://` URL.'))
    : bytesPart(text, mimeType, path);

/** The media type by a file name. Base64 data contains no dot, and therefore shows no type. */
const typeIn = (name: Json | undefined): string | undefined =>
  isString(name) ? mediaTypeOf(name) : undefined;
