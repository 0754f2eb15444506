/**
 * The source of a pattern for a text in every common spelling: as it is, in JSON, in JSON inside JSON and so on, and
 * in a URL. Letters and digits are the same in all of them.
 */
export const spelling = (text: string): string =>
  (text.toWellFormed().match(/\\+|[^\\]/gu) ?? []).map((part) => partSpelling(part)).join('');

/** A sign, or a run of backslashes. */
function partSpelling(part: string): string {
  if (/^[A-Za-z0-9]$/.test(part)) return part;
  return part.startsWith('\\') ? backslashes(part.length) : signSpelling(part);
}

/** What a backslash becomes in JSON four times over. */
const maxEscapes = 16;

/** As one run: where each of them could be any number of backslashes, there would be too many ways to look. */
const backslashes = (count: number): string =>
  `(?:${backslash}{${count},${count * maxEscapes}}|(?:${escapes}${unicodeEscape('\\')}){${count}})`;

function signSpelling(sign: string): string {
  const literal = sign.replace(/[$^.*+?()[\]{}|/-]/, '\\$&');
  const letter = shortEscapes[sign] ?? literal;
  return `(?:${escapes}(?:${literal}|${letter}|${unicodeEscape(sign)})|${percentEncoded(sign)}${sign === ' ' ? '|\\+' : ''})`;
}

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
const backslash = `(?:\\\\|${percentEncoded('\\')})`;

/**
 * Those before a sign. No pattern may look at any number of them: where each of many could begin a match, that would
 * take the square of their time.
 */
const escapes = `${backslash}{0,${maxEscapes}}`;
