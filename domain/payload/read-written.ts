import { parseJson } from '../shared/json.ts';
import { maxPayloadValues } from '../shared/limits.ts';
import {
  Digits,
  Items,
  Members,
  Quoted,
  saidBy,
  Source,
  type Span,
  type Text,
  type Written,
} from './written.ts';

/** Stands for what is nested too deeply. */
const tooDeep = '[TRUNCATED: nested too deeply]';

/** Stands for what comes after as many values as are looked at. */
const tooMany = '[TRUNCATED: too many values]';

/** What a text holds, so that everything after it can walk it and a database can hold it. */
export interface Read {
  readonly value: Written;
  /** Something is nested too deeply, or there is too much of it, and a marker stands in its place. */
  readonly truncated: boolean;
}

/**
 * Reads JSON as it was written, of at most so many levels; undefined: the text is no JSON. A number that no database
 * holds becomes its digits as text. `isParsed`: the text is known to be JSON, and its texts are not looked into.
 */
export function readWritten(text: string, levels: number, isParsed: boolean): Read | undefined {
  const reader = new Reader(text, isParsed);
  const value = reader.whole(levels);
  return value === undefined ? undefined : { value, truncated: reader.truncated };
}

const quote = 0x22;
const comma = 0x2c;
const colon = 0x3a;
const backslash = 0x5c;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const space = 0x20;
const plus = 0x2b;
const minus = 0x2d;
const point = 0x2e;
const zero = 0x30;
const nine = 0x39;
const lowerCase = 0x20;
const letterE = 0x65;

