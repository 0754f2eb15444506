/**
 * Matches what may be a JSON escape of a character that PostgreSQL cannot store. After an escaped backslash it is plain
 * text; `escapes` makes that distinction.
 */
const unstorable = /\\u(?:0000|d[89a-f])/i;

/**
 * Matches any whole escape. An escaped backslash is one match, so that what follows it is plain text. Both halves of a
 * surrogate pair are one match too, because PostgreSQL can store the pair.
 */
const escapes = /\\(?:ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2}|u(?:0000|d[89a-f][0-9a-f]{2})|.)/gi;
const loneChars = '\\u0000'.length;

/** A value as JSON text for a statement. */
export const storedJson = (value: unknown): string => storedPrint(JSON.stringify(value));

/**
 * JSON text for a statement, from any serialiser. Characters that PostgreSQL cannot store (U+0000, lone surrogates) are
 * replaced by U+FFFD, in keys too; this never fails and never loses a row (rule 42.14).
 */
export function storedPrint(text: string): string {
  if (!text.includes('\\u') || !unstorable.test(text)) return text;
  return text.replace(escapes, (escape) => (escape.length === loneChars ? '\uFFFD' : escape));
}

/** Plain text for a statement, with the same replacement. */
export const storedText = (text: string): string => text.replaceAll('\0', '\uFFFD').toWellFormed();
