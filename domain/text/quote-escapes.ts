import type { Edit } from './text-edits.ts';

/** How some programs, such as those in .NET, spell a quote inside JSON text. */
export const quoteEscape = '\\u0022';

/** Begins only where a run of backslashes does, so that it takes linear time. */
const spelled = /(?<!\\)(\\+)u0022/g;

/** A quote that the text spells as an escape, with the backslashes before it: its place in the text and in the copy. */
interface Spelled {
  readonly from: number;
  readonly to: number;
  readonly copyFrom: number;
  readonly copyTo: number;
}

/**
 * The edits of a text that a search finds in a copy of it. In the copy every escaped quote is spelled with backslashes
 * alone, so the search need not know another spelling.
 */
export function editsInPlainQuotes(
  text: string,
  editsIn: (plain: string) => readonly Edit[],
): readonly Edit[] {
  if (!text.includes(quoteEscape)) return editsIn(text);
  const quotes: Spelled[] = [];
  let longer = 0;
  const plain = text.replace(spelled, (escape, { length }: string, from: number) => {
    const by = `${'\\'.repeat(plainBackslashes(length))}"`;
    const copyFrom = from + longer;
    longer += by.length - escape.length;
    quotes.push({ from, to: from + escape.length, copyFrom, copyTo: copyFrom + by.length });
    return by;
  });
  const inText = placesIn(quotes);
  return editsIn(plain).map(({ from, to, by }) => ({ from: inText(from), to: inText(to), by }));
}

/**
 * In JSON nested n levels deep, 2ⁿ⁻¹ backslashes are part of a quote's `\u0022`, and 2ⁿ - 1 of its plain spelling. Any
 * more belong to what is before the quote; their number is a multiple of 2ⁿ.
 */
const plainBackslashes = (count: number): number => count + (count & -count) - 1;

/** The place in the text of a place in the copy. It is asked for in ascending order. */
function placesIn(quotes: readonly Spelled[]): (place: number) => number {
  let next = 0;
  return (place) => {
    while ((quotes[next]?.copyFrom ?? Number.POSITIVE_INFINITY) < place) next += 1;
    const before = quotes[next - 1];
    if (before === undefined) return place;
    const { from, to, copyFrom, copyTo } = before;
    return place < copyTo ? Math.min(from + place - copyFrom, to) : to + place - copyTo;
  };
}
