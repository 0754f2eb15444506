/** JSON text in UTF-8, in memory that threads share. */
export type SharedText = Uint8Array<SharedArrayBuffer>;

export function sharedText(bytes: Uint8Array): SharedText {
  const copy = new Uint8Array(new SharedArrayBuffer(bytes.length));
  copy.set(bytes);
  return copy;
}
