/** Fragments below this size are merged, so that a peer that sends byte by byte costs bytes of memory, not objects. */
const smallBytes = 16 * 1024;

/**
 * Appends bytes to the fragments of a frame or whole body that is being collected. A fragment is merged only with one
 * that is not larger, so each byte is copied only a few times, however small the pieces are.
 */
export function addFragment(fragments: Uint8Array[], bytes: Uint8Array): void {
  let last = bytes;
  for (let before = fragments.at(-1); isJoined(before, last); before = fragments.at(-1)) {
    fragments.pop();
    last = joined(before, last);
  }
  fragments.push(last);
}

const isJoined = (before: Uint8Array | undefined, last: Uint8Array): before is Uint8Array =>
  before !== undefined && before.length <= last.length && last.length < smallBytes;

function joined(before: Uint8Array, last: Uint8Array): Uint8Array {
  const both = new Uint8Array(before.length + last.length);
  both.set(before);
  both.set(last, before.length);
  return both;
}
