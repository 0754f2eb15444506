import { type Edit, marker } from './text-edits.ts';
import { hiddenStart } from './urls.ts';

const blanks = '[\\s\\\\nrt]*';

/**
 * Matches the colon after a key that ends in one of `endings`; a look-behind checks the key, its closing quote and
 * white space. A key with escapes may be any key, so it matches. The pattern starts at the colon because a text has far
 * fewer colons than letters.
 */
export const keyEnd = (endings: string): RegExp =>
  new RegExp(`:(?<=(?:${endings}|\\\\u00[\\da-f]{2}[^"\\\\]*)\\\\*"${blanks}:)`, 'gi');

/** False when {@link keyEnd} finds nothing, whatever the endings. Looks only at colons, and no blank twice. */
export function hasKey(text: string): boolean {
  for (let colon = text.indexOf(':'); colon >= 0; colon = text.indexOf(':', colon + 1)) {
    let at = colon - 1;
    while (mayBeBlank(text.charCodeAt(at))) at -= 1;
    if (text.charCodeAt(at) === quote) return true;
  }
  return false;
}

const quote = 0x22;
const asciiBlanks: ReadonlySet<number> = new Set(
  Array.from(' \t\n\v\f\r\\nrt', (char) => char.charCodeAt(0)),
);
const mayBeBlank = (code: number): boolean => code > 0x7f || asciiBlanks.has(code);

/** Matches a member whose key ends in one of `endings` and whose value is `true`. */
export const trueMember = (endings: string): RegExp =>
  new RegExp(`${keyEnd(endings).source}${blanks}true`, 'i');

const scalar = /[^\s,}\]"\\]+/y;

/** Characters of a known key, escapes included: the longest listed has 19, and an escape such as `\u0061` takes six. */
const maxKeyChars = 256;

/**
 * Members in one string of a payload that are examined because of how their keys end: more than a stored payload has
 * room for, and few enough to take no noticeable time.
 */
export const maxKnownMembers = 20_000;

/** The edits in a value, and where the search continues after it. */
interface Found {
  readonly edits: readonly Edit[];
  readonly end: number;
}

/**
 * The edits in the values of all members of a known kind. `editsOf` is called with the kind, where the value begins,
 * and how many backslashes escape its quotes. After `maxKnownMembers` candidates or edits, the rest of the text is
 * replaced by the marker.
 */
export function memberEdits<Kind>(
  text: string,
  keyEnd: RegExp,
  kindOfKey: (key: string) => Kind | undefined,
  editsOf: (kind: Kind, from: number, level: number) => Found | undefined,
): readonly Edit[] {
  const edits: Edit[] = [];
  if (!text.includes('"')) return edits;
  keyEnd.lastIndex = 0;
  for (let seen = 0; keyEnd.test(text); seen += 1) {
    const colon = keyEnd.lastIndex - 1;
    const quote = text.lastIndexOf('"', colon);
    const kind = afterBlanks(text, quote + 1) === colon ? kindOfKey(keyBefore(text, quote)) : undefined;
    if (kind === undefined) continue;
    const found = editsOf(kind, afterBlanks(text, colon + 1), backslashesBefore(text, quote, 0));
    for (const edit of found?.edits ?? []) edits.push(edit);
    const end = found?.end ?? colon + 1;
    if (Math.max(seen, edits.length) >= maxKnownMembers)
      return end < text.length ? [...edits, { from: end, to: text.length, by: marker }] : edits;
    keyEnd.lastIndex = Math.max(end, colon + 1);
  }
  return edits;
}

/** The key whose closing quote is at `quote`, or an empty string when it is too long to be a known key. */
function keyBefore(text: string, quote: number): string {
  const open = text.lastIndexOf('"', quote - 1);
  if (open < 0 || open === quote || quote - open > maxKeyChars) return '';
  return unescaped(text.slice(open + 1, quote - backslashesBefore(text, quote, open)));
}

/** Decodes escapes that JSON allows but does not need. */
const unescaped = (text: string): string =>
  text.includes('\\')
    ? text.replace(/\\+u00([2-7][\da-f])/gi, (escape, hex: string) => {
        const char = String.fromCharCode(Number.parseInt(hex, 16));
        return char === '"' || char === '\\' ? escape : char;
      })
    : text;

/** The position after white space, including the escaped white space of JSON inside JSON: `\n`, `\\n`. */
function afterBlanks(text: string, from: number, commas = ''): number {
  let at = from;
  for (;;) {
    const char = text[at];
    if (char === undefined) return at;
    if (' \t\n\r'.includes(char) || char === commas) at += 1;
    else if (char === '\\') {
      const letter = at + backslashesAt(text, at);
      if (!'nrt'.includes(text[letter] ?? ' ')) return at;
      at = letter + 1;
    } else return at;
  }
}

function backslashesAt(text: string, from: number): number {
  let end = from;
  while (text[end] === '\\') end += 1;
  return end - from;
}

