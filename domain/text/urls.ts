import { type Edit, marker } from './text-edits.ts';

/**
 * Edits that leave only scheme, host, port and path of the URLs in a text. JSON inside a text may spell `://` as
 * `:\/\/`. Takes linear time, whatever text a caller makes an upstream send.
 */
export function urlEdits(text: string): readonly Edit[] {
  const edits: Edit[] = [];
  urlStart.lastIndex = 0;
  for (let start = urlStart.exec(text); start !== null; start = urlStart.exec(text)) {
    const from = start.index;
    const to = urlEnd(text, from, urlStart.lastIndex);
    const tail = text.slice(from, to);
    const by = withoutSecretParts(tail);
    if (by !== tail) edits.push({ from, to, by });
    urlStart.lastIndex = to;
  }
  return edits;
}

const urlStart = /:\\*\/\\*\//g;
const urlTail = /[^\s"<>]*/y;
const quotedScheme = /'[a-z][a-z0-9+.-]{0,31}$/i;
const innerApostrophe = /'[\w%&=]/y;

/** Where a URL ends. An apostrophe may be part of its query, but not one that closes a quoted URL. */
function urlEnd(text: string, start: number, from: number): number {
  urlTail.lastIndex = from;
  urlTail.test(text);
  const end = urlTail.lastIndex;
  if (!quotedScheme.test(text.slice(Math.max(0, start - 33), start))) return end;
  for (let at = text.indexOf("'", from); at >= 0 && at < end; at = text.indexOf("'", at + 1)) {
    innerApostrophe.lastIndex = at;
    if (!innerApostrophe.test(text)) return at === from ? end : at;
  }
  return end;
}

/**
 * A URL, or the part of one from its `://` or `//` on, with scheme, host, port and path kept, the query replaced by the
 * marker, and userinfo and fragment removed. A path may contain another URL.
 */
export function withoutSecretParts(tail: string): string {
  const hidden = hiddenStart.exec(tail);
  if (hidden === null) return tail.replace(userinfo, '$1');
  const path = tail.slice(0, hidden.index);
  const shown = path.slice(0, path.length - closingBackslashes(path)).replace(userinfo, '$1');
  const query = hidden[0] === '?' || hidden[0].toLowerCase().endsWith('f') ? `?${marker}` : '';
  return shown + query + tail.slice(tail.length - closingBackslashes(tail));
}

/** Where a query or a fragment begins, including the `\u` escapes that JSON may use for it. */
export const hiddenStart = /[?#]|\\u00(?:3[fF]|23)/;
const userinfo = /((?:^\s*|:)\\*\/\\*\/)[^/]*@/g;

/** Backslashes at the end escape what follows the URL and are not part of it. */
function closingBackslashes(text: string): number {
  let start = text.length;
  while (text[start - 1] === '\\') start -= 1;
  return text.length - start;
}
