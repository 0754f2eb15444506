/**
 * Text that PostgreSQL cannot hold (U+0000, lone surrogates) is stored replaced by U+FFFD; it never fails or loses
 * a row (CONTRACT §7).
 */
export const storedText = (text: string): string => text.toWellFormed().replaceAll('\0', '\uFFFD');

/** How `JSON.stringify` spells what cannot be stored; a backslash before it makes it harmless text, and slower. */
const unstorable = /\\u(?:0000|d[89a-f])/;

/** A value as JSON text for a statement, with every string in it fit to be stored. */
export function storedJson(value: unknown): string {
  const text = JSON.stringify(value);
  if (!unstorable.test(text)) return text;
  return JSON.stringify(value, (_key, inner: unknown) =>
    typeof inner === 'string' ? storedText(inner) : inner,
  );
}
