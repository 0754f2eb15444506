import * as t from 'io-ts';
import { type Codec, codecOf } from './scalar-codecs.ts';
import type { HeadersShape } from './shape.ts';

/** Header names and values, sent unchanged. */
export type HeaderMap = Readonly<Record<string, string>>;

/** Providers ask for a handful. Servers begin to refuse at 32 KiB of headers. */
const maxHeaders = 32;
const namePattern = "^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}$";
const valuePattern =
  '^([\\x21-\\x7e\\x80-\\xff]([\\x20-\\x7e\\x80-\\xff\\t]{0,8190}[\\x21-\\x7e\\x80-\\xff])?)?$';
const validName = new RegExp(namePattern);
const validValue = new RegExp(valuePattern);

/** These describe how the message itself is framed and encoded, which only the code that writes the message knows. */
const framing: ReadonlySet<string> = new Set([
  'accept-encoding',
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'expect',
  'host',
  'keep-alive',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** One valid header name. */
export const isHeaderName = (name: string): boolean => validName.test(name);

/** One valid header value; it cannot contain a line break. */
export const isHeaderValue = (value: string): boolean => validValue.test(value);

export const isFraming = (name: string): boolean => framing.has(name.toLowerCase());

const shape: HeadersShape = { kind: 'headers', namePattern, valuePattern, maxEntries: maxHeaders };

/** Headers to add to a request: each name once, whatever its case. */
export const headers: Codec<HeaderMap> = codecOf('headers', shape, (input, context) => {
  if (typeof input !== 'object' || input === null || Array.isArray(input))
    return t.failure(input, context, 'must be an object (header names and values)');
  const entries = Object.entries(input as Record<string, unknown>);
  if (entries.length > maxHeaders)
    return t.failure(input, context, `must have at most ${maxHeaders} headers`);
  const errors: t.ValidationError[] = [];
  const seen = new Set<string>();
  for (const [name, value] of entries) {
    const message = headerFault(name, value, seen);
    seen.add(name.toLowerCase());
    if (message !== undefined)
      errors.push({ value: undefined, context: t.appendContext(context, name, t.string), message });
  }
  return errors.length === 0 ? t.success(input as HeaderMap) : t.failures(errors);
});

function headerFault(name: string, value: unknown, seen: ReadonlySet<string>): string | undefined {
  if (!isHeaderName(name)) return 'is no valid header name';
  if (isFraming(name)) return 'is set by the gateway itself and cannot be configured';
  if (seen.has(name.toLowerCase())) return 'appears twice (header names ignore case)';
  if (typeof value !== 'string') return 'must be text: a header value (put it in quotes)';
  return isHeaderValue(value) ? undefined : 'must be a valid header value, at most 8192 characters long';
}
