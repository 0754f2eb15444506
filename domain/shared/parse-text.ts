import { closingQuote, isEscaped } from '../text/backslashes.ts';
import { maxParsedDepth } from './limits.ts';
import { nestsDeeperThan } from './nesting.ts';

/** Called by the engine for each member, with the source text of a number, string or literal. */
export type Revive = (key: string, value: unknown, context: { readonly source?: string }) => unknown;

const engine = JSON as unknown as { parse(text: string, revive?: Revive): unknown };

/**
 * `JSON.parse` with correct keys. V8 13 and 14 can return the wrong key for one that is spelled with an escape: when an
 * object with the same preceding members was parsed before, V8 compares the key that came next there with the raw
 * spelling of this one. After `{"a":1,"\\":2}`, the key of `{"a":1,"\u0062":2}` comes out as a backslash. The gateway
 * would then see a different request than the upstream. So keys with escapes are parsed under names without escapes,
 * and renamed back afterwards.
 *
 * Text nested deeper than {@link maxParsedDepth} is rejected as not JSON: where V8 14 finds a syntax error some 4,000
 * levels deep, it writes into freed memory, and the process crashes at some later point. Text is parsed with a `revive`
 * only after it was parsed without one ({@link revived}).
 */
export function parseText(text: string, revive?: Revive): unknown {
  if (nestsDeeperThan(text, maxParsedDepth)) throw new SyntaxError('The text is nested too deep.');
  const escaped = mayHaveEscapedKeys(text) ? escapedKeys(text) : [];
  if (escaped.length === 0) return revive === undefined ? engine.parse(text) : revived(text, revive);
  const mark = markFor(text);
  const { plain, keys } = withPlainKeys(text, escaped, mark);
  const keyOf = (name: string): string =>
    name.startsWith(mark) ? (keys[Number(name.slice(mark.length))] ?? name) : name;
  return revived(plain, (name, value, context) => {
    const own = renamed(value, mark, keyOf);
    return revive === undefined ? own : revive(keyOf(name), own, context);
  });
}

/**
 * `JSON.parse` with a `revive`, only for text that is known to be JSON. Where V8 14 (Node 26.10) finds a text of a
 * thousand values to be truncated inside a string, a few levels deep, it writes into freed memory; without a `revive`
 * it does not.
 */
function revived(text: string, revive: Revive): unknown {
  engine.parse(text);
  return engine.parse(text, revive);
}

/** The first of `#0#`, `#1#` and so on that occurs nowhere in the text, so no key of the text begins with it. */
function markFor(text: string): string {
  const taken = new Set(Array.from(text.matchAll(/#(\d{1,7})(?=#)/g), ([, number]) => number));
  let number = 0;
  while (taken.has(String(number))) number += 1;
  return `#${number}#`;
}

/** The position of a key, quotes included. */
interface KeyPlace {
  readonly start: number;
  readonly end: number;
}

/**
 * False when no key has an escape. It goes from colon to colon, because a body has thousands of quotes and few colons.
 * What looks like a key may be inside a string; `escapedKeys` finds out.
 */
function mayHaveEscapedKeys(text: string): boolean {
  if (!text.includes('\\')) return false;
  for (let colon = text.indexOf(':'); colon >= 0; colon = text.indexOf(':', colon + 1)) {
    let at = colon - 1;
    while (isSpace(text[at])) at -= 1;
    if (text[at] !== '"' || isEscaped(text, at)) continue;
    at -= 1;
    while (at >= 0 && text[at] !== '"' && text[at] !== '\\') at -= 1;
    if (text[at] === '\\' || text[at - 1] === '\\') return true;
  }
  return false;
}

/** The keys that have an escape, found by going from quote to quote. */
function escapedKeys(text: string): readonly KeyPlace[] {
  const found: KeyPlace[] = [];
  for (let start = text.indexOf('"'); start >= 0; ) {
    const end = closingQuote(text, start) + 1;
    if (isKey(text, end) && text.slice(start, end).includes('\\')) found.push({ start, end });
    start = text.indexOf('"', end);
  }
  return found;
}

/** The text with a placeholder name for each of these keys, and the decoded keys in the same order. */
function withPlainKeys(text: string, places: readonly KeyPlace[], mark: string) {
  const keys = places.map(({ start, end }) => String(engine.parse(text.slice(start, end))));
  const parts = places.map(
    ({ start }, index) => `${text.slice(places[index - 1]?.end ?? 0, start)}"${mark}${index}"`,
  );
  return { plain: parts.join('') + text.slice(places.at(-1)?.end ?? 0), keys };
}

/** Whether a colon follows. */
function isKey(text: string, from: number): boolean {
  let at = from;
  while (isSpace(text[at])) at += 1;
  return text[at] === ':';
}

const isSpace = (char: string | undefined): boolean =>
  char === ' ' || char === '\t' || char === '\r' || char === '\n';

function renamed(value: unknown, mark: string, keyOf: (name: string) => string): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const entries = Object.entries(value);
  return entries.some(([name]) => name.startsWith(mark))
    ? Object.fromEntries(entries.map(([name, inner]) => [keyOf(name), inner as unknown]))
    : value;
}
