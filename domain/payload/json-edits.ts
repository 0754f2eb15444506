import {
  hasKey,
  keyEnd,
  memberEdits,
  redactedValue,
  shownUrls,
  trueMember,
  valueEnd,
} from '../text/json-in-text.ts';
import { editsInPlainQuotes } from '../text/quote-escapes.ts';
import type { Edit } from '../text/text-edits.ts';
import { urlEdits } from '../text/urls.ts';
import { errorEndings, fieldEndings, type KeyKind, kindOf, withoutQuery } from './known-fields.ts';

const fieldEnd = keyEnd(fieldEndings);
const errorEnd = keyEnd(errorEndings);

/** Marks its object as failed, so that the `content` beside it is an error. */
const failed = trueMember('is_?error');
const failedEnd = keyEnd(`${errorEndings}|content`);

/**
 * The edits that redact JSON inside a string, such as tool arguments: the values of redacted keys, and the queries of
 * URL fields. The string may contain other text, truncated JSON, or JSON that contains JSON again. Everything else in
 * it stays as it is. The search looks at quotes and never parses: one pass, whatever the text.
 */
export const jsonEdits = (text: string): readonly Edit[] =>
  editsInPlainQuotes(text, (plain) =>
    memberEdits(plain, fieldEnd, kindOf, (kind, from, level) => {
      if (kind === 'redacted') return redactedValue(plain, from, level);
      return kind === 'error' ? undefined : shownUrls(plain, from, (url) => withoutQuery(url, kind));
    }),
  );

/**
 * The edits that redact the URLs of errors in JSON inside a string. When `is_error` is true anywhere in the string, any
 * `content` in it counts as an error.
 */
export const jsonErrorEdits = (text: string): readonly Edit[] =>
  editsInPlainQuotes(text, (plain) =>
    failed.test(plain) ? errorEdits(plain, failedEnd, kindInFailed) : errorEdits(plain, errorEnd, kindOf),
  );

type KindOf = (key: string) => KeyKind | undefined;
const kindInFailed: KindOf = (key) => (key === 'content' ? 'error' : kindOf(key));

const errorEdits = (text: string, keyEnd: RegExp, kindOfKey: KindOf): readonly Edit[] =>
  memberEdits(text, keyEnd, kindOfKey, (kind, from, level) => {
    if (kind !== 'error') return undefined;
    const edits: Edit[] = [];
    const end = valueEnd(text, from, level, (start, inner) => {
      for (const edit of urlEdits(text.slice(start, inner))) edits.push(moved(edit, start));
    });
    return { edits, end };
  });

/**
 * False when no rule finds anything in the string with this JSON literal. The literal need not be decoded for that: it
 * is JSON inside JSON, in which each rule finds the same members, unless characters are spelled as `\u` escapes.
 */
export const mayHoldMember = (literal: string): boolean => hasKey(literal) && literal.search(anyEnd) >= 0;

const anyEnd = keyEnd(`${fieldEndings}|${errorEndings}|is_?error`);

const moved = ({ from, to, by }: Edit, on: number): Edit => ({ from: from + on, to: to + on, by });
