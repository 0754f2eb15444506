import { maxInlineChars } from '../shared/limits.ts';
import {
  isText,
  Items,
  changedItems,
  changedMembers,
  Members,
  Quoted,
  decodedText,
  type Text,
  valueAt,
  type Written,
} from '../text/written.ts';

/**
 * Shape-preserving truncation of known bulky fields: image, audio and file payloads, inline data, base64 source data.
 * Each is replaced by a marker with its length. The media type of inline data stays.
 */
export const withoutBulk = (payload: Members): Members => members(payload, '');

function members(object: Members, name: string): Members {
  let type: string | undefined;
  const typeOfObject = (): string => (type ??= typeOf(object));
  return changedMembers(object, (value, key) => shortened(value, key, name, typeOfObject));
}

function typeOf(object: Members): string {
  const type = valueAt(object, 'type');
  return isText(type) ? decodedText(type) : '';
}

/**
 * `key` is the key of the value, `name` the key of the object that contains it, and `type` that object's `type`. Items
 * of an array are treated as if they stood in the array's place.
 */
function shortened(value: Written, key: string, name: string, type: () => string): Written {
  if (isText(value)) return isLong(value) ? shortText(value, contentOf(key, name, type)) : value;
  if (!(value instanceof Items || value instanceof Members) || !value.notes.mayBeLong) return value;
  return value instanceof Items
    ? changedItems(value, (item) => shortened(item, key, name, type))
    : members(value, key);
}

/** Whether a string may be too long. A literal is never shorter than its content. */
export const isLong = (text: Text): boolean =>
  (text instanceof Quoted ? text.literal : text).length > maxInlineChars;

/**
 * What a field contains: always a payload (`payload`), in some bodies a payload and in others text or a URL (`either`),
 * or something else (`other`).
 */
type Content = 'payload' | 'either' | 'other';

/** Fields that contain nothing but a payload. */
const payloadKey = /^(?:file_?data|b64_json|partial_image_b64|bytes)$/i;

/** Fields that contain a payload, a URL, or an object with either. */
const mediaKey = /^(?:input_)?(?:image|video|audio)s?(?:_?url)?$/i;

/** Fields and types whose `data` is a payload. The `data` of a `source` is one unless the source is plain text. */
const mediaName = /^(?:(?:input_)?(?:image|video|audio|file)s?|inline_?data|document|media|blob)$/i;

function contentOf(key: string, name: string, type: () => string): Content {
  if (payloadKey.test(key) || (key === 'data' && holdsData(name, type()))) return 'payload';
  if (key === 'result' && type() === 'image_generation_call') return 'payload';
  if (key === 'delta' && audioDelta.test(type())) return 'payload';
  return mediaKey.test(key) || (key === 'url' && mediaKey.test(name)) ? 'either' : 'other';
}

const audioDelta = /^response\.(?:output_)?audio\.delta$/;

const holdsData = (name: string, kind: string): boolean =>
  mediaName.test(name) || mediaName.test(kind) || (name === 'source' && kind !== 'text');

const dataUrl = /^\s*data:(?:[\w.+-]+\/[\w.+-]+)?(?:;[\w.+=-]+)*,/i;
/** Characters of inline data up to its comma: a media type and its parameters. */
const maxHeadChars = 128;
const otherUrl = /^\s*[a-z][a-z\d+.-]*:\/\//i;
const base64 = /^[\w+/=\r\n-]+$/;

function shortText(text: Text, content: Content): Text {
  if (content === 'other' && text instanceof Quoted && !inlineStart.test(text.literal)) return text;
  const decoded = decodedText(text);
  return decoded.length <= maxInlineChars ? text : cutText(text, decoded, content);
}

/** Any field may contain inline data. */
const inlineStart = /^"[d\s\\]/i;

function cutText(text: Text, decoded: string, content: Content): Text {
  const start = decoded.slice(0, maxInlineChars);
  const head = dataUrl.exec(decoded.slice(0, maxHeadChars))?.[0] ?? '';
  if (head.length > 'data:,'.length) return head + truncationMarker(decoded.length - head.length);
  const cut = content === 'payload' ? !otherUrl.test(start) : content === 'either' && base64.test(start);
  return cut ? truncationMarker(decoded.length) : text;
}

/** Replaces characters that were cut off. */
export const truncationMarker = (chars: number): string => `[TRUNCATED ${chars} characters]`;
