import { closingQuote, isEscaped } from './backslashes.ts';
import { maxParsedDepth } from './limits.ts';
import { nestsDeeperThan } from './nesting.ts';

/** As the engine calls it for each member, with the source text of a number, text or literal. */
export type Revive = (key: string, value: unknown, context: { readonly source?: string }) => unknown;

const engine = JSON as unknown as { parse(text: string, revive?: Revive): unknown };

/**
 * `JSON.parse`, where every key is what its text says. The engine (V8 13 and 14) takes a key that is spelled with an
 * escape for another one, if an object with the same members before it was parsed already: it compares the key that
 * came next there with the text as it is spelled. Behind `{"a":1,"\\":2}` the key of `{"a":1,"\u0062":2}` is a
 * backslash. So the gateway would see another request than the upstream. Keys with escapes are parsed under names
 * without, and get their own in the end.
 *
 * What is nested deeper than {@link maxParsedDepth} is no JSON here. V8 14 writes into memory that it has freed where
 * it finds a text faulty some 4,000 levels deep: later, at any place, the process ends. A text is parsed with a
 * `revive` only when it was without ({@link revived}).
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
 * `JSON.parse` with a `revive`, of what is JSON. Where the engine (V8 14 of Node 26.10) finds a text of a thousand values
 * to be cut off within a string, a few levels deep, it writes into memory that it has freed, but not without a `revive`.
 */
function revived(text: string, revive: Revive): unknown {
  engine.parse(text);
  return engine.parse(text, revive);
}

/** The first of `#0#`, `#1#` and so on that is nowhere in the text: no key of its own begins like this. */
function markFor(text: string): string {
  const taken = new Set(Array.from(text.matchAll(/#(\d{1,7})(?=#)/g), ([, number]) => number));
  let number = 0;
  while (taken.has(String(number))) number += 1;
  return `#${number}#`;
}

/** Where a key stands, with its quotes. */
interface KeyPlace {
  readonly start: number;
  readonly end: number;
}

/**
 * False: no key has an escape. It goes from colon to colon, for a body has thousands of quotes and few colons. What
 * looks like a key may lie within a text: `escapedKeys` knows.
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

/** The keys that have an escape, found from quote to quote. */
function escapedKeys(text: string): readonly KeyPlace[] {
  const found: KeyPlace[] = [];
  for (let start = text.indexOf('"'); start >= 0; ) {
    const end = closingQuote(text, start) + 1;
    if (isKey(text, end) && text.slice(start, end).includes('\\')) found.push({ start, end });
    start = text.indexOf('"', end);
  }
  return found;
}

/** The text with a name in place of each of these keys, and what those keys are, in their order. */
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
