/**
 * The source of a pattern for a text in every common escapedForm: as it is, in JSON, in JSON inside JSON and so on, and
 * in a URL. Letters and digits are the same in all of them.
 */
export const escapedForm = (text: string): string => charForms(text).join('');

/** The same for each of its chars; a run of backslashes is one. */
export function charForms(text: string): readonly string[] {
  const parts: readonly string[] = text.toWellFormed().match(/\\+|[^\\]/gu) ?? [];
  return parts.map((part, index) => partForm(part, parts[index - 1]?.startsWith('\\') === true));
}

/** Signs of which no other text has so many in common with a secret. */
const maxHalfChars = 256;

/** What JSON or a URL begins to spell. */
const unfinishedChar = '(?:\\\\+(?:u[\\da-fA-F]{0,3})?|%[\\da-fA-F%]*)?';

/** The source of a pattern for the first of these chars, one or more, where the text ends behind or inside of them. */
export function halfForm(chars: readonly string[]): string {
  const rest = chars.length > maxHalfChars ? '[^]*' : '';
  const nested = chars
    .slice(0, maxHalfChars)
    .reduceRight((inner, char) => (inner === '' ? char : `${char}(?:${inner})?`), rest);
  return `${nested}${unfinishedChar}$`;
}

/** A char, or a run of backslashes; a char behind such a run is escaped by its last ones. */
function partForm(part: string, afterRun: boolean): string {
  if (part.startsWith('\\')) return backslashes(part.length);
  const escaping = afterRun ? '' : escapes;
  return /^[A-Za-z0-9]$/.test(part) ? part : `${escaping}(?:${formsOf(part).join('|')})`;
}

/** What a backslash becomes in JSON four times over. */
const maxEscapes = 16;

/** As one run: where each of them could be any number of backslashes, there would be too many ways to look. */
const backslashes = (count: number): string =>
  `(?:(?:${escapes}${unicodeEscape('\\')}){${count}}${escapes}|${backslash}{${count},${(count + 1) * maxEscapes}})`;

/** Longer ones first: one may begin with another. */
const formsOf = (char: string): readonly string[] => [
  percentEncoded(char),
  unicodeEscape(char),
  ...(shortEscapes[char] === undefined ? [] : [shortEscapes[char]]),
  ...(char === ' ' ? ['\\+'] : []),
  char.replace(/[$^.*+?()[\]{}|/-]/, '\\$&'),
];

const shortEscapes: Readonly<Record<string, string>> = {
  '\b': 'b',
  '\t': 't',
  '\n': 'n',
  '\f': 'f',
  '\r': 'r',
};

/** What stands behind the backslash; of a char outside of the basic plane there are two. */
const unicodeEscape = (char: string): string =>
  Array.from(
    { length: char.length },
    (_, index) => `u${inAnyCase(char.charCodeAt(index).toString(16).padStart(4, '0'))}`,
  ).join(escapes);

/** The bytes of UTF-8, also where what was encoded is encoded again. */
function percentEncoded(char: string): string {
  const encoded = encodeURIComponent(char);
  const bytes = encoded === char ? `%${char.charCodeAt(0).toString(16)}` : encoded;
  return inAnyCase(bytes.replaceAll('%', '%(?:25)*'));
}

function inAnyCase(hex: string): string {
  return hex.replace(/[a-f]/gi, (letter) => `[${letter.toLowerCase()}${letter.toUpperCase()}]`);
}

/** One, that may be in a URL itself. */
const backslash = `(?:${percentEncoded('\\')}|\\\\)`;

/**
 * Those before a char. No pattern may look at any number of them: where each of many could begin a match, that would
 * take the square of their time.
 */
const escapes = `${backslash}{0,${maxEscapes}}`;
