import { isAbsent, isString, type Json, objectsOf } from '../shared/json.ts';
import { paragraphs } from './blocks.ts';
import { textPart } from './content-parts.ts';

/** Merges the contents of several chat messages: texts become paragraphs of one text, and parts stay parts. */
export function oneContent(contents: readonly Json[]): Json {
  const present = contents.filter((content) => !isAbsent(content));
  if (present.length < 2) return present[0] ?? null;
  if (present.every(isString)) return paragraphs(present);
  return present.flatMap((content) => (isString(content) ? [textPart(content)] : objectsOf(content)));
}
