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
 * Each becomes a marker that says how long it was; the media type of inline data stays.
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
 * `key` is that of the value, `name` that of the object that it is in, and `type` what that says it is; items of an
 * array stand where the array does.
 */
function shortened(value: Written, key: string, name: string, type: () => string): Written {
  if (isText(value)) return isLong(value) ? shortText(value, contentOf(key, name, type)) : value;
  if (!(value instanceof Items || value instanceof Members) || !value.notes.mayBeLong) return value;
  return value instanceof Items
    ? changedItems(value, (item) => shortened(item, key, name, type))
    : members(value, key);
}

/** Whether a text may be too long: a literal is never shorter than its content. */
export const isLong = (text: Text): boolean =>
  (text instanceof Quoted ? text.literal : text).length > maxInlineChars;

/** What a field holds: a payload, or a payload in some bodies and words or a URL in others. */
type Content = 'payload' | 'either' | 'other';

/** Fields that hold nothing else. */
const payloadKey = /^(?:file_?data|b64_json|partial_image_b64|bytes)$/i;

/** Fields that hold a payload, a URL or an object with either. */
const mediaKey = /^(?:input_)?(?:image|video|audio)s?(?:_?url)?$/i;

/** Fields, and types, whose `data` is a payload; the `data` of a `source` is one unless it is plain text. */
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
/** Characters of inline data before its comma: a media type and its parameters. */
const maxHeadChars = 128;
const otherUrl = /^\s*[a-z][a-z\d+.-]*:\/\//i;
const base64 = /^[\w+/=\r\n-]+$/;

function shortText(text: Text, content: Content): Text {
  if (content === 'other' && text instanceof Quoted && !inlineStart.test(text.literal)) return text;
  const decoded = decodedText(text);
  return decoded.length <= maxInlineChars ? text : cutText(text, decoded, content);
}

/** Inline data may stand in any field. */
const inlineStart = /^"[d\s\\]/i;

function cutText(text: Text, decoded: string, content: Content): Text {
  const start = decoded.slice(0, maxInlineChars);
  const head = dataUrl.exec(decoded.slice(0, maxHeadChars))?.[0] ?? '';
  if (head.length > 'data:,'.length) return head + cutMark(decoded.length - head.length);
  const cut = content === 'payload' ? !otherUrl.test(start) : content === 'either' && base64.test(start);
  return cut ? cutMark(decoded.length) : text;
}

/** Stands for characters that were cut off. */
export const cutMark = (chars: number): string => `[TRUNCATED ${chars} characters]`;
