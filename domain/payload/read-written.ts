import { backslashFrom } from '../text/backslashes.ts';
import { parseJson } from '../shared/json.ts';
import { maxPayloadValues } from '../shared/limits.ts';
import { mayHoldMember } from './json-edits.ts';
import { failureKeys, kindOf } from './known-fields.ts';
import { isHoldable, isNumber, numberEnd } from '../shared/number-text.ts';
import { isLong } from './truncate.ts';
import { Escapes } from '../text/escapes.ts';
import {
  Digits,
  Items,
  Members,
  type Notes,
  Quoted,
  SourceText,
  type Span,
  type Text,
  type Written,
} from '../text/written.ts';

/** Replaces values that are nested too deeply. */
const tooDeep = '[TRUNCATED: nested too deeply]';

/** Replaces everything after the last value that is read. */
const tooMany = '[TRUNCATED: too many values]';

/** A parsed text, bounded so that later steps can walk it and the database can hold it. */
export interface Read {
  readonly value: Written;
  /** Something was nested too deeply, or there were too many values, and a marker replaces it. */
  readonly truncated: boolean;
}

/**
 * Reads JSON as it was written, down to this many levels. `undefined` when the text is not JSON. A number that the
 * database cannot hold becomes a string of its digits. `isParsed`: the text is known to be JSON, so its strings are not
 * validated.
 */
export function readWritten(text: string, levels: number, isParsed: boolean): Read | undefined {
  const reader = new Reader(text, isParsed);
  const value = reader.whole(levels);
  return value === undefined ? undefined : { value, truncated: reader.truncated };
}

