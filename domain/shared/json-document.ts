import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { isObject, isString, type Json, type JsonObject, parseExact, parseJson } from './json.ts';
import { maxJsonDepth } from './limits.ts';
import { namedKey } from './named-key.ts';

/**
 * A caller's JSON object, kept as the text that came in. Reading uses `value`; a change replaces whole
 * top-level members, so that everything that no rule touches goes upstream as the caller wrote it.
 */
export interface JsonDocument {
  readonly text: string;
  readonly value: JsonObject;
  readonly members: readonly Member[];
}

/** A top-level member: `text.slice(start, end)` is `"key": value`, the value begins at `valueStart`. */
export interface Member {
  readonly key: string;
  readonly start: number;
  readonly valueStart: number;
  readonly end: number;
}

/** The levels below the top one that the gateway reads or edits; `*` stands for the items of an array. */
export interface Watched {
  readonly [key: string]: Watched;
}

/** Why a body is not a document; `path` names the place in the caller's words. */
export interface DocumentFault {
  readonly path: string;
  readonly message: string;
}

/**
 * Reads a JSON object. A key repeated on the top level or on a watched level is a fault, also when it is
 * spelled with escapes: upstream and gateway must not see two different requests. A body that is rebuilt rather
 * than edited is parsed with {@link parseExact}.
 */
export function parseDocument(
  text: string,
  watched: Watched,
  parse: (text: string) => Json = JSON.parse,
): Either<DocumentFault, JsonDocument> {
  const scanned = scanDocument(text, watched);
  if (E.isLeft(scanned)) return scanned;
  const value = E.tryCatch(
    () => parse(text),
    (): DocumentFault => ({ path: 'body', message: 'The request body is not valid JSON.' }),
  );
  if (E.isLeft(value)) return value;
  if (!isObject(value.right)) return E.left(notAnObject);
  return E.right({ text, value: value.right, members: scanned.right });
}

const notAnObject: DocumentFault = { path: 'body', message: 'The request body must be a JSON object.' };

function scanDocument(text: string, watched: Watched): Either<DocumentFault, readonly Member[]> {
  const scan = new Scan(text);
  const start = scan.blank(0);
  if (text.charCodeAt(start) !== openBrace) {
    const end = scan.value(start);
    return E.left(scan.fault ?? (end < 0 ? malformed(-end - 1) : notAnObject));
  }
  const members: Member[] = [];
  const end = scan.object(start, watched, '', members);
  if (scan.fault !== undefined) return E.left(scan.fault);
  return end < 0 ? E.left(malformed(-end - 1)) : E.right(members);
}

const malformed = (at: number): DocumentFault => ({
  path: 'body',
  message: `The request body is not valid JSON (character ${at + 1}).`,
});

const quote = 0x22;
const comma = 0x2c;
const colon = 0x3a;
const backslash = 0x5c;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const openBracket = 0x5b;
const closeBracket = 0x5d;

/**
 * One pass over the text, before it is parsed: finds the top-level members, repeated keys and nesting that is
 * too deep. Positions are returned; a negative one, `-at - 1`, says that the text stops being JSON at `at`.
 * It trusts scalars: `JSON.parse` is what validates them.
 */
class Scan {
  readonly text: string;
  fault: DocumentFault | undefined;
  private depth = 0;

  constructor(text: string) {
    this.text = text;
  }

  blank(from: number): number {
    let at = from;
    for (let code = this.text.charCodeAt(at); code === 0x20 || (code >= 0x09 && code <= 0x0d); ) {
      at += 1;
      code = this.text.charCodeAt(at);
    }
    return at;
  }

  /** The end of the string that opens at `from`. */
  string(from: number): number {
    let at = from;
    for (;;) {
      at = this.text.indexOf('"', at + 1);
      if (at < 0) return -this.text.length - 1;
      let slashes = 0;
      while (this.text.charCodeAt(at - 1 - slashes) === backslash) slashes += 1;
      if (slashes % 2 === 0) return at + 1;
    }
  }

