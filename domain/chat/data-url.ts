import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import { fieldError, stringOf } from '../shared/field-errors.ts';
import type { GatewayError } from '../shared/gateway-error.ts';
import { isAbsent, isObject, isString, type Json, type JsonObject, textIn } from '../shared/json.ts';
import { namedKey } from '../shared/named-key.ts';

/** A URL, and its path in the caller's body. */
export interface PlacedUrl {
  readonly url: string;
  readonly path: string;
}

/** The URL of a part's image or video: `{url}`, or the URL itself, as some clients write it. */
export function mediaUrl(
  part: JsonObject,
  field: 'image_url' | 'video_url',
  path: string,
): Either<GatewayError, PlacedUrl> {
  const value = part[field];
  const at = `${path}.${field}`;
  if (isString(value)) return E.right({ url: value, path: at });
  if (!isObject(value)) return E.left(fieldError(at, 'must be an object.'));
  return pipe(
    stringOf(value, 'url', at),
    E.map((url) => ({ url, path: `${at}.url` })),
  );
}

/** A part's file data and its path. The name is empty when there is none. */
export interface FileData {
  readonly data: string;
  readonly path: string;
  readonly name: string;
}

/** The data of a file that the request contains. A file that was uploaded before is out of reach. */
export function fileData(file: Json | undefined, path: string): Either<GatewayError, FileData> {
  if (!isObject(file)) return E.left(fieldError(path, 'must be an object.'));
  const { file_data: data, file_id: uploaded, filename } = file;
  const at = `${path}.file_data`;
  if (isString(data)) return E.right({ data, path: at, name: textIn(filename) });
  return E.left(
    isAbsent(uploaded)
      ? fieldError(at, 'must be a string.')
      : fieldError(`${path}.file_id`, "is not available: this model's route cannot read uploaded files."),
  );
}

/** The base64 data in a `data:` URL. */
export interface DataUrl {
  /** In lower case, without parameters, by its registered name. Empty when the URL has none. */
  readonly mediaType: string;
  /** Without white space. */
  readonly data: string;
}

export const isDataUrl = (url: string): boolean => /^data:/i.test(url);
export const isHttpsUrl = (url: string): boolean => /^https:\/\//i.test(url);
/** Whether text begins as a URL of any scheme does, which no base64 does. */
export const isUrl = (text: string): boolean => /^[a-z][a-z0-9+.-]*:/i.test(text);

/** Some clients break the lines of base64, which the platforms reject. */
export const withoutWhiteSpace = (base64: string): string => base64.replaceAll(/\s+/g, '');

/**
 * Reads `data:MEDIA-TYPE;base64,DATA` in any case; other parameters may come before `base64`. `undefined` when the URL
 * is not base64 data.
 */
export function base64DataUrl(url: string): DataUrl | undefined {
  if (!isDataUrl(url)) return undefined;
  const comma = url.indexOf(',');
  const [mediaType = '', ...parameters] = url
    .slice('data:'.length, Math.max(0, comma))
    .toLowerCase()
    .split(';')
    .map((each) => each.trim());
  if (parameters.at(-1) !== 'base64') return undefined;
  const data = withoutWhiteSpace(url.slice(comma + 1));
  return { mediaType: mediaType.startsWith('image/') ? imageType(data, mediaType) : mediaType, data };
}

/** What is in no base64 but its padding; some upstreams also read the alphabet that is made for URLs. */
const foreignTo = { standard: /[^A-Za-z0-9+/]/, any: /[^A-Za-z0-9+/_-]/ } as const;

/** Base64 of at least one byte, without white space. What is none would be rejected upstream (rule 26.10). */
export function base64Of(
  text: string,
  path: string,
  alphabet: keyof typeof foreignTo,
): Either<GatewayError, string> {
  const data = withoutWhiteSpace(text);
  const end = data.search(foreignTo[alphabet]);
  const chars = end < 0 ? data.length : end;
  const isPadded = /^={0,2}$/.test(data.slice(chars, chars + 3));
  return chars > 0 && chars % 4 !== 1 && isPadded
    ? E.right(data)
    : E.left(fieldError(path, 'holds no valid base64.'));
}

/** The error for data whose media type is none of those that the upstream takes. */
export const foreignMedia = (path: string, given: string, known: readonly string[]): GatewayError =>
  fieldError(path, `is of the type \`${namedKey(given)}\`, but must be one of: ${known.join(', ')}.`);

/** How the base64 of an image begins, by its media type. A WebP file has its size between its two names. */
const imageShapes: readonly (readonly [shape: RegExp, mediaType: string])[] = [
  [/^iVBORw0KGg/, 'image/png'],
  [/^\/9j\//, 'image/jpeg'],
  [/^R0lGOD/, 'image/gif'],
  [/^UklGR.{6}XRUJQ/, 'image/webp'],
];

/**
 * The media type of an image by its bytes, since platforms compare the two and reject a wrong one, which clients take
 * from the name of a file (rule 17.56). `image/jpg` is not a registered name, but many clients use it for JPEG.
 */
function imageType(data: string, mediaType: string): string {
  const shown = imageShapes.find(([shape]) => shape.test(data))?.[1];
  return shown ?? (mediaType === 'image/jpg' ? 'image/jpeg' : mediaType);
}
