import type { Beginning, Secrets } from './secrets.ts';
import { type Edit, edited, marker } from '../text/text-edits.ts';

/** A shorter match may be the beginning of any word, so it does not count as part of a secret. */
const minPartialChars = 4;

/** Replaces the beginning of a secret at the end of a truncated text. At most one edit. */
export function partialSecretEdits(text: string, { beginnings }: Secrets): readonly Edit[] {
  let from = text.length;
  for (const group of beginnings) for (const each of group) from = Math.min(from, partialFrom(text, each));
  return from === text.length ? [] : [{ from, to: text.length, by: marker }];
}

/** Ends names and messages that were truncated. */
const ellipsis = '…';

/** The text without partial secrets before each `…`: a quoted text, and a secret in it, may be truncated there. */
export function withoutPartialSecrets(text: string, secrets: Secrets): string {
  const edits: Edit[] = [];
  for (let at = text.indexOf(ellipsis), after = 0; at >= 0; at = text.indexOf(ellipsis, after)) {
    for (const { from, to, by } of partialSecretEdits(text.slice(after, at), secrets))
      edits.push({ from: from + after, to: to + after, by });
    after = at + ellipsis.length;
  }
  return edited(text, edits);
}

function partialFrom(text: string, beginning: Beginning): number {
  const { head, maxChars } = beginning;
  const last = text.length - minPartialChars;
  const first = Math.max(0, text.length - maxChars);
  for (let at = text.indexOf(head, first); at >= 0 && at <= last; at = text.indexOf(head, at + 1)) {
    const partial = beginning.partial();
    partial.lastIndex = at;
    if (partial.test(text)) return at;
  }
  return text.length;
}
