import { withoutSecretParts } from './urls.ts';

/** Built-in redacted JSON keys, with the provider-named one. */
const redactedKeys = [
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

/** Sensitive request headers; a body names them too, for the servers that a provider is to call. */
const sensitiveHeaders = [
  'authorization',
  'cookie',
  'set-cookie',
  'x-api-key',
  'anthropic-api-key',
  'x-goog-api-key',
] as const;

/** What the messages API calls the `authorization` of such a server. */
const sensitiveFields = ['authorization_token'] as const;

/** What is to be done with a member because of its key. */
export type KeyKind = 'redacted' | 'url' | 'media' | 'error';

/** Built-in redacted keys match case-insensitively with `-` equal to `_` (CONTRACT §7). */
const redacted = new RegExp(
  `^(?:${[...redactedKeys, ...sensitiveHeaders, ...sensitiveFields].join('|').replaceAll(/[-_]/g, '[-_]')})$`,
  'i',
);

/** `url`, `image_url`, `file_uri`, `server-url`, `images_urls`, and `fileUri` or `imageURL`. */
const urlKey = /(?:^|[_-])[uU][rR][iIlL][sS]?$|[a-z\d]U(?:r[il]|R[IL])s?$/;

/** Fields that hold a URL or the payload itself, and in other places words. */
const mediaKey =
  /^(?:(?:input_)?(?:image|video|audio|file)s?|media|data|file_?data|source|src|href|thumbnail)$/i;

/** Fields that hold what went wrong, as text or with text inside. */
const errorKey = /^(?:(?:last_?)?errors?|error_?(?:message|details?)|exception)$/i;

/** How the keys that hold what went wrong end. */
export const errorEndings = 'errors?|error_?(?:message|details?)|exception';

/** How all other keys of a known kind end: most keys are told apart by it at once. */
export const fieldEndings =
  'token|[-_]key|secret|credentials|password|authorization|cookie|' +
  'ur[il]s?|images?|videos?|audios?|files?|media|data|source|src|href|thumbnail';

const knownEnding = new RegExp(`(?:${fieldEndings}|${errorEndings})$`, 'i');

export function kindOf(key: string): KeyKind | undefined {
  if (!knownEnding.test(key)) return undefined;
  if (redacted.test(key)) return 'redacted';
  if (urlKey.test(key)) return 'url';
  if (mediaKey.test(key)) return 'media';
  return errorKey.test(key) ? 'error' : undefined;
}

const dataUrl = /^\s*data:/i;
const absoluteUrl = /^\s*[a-z][a-z\d+.-]*:\\*\/\\*\//i;

/**
 * URL query redaction keeps scheme, authority and path, replacing query components in retained media URL fields.
 * Inline data is no URL of that kind.
 */
export function withoutQuery(text: string, kind: 'url' | 'media'): string {
  if (dataUrl.test(text)) return text;
  return kind === 'url' || absoluteUrl.test(text) ? withoutSecretParts(text) : text;
}
