import type { Spelling } from './escapes.ts';
import { isAscii } from './utf8.ts';

/**
 * JSON as it was written: numbers keep their digits, members keep their order, and a repeated key stays repeated. An
 * array or object that no rule changed knows the text that it was read from.
 */
export type Written = null | boolean | Text | Digits | Items | Members;

/** A string: decoded when it was written without escapes or made by a rule, otherwise as it was written. */
export type Text = string | Quoted;

/** A string as it was written, with its quotes and escapes. Decoded only when a rule needs its content: rarely. */
export class Quoted {
  readonly literal: string;
  readonly spelling: Spelling;
  /** JSON inside the string may contain something that a rule hides. */
  readonly mayHide: boolean;
  private text: string | undefined;

  constructor(literal: string, spelling: Spelling, mayHide: boolean) {
    this.literal = literal;
    this.spelling = spelling;
    this.mayHide = mayHide;
  }

  get decoded(): string {
    this.text ??= JSON.parse(this.literal) as string;
    return this.text;
  }
}

export const isText = (value: Written | undefined): value is Text =>
  typeof value === 'string' || value instanceof Quoted;

/** The content of a string, without quotes and escapes. */
export const decodedText = (text: Text): string => (typeof text === 'string' ? text : text.decoded);

/** A number as it was written. */
export class Digits {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** A parsed JSON text. */
export class SourceText {
  readonly text: string;
  /** The text has white space between tokens. */
  hasBlanks = false;
  /** The text has `\u` escapes, or something that looks like one. */
  hasNumbers = false;
  /** Some key has slashes escaped with a backslash. Keys are printed without such escapes. */
  hasSlashedKeys = false;
  private ascii: boolean | undefined;

  constructor(text: string) {
    this.text = text;
  }

  /** The text equals its tight print. */
  get isTight(): boolean {
    return !this.hasBlanks && !this.hasNumbers && !this.hasSlashedKeys;
  }

  /** Each character is one byte, so the length is the size. */
  get isAscii(): boolean {
    this.ascii ??= isAscii(this.text);
    return this.ascii;
  }
}

/** The part of a source text that an array or object was read from. None when a rule made or changed it. */
export interface Span {
  readonly source: SourceText;
  readonly from: number;
  readonly to: number;
}

/** What is known about all values in an array or object. Nothing is known about one that a rule made. */
export interface Notes {
  /** A built-in rule may find something to hide. */
  readonly mayHide: boolean;
  /** A string may be long enough to be truncated. */
  readonly mayBeLong: boolean;
}

const unknown: Notes = { mayHide: true, mayBeLong: true };

export class Items {
  readonly items: readonly Written[];
  readonly span: Span | undefined;
  readonly notes: Notes;

  constructor(items: readonly Written[], span?: Span, notes: Notes = unknown) {
    this.items = items;
    this.span = span;
    this.notes = notes;
  }
}

export class Members {
  readonly keys: readonly string[];
  readonly values: readonly Written[];
  readonly span: Span | undefined;
  readonly notes: Notes;

  constructor(keys: readonly string[], values: readonly Written[], span?: Span, notes: Notes = unknown) {
    this.keys = keys;
    this.values = values;
    this.span = span;
    this.notes = notes;
  }
}

/** The value of a key. When a key is repeated the last one counts, as for JSON parsers. */
export function valueAt({ keys, values }: Members, key: string): Written | undefined {
  const index = keys.lastIndexOf(key);
  return index < 0 ? undefined : values[index];
}

/** The array with `change` applied to its items, or the same array when no item changed. */
export function changedItems(array: Items, change: (item: Written) => Written): Items {
  const { items } = array;
  let copy: Written[] | undefined;
  for (let index = 0; index < items.length; index += 1) {
    const item = items[index] ?? null;
    const changed = change(item);
    if (changed !== item) (copy ??= items.slice())[index] = changed;
  }
  return copy === undefined ? array : new Items(copy);
}

/** The object with `change` applied to its members, or the same object when no member changed. */
export function changedMembers(object: Members, change: (value: Written, key: string) => Written): Members {
  const { keys, values } = object;
  let copy: Written[] | undefined;
  for (let index = 0; index < values.length; index += 1) {
    const value = values[index] ?? null;
    const changed = change(value, keys[index] ?? '');
    if (changed !== value) (copy ??= values.slice())[index] = changed;
  }
  return copy === undefined ? object : new Members(keys, copy);
}

/**
 * How a value is printed. `as it came`: whatever no rule changed is printed as the text that it was parsed from.
 * `tight`: without white space between tokens, and without `\u` escapes that JSON does not need.
 */
export type Print = 'as it came' | 'tight';

/** The span whose text is the print of an array or object, or `undefined` when it must be printed from its parts. */
export const printedSpan = ({ span }: Items | Members, print: Print): Span | undefined =>
  span !== undefined && (print === 'as it came' || span.source.isTight) ? span : undefined;

/** The string to print instead of this one: decoded when a tight print would spell it differently. */
export const printedText = (text: Text, print: Print): Text =>
  print === 'tight' && text instanceof Quoted && text.spelling.hasNumbers ? decodedText(text) : text;

/** The JSON text of a value. */
export function printed(value: Written, print: Print): string {
  if (isText(value)) return literalOf(printedText(value, print));
  if (value === null || typeof value === 'boolean') return String(value);
  if (value instanceof Digits) return value.text;
  const span = printedSpan(value, print);
  if (span !== undefined) return span.source.text.slice(span.from, span.to);
  return value instanceof Items ? printedItems(value, print) : printedMembers(value, print);
}

const literalOf = (text: Text): string => (text instanceof Quoted ? text.literal : JSON.stringify(text));

/** Builds the print by concatenation, which the engine copies only once, when the whole is read. */
function printedItems({ items }: Items, print: Print): string {
  let text = '[';
  for (let index = 0; index < items.length; index += 1)
    text += (index === 0 ? '' : ',') + printed(items[index] ?? null, print);
  return `${text}]`;
}

function printedMembers({ keys, values }: Members, print: Print): string {
  let text = '{';
  for (let index = 0; index < keys.length; index += 1)
    text += `${index === 0 ? '' : ','}${JSON.stringify(keys[index])}:${printed(values[index] ?? null, print)}`;
  return `${text}}`;
}
