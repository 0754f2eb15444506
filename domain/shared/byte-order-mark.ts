/** U+FEFF in UTF-8. */
const mark = [0xef, 0xbb, 0xbf];

/** The pieces without a leading byte order mark, which some editors write and which is not part of the text. */
export function withoutMark(pieces: readonly Uint8Array[]): readonly Uint8Array[] {
  let left = markedBytes(pieces);
  if (left === 0) return pieces;
  return pieces.map((piece) => {
    const rest = piece.subarray(left);
    left -= piece.length - rest.length;
    return rest;
  });
}

/** The number of leading bytes that are a byte order mark: all 3 of them, or 0. */
export function markedBytes(pieces: readonly Uint8Array[]): number {
  let seen = 0;
  for (const piece of pieces)
    for (const byte of piece) {
      if (byte !== mark[seen]) return 0;
      seen += 1;
      if (seen === mark.length) return seen;
    }
  return 0;
}