  /** The end of a value that nobody reads: only strings and brackets matter. */
  value(from: number): number {
    const outer = this.depth;
    let at = from;
    do {
      const code = this.text.charCodeAt(at);
      if (Number.isNaN(code)) return -at - 1;
      if (code === quote) {
        at = this.string(at);
        if (at < 0) return at;
        continue;
      }
      if (code === openBrace || code === openBracket) {
        if (!this.deeper()) return -at - 1;
      } else if (code === closeBrace || code === closeBracket) {
        if (this.depth === outer) return -at - 1;
        this.depth -= 1;
      } else if (this.depth === outer) {
        return this.scalar(at);
      }
      at += 1;
    } while (this.depth > outer);
    return at;
  }

  private scalar(from: number): number {
    let at = from;
    for (let code = this.text.charCodeAt(at); code > 0x20 && !isPunctuation(code); ) {
      at += 1;
      code = this.text.charCodeAt(at);
    }
    return at === from ? -at - 1 : at;
  }

  private deeper(): boolean {
    this.depth += 1;
    if (this.depth <= maxJsonDepth) return true;
    this.fault ??= {
      path: 'body',
      message: `The request body is nested deeper than ${maxJsonDepth} levels.`,
    };
    return false;
  }

  /** The end of a value on a level that somebody reads. */
  private watchedValue(from: number, watched: Watched, path: string): number {
    const code = this.text.charCodeAt(from);
    if (code === openBrace) return this.object(from, watched, `${path}.`, undefined);
    const items = watched['*'];
    if (code === openBracket && items !== undefined) return this.array(from, items, path);
    return this.value(from);
  }

  object(from: number, watched: Watched, prefix: string, members: Member[] | undefined): number {
    if (!this.deeper()) return -from - 1;
    const seen = new Set<string>();
    let at = this.blank(from + 1);
    if (this.text.charCodeAt(at) === closeBrace) return this.close(at);
    for (;;) {
      const start = at;
      const key = this.key(start, prefix, seen);
      if (key === undefined) return -start - 1;
      at = this.blank(this.string(start));
      if (this.text.charCodeAt(at) !== colon) return -at - 1;
      const valueStart = this.blank(at + 1);
      const inner = Object.hasOwn(watched, key) ? watched[key] : undefined;
      const end =
        inner === undefined
          ? this.value(valueStart)
          : this.watchedValue(valueStart, inner, `${prefix}${key}`);
      if (end < 0) return end;
      members?.push({ key, start, valueStart, end });
      at = this.blank(end);
      if (this.text.charCodeAt(at) === closeBrace) return this.close(at);
      if (this.text.charCodeAt(at) !== comma) return -at - 1;
      at = this.blank(at + 1);
    }
  }

  private array(from: number, items: Watched, path: string): number {
    if (!this.deeper()) return -from - 1;
    let at = this.blank(from + 1);
    if (this.text.charCodeAt(at) === closeBracket) return this.close(at);
    for (let index = 0; ; index += 1) {
      const end = this.watchedValue(at, items, `${path}[${index}]`);
      if (end < 0) return end;
      at = this.blank(end);
      if (this.text.charCodeAt(at) === closeBracket) return this.close(at);
      if (this.text.charCodeAt(at) !== comma) return -at - 1;
      at = this.blank(at + 1);
    }
  }

  private close(at: number): number {
    this.depth -= 1;
    return at + 1;
  }

  private key(from: number, prefix: string, seen: Set<string>): string | undefined {
    if (this.text.charCodeAt(from) !== quote) return undefined;
    const end = this.string(from);
    if (end < 0) return undefined;
    const key = unescaped(this.text.slice(from, end));
    if (key === undefined) return undefined;
    if (key === '__proto__' || seen.has(key)) {
      const name = namedKey(key);
      this.fault ??= {
        path: `${prefix}${name}`,
        message: key === '__proto__' ? '`__proto__` is not a field.' : `The key \`${name}\` is repeated.`,
      };
      return undefined;
    }
    seen.add(key);
    return key;
  }
}

const isPunctuation = (code: number): boolean =>
  code === comma ||
  code === colon ||
  code === quote ||
  code === openBrace ||
  code === closeBrace ||
  code === openBracket ||
  code === closeBracket;

function unescaped(literal: string): string | undefined {
  if (!literal.includes('\\')) return literal.slice(1, -1);
  const text = parseJson(literal);
  return isString(text) ? text : undefined;
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
