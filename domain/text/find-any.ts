/** Searches one text for many short texts. `found` is called with the index of each one found, once per occurrence. */
export type FindAny = (text: string, found: (index: number) => void) => void;

/** Characters that are hashed together. With three, few positions in ordinary text hash like the end of a pattern. */
const gram = 3;

/**
 * The multi-pattern search of Wu and Manber: a hash of the last `gram` characters of a window says how far the window
 * may move before any pattern can end in it. The time therefore does not grow with the number of patterns. Each pattern
 * must have at least `gram` characters.
 */
export function findAny(texts: readonly string[]): FindAny {
  const least = texts.reduce((fewest, { length }) => Math.min(fewest, length), Number.POSITIVE_INFINITY);
  const last = least - gram;
  const skips = new Uint16Array(buckets).fill(last + 1);
  const ending = new Map<number, number[]>();
  texts.forEach((text, index) => {
    for (let at = 0; at <= last; at += 1) {
      const bucket = bucketOf(text, at);
      skips[bucket] = Math.min(skips[bucket] ?? 0, last - at);
    }
    const bucket = bucketOf(text, last);
    const others = ending.get(bucket);
    if (others === undefined) ending.set(bucket, [index]);
    else others.push(index);
  });
  return (text, found) => {
    for (let at = last; at + gram <= text.length; ) {
      const bucket = bucketOf(text, at);
      const skip = skips[bucket] ?? 0;
      if (skip === 0)
        for (const index of ending.get(bucket) ?? [])
          if (text.startsWith(texts[index] ?? '', at - last)) found(index);
      at += Math.max(1, skip);
    }
  };
}

/** Number of hash values. Grams that collide cost an extra comparison and never hide a match. */
const buckets = 1 << 15;

const bucketOf = (text: string, at: number): number =>
  (text.charCodeAt(at) * 1021 + text.charCodeAt(at + 1) * 37 + text.charCodeAt(at + 2)) & (buckets - 1);
