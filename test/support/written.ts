import { readWritten } from '../../domain/payload/read-written.ts';
import { Members, printed, type Written } from '../../domain/text/written.ts';
import { type Json, type JsonObject, parseExact } from '../../domain/shared/json.ts';

/** A JSON value with its original text. */
export const writtenText = (text: string): Written => {
  const read = readWritten(text, 10_000, true);
  if (read === undefined) throw new Error('this is no JSON');
  return read.value;
};

/** A value as JSON prints it. */
export const writtenOf = (value: Json): Written => writtenText(JSON.stringify(value));

export const membersOf = (value: JsonObject): Members => {
  const written = writtenOf(value);
  if (!(written instanceof Members)) throw new Error('this is no object');
  return written;
};

/** The original text, with every digit. */
export const jsonOf = (value: Written): Json => parseExact(printed(value, 'as it came'));

/** Applies a rule for original text to a value; returns the same value if nothing changes. */
export const onJson =
  <Rest extends readonly unknown[], Left extends Written>(rule: (payload: Members, ...rest: Rest) => Left) =>
  (payload: JsonObject, ...rest: Rest): Left extends Members ? JsonObject : Json => {
    const before = membersOf(payload);
    const after = rule(before, ...rest);
    return (after === before ? payload : jsonOf(after)) as Left extends Members ? JsonObject : Json;
  };
