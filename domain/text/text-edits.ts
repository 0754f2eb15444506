/** Stands where something was that must not be kept or shown. */
export const marker = '[REDACTED]';

/** A part of a text, `from` inclusive and `to` exclusive, and what is to stand there. */
export interface Edit {
  readonly from: number;
  readonly to: number;
  readonly by: string;
}

/** The text with its edits made; they are in order and do not overlap. */
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
 * One text that came in pieces, with its edits made: what replaces a part stands in the piece in which the part
 * began, and the rest of each piece stays as it is.
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

/** Rounds after which rules are stable: the second already finds nothing, unless a text only looks like JSON. */
const maxRounds = 8;

/** The rules applied until they change nothing, so that applying them again to what is kept changes nothing either. */
export function untilStable<A>(value: A, rules: (value: A) => A, same: (a: A, b: A) => boolean): A {
  let before = value;
  for (let round = 0; round < maxRounds; round += 1) {
    const after = rules(before);
    if (same(before, after)) return after;
    before = after;
  }
  return before;
}
