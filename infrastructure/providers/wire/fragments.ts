/** Fragments below this size are joined early: an upstream that sends byte by byte costs bytes, not objects. */
const smallBytes = 16 * 1024;

/**
 * Puts bytes behind the fragments of a frame that is being collected. Joined only with one that is not larger, a byte
 * is copied a few times, however small the pieces are.
 */
export function addFragment(fragments: Buffer[], bytes: Buffer): void {
  let last = bytes;
  for (let before = fragments.at(-1); isJoined(before, last); before = fragments.at(-1)) {
    fragments.pop();
    last = Buffer.concat([before, last]);
  }
  fragments.push(last);
}

const isJoined = (before: Buffer | undefined, last: Buffer): before is Buffer =>
  before !== undefined && before.length <= last.length && last.length < smallBytes;
