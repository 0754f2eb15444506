/**
 * The source of a pattern for a text in each of its escaped forms: as it is, in JSON, in JSON inside JSON and so on,
 * and percent-encoded. Letters and digits are the same in all of them.
 */
export const escapedForm = (text: string): string => charForms(text).join('');

/** The same, character by character; a run of backslashes counts as one character. */
export function charForms(text: string): readonly string[] {
  const parts: readonly string[] = text.toWellFormed().match(/\\+|[^\\]/gu) ?? [];
  return parts.map((part, index) => partForm(part, parts[index - 1]?.startsWith('\\') === true));
}

/** Characters after which the rest of a secret need not be compared: no other text shares so many with it. */
const maxHalfChars = 256;

/** An escape of JSON or of a URL that the end of the text cuts off. */
const unfinishedChar = '(?:\\\\+(?:u[\\da-fA-F]{0,3})?|%[\\da-fA-F%]*)?';

/**
 * The source of a pattern for the first of these characters, one or more, at the end of a text that may cut off the
 * last.
 */
export function halfForm(chars: readonly string[]): string {
  const rest = chars.length > maxHalfChars ? '[^]*' : '';
  const nested = chars
    .slice(0, maxHalfChars)
    .reduceRight((inner, char) => (inner === '' ? char : `${char}(?:${inner})?`), rest);
  return `${nested}${unfinishedChar}$`;
}

/**
 * A character, or a run of backslashes. After a run no more backslashes are looked for: the run's last ones escape what
 * follows.
 */
function partForm(part: string, afterRun: boolean): string {
  if (part.startsWith('\\')) return backslashes(part.length);
  const escaping = afterRun ? '' : escapes;
  return /^[A-Za-z0-9]$/.test(part) ? part : `${escaping}(?:${formsOf(part).join('|')})`;
}

/** Backslashes that one backslash becomes when it is escaped as JSON four times. */
const maxEscapes = 16;

/** The run as a whole: one pattern for each backslash of it would match in exponentially many ways. */
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

/** What follows the backslash; a character outside the basic multilingual plane has two such escapes. */
const unicodeEscape = (char: string): string =>
  Array.from(
    { length: char.length },
    (_, index) => `u${inAnyCase(char.charCodeAt(index).toString(16).padStart(4, '0'))}`,
  ).join(escapes);

/** The percent-encoded bytes of UTF-8, also where they were encoded again. */
function percentEncoded(char: string): string {
  const encoded = encodeURIComponent(char);
  const bytes = encoded === char ? `%${char.charCodeAt(0).toString(16)}` : encoded;
  return inAnyCase(bytes.replaceAll('%', '%(?:25)*'));
}

function inAnyCase(hex: string): string {
  return hex.replace(/[a-f]/gi, (letter) => `[${letter.toLowerCase()}${letter.toUpperCase()}]`);
}

/** One backslash, which may be percent-encoded itself. */
const backslash = `(?:${percentEncoded('\\')}|\\\\)`;

/**
 * The backslashes before a character. Their number is bounded: in a text of many backslashes each could begin a match,
 * and without a bound the search would take quadratic time.
 */
const escapes = `${backslash}{0,${maxEscapes}}`;
