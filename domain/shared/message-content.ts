import { isAbsent, isString, type Json, type JsonObject, objectsOf } from './json.ts';

/** A text part. */
export const textPart = (text: string): JsonObject => ({ type: 'text', text });

/** Joins texts as paragraphs; empty ones are left out. */
export const paragraphs = (texts: readonly string[]): string =>
  texts.filter((text) => text !== '').join('\n\n');

/** Merges the contents of several chat messages: texts become paragraphs of one text, and parts stay parts. */
export function oneContent(contents: readonly Json[]): Json {
  const present = contents.filter((content) => !isAbsent(content));
  if (present.length < 2) return present[0] ?? null;
  if (present.every(isString)) return paragraphs(present);
  return present.flatMap((content) => (isString(content) ? [textPart(content)] : objectsOf(content)));
}
