import { backslashFrom, isEscaped } from '../text/backslashes.ts';
import {
  type DocumentError,
  malformed,
  notAnObject,
  tooDeep,
  tooManyEscapedKeys,
  tooManyValues,
} from './document-error.ts';
import { isString, parseJson } from './json.ts';
import { maxEscapedKeys, maxJsonDepth } from './limits.ts';
import { namedKey, namedPath } from './named-key.ts';
import { isInexact, numberEnd } from './number-text.ts';
import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';

/** A top-level member: `text.slice(start, end)` is `"key": value`, and the value begins at `valueStart`. */
export interface ScannedMember {
  readonly key: string;
  readonly start: number;
  readonly valueStart: number;
  readonly end: number;
}

/** What the scan of a document finds. */
export interface Scanned {
  readonly members: readonly ScannedMember[];
  /** The number of objects, arrays, strings, numbers and literals, at any depth. */
  readonly valueCount: number;
  /** Some key is spelled with an escape, or looks like it. */
  readonly hasEscapedKeys: boolean;
  /** Some number would be spelled differently after being parsed and printed. */
  readonly hasInexactNumbers: boolean;
}

/** The levels below the top one that the gateway reads or edits. `*` stands for the items of an array. */
export interface Watched {
  readonly [key: string]: Watched;
}

/** Scans a text that should be a JSON object, in one pass. Invalid scalars are left for the parser to reject. */
export function scanDocument(
  text: string,
  watched: Watched,
  maxValues: number,
): Either<DocumentError, Scanned> {
  const scan = new Scan(text, maxValues);
  const start = scan.blank(0);
  if (text.charCodeAt(start) !== openBrace) {
    const end = scan.value(start);
    return E.left(scan.error ?? (end < 0 ? malformed(-end - 1) : notAnObject));
  }
  const members: ScannedMember[] = [];
  const end = scan.object(start, watched, members);
  if (scan.error !== undefined) return E.left(scan.error);
  if (end < 0) return E.left(malformed(-end - 1));
  const { valueCount, escapedKeyCount, hasInexactNumbers } = scan;
  return E.right({ members, valueCount, hasEscapedKeys: escapedKeyCount > 0, hasInexactNumbers });
}

// Each scanner declares its own: imported constants are read at every use, which takes up to a tenth more time.
const quote = 0x22;
const comma = 0x2c;
const colon = 0x3a;
const minus = 0x2d;
const zero = 0x30;
const nine = 0x39;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const openBracket = 0x5b;
const closeBracket = 0x5d;

/**
 * One pass over the text before it is parsed. It finds the top-level members, repeated keys and excessive nesting, and
 * counts the values: one for the whole, plus, for each non-empty array or object, one more than its commas. Methods
 * return positions; a negative one, `-at - 1`, says that the text stops being JSON at `at`. Scalars are trusted:
 * `JSON.parse` validates them.
 */
class Scan {
  readonly text: string;
  error: DocumentError | undefined;
  valueCount = 1;
  escapedKeyCount = 0;
  hasInexactNumbers = false;
  private depth = 0;
  private nextBackslash = -1;
  /** Where the last key ended. */
  private keyEnd = 0;
  /** Keys and indexes that lead to the watched object or array being scanned. They are spelled out only for errors. */
  private readonly path: (string | number)[] = [];
  private readonly maxValues: number;

  constructor(text: string, maxValues: number) {
    this.text = text;
    this.maxValues = maxValues;
  }

  blank(from: number): number {
    let at = from;
    for (let code = this.text.charCodeAt(at); code === 0x20 || (code >= 0x09 && code <= 0x0d); ) {
      at += 1;
      code = this.text.charCodeAt(at);
    }
    return at;
  }

  /** The end of the string that opens at `from`. Strings come in the order of the text: `from` never decreases. */
  string(from: number): number {
    const { text } = this;
    let at = text.indexOf('"', from + 1);
    if (this.nextBackslash < from) this.nextBackslash = backslashFrom(text, from);
    if (this.nextBackslash < at) {
      while (at >= 0 && isEscaped(text, at)) at = text.indexOf('"', at + 1);
      if (text.charCodeAt(this.blank(at + 1)) === colon && !this.anotherEscapedKey()) return -at - 1;
    }
    return at < 0 ? -text.length - 1 : at + 1;
  }

  /** The end of a value that the gateway does not read: only strings and brackets matter. */
  value(from: number): number {
    const outer = this.depth;
    let at = from;
    do {
      const code = this.text.charCodeAt(at);
      if (code === quote) at = this.string(at);
      else if (isStructure(code)) at = this.structure(code, at, outer);
      else if (this.depth === outer) return this.scalar(at);
      else if (isNumberStart(code)) at = this.number(at);
      else at = code >= 0 ? at + 1 : -at - 1;
      if (at < 0) return at;
    } while (this.depth > outer);
    return at;
  }