const quote = 0x22;
const comma = 0x2c;
const colon = 0x3a;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const space = 0x20;
const scalars = /[^"{}[\]]*/y;

const keywords: ReadonlyMap<string, boolean | null> = new Map([
  ['t', true],
  ['f', false],
  ['n', null],
]);

const nothingToDo: Notes = { mayHide: false, mayBeLong: false };
const noItems = new Items([], undefined, nothingToDo);
const noMembers = new Members([], [], undefined, nothingToDo);

/** Takes linear time. Reading a value returns `undefined` only when the text is not JSON. */
class Reader {
  truncated = false;
  private readonly text: string;
  private readonly source: SourceText;
  private readonly isParsed: boolean;
  private at = 0;
  private room = maxPayloadValues;
  /** Values so far that were changed while reading. An array or object that contains one has no span. */
  private changes = 0;
  private nextBackslash = -1;
  /** Notes so far on the array or object that is being read. */
  private mayHide = false;
  private mayBeLong = false;

  constructor(text: string, isParsed: boolean) {
    this.text = text;
    this.isParsed = isParsed;
    this.source = new SourceText(text);
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
    return this.number() ?? this.keyword();
  }

  private items(levels: number): Items | undefined {
    const open = this.open();
    if (this.closes(closeBracket)) return this.emptyItems(open);
    const items: Written[] = [];
    for (;;) {
      if (this.room <= 0) return this.cutShort() ? new Items([...items, tooMany]) : undefined;
      const item = this.value(levels - 1);
      if (item === undefined) return undefined;
      items.push(item);
      this.skipBlanks();
      if (this.closes(closeBracket)) return new Items(items, this.span(open), this.notes(open));
      if (this.text.charCodeAt(this.at) !== comma) return undefined;
      this.next();
    }
  }

  private members(levels: number): Members | undefined {
    const open = this.open();
    if (this.closes(closeBrace)) return this.emptyMembers(open);
    const keys: string[] = [];
    const values: Written[] = [];
    for (;;) {
      if (this.room <= 0)
        return this.cutShort() ? new Members([...keys, tooMany], [...values, true]) : undefined;
      if (!this.member(keys, values, levels - 1)) return undefined;
      this.skipBlanks();
      if (this.closes(closeBrace)) return new Members(keys, values, this.span(open), this.notes(open));
      if (this.text.charCodeAt(this.at) !== comma) return undefined;
      this.next();
    }
  }

  private member(keys: string[], values: Written[], levels: number): boolean {
    const key = this.key();
    const value = key === undefined ? undefined : this.value(levels);
    if (key === undefined || value === undefined) return false;
    keys.push(key);
    values.push(value);
    this.mayHide ||= kindOf(key) !== undefined || (value === true && failureKeys.has(key));
    return true;
  }

  /** Reads a key and its colon. */
  private key(): string | undefined {
    const key = this.text.charCodeAt(this.at) === quote ? this.string() : undefined;
    this.skipBlanks();
    if (key === undefined || this.text.charCodeAt(this.at) !== colon) return undefined;
    this.next();
    if (typeof key === 'string') return key;
    this.source.hasSlashedKeys ||= key.spelling.hasSlashes;
    return key.decoded;
  }

  private emptyItems(open: Open): Items {
    const notes = this.notes(open);
    return this.at === open.from + 2 ? noItems : new Items([], this.span(open), notes);
  }

  private emptyMembers(open: Open): Members {
    const notes = this.notes(open);
    return this.at === open.from + 2 ? noMembers : new Members([], [], this.span(open), notes);
  }

  private open(): Open {
    const { at, changes, mayHide, mayBeLong } = this;
    this.mayHide = false;
    this.mayBeLong = false;
    this.next();
    return { from: at, changes, mayHide, mayBeLong };
  }

  private span({ from, changes }: Open): Span | undefined {
    return this.changes === changes ? { source: this.source, from, to: this.at } : undefined;
  }

  /** The notes on the array or object that ends here. They also become part of the notes on its parent. */
  private notes({ mayHide, mayBeLong }: Open): Notes {
    const notes = notesOf(this.mayHide, this.mayBeLong);
    this.mayHide ||= mayHide;
    this.mayBeLong ||= mayBeLong;
    return notes;
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
    const { text, at: from } = this;
    const firstQuote = text.indexOf('"', from + 1);
    // Each backslash is searched for only once.
    if (this.nextBackslash < from) this.nextBackslash = backslashFrom(text, from);
    const spelling = this.nextBackslash < firstQuote ? new Escapes() : undefined;
    const end = spelling === undefined ? firstQuote : this.escapedEnd(firstQuote, spelling);
    if (end < 0) return undefined;
    this.at = end + 1;
    const literal = spelling !== undefined || !this.isParsed ? text.slice(from, end + 1) : '';
    if (!this.isParsed && parseJson(literal) === undefined) return undefined;
    return this.noted(spelling === undefined ? text.slice(from + 1, end) : this.quoted(literal, spelling));
  }

  /** The closing quote of a string with escapes, found by going from backslash to backslash. */
  private escapedEnd(firstQuote: number, spelling: Escapes): number {
    const { text } = this;
    let end = firstQuote;
    let at = this.nextBackslash;
    while (at < end) {
      spelling.see(text, at);
      if (end === at + 1) end = text.indexOf('"', at + 2);
      at = backslashFrom(text, at + 2);
    }
    this.nextBackslash = at;
    return end;
  }

  private quoted(literal: string, spelling: Escapes): Quoted {
    const { hasNumbers } = spelling;
    this.source.hasNumbers ||= hasNumbers;
    const mayHide = hasNumbers || mayHoldMember(literal);
    this.mayHide ||= mayHide;
    return new Quoted(literal, spelling, mayHide);
  }

  private noted(text: Text): Text {
    this.mayBeLong ||= isLong(text);
    return text;
  }

  private number(): Written | undefined {
    const to = numberEnd(this.text, this.at);
    const digits = this.text.slice(this.at, to);
    if (digits === '' || !(this.isParsed || isNumber(digits))) return undefined;
    this.at = to;
    if (isHoldable(digits)) return new Digits(digits);
    this.changes += 1;
    return this.noted(digits);
  }

  private keyword(): Written | undefined {
    const value = keywords.get(this.text[this.at] ?? '');
    const keyword = String(value);
    if (value === undefined || !this.text.startsWith(keyword, this.at)) return undefined;
    this.at += keyword.length;
    return value;
  }

  /** The marker for an array or object that is not read. */
  private skipped(): Written | undefined {
    this.at += 1;
    return this.cutShort() ? tooDeep : undefined;
  }

  /** Skips to the end of the array or object that is open. */
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

/** Where an array or object begins, and the notes on its parent so far. */
interface Open extends Notes {
  readonly from: number;
  readonly changes: number;
}

const notesOf = (mayHide: boolean, mayBeLong: boolean): Notes =>
  mayHide || mayBeLong ? { mayHide, mayBeLong } : nothingToDo;