function backslashesBefore(text: string, at: number, from: number): number {
  let start = at;
  while (start > from && text[start - 1] === '\\') start -= 1;
  return at - start;
}

/** Where a string's content ends, and the position after its closing quote. */
interface StringEnd {
  readonly inner: number;
  readonly end: number;
}

/**
 * Finds the end of a string whose quotes are escaped by `level` backslashes. JSON inside JSON doubles the backslashes
 * and adds one. A quote closes the string when an even number of backslashes of its own level precedes it. A quote of
 * an outer level ends everything inside. A truncated string ends with the text.
 */
function stringEnd(text: string, from: number, level: number): StringEnd {
  for (let at = text.indexOf('"', from); at >= 0; at = text.indexOf('"', at + 1)) {
    const slashes = backslashesBefore(text, at, from);
    if (slashes < level) return { inner: at - slashes, end: at - slashes };
    if (closes(slashes, level)) return { inner: at - level, end: at + 1 };
  }
  return { inner: text.length, end: text.length };
}

const closes = (slashes: number, level: number): boolean =>
  slashes >= level && (slashes - level) % (2 * level + 2) === 0;

/** Replaces a value with the marker: inside its quotes when it is a string, otherwise as a new string with quotes. */
export function redactedValue(text: string, from: number, level: number): Found {
  const quote = quoteAt(text, from);
  if (quote !== undefined) {
    const { inner, end } = stringEnd(text, quote.end, quote.level);
    return { edits: [{ from: quote.end, to: inner, by: marker }], end };
  }
  const end = valueEnd(text, from, level);
  const slashes = '\\'.repeat(level);
  const by = `${slashes}"${marker}${slashes}"`;
  return { edits: end === from ? [] : [{ from, to: end, by }], end };
}

type OnString = (from: number, inner: number) => void;

/** Where a value ends. `onString` is called with each string in it. */
export function valueEnd(text: string, from: number, level: number, onString?: OnString): number {
  const quote = quoteAt(text, from);
  if (quote !== undefined) {
    const { inner, end } = stringEnd(text, quote.end, quote.level);
    onString?.(quote.end, inner);
    return end;
  }
  const first = text[from];
  return first === '{' || first === '[' ? bracketsEnd(text, from, level, onString) : scalarEnd(text, from);
}

function scalarEnd(text: string, from: number): number {
  scalar.lastIndex = from;
  return scalar.test(text) ? scalar.lastIndex : from;
}

/** An opening quote: how many backslashes escape it, and the position after it. */
interface Quote {
  readonly level: number;
  readonly end: number;
}

function quoteAt(text: string, at: number): Quote | undefined {
  const level = backslashesAt(text, at);
  return text[at + level] === '"' ? { level, end: at + level + 1 } : undefined;
}

/** Where an array or object ends. A truncated one ends with the text. */
function bracketsEnd(text: string, from: number, level: number, onString?: OnString): number {
  let depth = 0;
  for (let at = from; at < text.length; at += 1) {
    const char = text[at];
    if (char === '"') {
      const slashes = backslashesBefore(text, at, from);
      if (slashes < level) return at - slashes;
      const { inner, end } = stringEnd(text, at + 1, level);
      onString?.(at + 1, inner);
      at = end - 1;
    } else if (char === '{' || char === '[') {
      depth += 1;
    } else if (char === '}' || char === ']') {
      depth -= 1;
      if (depth === 0) return at + 1;
    }
  }
  return text.length;
}

/** The edits that make a URL, or the URLs of an array, safe to keep. */
export function shownUrls(text: string, from: number, shown: (url: string) => string): Found {
  const isArray = text[from] === '[';
  const edits: Edit[] = [];
  let end = from;
  let quote = quoteAt(text, isArray ? afterBlanks(text, from + 1) : from);
  while (quote !== undefined && edits.length < maxKnownMembers) {
    const found = shownUrl(text, quote, shown);
    if (isArray && text[afterBlanks(text, found.end)] === ':') break;
    edits.push(...found.edits);
    end = found.end;
    quote = isArray ? quoteAt(text, afterBlanks(text, end, ',')) : undefined;
  }
  return { edits, end };
}

/** A URL has no quote before its query. A string that has one is something else, and the search continues inside it. */
function shownUrl(text: string, { level, end: from }: Quote, shown: (url: string) => string): Found {
  const next = text.indexOf('"', from);
  const slashes = next < 0 ? 0 : backslashesBefore(text, next, from);
  const until = next < 0 ? text.length : next - slashes;
  const after = next >= 0 && closes(slashes, level) ? next + 1 : until;
  const head = text.slice(from, until);
  const by = shown(head);
  if (by === head) return { edits: [], end: after };
  if (!hiddenStart.test(head)) return { edits: [{ from, to: until, by }], end: after };
  const { inner, end } = stringEnd(text, from, level);
  return { edits: [{ from, to: inner, by }], end };
}
