/**
 * Single-character edits (insert, delete, replace, swap of neighbours) between two words; infinite where it is seen on
 * the way that they are more than `atMost`.
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
    // A row comes from the two before it: it holds nothing smaller than they do.
    if (fewest > atMost && fewestBefore > atMost) return Number.POSITIVE_INFINITY;
    fewestBefore = fewest;
    [beforePrevious, previous, current] = [previous, current, beforePrevious];
  }
  return at(previous, to.length);
}

const at = (row: Uint32Array, column: number): number => row[column] ?? 0;

/** Longer words are no slips of the finger; the cut keeps hostile ones from costing time. */
const maxComparedChars = 64;

/** The word with the fewest edits from `word`, if there is one with at most `maxEdits`; of several the first. */
export function nearest(
  word: string,
  candidates: readonly string[],
  maxEdits = Number.POSITIVE_INFINITY,
): string | undefined {
  const cut = word.slice(0, maxComparedChars);
  let best: string | undefined;
  let fewest = maxEdits;
  for (const candidate of candidates) {
    // As many edits as the lengths differ are needed at least.
    if (Math.abs(cut.length - candidate.length) > fewest) continue;
    const edits = editDistance(cut, candidate);
    if (best === undefined ? edits <= fewest : edits < fewest) {
      best = candidate;
      fewest = edits;
    }
  }
  return best;
}

/** Words that are ranked: as many take some 20 ms at the worst. */
export const maxRankedWords = 1000;

/** A shorter word is in too many others to say anything. */
const minPartChars = 3;

/**
 * The words nearest to `word`, at most `count`, the nearest first: those that hold it or that it holds, then those with
 * the fewest edits; of equals the first. Case does not matter. Only the first `maxRankedWords` are looked at.
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

/** How far two words are apart; at least `below` where it is not smaller than that. */
function rankOf(word: string, other: string, below: number): number {
  const difference = Math.abs(word.length - other.length);
  const [shorter, longer] = word.length < other.length ? [word, other] : [other, word];
  if (shorter.length >= minPartChars && longer.includes(shorter)) return difference;
  // As many edits as the lengths differ are needed at least.
  if (maxComparedChars + difference >= below) return below;
  return maxComparedChars + editDistance(word, other, below - maxComparedChars);
}