  /** The position after a bracket or comma. */
  private structure(code: number, at: number, outer: number): number {
    if (code === openBrace || code === openBracket) {
      if (!this.deeper()) return -at - 1;
      const inner = this.blank(at + 1);
      return isClosing(this.text.charCodeAt(inner)) || this.another() ? inner : -at - 1;
    }
    if (this.depth === outer) return -at - 1;
    if (code === comma) return this.another() ? at + 1 : -at - 1;
    this.depth -= 1;
    return at + 1;
  }

  /** The position after all characters that a number may have. */
  private number(from: number): number {
    const end = numberEnd(this.text, from);
    this.hasInexactNumbers ||= isInexact(this.text.slice(from, end));
    return end;
  }

  private scalar(from: number): number {
    let at = isNumberStart(this.text.charCodeAt(from)) ? this.number(from) : from;
    for (let code = this.text.charCodeAt(at); code > 0x20 && !isPunctuation(code); ) {
      at += 1;
      code = this.text.charCodeAt(at);
    }
    return at === from ? -at - 1 : at;
  }

  private deeper(): boolean {
    this.depth += 1;
    if (this.depth <= maxJsonDepth) return true;
    this.error ??= tooDeep;
    return false;
  }

  private another(): boolean {
    this.valueCount += 1;
    if (this.valueCount <= this.maxValues) return true;
    this.error ??= tooManyValues(this.maxValues);
    return false;
  }

  private anotherEscapedKey(): boolean {
    this.escapedKeyCount += 1;
    if (this.escapedKeyCount <= maxEscapedKeys) return true;
    this.error ??= tooManyEscapedKeys;
    return false;
  }

  /** The end of a value on a watched level; `at` is its key or index. */
  private watchedValue(from: number, watched: Watched, at: string | number): number {
    const code = this.text.charCodeAt(from);
    const items = code === openBracket ? watched['*'] : undefined;
    if (code !== openBrace && items === undefined) return this.value(from);
    this.path.push(at);
    const end = items === undefined ? this.object(from, watched, undefined) : this.array(from, items);
    this.path.pop();
    return end;
  }

  object(from: number, watched: Watched, members: ScannedMember[] | undefined): number {
    if (!this.deeper()) return -from - 1;
    const seen = new Set<string>();
    let at = this.blank(from + 1);
    if (this.text.charCodeAt(at) === closeBrace) return this.close(at);
    for (;;) {
      if (!this.another()) return -at - 1;
      const start = at;
      const key = this.key(start, seen);
      if (key === undefined) return -start - 1;
      at = this.blank(this.keyEnd);
      if (this.text.charCodeAt(at) !== colon) return -at - 1;
      const valueStart = this.blank(at + 1);
      const end = this.member(valueStart, watched, key);
      if (end < 0) return end;
      members?.push({ key, start, valueStart, end });
      at = this.blank(end);
      if (this.text.charCodeAt(at) === closeBrace) return this.close(at);
      if (this.text.charCodeAt(at) !== comma) return -at - 1;
      at = this.blank(at + 1);
    }
  }

  private member(from: number, watched: Watched, key: string): number {
    const inner = Object.hasOwn(watched, key) ? watched[key] : undefined;
    return inner === undefined ? this.value(from) : this.watchedValue(from, inner, key);
  }

  private array(from: number, items: Watched): number {
    if (!this.deeper()) return -from - 1;
    let at = this.blank(from + 1);
    if (this.text.charCodeAt(at) === closeBracket) return this.close(at);
    for (let index = 0; ; index += 1) {
      if (!this.another()) return -at - 1;
      const end = this.watchedValue(at, items, index);
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

  private key(from: number, seen: Set<string>): string | undefined {
    if (this.text.charCodeAt(from) !== quote) return undefined;
    const end = this.string(from);
    if (end < 0) return undefined;
    this.keyEnd = end;
    const key = unescaped(this.text.slice(from, end));
    if (key === undefined) return undefined;
    if (key === '__proto__' || seen.has(key)) {
      const name = namedKey(key);
      this.error ??= {
        path: namedPath([...this.path, name]),
        message: key === '__proto__' ? '`__proto__` is not a field.' : `The key \`${name}\` is repeated.`,
      };
      return undefined;
    }
    seen.add(key);
    return key;
  }
}

const isNumberStart = (code: number): boolean => code === minus || (code >= zero && code <= nine);

const isClosing = (code: number): boolean => code === closeBrace || code === closeBracket;

const isStructure = (code: number): boolean =>
  code === comma || code === openBrace || code === openBracket || isClosing(code);

const isPunctuation = (code: number): boolean => code === colon || code === quote || isStructure(code);

function unescaped(literal: string): string | undefined {
  if (!literal.includes('\\')) return literal.slice(1, -1);
  const text = parseJson(literal);
  return isString(text) ? text : undefined;
}
