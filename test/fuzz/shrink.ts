/** The maximum number of tries, since each is a complete check. */
const maxTries = 3000;

/**
 * A smaller input that also fails: halves, quarters and smaller pieces are removed while it does. Not the
 * smallest possible, but short enough to read.
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
