/** Tries at most: each is a whole check. */
const maxTries = 3000;

/**
 * A smaller input that fails as well: halves, quarters and smaller pieces are taken away as long as it does. Not the
 * smallest, but one that a person can read.
 */
export async function shrunk(input: Buffer, fails: (smaller: Buffer) => Promise<boolean>): Promise<Buffer> {
  let smallest = input;
  let tries = 0;
  for (let size = Math.ceil(input.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let from = 0; from < smallest.length && tries < maxTries; tries += 1) {
      const smaller = Buffer.concat([smallest.subarray(0, from), smallest.subarray(from + size)]);
      if (await fails(smaller)) smallest = smaller;
      else from += size;
    }
  }
  return smallest;
}
