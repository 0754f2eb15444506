/**
 * May be a JSON escape of what PostgreSQL cannot store. Behind a backslash it is plain text, which `escapes` tells
 * apart.
 */
const unstorable = /\\u(?:0000|d[89a-f])/i;

/**
 * Any whole escape. An escaped backslash is one, so that what follows it is plain text; and so are both halves of a
 * surrogate pair together, which PostgreSQL can store.
 */
const escapes = /\\(?:ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2}|u(?:0000|d[89a-f][0-9a-f]{2})|.)/gi;
const loneChars = '\\u0000'.length;

/** A value as JSON text for a statement. */
export const storedJson = (value: unknown): string => storedPrint(JSON.stringify(value));

/**
 * JSON text for a statement, whoever printed it. What PostgreSQL cannot store (U+0000, lone surrogates) is replaced by
 * U+FFFD, in keys too; it never fails or loses a row (rule 42.14).
 */
export function storedPrint(text: string): string {
  if (!text.includes('\\u') || !unstorable.test(text)) return text;
  return text.replace(escapes, (escape) => (escape.length === loneChars ? '\uFFFD' : escape));
}

/** Plain text for a statement, with the same replacement. */
export const storedText = (text: string): string => text.replaceAll('\0', '\uFFFD').toWellFormed();
