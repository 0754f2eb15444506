import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import type { Edit } from '../text/text-edits.ts';
import { isObject, type Json, type JsonObject, parseExact } from './json.ts';
import { type OutboundText, outboundText } from './outbound-text.ts';
import { parseText } from './parse-text.ts';
import { type DocumentError, notAnObject } from './document-error.ts';
import { type Scanned, scanDocument, type Watched } from './json-scan.ts';

/**
 * A caller's JSON object, kept as the text that came in. Rules read `value`. A change replaces whole top-level members,
 * so everything that no rule touches goes upstream as the caller wrote it.
 */
export interface JsonDocument extends Scanned {
  readonly text: string;
  readonly value: JsonObject;
}

/** Parses a text that was already scanned. */
export type ParseScanned = (text: string, scanned: Scanned) => Json;

const parsePlain: ParseScanned = (text, { hasEscapedKeys }) =>
  (hasEscapedKeys ? parseText(text) : JSON.parse(text)) as Json;

/** Keeps every digit of every number ({@link parseExact}). */
export const parseDigits: ParseScanned = (text, scanned) =>
  scanned.hasInexactNumbers ? parseExact(text) : parsePlain(text, scanned);

/**
 * Reads a JSON object. A key repeated at the top level or a watched level is an error, even when spelled with escapes:
 * upstream and gateway must not see two different requests. A body that is rebuilt rather than edited is parsed with
 * {@link parseExact}. A body with too many values is rejected before parsing, because parsed values take many times the
 * memory of their text.
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

/**
 * A JSON object whose members are only copied or replaced. It is not parsed, so `value` is empty. `undefined` when the
 * text is not a JSON object, as far as the scan can tell.
 */
export function scannedDocument(text: string): JsonDocument | undefined {
  const document = parseDocument(text, {}, () => ({}));
  return E.isRight(document) ? document.right : undefined;
}

/** A member's value with every digit kept, for rebuilding it. */
export function exactMember(document: JsonDocument, key: string): Json | undefined {
  const member = document.members.find((each) => each.key === key);
  return member === undefined ? undefined : parseExact(document.text.slice(member.valueStart, member.end));
}

/** {@link editedMembers} as text. */
export const withMembers = (document: JsonDocument, changes: MemberChanges): string =>
  outboundText(editedMembers(document, changes));

/** Members to replace or add (a `Json` value), or to remove (`undefined`). */
export type MemberChanges = ReadonlyMap<string, Json | undefined>;

/** The document's text with some members changed. The rest, white space included, stays as the caller wrote it. */
export function editedMembers({ text, members }: JsonDocument, changes: MemberChanges): OutboundText {
  const edits: Edit[] = [];
  let isFirst = true;
  for (const [index, { key, valueStart, end }] of members.entries()) {
    const value = changes.get(key);
    if (value !== undefined) edits.push({ from: valueStart, to: end, by: JSON.stringify(value) });
    else if (changes.has(key)) edits.push(removal(members, index, isFirst));
    isFirst &&= value === undefined && changes.has(key);
  }
  const added = addedMembers(members, changes);
  const last = members.at(-1)?.end ?? text.indexOf('{') + 1;
  if (added.length > 0) edits.push({ from: last, to: last, by: (isFirst ? '' : ',') + added.join(',') });
  return { before: text, edits };
}

/** Removes a member together with the comma before it, or the comma after it when no member remains before it. */
const removal = (members: JsonDocument['members'], index: number, isFirst: boolean): Edit => {
  const start = members[index]?.start ?? 0;
  const end = members[index]?.end ?? start;
  return isFirst
    ? { from: start, to: members[index + 1]?.start ?? end, by: '' }
    : { from: members[index - 1]?.end ?? start, to: end, by: '' };
};

function addedMembers(members: JsonDocument['members'], changes: MemberChanges): readonly string[] {
  if (changes.size === 0) return [];
  const present = new Set(members.map(({ key }) => key));
  return [...changes]
    .filter(([key, value]) => value !== undefined && !present.has(key))
    .map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`);
}
