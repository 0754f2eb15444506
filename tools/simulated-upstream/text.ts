import { quoteMaxChars } from './bounds.ts';

/** A text in pieces, which are made on demand because there may be a million of them. */
export interface Pieces {
  readonly count: number;
  /** Total characters of all pieces. */
  readonly chars: number;
  readonly at: (index: number) => string;
}

/** Words per piece by default: about what real models send in one or two deltas. */
const wordsPerPiece = 3;

const filler = 'All of this is simulated. ';

/** Words with the white space that follows them, so that joining them restores the text. */
const wordsOf = (text: string): readonly string[] => text.match(/\S+\s*/gu) ?? [];

/** Splits a text into `count` pieces of whole words. With more pieces than words, the words are repeated. */
export function inPieces(text: string, count?: number): Pieces {
  const words = wordsOf(text);
  const pieces = count ?? Math.ceil(words.length / wordsPerPiece);
  if (pieces <= words.length) {
    const from = (index: number): number => Math.floor((index * words.length) / pieces);
    const at = (index: number): string => words.slice(from(index), from(index + 1)).join('');
    return { count: pieces, chars: pieces === 0 ? 0 : text.length, at };
  }
  const at = (index: number): string => `${(words[index % words.length] ?? 'simulated').trimEnd()} `;
  let chars = 0;
  for (let index = 0; index < pieces; index += 1) chars += at(index).length;
  return { count: pieces, chars, at };
}

/** `count` equal pieces of exactly `bytes` bytes of ASCII text. */
export function fillerPieces(count: number, bytes: number): Pieces {
  const piece = filler.repeat(Math.ceil(bytes / filler.length)).slice(0, bytes);
  return { count, chars: count * bytes, at: () => piece };
}

/** All pieces as one text. */
export const joined = (pieces: Pieces): string =>
  Array.from({ length: pieces.count }, (_, index) => pieces.at(index)).join('');

/** A deterministic token count of at least one, with four characters per token, the usual rule of thumb for English. */
export const tokensIn = (chars: number): number => Math.max(1, Math.ceil(chars / 4));

/** The start of a text, short enough to quote, never ending in half a character. */
const quoted = (text: string): string =>
  text.length <= quoteMaxChars ? text : `${text.slice(0, quoteMaxChars).replace(/[\uD800-\uDBFF]$/, '')}…`;

/** The answer to a message from the caller. */
export const echoText = (said: string): string =>
  `This is a simulated answer; no model was asked. You said: "${quoted(said)}".`;

/** The answer to a tool result. */
export const toolResultText = (result: string): string =>
  `This is a simulated answer; no model was asked. The tool returned: "${quoted(result)}".`;

/** The reasoning before the answer. */
export const reasoningText = (said: string): string =>
  `This is simulated reasoning. The caller sent ${said.length} characters, so an answer is due.`;
