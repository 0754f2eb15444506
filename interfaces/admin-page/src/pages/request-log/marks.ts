/** A piece of a text: the words as stored, or a mark for a redacted or truncated place. */
export type TextPart =
  | { readonly kind: 'words'; readonly text: string }
  | { readonly kind: 'redacted' | 'truncated'; readonly text: string; readonly reason: string };

const mark = /\[REDACTED\]|\[TRUNCATED(?:[ :][^\]\n]{0,60})?\]/g;

/** Splits a text at the marks that redaction and payload limits have left in it. */
export function markedParts(text: string): readonly TextPart[] {
  const parts: TextPart[] = [];
  let end = 0;
  for (const found of text.matchAll(mark)) {
    if (found.index > end) parts.push({ kind: 'words', text: text.slice(end, found.index) });
    const kind = found[0] === '[REDACTED]' ? 'redacted' : 'truncated';
    parts.push({ kind, text: found[0], reason: reasonOf(found[0]) });
    end = found.index + found[0].length;
  }
  if (end < text.length || parts.length === 0) parts.push({ kind: 'words', text: text.slice(end) });
  return parts;
}

/** How many places of a text are redacted, and how many are truncated. */
export function countMarks(text: string): { readonly redacted: number; readonly truncated: number } {
  const all = text.match(mark) ?? [];
  const redacted = all.filter((found) => found === '[REDACTED]').length;
  return { redacted, truncated: all.length - redacted };
}

/** The reason behind a mark. */
export function reasonOf(found: string): string {
  if (found === '[REDACTED]')
    return 'Hidden before it was stored: a credential, the value of a secret key or header, part of a URL, or a place that redaction_paths names.';
  if (found.includes('nested too deeply')) return 'Cut off: nested more deeply than payloads are stored.';
  if (found.includes('too many values')) return 'Cut off: more values than a stored payload may have.';
  return 'Cut off before it was stored: bulky data (an image, audio, a file), or more than the byte limit of the payload policy.';
}
