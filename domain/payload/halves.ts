import type { Beginning, Secrets } from './secrets.ts';
import { type Edit, edited, marker } from './text-edits.ts';

/** Of fewer signs nobody can tell what they are the beginning of. */
const minHalfChars = 4;

/** Where a secret begins at the end of a text that was cut off, so that the rest of it is missing: at most one edit. */
export function halfEdits(text: string, { beginnings }: Secrets): readonly Edit[] {
  let from = text.length;
  for (const group of beginnings) for (const each of group) from = Math.min(from, halfFrom(text, each));
  return from === text.length ? [] : [{ from, to: text.length, by: marker }];
}

/** Stands where names and messages were cut off. */
const cutSign = '…';

/** A text in which others were quoted and cut off: no half of a secret stands before the sign that says so. */
export function withoutHalves(text: string, secrets: Secrets): string {
  const edits: Edit[] = [];
  for (let at = text.indexOf(cutSign), after = 0; at >= 0; at = text.indexOf(cutSign, after)) {
    for (const { from, to, by } of halfEdits(text.slice(after, at), secrets))
      edits.push({ from: from + after, to: to + after, by });
    after = at + cutSign.length;
  }
  return edited(text, edits);
}

function halfFrom(text: string, beginning: Beginning): number {
  const { head, maxChars } = beginning;
  const last = text.length - minHalfChars;
  const first = Math.max(0, text.length - maxChars);
  for (let at = text.indexOf(head, first); at >= 0 && at <= last; at = text.indexOf(head, at + 1))
    if (endsInside(text, at, beginning.signs())) return at;
  return text.length;
}

/** Whether the text ends before the secret that begins at `from` does. */
function endsInside(text: string, from: number, signs: readonly RegExp[]): boolean {
  let at = from;
  for (const sign of signs) {
    sign.lastIndex = at;
    if (!sign.test(text)) return at > from && unfinishedSign.test(text.slice(at));
    at = sign.lastIndex;
    if (at === text.length) return true;
  }
  return false;
}

/** What JSON or a URL begins to spell. */
const unfinishedSign = /^(?:\\+(?:u[\da-f]{0,3})?|%[\da-f%]*)$/i;
