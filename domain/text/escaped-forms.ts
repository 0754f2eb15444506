/**
 * The source of a pattern that matches a text in each of its escaped forms: as it is, in JSON, in JSON inside JSON and
 * so on, and percent-encoded. Letters and digits are the same in every form.
 */
export const escapedForm = (text: string): string => charForms(text).join('');

/** The same, one pattern per character; a run of backslashes counts as one character. */
export function charForms(text: string): readonly string[] {
  const parts: readonly string[] = text.toWellFormed().match(/\\+|[^\\]/gu) ?? [];
  return parts.map((part, index) => partForm(part, parts[index - 1]?.startsWith('\\') === true));
}

/** Characters of a secret that are compared. The rest need not be: no other text shares so long a beginning. */
const maxPartialChars = 256;

/** A JSON or URL escape that the end of the text truncates. */
const unfinishedChar = '(?:\\\\+(?:u[\\da-fA-F]{0,3})?|%[\\da-fA-F%]*)?';

/**
 * The source of a pattern for one or more of the first of these characters at the end of a text, which may truncate the
 * last.
 */
export function partialForm(chars: readonly string[]): string {
  const rest = chars.length > maxPartialChars ? '[^]*' : '';
  const nested = chars
    .slice(0, maxPartialChars)
    .reduceRight((inner, char) => (inner === '' ? char : `${char}(?:${inner})?`), rest);
  return `${nested}${unfinishedChar}$`;
}

/**
 * A character, or a run of backslashes. The character after a run gets no pattern for escaping backslashes: the last
 * ones of the run escape it.
 */
function partForm(part: string, afterRun: boolean): string {
  if (part.startsWith('\\')) return backslashes(part.length);
  const escaping = afterRun ? '' : escapes;
  return /^[A-Za-z0-9]$/.test(part) ? part : `${escaping}(?:${formsOf(part).join('|')})`;
}

/** The backslashes that one backslash becomes when it is escaped as JSON four times. */
const maxEscapes = 16;

/** Matches the run as a whole. A pattern per backslash could match in exponentially many ways. */
const backslashes = (count: number): string =>
  `(?:(?:${escapes}${unicodeEscape('\\')}){${count}}${escapes}|${backslash}{${count},${(count + 1) * maxEscapes}})`;

/** Longer forms first, because one may begin with another. */
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

/** The part after the backslash. A character outside the basic multilingual plane has two such escapes. */
const unicodeEscape = (char: string): string =>
  Array.from(
    { length: char.length },
    (_, index) => `u${inAnyCase(char.charCodeAt(index).toString(16).padStart(4, '0'))}`,
  ).join(escapes);

/** The percent-encoded UTF-8 bytes, encoded once or several times. */
function percentEncoded(char: string): string {
  const encoded = encodeURIComponent(char);
  const bytes = encoded === char ? `%${char.charCodeAt(0).toString(16)}` : encoded;
  return inAnyCase(bytes.replaceAll('%', '%(?:25)*'));
}

function inAnyCase(hex: string): string {
  return hex.replace(/[a-f]/gi, (letter) => `[${letter.toLowerCase()}${letter.toUpperCase()}]`);
}

/** One backslash, itself possibly percent-encoded. */
const backslash = `(?:${percentEncoded('\\')}|\\\\)`;

/**
 * The backslashes before a character. Their number is bounded: in a text of many backslashes a match could begin at
 * each of them, and without a bound the search would take quadratic time.
 */
const escapes = `${backslash}{0,${maxEscapes}}`;
