/** Replaces anything that must not be kept or shown. */
export const marker = '[REDACTED]';

/** Replaces a part of a text, `from` inclusive and `to` exclusive, by another text. */
export interface Edit {
  readonly from: number;
  readonly to: number;
  readonly by: string;
}

/** The text with its edits applied. They are in order and do not overlap. */
export function edited(text: string, edits: readonly Edit[]): string {
  if (edits.length === 0) return text;
  const parts: string[] = [];
  let at = 0;
  for (const { from, to, by } of edits) {
    parts.push(text.slice(at, from), by);
    at = to;
  }
  parts.push(text.slice(at));
  return parts.join('');
}

/**
 * Edits one text that came in pieces. A replacement goes into the piece in which the replaced part began; the rest of
 * each piece stays as it is.
 */
export function editedPieces(pieces: readonly string[], edits: readonly Edit[]): readonly string[] {
  let start = 0;
  let next = 0;
  return pieces.map((piece) => {
    const end = start + piece.length;
    const own: Edit[] = [];
    for (; next < edits.length; next += 1) {
      const edit = edits[next];
      if (edit === undefined || edit.from >= end) break;
      const begins = edit.from >= start;
      own.push({
        from: Math.max(edit.from, start) - start,
        to: Math.min(edit.to, end) - start,
        by: begins ? edit.by : '',
      });
      if (edit.to > end) break;
    }
    start = end;
    return edited(piece, own);
  });
}

/** Rounds until the rules are stable. The second already finds nothing, unless a text only looks like JSON. */
const maxRounds = 8;

/** Applies the rules until they change nothing, so that applying them to the result again changes nothing either. */
export function untilStable<A>(value: A, rules: (value: A) => A, same: (a: A, b: A) => boolean): A {
  let before = value;
  for (let round = 0; round < maxRounds; round += 1) {
    const after = rules(before);
    if (same(before, after)) return after;
    before = after;
  }
  return before;
}
