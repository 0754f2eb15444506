/** U+FEFF in UTF-8. */
const mark = [0xef, 0xbb, 0xbf];

/** The pieces of a text without its byte order mark: some editors and languages begin one so, and it is not of the text. */
export function withoutMark(pieces: readonly Uint8Array[]): readonly Uint8Array[] {
  if (!isMarked(pieces)) return pieces;
  let left = mark.length;
  return pieces.map((piece) => {
    const rest = piece.subarray(left);
    left -= piece.length - rest.length;
    return rest;
  });
}

function isMarked(pieces: readonly Uint8Array[]): boolean {
  let seen = 0;
  for (const piece of pieces)
    for (const byte of piece.subarray(0, mark.length - seen)) {
      if (byte !== mark[seen]) return false;
      seen += 1;
      if (seen === mark.length) return true;
    }
  return false;
}
