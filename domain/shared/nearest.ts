/**
 * Single-character edits (insert, delete, replace, swap of neighbours) between two words. Returns infinity as soon as
 * it is clear that there are more than `atMost`.
 */
export function editDistance(from: string, to: string, atMost = Number.POSITIVE_INFINITY): number {
  const rowOf = () => new Uint32Array(to.length + 1);
  let [beforePrevious, previous, current] = [rowOf(), rowOf().map((_, column) => column), rowOf()];
  let fewestBefore = 0;
  for (let row = 1; row <= from.length; row += 1) {
    const letter = from.charCodeAt(row - 1);
    const letterBefore = row > 1 ? from.charCodeAt(row - 2) : -1;
    current[0] = row;
    let fewest = row;
    for (let column = 1; column <= to.length; column += 1) {
      const other = to.charCodeAt(column - 1);
      let edits = at(previous, column - 1) + (letter === other ? 0 : 1);
      edits = Math.min(edits, at(previous, column) + 1, at(current, column - 1) + 1);
      if (column > 1 && letterBefore === other && letter === to.charCodeAt(column - 2))
        edits = Math.min(edits, at(beforePrevious, column - 2) + 1);
      current[column] = edits;
      fewest = Math.min(fewest, edits);
    }
    // Each row derives from the two rows before it, so no later value can be smaller than theirs.
    if (fewest > atMost && fewestBefore > atMost) return Number.POSITIVE_INFINITY;
    fewestBefore = fewest;
    [beforePrevious, previous, current] = [previous, current, beforePrevious];
  }
  return at(previous, to.length);
}

const at = (row: Uint32Array, column: number): number => row[column] ?? 0;

/** Longer words are not typing errors. The limit keeps hostile words from costing time. */
const maxComparedChars = 64;

/** The candidate with the fewest edits from `word`, at most `maxEdits`; on a tie the first. */
export function nearest(word: string, candidates: readonly string[], maxEdits: number): string | undefined {
  const cut = word.slice(0, maxComparedChars);
  let best: string | undefined;
  let fewest = maxEdits;
  for (const candidate of candidates) {
    // The number of edits is at least the difference in length.
    if (Math.abs(cut.length - candidate.length) > fewest) continue;
    const edits = editDistance(cut, candidate, fewest);
    if (best === undefined ? edits <= fewest : edits < fewest) {
      best = candidate;
      fewest = edits;
    }
  }
  return best;
}

/** Candidates that are ranked: this many take at most about 20 ms. */
export const maxRankedWords = 1000;

/** Shorter words occur in too many others to mean anything. */
const minPartChars = 3;

/**
 * The candidates nearest to `word`, nearest first, at most `count`: first those that contain the word or are contained
 * in it, then those with the fewest edits; on a tie the first. Case does not matter. Only the first `maxRankedWords`
 * candidates are considered.
 */
export function nearestOf(word: string, candidates: readonly string[], count: number): readonly string[] {
  const given = compared(word);
  const found: { readonly candidate: string; readonly rank: number }[] = [];
  for (const candidate of candidates.slice(0, maxRankedWords)) {
    const last = found.length < count ? Number.POSITIVE_INFINITY : (found.at(-1)?.rank ?? 0);
    const rank = rankOf(given, compared(candidate), last);
    if (rank >= last) continue;
    const place = found.findIndex((other) => rank < other.rank);
    found.splice(place < 0 ? found.length : place, 0, { candidate, rank });
    if (found.length > count) found.pop();
  }
  return found.map(({ candidate }) => candidate);
}

const compared = (word: string): string => word.slice(0, maxComparedChars).toLowerCase();

/** The distance between two words. Once it cannot be below `below`, any value of at least `below` is returned. */
function rankOf(word: string, other: string, below: number): number {
  const difference = Math.abs(word.length - other.length);
  const [shorter, longer] = word.length < other.length ? [word, other] : [other, word];
  if (shorter.length >= minPartChars && longer.includes(shorter)) return difference;
  // The number of edits is at least the difference in length.
  if (maxComparedChars + difference >= below) return below;
  return maxComparedChars + editDistance(word, other, below - maxComparedChars);
}
