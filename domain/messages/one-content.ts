import { isAbsent, isString, type Json, objectsOf } from '../shared/json.ts';
import { paragraphs } from './blocks.ts';
import { textPart } from './content-parts.ts';

/** Merges the contents of several chat messages: texts become paragraphs of one text, and parts stay parts. */
export function oneContent(contents: readonly Json[]): Json {
  const said = contents.filter((content) => !isAbsent(content));
  if (said.length < 2) return said[0] ?? null;
  if (said.every(isString)) return paragraphs(said);
  return said.flatMap((content) => (isString(content) ? [textPart(content)] : objectsOf(content)));
}