const number = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
const scalars = /[^"{}[\]]*/y;

const words: ReadonlyMap<string, boolean | null> = new Map([
  ['t', true],
  ['f', false],
  ['n', null],
]);

const noItems = new Items([]);
const noMembers = new Members([], []);

/** Reads each sign once; nothing is undefined but what is no JSON. */
class Reader {
  truncated = false;
  private readonly text: string;
  private readonly source: Source;
  private readonly isParsed: boolean;
  private at = 0;
  private room = maxPayloadValues;
  /** How often something became another value than was written: whatever holds it is not as it was written, either. */
  private changes = 0;
  private nextBackslash = -1;

  constructor(text: string, isParsed: boolean) {
    this.text = text;
    this.isParsed = isParsed;
    this.source = new Source(text);
  }

  whole(levels: number): Written | undefined {
    this.skipBlanks();
    this.source.hasBlanks = false;
    const value = this.value(levels);
    const { hasBlanks } = this.source;
    this.skipBlanks();
    this.source.hasBlanks = hasBlanks;
    return this.at === this.text.length ? value : undefined;
  }

  private value(levels: number): Written | undefined {
    const code = this.text.charCodeAt(this.at);
    this.room -= 1;
    if (code === quote) return this.string();
    if (code === openBrace) return levels === 0 ? this.skipped() : this.members(levels);
    if (code === openBracket) return levels === 0 ? this.skipped() : this.items(levels);
    return this.number() ?? this.word();
  }

  private items(levels: number): Items | undefined {
    const from = this.at;
    const before = this.changes;
    this.next();
    if (this.closes(closeBracket))
      return this.at === from + 2 ? noItems : new Items([], this.spanFrom(from, before));
    const items: Written[] = [];
    let areNumbers = true;
    for (;;) {
      if (this.room <= 0) return this.cutShort() ? new Items([...items, tooMany]) : undefined;
      const item = this.value(levels - 1);
      if (item === undefined) return undefined;
      items.push(item);
      areNumbers &&= item instanceof Digits;
      this.skipBlanks();
      if (this.closes(closeBracket)) return new Items(items, this.spanFrom(from, before), areNumbers);
      if (this.text.charCodeAt(this.at) !== comma) return undefined;
      this.next();
    }
  }

  private members(levels: number): Members | undefined {
    const from = this.at;
    const before = this.changes;
    this.next();
    if (this.closes(closeBrace))
      return this.at === from + 2 ? noMembers : new Members([], [], this.spanFrom(from, before));
    const keys: string[] = [];
    const values: Written[] = [];
    for (;;) {
      if (this.room <= 0)
        return this.cutShort() ? new Members([...keys, tooMany], [...values, true]) : undefined;
      const key = this.text.charCodeAt(this.at) === quote ? this.string() : undefined;
      if (key === undefined) return undefined;
      this.skipBlanks();
      if (this.text.charCodeAt(this.at) !== colon) return undefined;
      this.next();
      const value = this.value(levels - 1);
      if (value === undefined) return undefined;
      keys.push(saidBy(key));
      values.push(value);
      this.skipBlanks();
      if (this.closes(closeBrace)) return new Members(keys, values, this.spanFrom(from, before));
      if (this.text.charCodeAt(this.at) !== comma) return undefined;
      this.next();
    }
  }

  private spanFrom(from: number, changesBefore: number): Span | undefined {
    return this.changes === changesBefore ? { source: this.source, from, to: this.at } : undefined;
  }

  private closes(code: number): boolean {
    if (this.text.charCodeAt(this.at) !== code) return false;
    this.at += 1;
    return true;
  }

  private next(): void {
    this.at += 1;
    this.skipBlanks();
  }

  private skipBlanks(): void {
    for (let code = this.text.charCodeAt(this.at); code <= space; code = this.text.charCodeAt(this.at)) {
      if (code !== space && code !== 0x0a && code !== 0x0d && code !== 0x09) return;
      this.source.hasBlanks = true;
      this.at += 1;
    }
  }

  private string(): Text | undefined {
    const from = this.at;
    let end = this.text.indexOf('"', from + 1);
    const hasEscapes = this.backslashFrom(from) < end;
    const first = end;
    while (end >= 0 && hasEscapes && this.isEscaped(end, from)) end = this.text.indexOf('"', end + 1);
    if (end < 0) return undefined;
    this.at = end + 1;
    const literal = hasEscapes || !this.isParsed ? this.text.slice(from, end + 1) : '';
    if (!this.isParsed && parseJson(literal) === undefined) return undefined;
    return hasEscapes
      ? new Quoted(literal, end > first, this.source.hasNumbers && literal.includes('\\u'))
      : this.text.slice(from + 1, end);
  }

  /** Where the next backslash stands; each is looked for once. */
  private backslashFrom(from: number): number {
    if (this.nextBackslash < from) {
      const next = this.text.indexOf('\\', from);
      this.nextBackslash = next < 0 ? this.text.length : next;
    }
    return this.nextBackslash;
  }

  private isEscaped(at: number, from: number): boolean {
    let start = at;
    while (start > from && this.text.charCodeAt(start - 1) === backslash) start -= 1;
    return (at - start) % 2 === 1;
  }

  private number(): Written | undefined {
    const from = this.at;
    let exponent = -1;
    let to = from;
    for (let code = this.text.charCodeAt(to); isOfNumber(code); code = this.text.charCodeAt(to)) {
      if ((code | lowerCase) === letterE) exponent = to + 1;
      to += 1;
    }
    const digits = this.text.slice(from, to);
    if (to === from || !(this.isParsed || number.test(digits))) return undefined;
    this.at = to;
    if (digits.length <= maxNumberChars && (exponent < 0 || isHoldable(this.text.slice(exponent, to))))
      return new Digits(digits);
    this.changes += 1;
    return digits;
  }

  private word(): Written | undefined {
    const value = words.get(this.text[this.at] ?? '');
    const word = String(value);
    if (value === undefined || !this.text.startsWith(word, this.at)) return undefined;
    this.at += word.length;
    return value;
  }

  /** A marker for an array or object that is not looked at. */
  private skipped(): Written | undefined {
    this.at += 1;
    return this.cutShort() ? tooDeep : undefined;
  }

  /** Goes to the end of the array or object that is open. */
  private cutShort(): boolean {
    this.changes += 1;
    this.truncated = true;
    for (let depth = 1; depth > 0; ) {
      scalars.lastIndex = this.at;
      scalars.test(this.text);
      this.at = scalars.lastIndex;
      const code = this.text.charCodeAt(this.at);
      if (Number.isNaN(code)) return false;
      if (code === quote) {
        if (this.string() === undefined) return false;
        continue;
      }
      depth += code === openBrace || code === openBracket ? 1 : -1;
      this.at += 1;
    }
    return true;
  }
}

/** PostgreSQL's `numeric` has 131,072 digits before the point and 16,383 after it. */
const maxNumberChars = 8000;

const isHoldable = (exponent: string): boolean => Math.abs(Number(exponent)) <= maxNumberChars;

const isOfNumber = (code: number): boolean =>
  (code >= zero && code <= nine) ||
  code === point ||
  code === minus ||
  code === plus ||
  (code | lowerCase) === letterE;
