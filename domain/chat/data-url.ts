import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import { fieldError, stringOf } from '../shared/field-errors.ts';
import type { GatewayError } from '../shared/gateway-error.ts';
import { isAbsent, isObject, isString, type Json, type JsonObject } from '../shared/json.ts';

/** A URL, and where it stands in the caller's body. */
export interface PlacedUrl {
  readonly url: string;
  readonly path: string;
}

/** Of a part's image or video: `{url}`, or the URL itself, as some clients write it. */
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

/** What a part says of its file, and where that stands; the name is empty where there is none. */
export interface FileData {
  readonly data: string;
  readonly path: string;
  readonly name: string;
}

/** Of a file that comes along: one that was uploaded is somewhere else. */
export function fileData(file: Json | undefined, path: string): Either<GatewayError, FileData> {
  if (!isObject(file)) return E.left(fieldError(path, 'must be an object.'));
  const { file_data: data, file_id: uploaded, filename } = file;
  const at = `${path}.file_data`;
  if (isString(data)) return E.right({ data, path: at, name: isString(filename) ? filename : '' });
  return E.left(
    isAbsent(uploaded)
      ? fieldError(at, 'must be a string.')
      : fieldError(`${path}.file_id`, "is not available: this model's route cannot read uploaded files."),
  );
}

/** Bytes in base64 that a URL holds. */
export interface DataUrl {
  /** In lower case, without parameters, by its registered name; empty where the URL names none. */
  readonly mediaType: string;
  readonly data: string;
}

export const isDataUrl = (url: string): boolean => /^data:/i.test(url);

/**
 * `data:MEDIA-TYPE;base64,DATA`, in letters of either case; parameters may stand between. Undefined: it is none in base64.
 * `image/jpg` is no media type, but many call a JPEG so, and the platforms know it by the registered name alone.
 */
export function base64DataUrl(url: string): DataUrl | undefined {
  if (!isDataUrl(url)) return undefined;
  const comma = url.indexOf(',');
  const [mediaType = '', ...parameters] = url
    .slice('data:'.length, Math.max(0, comma))
    .toLowerCase()
    .split(';');
  if (parameters.at(-1) !== 'base64') return undefined;
  return { mediaType: mediaType === 'image/jpg' ? 'image/jpeg' : mediaType, data: url.slice(comma + 1) };
}
