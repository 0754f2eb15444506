import { withoutSecretParts } from '../text/urls.ts';

/** Built-in redacted JSON keys, including the one named after a provider. */
export const redactedKeys = [
  'token',
  'access_token',
  'refresh_token',
  'api_key',
  'client_secret',
  'credentials',
  'private_key',
  'secret',
  'password',
  'anthropic_api_key',
] as const;

/** Sensitive request headers. Bodies name them too, for the servers that a provider is to call. */
const sensitiveHeaders = [
  'authorization',
  'proxy-authorization',
  'cookie',
  'set-cookie',
  'x-api-key',
  'anthropic-api-key',
  'x-goog-api-key',
] as const;

/** The messages API's name for the `authorization` of such a server. */
const sensitiveFields = ['authorization_token'] as const;

/** What happens to a member because of its key. */
export type KeyKind = 'redacted' | 'url' | 'media' | 'error';

/** Fields that contain a URL or the media itself, and in other places ordinary text. */
const mediaKeys = [
  ...['image', 'video', 'audio', 'file'].flatMap((name) => [
    name,
    `${name}s`,
    `input_${name}`,
    `input_${name}s`,
  ]),
  'media',
  'data',
  'file_data',
  'filedata',
  'file_id',
  'source',
  'src',
  'href',
  'thumbnail',
] as const;

/** Fields that contain an error, as a string or with strings inside. */
const errorKeys = [
  ...['error', 'last_error', 'lasterror'].flatMap((name) => [name, `${name}s`]),
  ...['error_', 'error'].flatMap((name) => [`${name}message`, `${name}detail`, `${name}details`]),
  'exception',
] as const;

/** When one of these is true, the `content` beside it is an error. */
export const failureKeys: ReadonlySet<string> = new Set(['is_error', 'isError']);

/** How the keys that contain an error end, as the source of a pattern. */
export const errorEndings = 'errors?|error_?(?:message|details?)|exception';

/** How the other known keys end. */
export const fieldEndings =
  'token|[-_]key|secret|credentials|password|authorization|cookie|' +
  'ur[il]s?|images?|videos?|audios?|files?|media|data|file[-_]id|source|src|href|thumbnail|referer';

/** Keys match case-insensitively with `-` equal to `_` (rule 42.12). */
const kinds: ReadonlyMap<string, KeyKind> = new Map([
  ...named('error', errorKeys),
  ...named('media', mediaKeys),
  ...named('url', ['referer']),
  ...named('redacted', [...redactedKeys, ...sensitiveHeaders, ...sensitiveFields]),
]);

function named(kind: KeyKind, keys: readonly string[]): readonly (readonly [string, KeyKind])[] {
  return keys.map((key) => [key.replaceAll('-', '_'), kind]);
}

/** `url`, `image_url`, `file_uri`, `server-url`, `images_urls`, and `fileUri` or `imageURL`. */
const urlKey = /(?:^|[_-])[uU][rR][iIlL][sS]?$|[a-z\d]U(?:r[il]|R[IL])s?$/;

/** A hash of a key's length, first and last letter, in any case. It rules out most keys without a look-up. */
const lastLetterOf = (key: string): number => key.charCodeAt(key.length - 1) & 31;
const shapeOf = (key: string): number =>
  (key.length * 32 + (key.charCodeAt(0) & 31)) * 32 + lastLetterOf(key);

const shapes = new Uint8Array(1 + Math.max(...[...kinds.keys()].map(shapeOf)));
for (const key of kinds.keys()) shapes[shapeOf(key)] = 1;
const urlLetters = ['url', 'uri', 'urls'].reduce((letters, key) => letters | (1 << lastLetterOf(key)), 0);

export function kindOf(key: string): KeyKind | undefined {
  const kind = shapes[shapeOf(key)] === 1 ? kinds.get(key.toLowerCase().replaceAll('-', '_')) : undefined;
  return kind ?? ((urlLetters & (1 << lastLetterOf(key))) !== 0 && urlKey.test(key) ? 'url' : undefined);
}

const dataUrl = /^\s*data:/i;
/** Includes a URL without a scheme: `//host/path`. */
const absoluteUrl = /^\s*(?:[a-z][a-z\d+.-]*:)?\\*\/\\*\//i;

/**
 * URL query redaction: scheme, host, port and path stay, the query is replaced, and userinfo and fragment are removed.
 * A `media` field is changed only when it is an absolute URL. Inline data (`data:`) stays as it is.
 */
export function withoutQuery(text: string, kind: 'url' | 'media'): string {
  if (dataUrl.test(text)) return text;
  return kind === 'url' || absoluteUrl.test(text) ? withoutSecretParts(text) : text;
}
