import { type Edit, marker } from './text-edits.ts';

/**
 * What the URLs in a text must not show: each keeps scheme, host, port and path. JSON inside a text may spell their
 * `://` as `:\/\/`. Linear, whatever a caller makes an upstream say.
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

/** An apostrophe may be part of a query; one that closes a quoted URL is not. */
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

/** A URL, or one from its `://` on; a path may hold a URL of its own. */
export function withoutSecretParts(tail: string): string {
  const end = tail.search(/[?#]/);
  const shown = (end < 0 ? tail : tail.slice(0, end)).replace(/(:\\*\/\\*\/)[^/]*@/g, '$1');
  if (end < 0) return shown;
  return (tail[end] === '?' ? `${shown}?${marker}` : shown) + closingBackslashes(tail);
}

/** Backslashes at the end escape the quote after it: they are no part of the URL. */
function closingBackslashes(tail: string): string {
  let end = tail.length;
  while (tail[end - 1] === '\\') end -= 1;
  return tail.slice(end);
}
