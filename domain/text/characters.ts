/**
 * Whether a text has at most this many characters, as JSON Schema and PostgreSQL count them: an emoji is one, although
 * it has two UTF-16 units.
 */
export const hasAtMostChars = (text: string, chars: number): boolean =>
  text.length <= chars || (text.length <= 2 * chars && Array.from(text).length <= chars);
