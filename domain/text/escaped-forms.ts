/**
 * The source of a pattern for a text in every common spelling: as it is, in JSON, in JSON inside JSON and so on, and
 * in a URL. Letters and digits are the same in all of them.
 */
export const spelling = (text: string): string => signSpellings(text).join('');

/** The same for each of its signs; a run of backslashes is one. */
export function signSpellings(text: string): readonly string[] {
  const parts: readonly string[] = text.toWellFormed().match(/\\+|[^\\]/gu) ?? [];
  return parts.map((part, index) => partSpelling(part, parts[index - 1]?.startsWith('\\') === true));
}

/** Signs of which no other text has so many in common with a secret. */
const maxHalfSigns = 256;

/** What JSON or a URL begins to spell. */
const unfinishedSign = '(?:\\\\+(?:u[\\da-fA-F]{0,3})?|%[\\da-fA-F%]*)?';

/** The source of a pattern for the first of these signs, one or more, where the text ends behind or inside of them. */
export function halfSpelling(signs: readonly string[]): string {
  const rest = signs.length > maxHalfSigns ? '[^]*' : '';
  const nested = signs
    .slice(0, maxHalfSigns)
    .reduceRight((inner, sign) => (inner === '' ? sign : `${sign}(?:${inner})?`), rest);
  return `${nested}${unfinishedSign}$`;
}

/** A sign, or a run of backslashes; a sign behind such a run is escaped by its last ones. */
function partSpelling(part: string, afterRun: boolean): string {
  if (part.startsWith('\\')) return backslashes(part.length);
  const escaping = afterRun ? '' : escapes;
  return /^[A-Za-z0-9]$/.test(part) ? part : `${escaping}(?:${spellingsOf(part).join('|')})`;
}

/** What a backslash becomes in JSON four times over. */
const maxEscapes = 16;

/** As one run: where each of them could be any number of backslashes, there would be too many ways to look. */
const backslashes = (count: number): string =>
  `(?:(?:${escapes}${unicodeEscape('\\')}){${count}}${escapes}|${backslash}{${count},${(count + 1) * maxEscapes}})`;

/** Longer ones first: one may begin with another. */
const spellingsOf = (sign: string): readonly string[] => [
  percentEncoded(sign),
  unicodeEscape(sign),
  ...(shortEscapes[sign] === undefined ? [] : [shortEscapes[sign]]),
  ...(sign === ' ' ? ['\\+'] : []),
  sign.replace(/[$^.*+?()[\]{}|/-]/, '\\$&'),
];

const shortEscapes: Readonly<Record<string, string>> = {
  '\b': 'b',
  '\t': 't',
  '\n': 'n',
  '\f': 'f',
  '\r': 'r',
};

/** What stands behind the backslash; of a sign outside of the basic plane there are two. */
const unicodeEscape = (sign: string): string =>
  Array.from(
    { length: sign.length },
    (_, index) => `u${inAnyCase(sign.charCodeAt(index).toString(16).padStart(4, '0'))}`,
  ).join(escapes);

/** The bytes of UTF-8, also where what was encoded is encoded again. */
function percentEncoded(sign: string): string {
  const encoded = encodeURIComponent(sign);
  const bytes = encoded === sign ? `%${sign.charCodeAt(0).toString(16)}` : encoded;
  return inAnyCase(bytes.replaceAll('%', '%(?:25)*'));
}

function inAnyCase(hex: string): string {
  return hex.replace(/[a-f]/gi, (letter) => `[${letter.toLowerCase()}${letter.toUpperCase()}]`);
}

/** One, that may be in a URL itself. */
const backslash = `(?:${percentEncoded('\\')}|\\\\)`;

/**
 * Those before a sign. No pattern may look at any number of them: where each of many could begin a match, that would
 * take the square of their time.
 */
const escapes = `${backslash}{0,${maxEscapes}}`;
