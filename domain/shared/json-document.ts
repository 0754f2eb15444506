import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { isObject, type Json, type JsonObject, parseExact } from './json.ts';
import { parseText } from './parse-text.ts';
import { type DocumentError, notAnObject, type Scanned, scanDocument, type Watched } from './json-scan.ts';

/**
 * A caller's JSON object, kept as the text that came in. Reading uses `value`; a change replaces whole
 * top-level members, so that everything that no rule touches goes upstream as the caller wrote it.
 */
export interface JsonDocument extends Scanned {
  readonly text: string;
  readonly value: JsonObject;
}

/** Gives the value of a text that was scanned. */
export type ParseScanned = (text: string, scanned: Scanned) => Json;

const parsePlain: ParseScanned = (text, { hasEscapedKeys }) =>
  (hasEscapedKeys ? parseText(text) : JSON.parse(text)) as Json;

/** With every digit of every number ({@link parseExact}). */
export const parseDigits: ParseScanned = (text, scanned) =>
  scanned.hasInexactNumbers ? parseExact(text) : parsePlain(text, scanned);

/**
 * Reads a JSON object. A key repeated on the top level or on a watched level is an error, also when it is
 * spelled with escapes: upstream and gateway must not see two different requests. A body that is rebuilt rather
 * than edited is parsed with {@link parseExact}. What holds too many values is refused before it is parsed: a parsed
 * value takes many times the bytes of its text.
 */
export function parseDocument(
  text: string,
  watched: Watched,
  parse: ParseScanned = parsePlain,
  maxValues: number = Number.POSITIVE_INFINITY,
): Either<DocumentError, JsonDocument> {
  const scanned = scanDocument(text, watched, maxValues);
  if (E.isLeft(scanned)) return scanned;
  const value = E.tryCatch(
    () => parse(text, scanned.right),
    (): DocumentError => ({ path: 'body', message: 'The request body is not valid JSON.' }),
  );
  if (E.isLeft(value)) return value;
  if (!isObject(value.right)) return E.left(notAnObject);
  return E.right({ text, value: value.right, ...scanned.right });
}

/** A JSON object of which only members are taken or replaced: it is not parsed, so `value` is empty; undefined: it is none. */
export function unreadDocument(text: string): JsonDocument | undefined {
  const document = parseDocument(text, {}, () => ({}));
  return E.isRight(document) ? document.right : undefined;
}

/** A member's value with every digit kept, to be rebuilt and sent on. */
export function exactMember(document: JsonDocument, key: string): Json | undefined {
  const member = document.members.find((each) => each.key === key);
  return member === undefined ? undefined : parseExact(document.text.slice(member.valueStart, member.end));
}

/**
 * The document's text with some members replaced (`Json`), taken away (`undefined`) or added; the rest of it,
 * blanks too, stays as the caller wrote it.
 */
export function withMembers(document: JsonDocument, changes: ReadonlyMap<string, Json | undefined>): string {
  const { text, members } = document;
  if (changes.size === 0) return text;
  const afterBrace = text.indexOf('{') + 1;
  const head = text.slice(0, members[0]?.start ?? afterBrace);
  const tail = text.slice(members.at(-1)?.end ?? afterBrace);
  const kept = keptMembers(document, changes);
  const present = new Set(members.map(({ key }) => key));
  const added = [...changes]
    .filter(([key, value]) => value !== undefined && !present.has(key))
    .map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`);
  return head + [...(kept === '' ? [] : [kept]), ...added].join(',') + tail;
}

/** The members that are not taken away, with what stands between them. */
function keptMembers(
  { text, members }: JsonDocument,
  changes: ReadonlyMap<string, Json | undefined>,
): string {
  let kept = '';
  for (const [index, { key, start, valueStart, end }] of members.entries()) {
    const value = changes.has(key) ? JSON.stringify(changes.get(key)) : text.slice(valueStart, end);
    if (value === undefined) continue;
    const from = kept === '' ? start : (members[index - 1]?.end ?? start);
    kept += text.slice(from, valueStart) + value;
  }
  return kept;
}
