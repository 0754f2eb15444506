/** Single-character edits (insert, delete, replace, swap of neighbours) between two words. */
export function editDistance(from: string, to: string): number {
  let beforePrevious: readonly number[] = [];
  let previous: readonly number[] = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let row = 1; row <= from.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= to.length; column += 1) {
      const same = from[row - 1] === to[column - 1];
      const swapped = from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      current.push(
        Math.min(
          at(previous, column) + 1,
          at(current, column - 1) + 1,
          at(previous, column - 1) + (same ? 0 : 1),
          swapped ? at(beforePrevious, column - 2) + 1 : Number.POSITIVE_INFINITY,
        ),
      );
    }
    beforePrevious = previous;
    previous = current;
  }
  return at(previous, to.length);
}

const at = (row: readonly number[], column: number): number => row[column] ?? Number.POSITIVE_INFINITY;

/** Longer keys are no slips of the finger; the cut keeps a hostile file from costing time. */
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
