/** Fragments below this size are joined early: whoever sends byte by byte costs bytes, not objects. */
const smallBytes = 16 * 1024;

/**
 * Puts bytes behind the fragments of what is being collected: a frame, or a whole body. Joined only with one that is not
 * larger, a byte is copied a few times, however small the pieces are.
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
