/** JSON text in UTF-8, in memory shared between threads. */
export type SharedText = Uint8Array<SharedArrayBuffer>;

/** Copies the pieces of a text into one shared buffer. */
export function sharedText(pieces: readonly Uint8Array[]): SharedText {
  const size = pieces.reduce((sum, { length }) => sum + length, 0);
  const text = new Uint8Array(new SharedArrayBuffer(size));
  let at = 0;
  for (const piece of pieces) {
    text.set(piece, at);
    at += piece.length;
  }
  return text;
}
